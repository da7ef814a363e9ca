"""Values with labels, and the operations on them: where a value came from, and what chose it.

A label is a set of sources. A value that the plan itself wrote has none. A container carries the label
of its own membership, so that two names for one list cannot differ in it. Errors here never contain a
value: the planner reads them, and must not read untrusted text.
"""

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, Place, field_at
from rightcall.plan.parse import PlanRuntimeError
from rightcall.trust.spelling import looks_like

SourceKind: TypeAlias = Literal["system", "given", "name", "free", "read"]
"""The kind of a source. ``system``: the system's own value. ``given``: an identity, which an outsider
has and nobody else can have. ``name``: a name that an outsider chose for something. ``free``: text that
outsiders could have written. ``read``: extracted from such text."""

_OUTSIDE = frozenset({"given", "name", "free", "read"})
_WORDS = frozenset({"free", "read"})
MOST_ITEMS = 10_000
LONGEST_TEXT = 1_000_000
_MOST_BITS = 256


class ValueSource(Struct, frozen=True, gc=False, omit_defaults=True):
    """One place that a value came from: a field of a call's result."""

    kind: SourceKind
    tool: str
    call: int = 0
    """The number of the plan's call, counted from 1."""
    path: str = ""


TaintLabel: TypeAlias = frozenset[ValueSource]
NOTHING: TaintLabel = frozenset()
Scalar: TypeAlias = str | int | float | date | datetime | time | timedelta | None
SCALARS = (str, int, float, bool, date, datetime, time, timedelta, type(None))


def outside(label: Iterable[ValueSource]) -> TaintLabel:
    """The untrusted part of a label: every source that outsiders influenced."""
    return _of_kinds(label, _OUTSIDE)


def words_in(label: Iterable[ValueSource]) -> TaintLabel:
    """The part of a label that is outsiders' free text, or was extracted from it."""
    return _of_kinds(label, _WORDS)


def _of_kinds(label: Iterable[ValueSource], kinds: Collection[str]) -> TaintLabel:
    return frozenset([each for each in label if each.kind in kinds])


class LabelledValue(Struct, frozen=True):
    """A value of a plan, with its labels.

    The garbage collector must see it: a function is a value of the frame that it refers to.
    """

    data: Any
    sources: TaintLabel = NOTHING
    """The sources of its data; empty if the plan wrote it."""
    chosen: TaintLabel = NOTHING
    """The untrusted sources that decided that it is this value and no other."""

    def chosen_by(self, label: TaintLabel) -> "LabelledValue":
        """The same value, chosen by these sources as well."""
        if label <= self.chosen:
            return self
        return LabelledValue(self.data, self.sources, self.chosen | label)

    @property
    def taint(self) -> TaintLabel:
        """Every untrusted source of it, not counting those of what it contains."""
        return outside(self.sources) | self.chosen


NONE = LabelledValue(None)


class Items(Struct, eq=False):
    """A list, a tuple or a set."""

    items: list[LabelledValue]
    label: TaintLabel = NOTHING
    """The untrusted sources that decided what is in it."""
    form: Literal["list", "tuple", "set"] = "list"
    region: int = 0
    """The tainted branch that it was made in; 0 for none, -1 for a result."""


class Table(Struct, eq=False):
    """A dict, or a record: the result of a tool or the reader, which a plan cannot change."""

    entries: dict[Any, tuple[LabelledValue, LabelledValue]]
    """The labelled keys and values, by the plain key."""
    label: TaintLabel = NOTHING
    is_record: bool = False
    optional: frozenset[str] = frozenset()
    """The fields that a record of its type may lack: these are None then."""
    region: int = 0


def inside(value: LabelledValue) -> Iterator[LabelledValue]:
    """A value and everything in it, each also chosen by what chose the containers around it."""
    yield value
    data = value.data
    if isinstance(data, Items):
        around = value.chosen | data.label
        for item in data.items:
            yield from inside(item.chosen_by(around))
    elif isinstance(data, Table):
        around = value.chosen | data.label
        for key, item in data.entries.values():
            yield key.chosen_by(around)
            yield from inside(item.chosen_by(around))


def membership(value: LabelledValue) -> TaintLabel:
    """The sources that decided which items are in it, and how many."""
    data = value.data
    if isinstance(data, Items | Table):
        return value.taint | data.label
    return value.taint


def deep_sources(value: LabelledValue) -> TaintLabel:
    """The sources of a value and of everything in it."""
    sources: set[ValueSource] = set()
    for each in inside(value):
        sources |= each.sources
    return frozenset(sources)


