"""Finds what in a call's arguments must be vouched for, each value with where it was seen."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import filterfalse

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves, nodes
from rightcall.core.tool import CheckedCall, Tool
from rightcall.trust.asked.conditions import MOST_RIVALS, Can
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.limits import cost_of
from rightcall.trust.asked.meant import Meant
from rightcall.trust.asked.records import Record
from rightcall.trust.asked.terms import Change, is_allowed
from rightcall.trust.facts import (
    STRICT,
    ResolvedFacts,
    default_of,
    names_on,
    offered_values,
    resolve_facts,
    texts_in,
)
from rightcall.trust.provenance import Provenance, evidence_at
from rightcall.trust.words import kinds
from rightcall.trust.words.accounts import accounts
from rightcall.trust.words.acts import UNDOING, Act, act_of, own_act, sort_of
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.describing import nouns_of
from rightcall.trust.words.keys import Want
from rightcall.trust.words.mentions import is_against
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import Role, named_words
from rightcall.trust.words.spelling import active, scan
from rightcall.trust.words.units import ways_to_say_how_often

_WORD = Want("free", stated=True)
_AMOUNT = Want("amount", stated=True)
_ANYTHING = Want()
_RECEIVING = ("address", "account", "person", "free", None)
"""Kinds of those to whom something may go."""
_NOTHING = frozenset({"", "null", "none", "undefined"})
_NAMED: tuple[Origin, ...] = ("user", "developer", "operator")
# Function words carry no information to the outside.
_FUNCTION = named_words(
    "a an and are as at be by did do does for from had has have how in is it its me my near of on or "
    "our the their this to was we were what when where which who whose why will with you your"
)


class ToolKnowledge(Struct, frozen=True, eq=False):
    """A tool with its facts, and what its schema says about its parameters."""

    tool: Tool
    facts: ResolvedFacts
    names: frozenset[str]
    """Every property name in its schema, at any depth."""
    required: frozenset[str]
    wants: Mapping[str, Want]
    """By target parameter: what its values are used as."""

    def kind_at(self, place: Place) -> Kind | None:
        """The kind of a value: by the property name inside its parameter, or else by the parameter."""
        names = names_on(place)
        if len(names) > 1:
            inner = kinds.kind_of_name(names[-1])
            if inner is not None:
                return inner
        return self.wants.get(names[0], _ANYTHING).kind


def tool_knowledge(tool: Tool, *, is_directory: bool = False) -> ToolKnowledge:
    """Returns what is known of a tool. ``is_directory``: the operator says that it is a directory."""
    facts = resolve_facts(tool)
    if is_directory:
        facts = replace(facts, identity=())
    names = set[str]()
    for node in nodes(tool.parameters):
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            names.update(properties)
    required = tool.parameters.get("required")
    wants = {}
    for name in facts.targets:
        kind = facts.kind_of(name)
        is_source = name in facts.sources
        role: Role | None = None
        for each in facts.targets:
            # Only where something of its kind could go the other way must it be said which way it goes.
            if (each in facts.sources) != is_source and facts.kind_of(each) == kind:
                role = "from" if is_source else "to"
        receives = facts.acts and not is_source and kind in _RECEIVING
        wants[name] = Want(
            kind,
            stated=name in facts.kinds,
            role=role,
            receives=receives and not is_against(tool.name),
            nouns=frozenset((*kinds.words_of(tool.name), *kinds.words_of(name))),
        )
    return ToolKnowledge(
        tool,
        facts,
        names=frozenset(names),
        required=frozenset(required if isinstance(required, list) else ()),
        wants=wants,
    )


def meant_in(checked: CheckedCall, of: ToolKnowledge, described: Described, can: Can) -> Meant | None:
    """Which identifiers in a dangerous call were meant; None for a call without dangers.

    ``can``: whether a tool does what a verb asks for to what a noun names.
    """
    facts = of.facts
    name = of.tool.name
    if not facts.dangers:
        return None
    values = []
    nouns = set[str]()
    for target in facts.targets:
        nouns.update(nouns_of(target))
        for place, leaf in leaves_of(checked, target):
            if of.kind_at(place) == "record":
                values.append(leaf)
    # What a stranger's server says of its tool is not its verb.
    docs = "" if of.tool.origin else of.tool.description
    act = act_of(name) or own_act(name, docs, nouns, facts.dangers)
    if facts.asked_by:
        act = replace(act, own=facts.asked_by)
    failed = described.failed_instead(name, values)
    failed |= _refused_instead(checked, facts, described)
    return Meant(described, name, act, facts.targets, values, can, failed)


def can_do(
    tools: Callable[[], Iterable[ToolKnowledge]], verb: str, noun: str, records: Collection[Record] = ()
) -> bool:
    """Whether one of the tools does what a verb asks for to what a noun names, by the house's terms.

    ``records``: those that it is to be done to, if they are known.
    """
    for each in tools():
        act = act_of(each.tool.name)
        if not act.is_asked((verb,)) or act.undoes != (sort_of(verb) in UNDOING):
            continue
        if noun not in set[str]().union(*map(nouns_of, each.facts.targets)):
            continue
        if not records:
            return True
        change = Change(records=[*records], free=each.facts.parameters)
        if is_allowed(each.facts.allowed_when, change):
            return True
    return False


def change_in(
    checked: CheckedCall, facts: ResolvedFacts, described: Described, **changed: JsonValue
) -> Change:
    """What a call changes, with some arguments changed, for the terms of the tool's author."""
    arguments = {**checked.arguments, **changed}
    named = set[str]()
    for name in facts.targets:
        named |= texts_in(arguments.get(name))
    records = []
    for identifier in sorted(named):
        records += [record for _, record in described.records(identifier)]
    new = set[str]()
    for name, value in arguments.items():
        if "new" in kinds.words_of(name):
            new |= texts_in(value)
    return Change(records=records, arguments=arguments, cost=cost_of(records, new))


