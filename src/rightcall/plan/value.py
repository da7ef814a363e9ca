"""Values with labels: where they came from, and what chose them.

A label is a set of sources. A value that the plan itself wrote has none. A container carries the label
of its own membership, so that two names for one list cannot differ in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue, Place
from rightcall.trust.words.keys import looks_like

SourceKind: TypeAlias = Literal["system", "given", "name", "free", "read"]
"""The kind of a source. ``system``: the system's own value. ``given``: an identity, which an outsider
has and nobody else can have. ``name``: a name that an outsider chose for something. ``free``: text that
outsiders could have written. ``read``: extracted from such text."""

_OUTSIDE = frozenset({"given", "name", "free", "read"})
_WORDS = frozenset({"free", "read"})


class Source(Struct, frozen=True, gc=False, omit_defaults=True):
    """One place that a value came from: a field of a call's result."""

    kind: SourceKind
    tool: str
    call: int = 0
    """The number of the plan's call, counted from 1."""
    path: str = ""


Label: TypeAlias = frozenset[Source]
NOTHING: Label = frozenset()
Scalar: TypeAlias = str | int | float | date | datetime | time | timedelta | None
SCALARS = (str, int, float, bool, date, datetime, time, timedelta, type(None))


def outside(label: Iterable[Source]) -> Label:
    """The untrusted part of a label: every source that outsiders influenced."""
    return frozenset([each for each in label if each.kind in _OUTSIDE])


def words_in(label: Iterable[Source]) -> Label:
    """The part of a label that is outsiders' free text, or was extracted from it."""
    return frozenset([each for each in label if each.kind in _WORDS])


class Value(Struct, frozen=True):
    """A value of a plan, with its labels.

    The garbage collector must see it: a function is a value of the frame that it refers to.
    """

    data: Any
    sources: Label = NOTHING
    """The sources of its data; empty if the plan wrote it."""
    chosen: Label = NOTHING
    """The untrusted sources that decided that it is this value and no other."""

    def chosen_by(self, label: Label) -> "Value":
        """The same value, chosen by these sources as well."""
        return self if label <= self.chosen else Value(self.data, self.sources, self.chosen | label)

    @property
    def taint(self) -> Label:
        """Every untrusted source of it, not counting those of what it contains."""
        return outside(self.sources) | self.chosen


class Items:
    """A list, a tuple or a set. ``label`` is the untrusted sources that decided what is in it."""

    __slots__ = ("form", "items", "label", "region")

    def __init__(
        self,
        items: list[Value],
        label: Label = NOTHING,
        *,
        form: Literal["list", "tuple", "set"] = "list",
        region: int = 0,
    ) -> None:
        self.items = items
        self.label = label
        self.form = form
        self.region = region
        """The tainted branch that it was made in; 0 for none."""


class Table:
    """A dict, or a record: the result of a tool or the reader, which a plan cannot change."""

    __slots__ = ("entries", "is_record", "label", "optional", "region")

    def __init__(
        self,
        entries: dict[Any, tuple[Value, Value]],
        label: Label = NOTHING,
        *,
        is_record: bool = False,
        optional: frozenset[str] = frozenset(),
        region: int = 0,
    ) -> None:
        self.optional = optional
        """The fields that a record of its type may lack: these are None then."""
        self.entries = entries
        """The labelled keys and values, by the plain key."""
        self.label = label
        self.is_record = is_record
        self.region = region


def inside(value: Value) -> Iterator[Value]:
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


def membership(value: Value) -> Label:
    """The sources that decided which items are in it, and how many."""
    data = value.data
    return value.taint | data.label if isinstance(data, Items | Table) else value.taint


def deep_sources(value: Value) -> Label:
    """The sources of a value and of everything in it."""
    found: set[Source] = set()
    for each in inside(value):
        found |= each.sources
    return frozenset(found)


def deep_chosen(value: Value) -> Label:
    """The sources that chose a value, anything in it, or how many items it has."""
    found: set[Source] = set()
    for each in inside(value):
        found |= each.chosen
        if isinstance(each.data, Items | Table):
            found |= each.data.label
    return frozenset(found)


def deep_taint(value: Value) -> Label:
    """Every untrusted source of a value and of everything in it."""
    return outside(deep_sources(value)) | deep_chosen(value)


def made_of(data: Any, *parts: Value) -> Value:
    """A value computed from others, with the union of their labels."""
    if len(parts) == 1 and isinstance(parts[0].data, SCALARS):
        return Value(data, parts[0].sources, parts[0].chosen)
    sources, chosen = NOTHING, NOTHING
    for part in parts:
        sources |= deep_sources(part)
        chosen |= deep_chosen(part)
    return Value(data, sources, chosen)


