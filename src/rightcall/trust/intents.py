"""What a task may do, stated as data before any outsider is heard: acts, and the values they may have.

An intent names one tool and binds values to its parameters. A value is exact, one of several, a
template, a day, a bound, the result of an own act, or a reference to what a read tool returns. The
notation in JSON is the same for applications, models and people; ``read_intents`` reads it and
``Intent.notation`` writes it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, TypeAlias, Union, cast, get_args

import msgspec
from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.options import NameCheckedMeta, check_keywords, fits
from rightcall.errors import UsageError

Relation: TypeAlias = Literal["is", "contains", "starts"]
_RELATIONS: tuple[Relation, ...] = get_args(Relation)
_PICK = re.compile(r"(?:max|min):\S+|most|fewest")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_OWN = ("times", "each", "label", "instead_of")
MOST_INTENTS = 200
"""Intents of one task, at most."""

# ruff: noqa: UP007 - types that refer to each other


class Like(Struct, frozen=True, metaclass=NameCheckedMeta):
    """A text with gaps, each written ``{}``: ``"Dinner at {}"``."""

    text: str


class Day(Struct, frozen=True, metaclass=NameCheckedMeta):
    """Any time of one day, as ``2025-01-31``."""

    day: str

    def __post_init__(self) -> None:
        if _DAY.fullmatch(self.day) is None:
            raise UsageError(f"a day is written as 2025-01-31, and not {self.day!r}")


class OneOf(Struct, frozen=True, metaclass=NameCheckedMeta):
    """One of several values; for a parameter that takes a list, any of them."""

    values: tuple["Value", ...]


class ObjectOf(Struct, frozen=True):
    """An object, member by member: for parameters that take objects, or lists of them."""

    members: Mapping[str, "Value"]


class Free(Struct, frozen=True, metaclass=NameCheckedMeta):
    """Any value. Links, addresses and accounts in it must still have been typed or stated."""


class Condition(Struct, frozen=True, metaclass=NameCheckedMeta):
    """What a field of a record must be for the record to be meant."""

    relation: Relation
    value: "Value"


class Found(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A field of what a read tool returns. The runtime looks it up before the model starts."""

    tool: str
    args: Mapping[str, "Value"] = field(default_factory=dict)
    where: Mapping[str, Condition] = field(default_factory=dict)
    """By field: what it must be."""
    field: str = ""
    """The field that holds the value; empty: the whole result; ``arg:channel``: the argument that gave
    it."""
    pick: str = ""
    """Which of several records is meant: ``max:size``, ``min:date``, ``most`` or ``fewest``."""
    each: str = ""
    """The argument of which every value is tried."""


class Mentioned(Struct, frozen=True, metaclass=NameCheckedMeta):
    """Whatever a named text mentions that is of the parameter's kind, verbatim."""

    text: Found


class ResultOf(Struct, frozen=True, metaclass=NameCheckedMeta):
    """What an own act of this run returned: the act with this label, and the field."""

    intent: str
    field: str = ""


class AtMost(Struct, frozen=True, metaclass=NameCheckedMeta):
    """A bound: ``value`` times ``scale`` plus ``plus``, for the sum of all calls of an intent.

    With ``each`` it bounds the sum to each value of that parameter. No negative amount is within it.
    """

    value: Union[int, float, Found]
    scale: float = 1
    plus: float = 0

    def __post_init__(self) -> None:
        for name, number in (("at_most", self.value), ("scale", self.scale), ("plus", self.plus)):
            if name == "at_most" and isinstance(number, Found):
                continue
            if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
                raise UsageError(f"at_most: {name} is a number, and not {_shorten(number)}")
        if self.scale < 0:
            raise UsageError(f"at_most: scale is no negative number, and {self.scale!r} is one")
        if not isinstance(self.value, Found) and self.value * self.scale + self.plus < 0:
            limit = self.value * self.scale + self.plus
            raise UsageError(f"at_most: a bound is no negative number, and {limit!r} is one")


Value: TypeAlias = Union[
    str, int, float, bool, Like, Day, OneOf, ObjectOf, Free, Found, Mentioned, ResultOf, AtMost, None
]
"""What an argument may be."""


