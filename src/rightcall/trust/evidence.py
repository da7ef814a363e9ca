"""Finds what in a call's arguments must be vouched for, each value with who could have written it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import filterfalse
from math import isfinite

from msgspec import Struct

from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves, nodes
from rightcall.core.problem import json_path
from rightcall.core.tool import CheckedCall, Tool
from rightcall.trust import kinds
from rightcall.trust.accounts import accounts
from rightcall.trust.characters import is_plain, plain
from rightcall.trust.facts import (
    STRICT,
    ResolvedFacts,
    default_of,
    names_on,
    offered_values,
    properties_of,
    resolve_facts,
)
from rightcall.trust.seen_results import SeenResults
from rightcall.trust.spelling import active, looks_like, scan
from rightcall.trust.typed_values import TypedValues, number_of

_NOTHING = frozenset({"", "null", "none", "undefined"})
_LONGEST_SHOWN = 120
_NAMED_BY_WORDS = ("person", "channel", "path", "address")
"""Kinds of values that a single word may name."""
_LINES = (("subject",), ("title",), ("name",), ("label",), ("header",))
"""Last words of parameters that others read as one line: what follows a break is another header."""
_LONGEST = 20_000
"""Limit of a value that can be vouched for, in characters."""


class ToolKnowledge(Struct, frozen=True, eq=False):
    """A tool with its facts, and what its schema says about its parameters."""

    tool: Tool
    facts: ResolvedFacts
    names: frozenset[str]
    """Every property name in its schema, at any depth."""
    required: frozenset[str]
    defaults: Mapping[str, frozenset[str]]
    """By parameter that has one: what it is if nobody fills it in."""
    spends: bool = True
    """Whether a call may name an amount."""
    widens: bool = True
    """Whether a call may set a flag, or make a choice, that gives more access or costs more."""

    def kind_at(self, place: Place) -> Kind | None:
        """The kind of a value: by the property name inside its parameter, or else by the parameter."""
        names = names_on(place)
        if len(names) > 1:
            inner = self.facts.kinds.get(names[-1]) or kinds.kind_of_name(names[-1])
            if inner is not None:
                return inner
        return self.facts.kind_of(names[0])

    def kind_of_value(self, place: Place, text: str) -> Kind | None:
        """The kind of a value: as stated; of one that was guessed, what it looks like counts first."""
        names = names_on(place)
        if names[-1] in self.facts.kinds or names[0] in self.facts.kinds:
            return self.kind_at(place)
        return looks_like(plain(text)) or self.kind_at(place)


def tool_knowledge(tool: Tool) -> ToolKnowledge:
    """Returns what is known of a tool."""
    names = set[str]()
    for node in nodes(tool.parameters):
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            names.update(properties)
    required = tool.parameters.get("required")
    facts = resolve_facts(tool)
    defaults = {}
    for name in properties_of(tool.parameters):
        usual = default_of(tool.parameters, name)
        if usual:
            defaults[name] = usual
    is_plain = _has_plain_parameters(tool)
    spends = bool(facts.bounded) or any(kinds.kind_of_name(name) == "amount" for name in names)
    spends = spends or "amount" in facts.kinds.values()
    widens = bool(facts.widens or facts.flags)
    for name in names:
        widens = (
            widens or kinds.is_widening_flag(name) or kinds.is_unit(name) or kinds.is_repetition(name)
        )
    return ToolKnowledge(
        tool,
        facts,
        names=frozenset(names),
        required=frozenset(required if isinstance(required, list) else ()),
        defaults=defaults,
        spends=facts.acts and (spends or not is_plain),
        widens=facts.acts and (widens or not is_plain),
    )


_PLAIN = ("string", "integer", "number", "boolean")


def _has_plain_parameters(tool: Tool) -> bool:
    """Whether every parameter that the schema names is a plain value, or a list of these."""
    for schema in properties_of(tool.parameters).values():
        if not isinstance(schema, Mapping):
            return False
        items = schema.get("items")
        inner = (
            items.get("type") if schema.get("type") == "array" and isinstance(items, Mapping) else None
        )
        if schema.get("type") not in _PLAIN and inner not in _PLAIN:
            return False
    # One that the schema does not name is a target, whatever it is.
    return True


def leaves_of(checked: CheckedCall, name: str) -> Iterator[tuple[Place, str]]:
    """The values in one argument of a call, each with its place."""
    return leaves(checked.arguments.get(name), (name,))


def is_blank(value: JsonValue) -> bool:
    """Whether a value is missing, empty, blank, or a container of only such values."""
    if type(value) is str and value.isascii():
        return value.strip().lower() in _NOTHING
    return all(plain(text).strip().lower() in _NOTHING for _, text in leaves(value))


def find_followed(
    arguments: Mapping[str, JsonValue], knowledge: ToolKnowledge, typed: TypedValues, seen: SeenResults
) -> Iterator[str]:
    """The values in a call's arguments for which a record vouches, also those inside of texts."""
    for name, value in arguments.items():
        is_target = name in knowledge.facts.targets
        for place, text in leaves(value, (name,)):
            if is_target and len(text) <= _LONGEST:
                kind = knowledge.kind_of_value(place, text)
                parameter = names_on(place)[-1]
                if seen.record_that_leads_to(text, kind, typed.names_one, parameter):
                    yield text
            elif not is_target:
                for named in (*active(text), *accounts(text)):
                    if seen.record_that_leads_to(named, None, typed.names_one):
                        yield named