def deep_chosen(value: LabelledValue) -> TaintLabel:
    """The sources that chose a value, anything in it, or how many items it has."""
    found: set[ValueSource] = set()
    for each in inside(value):
        found |= each.chosen
        if isinstance(each.data, Items | Table):
            found |= each.data.label
    return frozenset(found)


def deep_taint(value: LabelledValue) -> TaintLabel:
    """Every untrusted source of a value and of everything in it."""
    return outside(deep_sources(value)) | deep_chosen(value)


def made_of(data: Any, *parts: LabelledValue) -> LabelledValue:
    """A value computed from others, with the union of their labels."""
    if len(parts) == 1 and isinstance(parts[0].data, SCALARS):
        return LabelledValue(data, parts[0].sources, parts[0].chosen)
    return LabelledValue(
        data, NOTHING.union(*map(deep_sources, parts)), NOTHING.union(*map(deep_chosen, parts))
    )


def in_part(value: LabelledValue) -> LabelledValue:
    """A text that is not the whole of what it was made from, so that what it equals tells less.

    That an identity begins like a known one does not show that it is that one.
    """
    if not isinstance(value.data, str):
        return value
    return value.chosen_by(_of_kinds(value.sources, ("given",)))


def plain(value: LabelledValue) -> Any:
    """The value without its labels, as plain Python data."""
    data = value.data
    if isinstance(data, Items):
        if data.form == "tuple":
            return tuple(map(plain, data.items))
        return list(map(plain, data.items))
    if isinstance(data, Table):
        return {key: plain(item) for key, (_, item) in data.entries.items()}
    return data


def data_of(values: Iterable[LabelledValue]) -> list[Any]:
    """The data of scalars, without their labels."""
    return [each.data for each in values]


def as_json(value: LabelledValue) -> JsonValue:
    """The value as a tool takes it: dates as ISO texts, sets and tuples as lists."""
    data = value.data
    if isinstance(data, Items):
        return list(map(as_json, data.items))
    if isinstance(data, Table):
        return {str(key): as_json(item) for key, (_, item) in data.entries.items()}
    if isinstance(data, date | time):
        return data.isoformat()
    if isinstance(data, timedelta):
        return data.total_seconds()
    if data is None or isinstance(data, str | int | float):
        return data
    raise TypeError("a function is no JSON")


def leaves_of(value: LabelledValue, place: Place) -> Iterator[tuple[Place, LabelledValue]]:
    """Every scalar in an argument, with its path, also chosen by what chose the containers around it."""
    data = value.data
    if isinstance(data, Items):
        around = value.chosen | data.label
        for index, item in enumerate(data.items):
            yield from leaves_of(item.chosen_by(around), (*place, index))
        if not data.items:
            yield place, value.chosen_by(around)
    elif isinstance(data, Table):
        around = value.chosen | data.label
        for key, (named, item) in data.entries.items():
            if named.sources or named.chosen:
                yield (*place, str(key)), named.chosen_by(around)
            yield from leaves_of(item.chosen_by(around), (*place, str(key)))
    else:
        yield place, value


class Labelling(Struct, frozen=True, kw_only=True, eq=False):
    """The labels of the parts of one call's result."""

    tool: str
    call: int
    kind_at: Callable[[Place], SourceKind]
    chosen: TaintLabel = NOTHING
    """The untrusted sources of the call's arguments."""
    is_found: bool = False
    """Whether untrusted text decided what was found."""
    made_of: TaintLabel = NOTHING
    """The sources of the arguments, if the result says no more than they do."""
    optional_at: Callable[[Place], frozenset[str]] = lambda _: frozenset()
    """The fields that the record at a place may lack, by its type."""
    fields: frozenset[str] | None = None
    """The keys that are names of fields. Any other is data that somebody may have written. None: all."""

    def at(self, place: Place, kind: SourceKind | None = None) -> TaintLabel:
        """The label of the value at a place; ``kind`` is by default that of the place."""
        own = ValueSource(kind or self.kind_at(place), self.tool, self.call, field_at(place))
        return frozenset([own]) | self.made_of

    def of_key(self, key: str, place: Place) -> TaintLabel:
        """The label of a key of the object at a place.

        In a field for identities it is one of these. Inside a field that nobody calls untrusted, keys
        are identifiers, unless one is an address.
        """
        if self.fields is None or key in self.fields or self.kind_at(place) != "system":
            return self.at(place)
        field = None
        for step in place:
            if isinstance(step, str):
                field = step
        if field not in self.fields:
            return self.at(place, "free")
        if looks_like(key) is None:
            return self.at(place)
        return self.at(place, "given")

    def within(self, place: Place) -> TaintLabel:
        """The untrusted sources that decided what is in the container at a place."""
        here = outside(self.at(place))
        if self.is_found:
            here |= {ValueSource("free", self.tool, self.call, "what was found")}
        return here | self.chosen