class Intent:
    """One act that a task may do: a tool, and what its arguments may be.

    Name the values by parameter. A parameter that is called like one of the keywords goes into a dict:
    ``rc.Intent("repeat", {"times": 3}, times=1)``.

    Args:
        tool: The tool's name.
        values: Values by parameter, in place of or beside those given by keyword.
        times: How often it may be done, in this run and all that it calls; 1, unless given. With
            ``each`` as often as there are values, unless given.
        each: The parameter of which every value may be used once.
        label: A name by which other intents refer to this one.
        instead_of: The label of the intent of which this one takes the place: both share one count.
    """

    __slots__ = ("each", "instead_of", "label", "times", "tool", "values")

    def __init__(
        self,
        tool: str,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        times: int | None = None,
        each: str = "",
        label: str = "",
        instead_of: str = "",
        **named: Any,
    ) -> None:
        if not fits(tool, str) or not tool:
            raise UsageError("an intent names a tool: rc.Intent('refund', order='4711')")
        if times is not None and (isinstance(times, bool) or not fits(times, int) or times < 1):
            words = f"times of the intent {tool!r} is a whole number from 1 on, and not {times!r}"
            raise UsageError(f"{words}; a parameter of that name goes into a dict")
        for name, word in (("each", each), ("label", label), ("instead_of", instead_of)):
            if not fits(word, str):
                words = f"{name} of the intent {tool!r} is a text, and not {word!r}"
                raise UsageError(f"{words}; a parameter of that name goes into a dict")
        given = {**(values or {}), **named}
        self.tool = tool
        self.values: Mapping[str, Value] = {
            name: as_value(value, f"{tool}.{name}") for name, value in given.items()
        }
        self.times = times
        self.each = each
        self.label = label
        self.instead_of = instead_of
        if each and each not in self.values:
            raise UsageError(f"the intent {tool!r} is for each {each!r}, and states no value for it")

    @property
    def notation(self) -> JsonObject:
        """The intent in JSON, as ``read_intents`` reads it."""
        found: dict[str, JsonValue] = {"tool": self.tool}
        if self.values:
            found["values"] = {name: notation_of(value) for name, value in self.values.items()}
        if self.times is not None:
            found["times"] = self.times
        for name, word in (("each", self.each), ("id", self.label), ("instead_of", self.instead_of)):
            if word:
                found[name] = word
        return found

    def __repr__(self) -> str:
        parts = [repr(self.tool)]
        plain = {name: value for name, value in self.values.items() if name not in _OWN}
        if len(plain) < len(self.values):
            parts.append(repr(dict(self.values)))
        else:
            parts += [f"{name}={value!r}" for name, value in plain.items()]
        for name in _OWN:
            if getattr(self, name):
                parts.append(f"{name}={getattr(self, name)!r}")
        return f"Intent({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intent):
            return NotImplemented
        return self.notation == other.notation

    __hash__ = None  # type: ignore[assignment] # its values may be mappings


class Delegation(Struct, frozen=True, metaclass=NameCheckedMeta):
    """The request hands the decision to a text: whatever is done because of it is asked about."""

    text: Found | None = None

    @property
    def notation(self) -> JsonObject:
        """The delegation in JSON."""
        return {"delegates": True if self.text is None else notation_of(self.text)}


Stated: TypeAlias = Intent | Delegation


def found(
    tool: str,
    args: Mapping[str, Any] | None = None,
    /,
    *,
    where: Mapping[str, Any] | None = None,
    field: str = "",
    pick: str = "",
    each: str = "",
    **named: Any,
) -> Found:
    """A reference: a field of what a read tool returns for these arguments.

    ``where`` says by field what a record must be: a value, or ``{"contains": …}``, ``{"starts": …}``.
    An argument that is called like one of the keywords goes into a dict:
    ``rc.found("search", {"field": "title"}, field="id")``.
    """
    document: dict[str, Any] = {"from": tool, "args": {**(args or {}), **named}}
    document |= {"where": where or {}, "field": field, "pick": pick, "each": each}
    return _read_found(document, f"found({tool!r})")


@check_keywords("rc.at_most")
def at_most(value: float | Found, *, scale: float = 1, plus: float = 0) -> AtMost:
    """A bound for an amount: ``value`` times ``scale`` plus ``plus``, for all calls of the intent.

    It bounds the sum of all calls of the intent, to whomever they go; with ``each``, the sum to each
    value of that parameter.
    """
    return _read_at_most({"at_most": value, "scale": scale, "plus": plus}, "at_most")


def one_of(*values: Any) -> OneOf:
    """One of several values; for a parameter that takes a list, any of them."""
    return cast("OneOf", as_value([*values], "one_of"))


like = Like
day = Day
free = Free
mentioned = Mentioned
result_of = ResultOf