def in_part(value: Value) -> Value:
    """A text that is not the whole of what it was made from, so that what it equals tells less.

    That an identity begins like a known one does not show that it is that one.
    """
    if not isinstance(value.data, str):
        return value
    return value.chosen_by(frozenset([each for each in value.sources if each.kind == "given"]))


def plain(value: Value) -> Any:
    """The value without its labels, as plain Python data."""
    data = value.data
    if isinstance(data, Items):
        items = [plain(item) for item in data.items]
        return tuple(items) if data.form == "tuple" else items
    if isinstance(data, Table):
        return {key: plain(item) for key, (_, item) in data.entries.items()}
    return data


def as_json(value: Value) -> JsonValue:
    """The value as a tool takes it: dates as ISO texts, sets and tuples as lists."""
    data = value.data
    if isinstance(data, Items):
        return [as_json(item) for item in data.items]
    if isinstance(data, Table):
        return {_key(key): as_json(item) for key, (_, item) in data.entries.items()}
    if isinstance(data, date | time):
        return data.isoformat()
    if isinstance(data, timedelta):
        return data.total_seconds()
    if data is None or isinstance(data, str | int | float):
        return data
    raise TypeError("a function is no JSON")


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key)


def leaves_of(value: Value, place: Place) -> Iterator[tuple[Place, Value]]:
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
                yield (*place, _key(key)), named.chosen_by(around)
            yield from leaves_of(item.chosen_by(around), (*place, _key(key)))
    else:
        yield place, value


class Labelling(Struct, frozen=True, kw_only=True, eq=False):
    """The labels of the parts of one call's result."""

    tool: str
    call: int
    kind_at: Callable[[Place], SourceKind]
    chosen: Label = NOTHING
    """The untrusted sources of the call's arguments."""
    is_found: bool = False
    """Whether untrusted text decided what was found."""
    made_of: Label = NOTHING
    """The sources of the arguments, if the result says no more than they do."""
    optional_at: Callable[[Place], frozenset[str]] = lambda _: frozenset()
    """The fields that the record at a place may lack, by its type."""
    fields: frozenset[str] | None = None
    """The keys that are names of fields. Any other is data that somebody may have written. None: all."""

    def at(self, place: Place) -> Label:
        """The label of the value at a place."""
        own = Source(self.kind_at(place), self.tool, self.call, _path(place))
        return frozenset([own]) | self.made_of

    def of_key(self, key: str, place: Place) -> Label:
        """The label of a key of the object at a place.

        In a field for identities it is one of these. Inside a field that nobody calls untrusted, keys
        are identifiers, unless one is an address.
        """
        if self.fields is None or key in self.fields or self.kind_at(place) != "system":
            return self.at(place)
        around = [step for step in place if isinstance(step, str)]
        is_inside = bool(around) and around[-1] in self.fields
        if is_inside and looks_like(key) is None:
            return self.at(place)
        kind: SourceKind = "given" if is_inside else "free"
        return frozenset([Source(kind, self.tool, self.call, _path(place))]) | self.made_of

    def within(self, place: Place) -> Label:
        """The untrusted sources that decided what is in the container at a place."""
        here = outside(self.at(place))
        if self.is_found:
            here |= {Source("free", self.tool, self.call, "what was found")}
        return here | self.chosen


def _path(place: Place) -> str:
    return ".".join(str(step) for step in place if isinstance(step, str))


def of_json(data: JsonValue, label: Labelling, place: Place = ()) -> Value:
    """A tool's result, with every part labelled."""
    sources, chosen = label.at(place), label.chosen
    if isinstance(data, list):
        items = [of_json(item, label, (*place, index)) for index, item in enumerate(data)]
        return Value(Items(items, label.within(place), region=-1), chosen=chosen)
    if isinstance(data, Mapping):
        entries: dict[Any, tuple[Value, Value]] = {}
        for key, item in data.items():
            # A key can be untrusted text as much as its value.
            named = Value(key, label.of_key(key, place), chosen | label.within(place))
            entries[key] = (named, of_json(item, label, (*place, key)))
        optional = label.optional_at(place)
        made = Table(entries, label.within(place), is_record=True, optional=optional, region=-1)
        return Value(made, chosen=chosen)
    return Value(data, sources, chosen)


def size(value: Value) -> int:
    """How much work a value is: its characters, or its items."""
    data = value.data
    if isinstance(data, str):
        return len(data)
    if isinstance(data, Items):
        return len(data.items)
    return len(data.entries) if isinstance(data, Table) else 1