def of_json(data: JsonValue, label: Labelling, place: Place = ()) -> LabelledValue:
    """A tool's result, with every part labelled."""
    if isinstance(data, list):
        items = [of_json(item, label, (*place, index)) for index, item in enumerate(data)]
        return LabelledValue(Items(items, label.within(place), region=-1), chosen=label.chosen)
    if isinstance(data, Mapping):
        within = label.within(place)
        entries: dict[Any, tuple[LabelledValue, LabelledValue]] = {}
        for key, item in data.items():
            # A key can be untrusted text as much as its value.
            named = LabelledValue(key, label.of_key(key, place), label.chosen | within)
            entries[key] = (named, of_json(item, label, (*place, key)))
        optional = label.optional_at(place)
        made = Table(entries, within, is_record=True, optional=optional, region=-1)
        return LabelledValue(made, chosen=label.chosen)
    return LabelledValue(data, label.at(place), label.chosen)


def count_items(data: Items | Table) -> int:
    """How many items or entries a container has."""
    if isinstance(data, Items):
        return len(data.items)
    return len(data.entries)


def size(value: LabelledValue) -> int:
    """How much work a value is: its characters, or its items."""
    data = value.data
    if isinstance(data, str):
        return len(data)
    if isinstance(data, Items | Table):
        return count_items(data)
    return 1


def word(value: LabelledValue) -> str:
    """The name of a value's type, as a plan would say it."""
    data = value.data
    if isinstance(data, Items):
        return data.form
    if isinstance(data, Table):
        return "record" if data.is_record else "dict"
    if data is None:
        return "None"
    if isinstance(data, SCALARS):
        return type(data).__name__
    return "function"


def check_size(value: LabelledValue) -> LabelledValue:
    """The value. Raises PlanRuntimeError if it is larger than a plan may hold."""
    data = value.data
    if isinstance(data, str):
        check_length(len(data))
    if isinstance(data, Items) and len(data.items) > MOST_ITEMS:
        raise PlanRuntimeError("LimitError", f"a list has more than {MOST_ITEMS:,} items")
    if isinstance(data, Table) and len(data.entries) > MOST_ITEMS:
        raise PlanRuntimeError("LimitError", f"a dict has more than {MOST_ITEMS:,} entries")
    if type(data) is int and data.bit_length() > _MOST_BITS:
        raise PlanRuntimeError("LimitError", "a number is too large")
    return value


def check_length(length: int) -> None:
    """Refuse a text of that length if it is longer than a plan may hold, also before it is built."""
    if length > LONGEST_TEXT:
        raise PlanRuntimeError("LimitError", f"a text has more than {LONGEST_TEXT:,} characters")


def quiet(function: Callable[[], Any], *words: str) -> Any:
    """The result of a Python function; an exception is raised again without the value in it."""
    try:
        return function()
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        reason = f"not possible for {' and '.join(words)}" if words else "not possible"
        raise PlanRuntimeError(type(error).__name__, reason) from None


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def binary(
    kind: type[ast.operator], left: LabelledValue, right: LabelledValue, region: int
) -> LabelledValue:
    """The result of a binary operator."""
    a = left.data
    b = right.data
    if isinstance(a, SCALARS) and isinstance(b, SCALARS):
        is_text = isinstance(a, str) or isinstance(b, str)
        if is_text and kind is ast.Mult:
            raise PlanRuntimeError("TypeError", "texts and lists cannot be repeated")
        if is_text and kind is ast.Mod:
            raise PlanRuntimeError("TypeError", "% does not format; write an f-string")
        if kind in _BINARY:
            data = quiet(lambda: _BINARY[kind](a, b), word(left), word(right))
            return check_size(in_part(made_of(data, left, right)))
    elif isinstance(a, Items) and isinstance(b, Items) and a.form == b.form:
        label = membership(left) | membership(right)
        if a.form != "set" and kind is ast.Add:
            made = Items([*a.items, *b.items], label, form=a.form, region=region)
            return check_size(LabelledValue(made, chosen=left.chosen | right.chosen))
        if a.form == "set" and kind in (ast.BitOr, ast.BitAnd, ast.Sub):
            label |= deep_taint(left) | deep_taint(right)
            if kind is ast.BitOr:
                return unique([*a.items, *b.items], label, region)
            there = set(map(plain, b.items))
            members = []
            for each in a.items:
                if (plain(each) in there) == (kind is ast.BitAnd):
                    members.append(each)
            return unique(members, label, region)
    raise PlanRuntimeError("TypeError", f"not possible for {word(left)} and {word(right)}")