def read_intents(source: str | bytes | JsonValue | Sequence[Any]) -> tuple[Stated, ...]:
    """The intents in a JSON text, or in what it decodes to. Raises a UsageError for any mistake."""
    document: Any = source
    if isinstance(source, str | bytes):
        try:
            document = msgspec.json.decode(source)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(f"the intents are no JSON: {error}") from None
    if isinstance(document, Mapping) and "intents" in document and "tool" not in document:
        if len(document) > 1:
            raise UsageError("intents: beside the list there is nothing")
        document = document["intents"]
    if isinstance(document, Mapping | Intent | Delegation):
        document = [document]
    if not isinstance(document, list | tuple):
        raise UsageError("intents are a list: [{'tool': 'refund', 'values': {'order': '4711'}}]")
    if len(document) > MOST_INTENTS:
        raise UsageError(f"there are {len(document)} intents; a task has {MOST_INTENTS} at most")
    stated = tuple([_read_intent(each, f"intents[{at}]") for at, each in enumerate(document)])
    check_labels(stated)
    return stated


def check_labels(stated: Iterable[Stated]) -> None:
    """Raise UsageError for a label that stands twice, or a reference to none."""
    labels: dict[str, Intent] = {}
    intents = [each for each in stated if isinstance(each, Intent)]
    for each in intents:
        if each.label in labels:
            raise UsageError(f"two intents are called {each.label!r}")
        if each.label:
            labels[each.label] = each
    for each in intents:
        if each.instead_of and each.instead_of not in labels:
            raise UsageError(f"{each!r}: there is no intent {each.instead_of!r} to take the place of")
        if each.instead_of and labels[each.instead_of].instead_of:
            raise UsageError(f"{each!r}: {each.instead_of!r} takes the place of another itself")
        for value in each.values.values():
            for reference in references_in(value):
                if isinstance(reference, ResultOf) and reference.intent not in labels:
                    raise UsageError(f"{each!r}: there is no intent {reference.intent!r}")


def references_in(value: Value) -> Iterator[Found | ResultOf]:
    """Every reference in a value, the inner ones first."""
    match value:
        case Found():
            for each in value.args.values():
                yield from references_in(each)
            for condition in value.where.values():
                yield from references_in(condition.value)
            yield value
        case Mentioned(text):
            yield from references_in(text)
        case OneOf(values):
            for each in values:
                yield from references_in(each)
        case ObjectOf(members):
            for each in members.values():
                yield from references_in(each)
        case AtMost(bound):
            if isinstance(bound, Found):
                yield from references_in(bound)
        case ResultOf():
            yield value
        case _:
            pass


def as_value(given: Any, at: str) -> Value:
    """A value from Python or from JSON. ``at`` is where it stands, for the error."""
    match given:
        case bool() | str() | int() | None:
            return given
        case float():
            if not isfinite(given):
                raise UsageError(f"{at}: {given!r} is no number")
            return given
        case (
            Like()
            | Day()
            | OneOf()
            | ObjectOf()
            | Free()
            | Found()
            | Mentioned()
            | ResultOf()
            | AtMost()
        ):
            return given
        case list() | tuple():
            values = [as_value(each, f"{at}[{index}]") for index, each in enumerate(given)]
            if any(map(_holds_bound, values)):
                raise UsageError(f"{at}: a bound stands alone, and not among others: rc.at_most(40)")
            return OneOf(tuple(values))
        case Mapping():
            return _read_object(given, at)
        case _:
            kind = type(given).__name__
            raise UsageError(f"{at}: a value is a text, a number, true or a reference, not {kind}")


def _holds_bound(value: Value) -> bool:
    """Whether a value is a bound, or has one in it."""
    match value:
        case AtMost():
            return True
        case ObjectOf(members):
            return any(map(_holds_bound, members.values()))
        case OneOf(values):
            return any(map(_holds_bound, values))
        case _:
            return False


def _read_object(given: Mapping[str, Any], at: str) -> Value:
    match given:
        case {"like": str() as text}:
            _only(given, at, "like")
            return Like(text)
        case {"day": str() as date} if _DAY.fullmatch(date):
            _only(given, at, "day")
            return Day(date)
        case {"one_of": list() | tuple() as values} if values:
            _only(given, at, "one_of")
            return cast("OneOf", as_value([*values], at))
        case {"object": Mapping() as members} if members:
            _only(given, at, "object")
            return ObjectOf({name: as_value(each, f"{at}.{name}") for name, each in members.items()})
        case {"free": True}:
            _only(given, at, "free")
            return Free()
        case {"mentioned": text}:
            _only(given, at, "mentioned")
            return Mentioned(_as_found(text, f"{at}.mentioned"))
        case {"result_of": str() as label}:
            _only(given, at, "result_of", "field")
            return ResultOf(label, _text(given, "field", at))
        case {"at_most": _}:
            return _read_at_most(given, at)
        case {"from": _}:
            return _read_found(given, at)
        case _:
            known = "like, day (2025-01-31), one_of, free, from, mentioned, result_of, at_most"
            raise UsageError(f"{at}: {_shorten(given)} is no value; there is {known}")


