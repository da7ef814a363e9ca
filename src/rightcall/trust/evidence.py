"""Finds what in a call's arguments must be vouched for, each value with where it was seen."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonObject, JsonValue, Place, leaves
from rightcall.core.problem import json_path
from rightcall.core.tool import Tool
from rightcall.trust.asked.conditions import MOST_RIVALS, Can
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.limits import cost_of
from rightcall.trust.asked.meant import Meant
from rightcall.trust.asked.records import Record
from rightcall.trust.asked.terms import Change, is_allowed, looked_at
from rightcall.trust.facts import Settled, settled
from rightcall.trust.provenance import Provenance, shown
from rightcall.trust.words.accounts import accounts
from rightcall.trust.words.acts import UNDOING, Act, act_of, own_act, sort_of
from rightcall.trust.words.describing import nouns_of
from rightcall.trust.words.keys import Want
from rightcall.trust.words.kinds import (
    kind_of_name,
    words_of,
)
from rightcall.trust.words.mentions import is_against
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import active, scan

_WORD = Want("free", stated=True)
_RECEIVING = ("address", "account", "person", "free", None)
"""Kinds of those to whom something may go."""
_NOTHING = frozenset({"", "null", "none", "undefined"})
_NAMED: tuple[Origin, ...] = ("user", "developer", "operator")
# Function words carry no information to the outside.
_FUNCTION = named_words(
    "a an and are as at be by did do does for from had has have how in is it its me my near of on or "
    "our the their this to was we were what when where which who whose why will with you your"
)


class Known(Struct, frozen=True, eq=False):
    """A tool with its facts, and what its schema says about its parameters."""

    tool: Tool
    facts: Settled
    names: frozenset[str]
    """Every property name in its schema, at any depth."""
    required: frozenset[str]
    wants: Mapping[str, Want]
    """By target parameter: what its values are used as."""


def known(tool: Tool, *, is_directory: bool = False) -> Known:
    """Returns what is known of a tool. ``is_directory``: the operator says that it is a directory."""
    facts = settled(tool)
    if is_directory:
        facts = replace(facts, identity=())
    required = tool.parameters.get("required")
    return Known(
        tool,
        facts,
        frozenset(_names(tool.parameters)),
        frozenset(required if isinstance(required, list) else ()),
        {name: _want(tool.name, name, facts) for name in facts.targets},
    )


def _want(tool: str, name: str, facts: Settled) -> Want:
    def kind_of(each: str) -> Kind | None:
        return facts.kinds.get(each, facts.guessed.get(each))

    kind = kind_of(name)
    opposite = [each for each in facts.targets if (each in facts.sources) != (name in facts.sources)]
    has_opposite = any(kind_of(each) == kind for each in opposite)
    receives = facts.acts and name not in facts.sources and kind in _RECEIVING
    return Want(
        kind,
        stated=name in facts.kinds,
        role=("from" if name in facts.sources else "to") if has_opposite else None,
        receives=receives and not is_against(tool),
        nouns=frozenset((*words_of(tool), *words_of(name))),
    )


def meant_in(
    checked: CheckedCall,
    of: Known,
    described: Described,
    can: Can,
) -> Meant | None:
    """Which identifiers in a dangerous call were meant; None for a call without dangers.

    ``can``: whether a tool does what a verb asks for to what a noun names.
    """
    if not of.facts.dangers:
        return None
    targets = ((place, leaf) for name in of.facts.targets for place, leaf in leaves_of(checked, name))
    values = [leaf for place, leaf in targets if kind_at(place, of) == "record"]
    failed = described.failed_instead(of.tool.name, values)
    failed |= _refused_instead(checked, of.facts, described)
    return Meant(described, of.tool.name, _act_of(of), of.facts.targets, values, can, failed)


def _act_of(of: Known) -> Act:
    """What a dangerous tool does, by the words that ask for it."""
    nouns = {noun for target in of.facts.targets for noun in nouns_of(target)}
    # What a stranger's server says of its tool is not its verb.
    docs = "" if of.tool.origin else of.tool.description
    act = act_of(of.tool.name) or own_act(of.tool.name, docs, nouns, of.facts.dangers)
    return replace(act, own=of.facts.asked_by) if of.facts.asked_by else act


def can_do(
    tools: Callable[[], Iterable[Known]], verb: str, noun: str, records: Collection[Record] = ()
) -> bool:
    """Whether one of the tools does what a verb asks for to what a noun names, by the house's terms.

    ``records``: those that it is to be done to, if they are known.
    """
    for each in tools():
        act = act_of(each.tool.name)
        is_it = act.is_asked((verb,)) and act.undoes == (sort_of(verb) in UNDOING)
        is_it = is_it and any(noun in nouns_of(target) for target in each.facts.targets)
        terms, free = each.facts.allowed_when, each.facts.parameters
        if is_it and (not records or is_allowed(terms, Change(records=[*records], free=free))):
            return True
    return False


def keeps_terms(
    checked: CheckedCall, facts: Settled, described: Described, **changed: JsonValue
) -> bool:
    """Whether a call keeps to what the tool's author allows, with some arguments changed."""
    return is_allowed(facts.allowed_when, _change(checked, facts, described, changed))