def unique(items: Iterable[LabelledValue], label: TaintLabel, region: int) -> LabelledValue:
    """A set of the items without duplicates. Equality depends on all of them, so all taint the set."""
    found: dict[Any, LabelledValue] = {}
    for item in items:
        found.setdefault(key_of(item), item)
        label |= deep_taint(item)
    return check_size(LabelledValue(Items(list(found.values()), label, form="set", region=region)))


def key_of(value: LabelledValue) -> Any:
    """The key of a value in a dict or a set."""
    data = value.data
    if isinstance(data, SCALARS):
        return data
    if isinstance(data, Items) and data.form == "tuple":
        return tuple(map(key_of, data.items))
    raise PlanRuntimeError("TypeError", f"a {word(value)} can be no key and no member of a set")


def unary(kind: type[ast.unaryop], value: LabelledValue) -> LabelledValue:
    """The result of a unary operator."""
    if kind is ast.Not:
        return negate_value(truth(value))
    if isinstance(value.data, int | float | timedelta):
        if kind is ast.USub:
            return made_of(-value.data, value)
        return made_of(+value.data, value)
    raise PlanRuntimeError("TypeError", f"not possible for {word(value)}")


def negate_value(value: LabelledValue) -> LabelledValue:
    """The negation of a boolean."""
    return LabelledValue(not value.data, value.sources, value.chosen)


def truth(value: LabelledValue) -> LabelledValue:
    """Whether a value is true. For a container, that depends only on how many items it has."""
    data = value.data
    if isinstance(data, Items | Table):
        return LabelledValue(count_items(data) > 0, chosen=membership(value))
    return LabelledValue(bool(data), value.sources, value.chosen)


_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compare(kind: type[ast.cmpop], left: LabelledValue, right: LabelledValue) -> LabelledValue:
    """The result of a comparison."""
    if kind in (ast.In, ast.NotIn):
        found = _contains(right, left)
        if kind is ast.NotIn:
            return negate_value(found)
        return found
    if kind in (ast.Is, ast.IsNot):
        if left.data is not None and right.data is not None:
            raise PlanRuntimeError("TypeError", "is only asks for None; write ==")
        is_it = (left.data is right.data) == (kind is ast.Is)
        return LabelledValue(is_it, left.sources | right.sources, left.chosen | right.chosen)
    a = plain(left)
    b = plain(right)
    if kind in (ast.Eq, ast.NotEq):
        return made_of((a == b) == (kind is ast.Eq), *_match_identities(left, right))
    return made_of(quiet(lambda: _COMPARE[kind](a, b), word(left), word(right)), left, right)


def _contains(container: LabelledValue, item: LabelledValue) -> LabelledValue:
    data = container.data
    if isinstance(data, str):
        if not isinstance(item.data, str):
            raise PlanRuntimeError("TypeError", f"a {word(item)} cannot be in a text")
        return made_of(item.data in data, container, item)
    if isinstance(data, Table):
        keys = [named for named, _ in data.entries.values()]
        return made_of(key_of(item) in data.entries, item, *keys).chosen_by(membership(container))
    if isinstance(data, Items):
        wanted = plain(item)
        found = any(plain(each) == wanted for each in data.items)
        return made_of(found, *_match_identities(container, item))
    raise PlanRuntimeError("TypeError", f"nothing can be in a {word(container)}")


def _match_identities(left: LabelledValue, right: LabelledValue) -> tuple[LabelledValue, LabelledValue]:
    """Two values that are compared as wholes, the one with a known identity relabelled.

    An outsider can choose their own identity, but cannot have somebody else's. So if an identity equals
    a value that no outsider influenced, that is the system's statement, not theirs. A name is nobody's
    own: anybody may call a file ``report.pdf``.
    """
    for one, other in ((left, right), (right, left)):
        is_whole = isinstance(other.data, str) and not other.chosen
        if not is_whole or _of_kinds(other.sources, ("name", "free", "read")) or deep_taint(one):
            continue
        own = frozenset([replace(each, kind="system") for each in other.sources])
        known = LabelledValue(other.data, own)
        if other is right:
            return one, known
        return known, one
    return left, right