def _read_found(given: Mapping[str, Any], at: str) -> Found:
    _only(given, at, "from", "args", "where", "field", "pick", "each")
    tool = given["from"]
    if not fits(tool, str) or not tool:
        raise UsageError(f"{at}: 'from' names a read tool")
    args = _members(given, "args", at)
    where = _members(given, "where", at)
    pick = _text(given, "pick", at)
    if pick and not _PICK.fullmatch(pick):
        raise UsageError(f"{at}: pick is max:FIELD, min:FIELD, most or fewest, and not {pick!r}")
    each = _text(given, "each", at)
    return Found(
        tool=tool,
        args={name: as_value(value, f"{at}.args.{name}") for name, value in args.items()},
        where={name: _read_condition(value, f"{at}.where.{name}") for name, value in where.items()},
        field=_text(given, "field", at),
        pick=pick,
        each=each,
    )


def _as_found(given: Any, at: str) -> Found:
    if isinstance(given, Found):
        return given
    if isinstance(given, Mapping) and "from" in given:
        return _read_found(given, at)
    raise UsageError(f"{at}: names a text by {{'from': tool, …}}, and not by {_shorten(given)}")


def _read_condition(given: Any, at: str) -> Condition:
    if isinstance(given, Condition):
        return given
    if isinstance(given, Mapping) and len(given) == 1:
        name, value = next(iter(given.items()))
        if name in _RELATIONS:
            return Condition(name, as_value(value, at))
    return Condition("is", as_value(given, at))


def _read_at_most(given: Mapping[str, Any], at: str) -> AtMost:
    _only(given, at, "at_most", "scale", "plus")
    value = given["at_most"]
    if isinstance(value, Mapping):
        value = _as_found(value, f"{at}.at_most")
    for name, number in (
        ("at_most", value),
        ("scale", given.get("scale", 1)),
        ("plus", given.get("plus", 0)),
    ):
        is_reference = name == "at_most" and isinstance(number, Found)
        if not is_reference and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise UsageError(f"{at}: {name} is a number, and not {_shorten(number)}")
    return AtMost(value, given.get("scale", 1), given.get("plus", 0))


def _read_intent(given: Any, at: str) -> Stated:
    if isinstance(given, Intent | Delegation):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"{at}: an intent is rc.Intent(…) or an object, and not {_shorten(given)}")
    if "delegates" in given:
        _only(given, at, "delegates")
        text = given["delegates"]
        return Delegation(None if text is True else _as_found(text, f"{at}.delegates"))
    _only(given, at, "tool", "values", "times", "each", "instead_of", "id")
    if not isinstance(given.get("tool"), str):
        raise UsageError(f"{at}: an intent names a tool")
    return Intent(
        given["tool"],
        _members(given, "values", at),
        times=given.get("times"),
        each=_text(given, "each", at),
        label=_text(given, "id", at),
        instead_of=_text(given, "instead_of", at),
    )


def notation_of(value: Value) -> JsonValue:
    """A value in JSON, as ``read_intents`` reads it."""
    match value:
        case Like(text):
            return {"like": text}
        case Day(date):
            return {"day": date}
        case OneOf(values):
            return {"one_of": [notation_of(each) for each in values]}
        case ObjectOf(members):
            return {"object": {name: notation_of(each) for name, each in members.items()}}
        case Free():
            return {"free": True}
        case Mentioned(text):
            return {"mentioned": notation_of(text)}
        case ResultOf(label, name):
            return {"result_of": label, "field": name}
        case AtMost(bound, scale, plus):
            found: dict[str, JsonValue] = {"at_most": notation_of(bound)}
            if scale != 1:
                found["scale"] = scale
            if plus != 0:
                found["plus"] = plus
            return found
        case Found():
            return _notation_of_found(value)
        case _:
            return value


def _notation_of_found(value: Found) -> JsonObject:
    found: dict[str, JsonValue] = {"from": value.tool}
    if value.args:
        found["args"] = {name: notation_of(each) for name, each in value.args.items()}
    if value.where:
        found["where"] = {
            name: {each.relation: notation_of(each.value)} for name, each in value.where.items()
        }
    for name, word in (("field", value.field), ("pick", value.pick), ("each", value.each)):
        if word:
            found[name] = word
    return found


def _members(given: Mapping[str, Any], name: str, at: str) -> Mapping[str, Any]:
    found = given.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise UsageError(f"{at}: {name} is an object, and not {_shorten(found)}")
    return found


def _text(given: Mapping[str, Any], name: str, at: str) -> str:
    found = given.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise UsageError(f"{at}: {name} is a text, and not {_shorten(found)}")
    return found


def _only(given: Mapping[str, Any], at: str, *known: str) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"{at}: there is no {name!r}; there is {', '.join(known)}")


def _shorten(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:79]}…"  # noqa: PLR2004 - a line of an error