def _refused_instead(checked: CheckedCall, facts: ResolvedFacts, described: Described) -> dict[str, str]:
    """What the house would refuse in the place of an argument, if it does the call as it is."""
    found = dict[str, str]()
    terms = facts.allowed_when
    if not terms or not is_allowed(terms, change_in(checked, facts, described)):
        return found
    conditions = set[str]().union(*terms)
    for name in sorted(conditions & checked.arguments.keys()):
        value = str(checked.arguments[name])
        for _, record in described.records(value):
            for rival in record.family[:MOST_RIVALS]:
                other = rival.value
                if other == value:
                    continue
                changed = change_in(checked, facts, described, **{name: other})
                if not is_allowed(terms, changed):
                    found[other] = value
    return found


def leaves_of(checked: CheckedCall, name: str) -> Iterator[tuple[Place, str]]:
    """The values in one argument of a call, each with its place."""
    return leaves(checked.arguments.get(name), (name,))


def is_blank(value: JsonValue) -> bool:
    """Whether a value is missing, empty, blank, or a container of only such values."""
    return all(plain(text).strip().lower() in _NOTHING for _, text in leaves(value))


class CallEvidence:
    """Everything in one call that must be vouched for, weighed for the use that the call makes of it.

    That somebody has named a value is not enough: it must have been named for this act, and for this
    place.
    """

    def __init__(
        self,
        checked: CheckedCall,
        of: ToolKnowledge,
        provenance: Provenance,
        meant: Meant | None = None,
        described: Described | None = None,
    ) -> None:
        self._checked = checked
        self._of = of
        self._provenance = provenance
        self._meant = meant
        self._described = described

    def content(self) -> Iterator[Evidence]:
        """Every address, link and account in the content."""
        for place, text in self._content():
            for named in (*active(text), *accounts(text)):
                yield evidence_at(place, named, *self._provenance.of(named))

    def words(self) -> Iterator[Evidence]:
        """Content of an outside lookup with a word that no user, developer or operator used."""
        provenance = self._provenance
        for place, text in self._content():
            for _, token in scan(plain(text)):
                if token in _FUNCTION:
                    continue
                origin, source = provenance.of(token, _WORD)
                # One or several of what the user named tells nobody more.
                other = token.removesuffix("s") if token.endswith("s") else f"{token}s"
                if origin in _NAMED or provenance.of(other, _WORD)[0] in _NAMED:
                    continue
                if origin in ("trusted", "unfit"):
                    origin = "nowhere"
                yield evidence_at(place, text, origin, source)
                break

    def _content(self) -> Iterator[tuple[Place, str]]:
        for name in self._checked.arguments:
            if name in self._of.facts.content:
                yield from leaves_of(self._checked, name)

    def targets(self) -> Iterator[Evidence]:
        """Every target in the arguments. A blank target is vouched for by nobody.

        A blank optional target is skipped, unless the tool has a strict danger: what is destroyed must
        be named in full.
        """
        of = self._of
        facts = of.facts
        arguments = self._checked.arguments
        is_strict = not STRICT.isdisjoint(facts.dangers)
        # A parameter that the schema does not name could be anything.
        for name in (*facts.targets, *filterfalse(of.names.__contains__, arguments)):
            value = arguments.get(name)
            if not is_blank(value):
                # Values listed in a third party's schema were not written by this application's
                # developer.
                listed = frozenset() if of.tool.origin else offered_values(of.tool.parameters, name)
                want = of.wants.get(name, _ANYTHING)
                yield from self._provenance.trace(value, name, want, of.names, listed, self._weigh)
            elif is_strict or (name in of.required and not self._is_rest(name)):
                yield evidence_at((name,), "", "nowhere")

    def _is_rest(self, name: str) -> bool:
        """Whether another of several numbered targets is filled in, as in ``street2``."""
        stem = name.rstrip("0123456789")
        if stem == name:
            return False
        for other in self._of.facts.targets:
            is_numbered = other.startswith(stem) and other[len(stem) :].isdigit()
            if other != name and is_numbered and not is_blank(self._checked.arguments.get(other)):
                return True
        return False

    def _weigh(self, place: Place, leaf: str, origin: Origin) -> Origin:
        """The origin of a value at a place, for the use that it has there."""
        of = self._of
        kind = of.kind_at(place)
        meant = self._meant
        if origin == "user" and not self._provenance.is_meant(leaf):
            # The grant states what is meant, and this is not it, unless it was singled out by rank.
            is_ranked = self._described is not None and self._described.is_ranked(leaf)
            if not is_ranked:
                return "unfit"
        if self._is_undirected and of.wants.get(str(place[0]), _ANYTHING).role is not None:
            return "unfit"
        if kind == "record":
            if meant is None:
                return origin
            return _weigh_record(meant, place, leaf, origin)
        is_unasked = meant is not None and not meant.is_asked and self._act.undoes
        if is_unasked and origin in ("user", "trusted"):
            # Whoever asks what is in a file has named it, and has not asked to delete it.
            return "unfit"
        if kind == "amount" and len(place) > 1 and is_number(leaf):
            if self._is_due(place, leaf):
                return "trusted"
            return "unfit"
        if kind == "date" and origin == "nowhere" and meant is not None:
            if meant.is_asked and meant.is_shifted(str(place[-1]), leaf):
                return "user"
            return origin
        if origin == "trusted" and self._is_another_named(place, leaf):
            return "listed"
        return origin

    @cached_property
    def _act(self) -> Act:
        return act_of(self._of.tool.name)

    @cached_property
    def _is_undirected(self) -> bool:
        """Whether the user named where something comes from and where it goes, not which is which."""
        values = set[str]()
        for name, want in self._of.wants.items():
            if want.role:
                values |= texts_in(self._checked.arguments.get(name))
        if len(values) < 2:  # noqa: PLR2004 - one value goes nowhere
            return False
        origins = {self._provenance.of(leaf)[0] for leaf in values}
        return origins <= {"user", "developer"} and not any(map(self._provenance.has_role, values))

    def _is_another_named(self, place: Place, leaf: str) -> bool:
        """Whether one record has it, where the user named what another has: they left nothing open."""
        name = str(place[-1])
        changed = [each for each, want in self._of.wants.items() if want.kind != "record"]
        if self._described is None or changed != [name] or not self._act:
            return False
        others = self._described.values_of(name)
        if leaf not in others:
            return False
        return any(other != leaf and self._provenance.of(other)[0] == "user" for other in others)

    def _is_due(self, place: Place, leaf: str) -> bool:
        """Whether an amount inside a target is no more than was asked for, with all that are beside it.

        They may also be what so many cost as were asked for.
        """
        provenance = self._provenance
        whole = 0.0
        for each, text in leaves_of(self._checked, str(place[0])):
            if each[-1] == place[-1] and not is_key(each):
                if not is_number(text) or float(text) < 0:
                    return False
                whole += float(text)
        number = float(leaf)
        if self._meant is not None:
            for count in self._meant.numbers(self._checked.arguments):
                if count and provenance.is_amount(whole / count):
                    return True
        is_within = provenance.is_within(number) and not provenance.is_capped(number)
        return is_within and provenance.is_within_all(whole)

    def bounds(self, paid: float = 0) -> Iterator[Evidence]:
        """The amounts, the counts and the choices in a call that must have been asked for.

        ``paid``: the amount that went to the same targets before.
        """
        facts = self._of.facts
        meant = self._meant
        for name in facts.bounded:
            is_count = facts.kind_of(name) != "amount"
            before = paid
            for place, text in leaves_of(self._checked, name):
                if meant is None or not is_count or not is_number(text):
                    yield self._amount_at(place, text, before)
                    if not is_count and is_number(text):
                        # A list of amounts is paid as one sum.
                        before += abs(float(text))
                    continue
                # A number of times may be what everybody has who says nothing: once, or the default.
                is_usual = float(text) <= 1 or text in self._default(name)
                is_asked = meant.is_counted(name, float(text))
                is_asked = is_asked or (is_usual and kinds.is_multiplier(name))
                yield evidence_at(place, text, "user" if is_asked else "unfit")
        for name, value in self._checked.arguments.items():
            is_known = name in facts.bounded or name in facts.targets
            if not isinstance(value, dict | list) or is_known:
                continue
            # Each amount inside an object or a list is judged together with those before it.
            before = paid
            for place, text in leaves_of(self._checked, name):
                if facts.is_amount(place) and place[-1] != text:
                    yield self._amount_at(place, text, before)
                    if is_number(text):
                        before += abs(float(text))
        yield from self._choices()
        if "money" in facts.dangers and facts.acts:
            yield from self._units()

    def _default(self, name: str) -> frozenset[str]:
        return default_of(self._of.tool.parameters, name)

    def _amount_at(self, place: Place, text: str, paid: float) -> Evidence:
        provenance = self._provenance
        meant = self._meant
        seen = evidence_at(place, text, *provenance.of(text, _AMOUNT))
        if not is_number(text):
            return seen
        number = float(text)
        is_exact = meant is not None and meant.is_exact
        unfit = replace(seen, origin="unfit", source="")
        if paid and not provenance.is_within_all(paid + abs(number)):
            return unfit
        if seen.origin == "trusted" and meant is not None and (is_exact or provenance.is_left_open):
            if meant.states(number) or not (is_exact or meant.has_amounts()):
                return seen
            return unfit
        if provenance.is_capped(number):
            return unfit
        # A number that the user named need not be an amount: orders and invoices have numbers, too.
        if seen.is_vouched and seen.origin not in ("user", "developer") and number >= 0:
            return seen
        if provenance.is_within(number) and (seen.is_vouched or not is_exact):
            return replace(seen, origin="user", source="")
        return unfit

    def _choices(self) -> Iterator[Evidence]:
        """The choices that give or cost more: asked for, or already the present value."""
        facts = self._of.facts
        provenance = self._provenance
        arguments = self._checked.arguments
        for name, choices in facts.widens.items():
            for place, text in leaves_of(self._checked, name):
                if text not in choices and (choices or not kinds.is_widening(text)):
                    continue
                is_now = self._meant is not None and self._meant.says_now(name, text)
                access = kinds.gives_access(name) or kinds.is_widening_flag(text)
                is_asked = is_now or provenance.is_asked_for(kinds.same_access(text), access=access)
                yield evidence_at(place, text, "user" if is_asked else "nowhere")
        for name in sorted(facts.flags):
            if arguments.get(name) is True:
                is_asked = all(map(provenance.is_asked_for, kinds.ways_to_say(name)))
                yield evidence_at((name,), "true", "user" if is_asked else "nowhere")
        if facts.acts and self._of.tool.facts.widens is None:
            for place in _flags_set(arguments):
                is_asked = provenance.is_asked_for(kinds.same_access(place[-1]), access=True)
                yield evidence_at(place, "true", "user" if is_asked else "nowhere")

    def _units(self) -> Iterator[Evidence]:
        """What amounts are counted in, and how often they are paid: as was said, is now, or is usual."""
        meant = self._meant
        for name, value in self._checked.arguments.items():
            if not isinstance(value, str) or not value.strip() or name in self._of.facts.targets:
                continue
            if kinds.is_unit(name):
                is_asked = self._provenance.is_counted_in(value)
            elif kinds.is_repetition(name) and (words := ways_to_say_how_often(value)):
                is_asked = self._provenance.is_asked_for(words)
            else:
                continue
            is_now = meant is not None and meant.is_the_only(name, value)
            is_asked = is_asked or is_now or value in self._default(name)
            yield evidence_at((name,), value, "user" if is_asked else "nowhere")


def _flags_set(value: JsonValue, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the flags that are set and give others more access."""
    if isinstance(value, dict):
        for key, each in value.items():
            if each is True and kinds.is_widening_flag(key):
                yield (*place, key)
            yield from _flags_set(each, (*place, key))
    elif isinstance(value, list):
        for each in value:
            yield from _flags_set(each, place)


def _weigh_record(meant: Meant, place: Place, value: str, origin: Origin) -> Origin:
    """The origin of an identifier, for the act that the call is."""
    if origin == "unfit" and meant.is_released(value):
        origin = "user"
    if origin not in ("user", "trusted"):
        return origin
    if not meant.is_asked:
        return "unfit"
    if not meant.is_changed(str(place[0]), value):
        return "listed" if origin == "trusted" else "unfit"
    if origin == "user":
        return "unfit" if meant.is_for_another(value) else origin
    return "user" if meant.is_meant(value) else "listed"