def is_looked_at(checked: CheckedCall, facts: Settled, described: Described) -> bool:
    """Whether the run has read the record by which the tool's author allows a call."""
    return bool(looked_at(facts.allowed_when, _change(checked, facts, described, {})))


def _change(checked: CheckedCall, facts: Settled, described: Described, changed: JsonObject) -> Change:
    arguments = {**checked.arguments, **changed}
    named = {leaf for name in facts.targets for _, leaf in leaves(arguments.get(name))}
    records = [record for value in sorted(named) for _, record in described.records(value)]
    new = {leaf for name in arguments if "new" in words_of(name) for _, leaf in leaves(arguments[name])}
    return Change(records=records, arguments=arguments, cost=cost_of(records, new))


def _refused_instead(checked: CheckedCall, facts: Settled, described: Described) -> dict[str, str]:
    """What the house would refuse in the place of an argument, if it does the call as it is."""
    found = dict[str, str]()
    if not facts.allowed_when or not keeps_terms(checked, facts, described):
        return found
    for name in sorted(
        {name for each in facts.allowed_when for name in each} & checked.arguments.keys()
    ):
        value = str(checked.arguments[name])
        others = [each.value for _, of in described.records(value) for each in of.family[:MOST_RIVALS]]
        for other in others:
            if other != value and not keeps_terms(checked, facts, described, **{name: other}):
                found[other] = value
    return found


def asks_by_record(call: Call | None, of: Known) -> bool:
    """Whether a call looks something up by identifier alone, so that it filters no list."""
    try:
        arguments = msgspec.json.decode(call.as_json or "{}") if call is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return False
    kinds = {of.facts.kinds.get(name, of.facts.guessed.get(name)) for name in arguments}
    return kinds == {"record"}


def leaves_of(checked: CheckedCall, name: str) -> Iterator[tuple[Place, str]]:
    """The values in one argument of a call, each with its place."""
    return leaves(checked.arguments.get(name), (name,))


def kind_at(place: Place, of: Known) -> Kind | None:
    """The kind of a value: by the property name inside its parameter, or else by the parameter."""
    names = [step for step in place if isinstance(step, str)]
    want = of.wants.get(names[0])
    inner = kind_of_name(names[-1]) if len(names) > 1 else None
    return inner or (None if want is None else want.kind)


def is_blank(value: JsonValue) -> bool:
    """Whether a value is missing, empty, blank, or a container of only such values."""
    return not any(plain(text).strip().lower() not in _NOTHING for _, text in leaves(value))


def content_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """Every address, link and account in the content, as evidence."""
    for place, text in _content(checked, of):
        for link in active(text):
            origin, source = provenance.of(link)
            yield Evidence(shown(json_path(place)), shown(link), origin, source)
        for account in accounts(text):
            origin, source = provenance.of(account)
            yield Evidence(shown(json_path(place)), shown(account), origin, source)


def words_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """Content of an outside lookup with a word that no user, developer or operator used, as evidence."""
    for place, text in _content(checked, of):
        for _, token in scan(plain(text)):
            if token in _FUNCTION:
                continue
            origin, source = provenance.of(token, _WORD)
            # One or several of what the user named tells nobody more.
            other = token.removesuffix("s") if token.endswith("s") else f"{token}s"
            if origin not in _NAMED and provenance.of(other, _WORD)[0] not in _NAMED:
                told = "nowhere" if origin in ("trusted", "unfit") else origin
                yield Evidence(shown(json_path(place)), shown(text), told, source)
                break


def _content(checked: CheckedCall, of: Known) -> Iterator[tuple[list[str | int], str]]:
    for name, value in checked.arguments.items():
        if name in of.facts.content:
            yield from ((list(place), text) for place, text in leaves(value, (name,)))


def _names(schema: Any) -> Iterator[str]:
    """The property names in a schema, at every depth."""
    todo = [schema]
    while todo:
        match todo.pop():
            case Mapping() as found:
                properties = found.get("properties")
                if isinstance(properties, Mapping):
                    yield from properties
                todo.extend(found.values())
            case list() as items:
                todo.extend(items)
            case _:
                pass
