"""A call's arguments into what in them must be vouched for, each with where it was seen."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Evidence
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.problem import json_path
from rightcall.core.tool import Tool
from rightcall.trust.facts import STRICT, Settled, offered, settled
from rightcall.trust.keys import Want
from rightcall.trust.kinds import is_widening, is_widening_flag, same_access, words_of
from rightcall.trust.provenance import Provenance, shown
from rightcall.trust.said import named_words
from rightcall.trust.spelling import accounts, active, plain, scan

_AMOUNT = Want("amount", stated=True)
_WORD = Want("free", stated=True)
_NOTHING = frozenset({"", "null", "none", "undefined"})
# Words that hold a sentence together tell nobody anything.
_FUNCTION = named_words(
    "a an and are as at be by did do does for from had has have how in is it its me my near of on or "
    "our the their this to was we were what when where which who whose why will with you your"
)


class Known(Struct, frozen=True, eq=False):
    """A tool with its facts, and what its schema says of them."""

    tool: Tool
    facts: Settled
    names: frozenset[str]
    """Every name of a member in its schema."""
    required: frozenset[str]
    wants: Mapping[str, Want]
    """By parameter, what its values are used as."""


def known(tool: Tool, *, is_directory: bool = False) -> Known:
    """What there is to know of a tool. The operator may say that it is a directory."""
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

    opposite = [each for each in facts.targets if (each in facts.sources) != (name in facts.sources)]
    has_opposite = any(kind_of(each) == kind_of(name) for each in opposite)
    return Want(
        kind_of(name),
        stated=name in facts.kinds,
        role=("from" if name in facts.sources else "to") if has_opposite else None,
        nouns=frozenset((*words_of(tool), *words_of(name))),
    )


def targets_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """Everything in the arguments that says who or where. Nobody vouches for one that says nothing.

    What may be left out says nothing where it is; but what is destroyed must be said in full.
    """
    facts, arguments = of.facts, checked.arguments
    for name in (*facts.targets, *(name for name in arguments if name not in of.names)):
        value = arguments.get(name)
        if not is_blank(value):
            # What a stranger lists in a schema was written by no developer of this application.
            listed = frozenset() if of.tool.origin else offered(of.tool.parameters, name)
            yield from provenance.trace(value, name, of.wants.get(name, Want()), of.names, listed)
        elif name in of.required or not STRICT.isdisjoint(facts.dangers):
            yield Evidence(shown(json_path([name])), "", "nowhere")


def is_blank(value: JsonValue) -> bool:
    """Whether a value says nothing: missing, empty, blanks, or made of such."""
    return not any(plain(text).strip().lower() not in _NOTHING for _, text in leaves(value))


def content_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """Everything in the content that leads somewhere, or that could be paid into."""
    for place, text in _content(checked, of):
        for link in active(text):
            origin, source = provenance.of(link)
            yield Evidence(shown(json_path(place)), shown(link), origin, source)
        for account in accounts(text):
            origin, source = provenance.of(account)
            yield Evidence(shown(json_path(place)), shown(account), origin, source)


def words_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """What in the content of a look outside was said by nobody who may tell it."""
    for place, text in _content(checked, of):
        for _, token in scan(plain(text)):
            if token in _FUNCTION:
                continue
            origin, source = provenance.of(token, _WORD)
            if origin not in ("user", "developer", "operator"):
                told = "nowhere" if origin in ("trusted", "unfit") else origin
                yield Evidence(shown(json_path(place)), shown(text), told, source)
                break


def _content(checked: CheckedCall, of: Known) -> Iterator[tuple[list[str | int], str]]:
    for name, value in checked.arguments.items():
        if name in of.facts.content:
            yield from ((list(place), text) for place, text in leaves(value, (name,)))


def bounds_in(checked: CheckedCall, of: Known, provenance: Provenance) -> Iterator[Evidence]:
    """The amounts and the choices in a call that must have been asked for."""
    arguments = checked.arguments
    for name in of.facts.bounded:
        for place, text in leaves(arguments.get(name), (name,)):
            origin, source = provenance.of(text, _AMOUNT)
            seen = Evidence(shown(json_path(list(place))), shown(text), origin, source)
            # A number that a person named need not be an amount: orders and invoices have some, too.
            is_said = seen.is_vouched and origin not in ("user", "developer")
            if not _is_number(text) or (is_said and float(text) >= 0):
                yield seen
            else:
                within = provenance.is_within(float(text))
                yield replace(seen, origin="user" if within else "unfit", source="")
    for name, choices in of.facts.widens.items():
        for place, text in leaves(arguments.get(name), (name,)):
            if text in choices or (not choices and is_widening(text)):
                asked = provenance.is_asked_for(same_access(text))
                path = shown(json_path(list(place)))
                yield Evidence(path, shown(text), "user" if asked else "nowhere")

    if of.facts.acts and of.tool.facts.widens is None:
        for place in _flags_set(arguments):
            asked = provenance.is_asked_for(same_access(place[-1]))
            yield Evidence(shown(json_path([*place])), "true", "user" if asked else "nowhere")


def _flags_set(value: JsonValue, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where in a value a flag is set that gives others more access."""
    if isinstance(value, dict):
        for key, each in value.items():
            if each is True and is_widening_flag(key):
                yield (*place, key)
            yield from _flags_set(each, (*place, key))
    elif isinstance(value, list):
        for each in value:
            yield from _flags_set(each, place)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _names(schema: Any) -> Iterator[str]:
    """The names of members in a schema, at every depth."""
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