class CallEvidence:
    """Everything in one call that must be vouched for, with who could have written it."""

    def __init__(
        self,
        checked: CheckedCall,
        knowledge: ToolKnowledge,
        typed: TypedValues,
        seen: SeenResults,
        is_stated: Callable[[str], bool] | None = None,
    ) -> None:
        self._checked = checked
        self._knowledge = knowledge
        self._typed = typed
        self._seen = seen
        self._is_stated = is_stated

    def origin_of(
        self, text: str, kind: Kind | None, *, is_read: bool = False, parameter: str = ""
    ) -> tuple[Origin, str]:
        """Who could have written a value, and through which tool. ``is_read``: the call only reads.

        ``parameter``: the target that it goes to; empty for what stands in a text.
        """
        said = self._typed.origin_of(text, kind)
        if said is not None and (not parameter or self._typed.is_exact(text, kind)):
            return said, ""
        if len(text) > _LONGEST:
            return "nowhere", ""
        leading = self._seen.record_that_leads_to(text, kind, self._typed.names_one, parameter)
        if leading and (not parameter or is_plain(text)):
            return "trusted", leading
        if said is not None:
            return "unfit", "spelling"
        listing = self._seen.system_that_lists(text, kind)
        if listing:
            return ("trusted" if is_read else "listed"), listing
        if self._typed.has_bare_number(plain(text).strip()):
            return "unfit", ""
        source = self._seen.source_of(text)
        if source:
            return "untrusted", source
        return "nowhere", ""

    def targets(self) -> Iterator[Evidence]:
        """Every target in the arguments. A blank target is vouched for by nobody.

        A blank optional target is skipped, unless the tool deletes: what is destroyed must be named.
        """
        knowledge = self._knowledge
        facts = knowledge.facts
        arguments = self._checked.arguments
        is_strict = not STRICT.isdisjoint(facts.dangers)
        is_undirected = self._is_undirected()
        # A parameter that the schema does not name could be anything.
        for name in (*facts.targets, *filterfalse(knowledge.names.__contains__, arguments)):
            if name in facts.bounded:
                continue
            value = arguments.get(name)
            if is_blank(value):
                if is_strict or (name in knowledge.required and not self._is_rest(name)):
                    yield evidence_at((name,), "", "nowhere")
                continue
            for place, leaf in leaves(value, (name,)):
                if is_key(place) and leaf in knowledge.names:
                    continue
                if facts.is_amount(place):
                    continue
                yield self._target(place, leaf, is_undirected=is_undirected)

    def _target(self, place: Place, leaf: str, *, is_undirected: bool) -> Evidence:
        knowledge = self._knowledge
        facts = knowledge.facts
        name = str(place[0])
        kind = knowledge.kind_of_value(place, leaf)
        if leaf in knowledge.defaults.get(name, ()) and not knowledge.tool.origin:
            return evidence_at(place, leaf, "developer", "default")
        origin, source = self.origin_of(
            leaf, kind, is_read=not facts.acts, parameter=str(names_on(place)[-1])
        )
        # What the developer lists may be looked up; to act on it, somebody must name it.
        may_be_listed = origin not in _PEOPLE and not facts.acts and not knowledge.tool.origin
        if may_be_listed and leaf in offered_values(knowledge.tool.parameters, name):
            return evidence_at(place, leaf, "developer")
        # A word of a sentence is no password: one is quoted, or holds more than letters.
        is_word = "credentials" in facts.dangers and leaf.isalpha() and kind not in _NAMED_BY_WORDS
        if origin in ("user", "developer") and is_word and not self._typed.is_quoted(leaf):
            return evidence_at(place, leaf, "unfit", "word")
        if is_undirected and origin in _PEOPLE:
            return evidence_at(place, leaf, "unfit", "direction")
        return evidence_at(place, leaf, origin, source)

    def _is_undirected(self) -> bool:
        """Whether something goes from one typed value to another, and nothing says which is which."""
        facts = self._knowledge.facts
        sources = set[str]()
        goals = set[str]()
        ways = {facts.kind_of(name) for name in facts.sources}
        for name in facts.targets:
            if facts.kind_of(name) not in ways or not ways:
                continue
            texts = {text for _, text in leaves_of(self._checked, name) if text.strip()}
            if name in facts.sources:
                sources |= texts
            else:
                goals |= texts
        return bool(sources) and bool(goals)

    def _is_rest(self, name: str) -> bool:
        """Whether another of several numbered targets is filled in, as in ``street2``."""
        stem = name.rstrip("0123456789")
        if stem == name:
            return False
        for other in self._knowledge.facts.targets:
            is_numbered = other.startswith(stem) and other[len(stem) :].isdigit()
            if other != name and is_numbered and not is_blank(self._checked.arguments.get(other)):
                return True
        return False

    def content(self) -> Iterator[Evidence]:
        """Every address, link and account in the other arguments that was neither typed nor stated."""
        facts = self._knowledge.facts
        for name in self._checked.arguments:
            if name in facts.targets:
                continue
            is_line = kinds.words_of(name)[-1:] in _LINES
            for place, text in leaves_of(self._checked, name):
                if is_line and facts.acts and len(text.splitlines()) > 1:
                    yield evidence_at(place, text, "unfit", "lines")
                for named in (*active(text), *accounts(text)):
                    if self._is_stated is not None and self._is_stated(named):
                        continue
                    origin, source = self.origin_of(named, None, is_read=not facts.acts)
                    yield evidence_at(place, named, origin, source)

    def words(self) -> Iterator[Evidence]:
        """The content of an outside look-up with a word that no user, developer or operator typed."""
        for name in self._checked.arguments:
            if name in self._knowledge.facts.targets:
                continue
            for place, text in leaves_of(self._checked, name):
                if is_key(place) and text in self._knowledge.names:
                    continue
                for _, token in scan(plain(text)):
                    if not self._typed.has_word(token):
                        source = self._seen.source_of(token)
                        origin: Origin = "untrusted" if source else "nowhere"
                        yield evidence_at(place, text, origin, source)
                        break

    def bounds(self, spent: Callable[[float], int]) -> Iterator[Evidence]:
        """The amounts and the choices in a call that must have been typed.

        ``spent``: how often a number has already been used for the same targets.
        """
        facts = self._knowledge.facts
        arguments = self._checked.arguments
        used: dict[float, int] = {}
        if not self._knowledge.spends:
            if self._knowledge.widens:
                yield from self._choices()
            return
        for name in arguments:
            for place, text in leaves_of(self._checked, name):
                is_count = name in facts.bounded and facts.kind_of(name) != "amount"
                if is_key(place) and text in self._knowledge.names:
                    continue
                if facts.is_amount(place):
                    yield self._amount(place, text, spent, used)
                elif is_count and place[0] == name and len(place) == 1:
                    yield self._count(place, text)
        if self._knowledge.widens:
            yield from self._choices()

    def _amount(
        self, place: Place, text: str, spent: Callable[[float], int], used: dict[float, int]
    ) -> Evidence:
        number = number_of(text)
        if number is None or not isfinite(number):
            origin, source = self.origin_of(text, "amount")
            return evidence_at(place, text, "unfit" if origin == "listed" else origin, source)
        if number == 0 or text in self._knowledge.defaults.get(str(place[0]), ()):
            return evidence_at(place, text, "developer", "default")
        typed = self._typed.numbers[number]
        if typed:
            used[number] = used.get(number, 0) + 1
            if spent(number) + used[number] <= typed:
                return evidence_at(place, text, "user")
            return evidence_at(place, text, "unfit", "spent")
        leading = self._seen.record_that_leads_to(
            text, "amount", self._typed.names_one, str(names_on(place)[-1])
        )
        if leading:
            used[number] = used.get(number, 0) + 1
            if spent(number) + used[number] <= 1:
                return evidence_at(place, text, "trusted", leading)
            return evidence_at(place, text, "unfit", "spent")
        listing = self._seen.system_that_lists(text, "amount")
        if listing:
            return evidence_at(place, text, "listed", listing)
        source = self._seen.source_of(text)
        return evidence_at(place, text, "untrusted" if source else "nowhere", source)

    def _count(self, place: Place, text: str) -> Evidence:
        """How often something is done: once, as usual, or as often as somebody typed."""
        number = number_of(text)
        is_usual = number is not None and 0 <= number <= 1
        is_usual = is_usual or text in self._knowledge.defaults.get(str(place[0]), ())
        is_asked = number is not None and self._typed.numbers[number] > 0
        return evidence_at(place, text, "user" if is_usual or is_asked else "nowhere")

    def _choices(self) -> Iterator[Evidence]:
        """The choices that give or cost more: typed, or what they are if nobody fills them in."""
        facts = self._knowledge.facts
        arguments = self._checked.arguments
        for name, value in arguments.items():
            if name in facts.targets:
                continue
            usual = self._knowledge.defaults.get(name, ())
            for place, flag in _flags_in(value, (name,)):
                is_wide = name in facts.flags or name in facts.widens
                if is_wide or kinds.is_widening_flag(str(place[-1])):
                    origin, source = self._choice_origin(str(place[-1]))
                    yield evidence_at(place, flag, origin, source)
            choices = facts.widens.get(name)
            is_priced = kinds.is_unit(name) or kinds.is_repetition(name)
            for place, text in leaves(value, (name,)):
                if is_key(place) or text in usual or not text.strip():
                    continue
                if choices is not None and (
                    text in choices or (not choices and kinds.is_widening(text))
                ):
                    origin, source = self._choice_origin(text)
                    yield evidence_at(place, text, origin, source)
                elif is_priced and number_of(text) is None:
                    is_asked = self._typed.is_currency(text)
                    yield evidence_at(place, text, "user" if is_asked else "nowhere")

    def _choice_origin(self, choice: str) -> tuple[Origin, str]:
        """Who typed a choice, as the tool spells it or with spaces between its words."""
        spelled = " ".join(kinds.words_of(choice))
        for each in (choice, spelled):
            said = self._typed.origin_of(each)
            if said is not None:
                return said, ""
        return "nowhere", ""


_PEOPLE: tuple[Origin, ...] = ("user", "developer", "operator")


def _flags_in(value: JsonValue, place: Place) -> Iterator[tuple[Place, str]]:
    """The flags that are set in an argument, with their places."""
    if value is True:
        yield place, "true"
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _flags_in(each, (*place, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _flags_in(each, (*place, at))


def evidence_at(place: Sequence[str | int], text: str, origin: Origin, source: str = "") -> Evidence:
    """A value as evidence, with its path; cut if it is long."""
    return Evidence(_shorten(json_path(list(place))), _shorten(text), origin, source)


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_SHOWN:
        return text
    return text[: _LONGEST_SHOWN - 1] + "…"