def iterate_items(value: LabelledValue) -> tuple[list[LabelledValue], TaintLabel]:
    """The items that a loop goes through, and the label of what decided how many there are."""
    data = value.data
    label = membership(value)
    if isinstance(data, Items):
        return [item.chosen_by(label) for item in data.items], label
    if isinstance(data, Table):
        return [key.chosen_by(label) for key, _ in data.entries.values()], label
    if isinstance(data, str):
        if len(data) > MOST_ITEMS:
            raise PlanRuntimeError("LimitError", f"a loop goes through at most {MOST_ITEMS:,} items")
        return [LabelledValue(each, value.sources, label) for each in data], label
    raise PlanRuntimeError("TypeError", f"a {word(value)} cannot be gone through")


def item_of(value: LabelledValue, at: LabelledValue) -> LabelledValue:
    """``value[at]``."""
    data = value.data
    label = membership(value) | deep_taint(at)
    if isinstance(data, Table):
        found = data.entries.get(key_of(at))
        if found is None:
            raise PlanRuntimeError("KeyError", "there is no such key")
        return found[1].chosen_by(label)
    if type(at.data) is not int or not isinstance(data, Items | str):
        raise PlanRuntimeError("TypeError", f"a {word(value)} has no item by a {word(at)}")
    if isinstance(data, Items) and data.form == "set":
        raise PlanRuntimeError("TypeError", "a set has no items in order")
    try:
        if isinstance(data, str):
            return in_part(made_of(data[at.data], value, at))
        return data.items[at.data].chosen_by(label)
    except IndexError:
        raise PlanRuntimeError("IndexError", "there are not so many") from None


def slice_items(value: LabelledValue, bounds: list[LabelledValue], region: int) -> LabelledValue:
    """``value[start:stop:step]``."""
    data = value.data
    label = NOTHING
    for each in bounds:
        if each.data is not None and type(each.data) is not int:
            raise PlanRuntimeError("TypeError", "a slice goes by whole numbers")
        label |= each.taint
    cut = data_of(bounds)
    if cut[2] == 0:
        raise PlanRuntimeError("ValueError", "a slice cannot go by steps of 0")
    part = slice(*cut)
    if isinstance(data, str):
        return in_part(LabelledValue(data[part], value.sources, value.chosen | label))
    if isinstance(data, Items) and data.form != "set":
        made = Items(data.items[part], membership(value) | label, form=data.form, region=region)
        return LabelledValue(made, chosen=value.chosen | label)
    raise PlanRuntimeError("TypeError", f"a {word(value)} has no slices")


_DATE_FIELDS = {
    date: ("year", "month", "day"),
    datetime: ("year", "month", "day", "hour", "minute", "second"),
    time: ("hour", "minute", "second"),
    timedelta: ("days", "seconds"),
}


def field_of(value: LabelledValue, name: str) -> LabelledValue:
    """``value.name``."""
    data = value.data
    if isinstance(data, Table) and data.is_record:
        found = data.entries.get(name, (NONE, NONE))
        if name not in data.entries and name not in data.optional:
            raise PlanRuntimeError("AttributeError", f"there is no field {name}")
        return found[1].chosen_by(membership(value))
    if name in _DATE_FIELDS.get(type(data), ()):
        return made_of(getattr(data, name), value)
    if isinstance(data, Table):
        raise PlanRuntimeError("AttributeError", f'a dict has no fields; write ["{name}"]')
    raise PlanRuntimeError("AttributeError", f"a {word(value)} has no field {name}")


def as_text(value: LabelledValue) -> LabelledValue:
    """A value as text, as Python would write it."""
    data = value.data
    length = 0
    for each in inside(value):
        if word(each) == "function":
            # What Python would write of it includes the values of its defaults.
            raise PlanRuntimeError("TypeError", "a function has no text")
        if isinstance(each.data, str):
            length += len(each.data)
    check_length(length)
    if isinstance(data, str):
        return check_size(LabelledValue(data, value.sources, value.chosen))
    text = str(plain(value))
    if isinstance(data, Items | Table):
        return check_size(in_part(LabelledValue(text, deep_sources(value), deep_chosen(value))))
    return check_size(in_part(LabelledValue(text, value.sources, value.chosen)))
