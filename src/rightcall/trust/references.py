"""Resolves the references of stated intents: what to look up, and which values the answers give.

Pure: ``resolve`` is a generator that yields each look-up and is sent what it returned. Each value has a
grade, which follows from the tools' facts and is never stated by a model: who could have written it, or
have chosen it.
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.tool import Tool
from rightcall.trust.accounts import accounts
from rightcall.trust.characters import plain
from rightcall.trust.facts import ResolvedFacts, resolve_facts
from rightcall.trust.intents import (
    AtMost,
    Condition,
    Day,
    Delegation,
    Found,
    Mentioned,
    ObjectOf,
    OneOf,
    Stated,
    Value,
)
from rightcall.trust.spelling import active, is_same, scan
from rightcall.trust.task_intents import (
    OUTSIDE,
    SEARCHED,
    SYSTEM,
    Candidate,
    ReferenceGrade,
    Resolution,
)

MOST_LOOKUPS = 200
"""Look-ups for one task, at most."""
_MOST_WAYS = 60
"""Combinations of arguments that one reference may try."""
_MOST_VALUES = 500
_KEY = "@key"
_VALUE = "@value"
_ITSELF = "*"
"""In a condition: the element itself, of a list of plain values."""
_ARGUMENT = "arg:"


class Lookup(Struct, frozen=True):
    """A call of a read tool that a reference needs."""

    tool: str
    arguments: JsonObject


class LookedUp(Struct, frozen=True, omit_defaults=True):
    """What a look-up returned."""

    text: str = ""
    """The whole result, JSON if it is structured."""
    problem: str = ""
    """Why there is no result."""
    is_outside: bool = False
    """Whether outsiders could have written all of it, whatever the tool's facts say."""


Lookups: TypeAlias = Generator[Lookup, LookedUp, tuple[Resolution, ...]]


class _Record(Struct, frozen=True):
    """One record of a result."""

    value: JsonValue
    path: tuple[str, ...]
    """The names on the way to it."""
    key: str
    """The name under which it stands in its object."""
    way: int
    """Which combination of arguments gave it."""
    is_outside: bool
    around: Mapping[str, JsonValue] = {}
    """The plain members of the objects around it: an item of an order has the order's status."""


def top_references(stated: Iterable[Stated]) -> Iterator[Found]:
    """The references whose values are compared with arguments, in a fixed order."""
    for each in stated:
        if isinstance(each, Delegation):
            if each.text is not None:
                yield each.text
            continue
        for value in each.values.values():
            yield from references_of(value)


def references_of(value: Value) -> Iterator[Found]:
    """The references in a stated value that are compared with an argument, in order."""
    match value:
        case Found():
            yield value
        case Mentioned(text):
            yield text
        case OneOf(values):
            for each in values:
                yield from references_of(each)
        case ObjectOf(members):
            for each in members.values():
                yield from references_of(each)
        case AtMost(bound):
            if isinstance(bound, Found):
                yield bound
        case _:
            pass


def resolve(stated: Sequence[Stated], get: Callable[[str], Tool | None]) -> Lookups:
    """Resolve every reference of these intents, in the order of ``top_references``."""
    resolver = _Resolver(get)
    found = []
    for reference in top_references(stated):
        resolution = yield from resolver.resolve(reference)
        found.append(resolution)
    return tuple(found)


class _Unresolved(Exception):
    """A reference gives nothing, for this reason."""


class _Resolver:
    """Resolves references one by one, and looks nothing up twice."""

    def __init__(self, get: Callable[[str], Tool | None]) -> None:
        self._get = get
        self._known: dict[str, LookedUp] = {}

    def resolve(self, reference: Found) -> Generator[Lookup, LookedUp, Resolution]:
        """What a reference gives."""
        try:
            candidates = yield from self._candidates(reference)
        except _Unresolved as unresolved:
            return Resolution(problem=str(unresolved))
        if not candidates:
            return Resolution(problem=f"{words_for(reference)} gave nothing")
        return Resolution(tuple(candidates[:_MOST_VALUES]))

    def _evaluate(self, value: Value, kind: Kind | None) -> Generator[Lookup, LookedUp, list[Candidate]]:
        """The values that an argument or a condition may have."""
        match value:
            case None | bool() | str() | int() | float():
                return [Candidate(value)]
            case Day(date):
                return [Candidate(date)]
            case OneOf(values):
                found = []
                for each in values:
                    more = yield from self._evaluate(each, kind)
                    found += more
                return found
            case Found():
                found = yield from self._candidates(value)
                return found
            case Mentioned(text):
                whole = yield from self._candidates(text)
                return mentioned_in(whole, kind)
            case _:
                raise _Unresolved("an argument of a look-up is a value or a reference")

    def _candidates(self, reference: Found) -> Generator[Lookup, LookedUp, list[Candidate]]:
        tool = self._get(reference.tool)
        if tool is None:
            raise _Unresolved(f"there is no tool {reference.tool!r}")
        if tool.effect not in ("pure", "read") or tool.delegates:
            raise _Unresolved(f"{reference.tool} does not only read: only read tools are looked up")
        facts = resolve_facts(tool)
        names = []
        options: list[list[Candidate]] = []
        if reference.each and reference.each not in reference.args:
            raise _Unresolved(f"{words_for(reference)}: each={reference.each!r} is none of its args")
        for name, value in reference.args.items():
            given = yield from self._evaluate(value, facts.kind_of(name))
            if not given:
                raise _Unresolved(f"{words_for(reference)}: {name} gave nothing")
            names.append(name)
            options.append(given)
        conditions: dict[str, tuple[Condition, list[Candidate]]] = {}
        for name, condition in reference.where.items():
            if isinstance(condition.value, Mentioned):
                # The text itself: whether it mentions a record's field is a question to the record.
                wanted = yield from self._candidates(condition.value.text)
            else:
                wanted = yield from self._evaluate(condition.value, facts.kind_in(name))
            conditions[name] = (condition, wanted)
        ways = []
        for way in product(*options):
            ways.append(dict(zip(names, way, strict=True)))
        if len(ways) > _MOST_WAYS:
            raise _Unresolved(f"{words_for(reference)} has {len(ways)} ways; {_MOST_WAYS} are tried")
        records: list[_Record] = []
        problem = ""
        for at, each in enumerate(ways):
            arguments = {name: candidate.value for name, candidate in each.items()}
            looked_up = yield from self._look_up(reference.tool, arguments)
            problem = looked_up.problem or problem
            if not looked_up.problem:
                records += self._records(reference, looked_up, at)
        if not records and problem:
            raise _Unresolved(f"{words_for(reference)}: {problem}")
        grades = _Grades(facts, ways, conditions)
        meant = [each for each in records if _satisfies(each, conditions, ways[each.way])]
        return _values(reference, _pick(reference, meant, ways), grades, ways)

    def _look_up(self, tool: str, arguments: JsonObject) -> Generator[Lookup, LookedUp, LookedUp]:
        key = f"{tool} {dump(arguments)}"
        if key not in self._known:
            if len(self._known) >= MOST_LOOKUPS:
                raise _Unresolved(f"a task looks up {MOST_LOOKUPS} things at most")
            self._known[key] = yield Lookup(tool, arguments)
        return self._known[key]

    def _records(self, reference: Found, looked_up: LookedUp, way: int) -> Iterator[_Record]:
        document = parse_result(looked_up.text)
        # A field of an argument is not looked for in the result.
        fields = []
        picked = reference.pick.partition(":")[2]
        for each in (reference.field, *reference.where, picked):
            if each and each != _ITSELF and not each.startswith(_ARGUMENT):
                fields.append(each)
        yield from _records_in(document, fields, way, is_outside=looked_up.is_outside)


def parse_result(text: str) -> JsonValue:
    """A result's content, parsed if it is JSON."""
    if text[:1] in ("{", "["):
        try:
            found: JsonValue = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
        return found
    return text


def _records_in(
    document: JsonValue, fields: Sequence[str], way: int, *, is_outside: bool
) -> Iterator[_Record]:
    """The outermost objects that have all the fields; without fields, what stands at the top."""
    if not fields:
        whole = document if isinstance(document, list) else [document]
        for each in whole:
            yield _Record(each, (), "", way, is_outside)
        return
    by_key = any(each in (_KEY, _VALUE) for each in fields)
    waiting: list[tuple[JsonValue, tuple[str, ...], str, Mapping[str, JsonValue]]] = [
        (document, (), "", {})
    ]
    while waiting:
        node, path, key, around = waiting.pop(0)
        record = _Record(node, path, key, way, is_outside, around)
        is_record = isinstance(node, dict) or (by_key and bool(key))
        if is_record and all(_has(record, each) for each in fields):
            yield record
            continue
        if isinstance(node, dict):
            below = {**around}
            for name, value in node.items():
                if not isinstance(value, dict | list):
                    below[name] = value
            for name, value in node.items():
                waiting.append((value, (*path, name), name, below))
        elif isinstance(node, list):
            for value in node:
                waiting.append((value, path, key, around))


def _has(record: _Record, name: str) -> bool:
    if name in (_KEY, _VALUE):
        return bool(record.key)
    node = record.value
    if not isinstance(node, dict):
        return False
    if name in node or name in record.around:
        return True
    first, dot, rest = name.partition(".")
    if not dot or first not in node:
        return False
    below = node[first]
    if rest == _KEY:
        return isinstance(below, dict)
    for each in below if isinstance(below, list) else [below]:
        if _has(_Record(each, (), "", record.way, record.is_outside), rest):
            return True
    return False


def _field_values(record: _Record, name: str) -> list[JsonValue]:
    """The plain values of a field of a record; of the whole record, if no field is named."""
    found: JsonValue = record.value
    if name == _KEY:
        return [record.key]
    if name and name not in (_VALUE, _ITSELF):
        found = _member(record.value, name)
        if found is None:
            found = record.around.get(name)
    plain_values: list[JsonValue] = []
    waiting = [found]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        elif each is not None:
            plain_values.append(each)
    return plain_values


def _member(node: JsonValue, name: str) -> JsonValue:
    if isinstance(node, list):
        return [_member(each, name) for each in node]
    if not isinstance(node, dict):
        return None
    if name in node:
        found: JsonValue = node[name]
        return found
    first, dot, rest = name.partition(".")
    if dot and first in node:
        below = node[first]
        if rest == _KEY and isinstance(below, dict):
            return [*below]
        return _member(below, rest)
    return None


def _satisfies(
    record: _Record,
    conditions: Mapping[str, tuple[Condition, list[Candidate]]],
    arguments: Mapping[str, Candidate],
) -> bool:
    for name, (condition, wanted) in conditions.items():
        if name.startswith(_ARGUMENT):
            argument = arguments.get(name.removeprefix(_ARGUMENT))
            values = [] if argument is None else [argument.value]
        else:
            values = _field_values(record, name)
        if not _fits_any(values, condition, wanted):
            return False
    return True


def _fits_any(values: Sequence[JsonValue], condition: Condition, wanted: Sequence[Candidate]) -> bool:
    if isinstance(condition.value, Mentioned):
        texts = [as_text(each.value) for each in wanted]
        return any(is_mentioned(text, as_text(value), None) for text in texts for value in values)
    if condition.relation == "contains":
        # Each of several words must be there, if not in the same value.
        for each in wanted:
            if not any(_fits(value, condition, each.value) for value in values):
                return False
        return bool(wanted)
    return any(_fits(value, condition, each.value) for value in values for each in wanted)


def _fits(value: JsonValue, condition: Condition, wanted: JsonValue) -> bool:
    if condition.relation == "is":
        if isinstance(condition.value, Day):
            return as_text(value).startswith(as_text(wanted))
        if isinstance(value, str) and isinstance(wanted, str):
            return _is_same_name(value, wanted)
        return is_same(value, wanted)
    given = plain(as_text(value)).casefold()
    sought = plain(as_text(wanted)).casefold()
    if condition.relation == "contains":
        return sought in given
    return given.startswith(sought)


def _is_same_name(one: str, other: str) -> bool:
    """Whether two texts are the same, apart from case and the space around them.

    What only looks the same is somebody else: wide letters, doubled spaces, characters that nobody sees.
    """
    one, other = one.strip(), other.strip()
    if len(one) != len(other):
        return False
    for mine, theirs in zip(one, other, strict=True):
        # Both ways: K, the sign for Kelvin, has the small letter k, and is not its capital.
        is_case = mine.swapcase() == theirs and theirs.swapcase() == mine
        if mine != theirs and not is_case:
            return False
    return True


def _pick(
    reference: Found, records: list[_Record], ways: Sequence[Mapping[str, Candidate]]
) -> list[_Record]:
    """Of several records the ones that are meant: the largest, those of the argument with the most."""
    if not reference.pick or not records:
        return records
    if reference.pick in ("most", "fewest"):
        return _pick_by_count(reference, records, ways)
    which, _, name = reference.pick.partition(":")
    ranked = []
    for each in records:
        values = _field_values(each, name)
        if values:
            ranked.append((_rank(values[0]), each))
    if not ranked:
        return []
    keys = [key for key, _ in ranked]
    best = max(keys) if which == "max" else min(keys)
    return [each for key, each in ranked if key == best]


def _pick_by_count(
    reference: Found, records: list[_Record], ways: Sequence[Mapping[str, Candidate]]
) -> list[_Record]:
    def group(record: _Record) -> str:
        if reference.each and reference.field.startswith(_ARGUMENT):
            return as_text(ways[record.way][reference.each].value)
        return dump(_field_values(record, reference.field))

    counts = Counter(map(group, records))
    if reference.each and reference.field.startswith(_ARGUMENT):
        # An argument for which nothing was found has the fewest.
        for way in ways:
            counts.setdefault(as_text(way[reference.each].value), 0)
    wanted = max(counts.values()) if reference.pick == "most" else min(counts.values())
    if not wanted:
        first = next(at for at, way in enumerate(ways) if not counts[as_text(way[reference.each].value)])
        return [_Record(None, (), "", first, is_outside=False)]
    return [each for each in records if counts[group(each)] == wanted]


def _rank(value: JsonValue) -> tuple[int, float, str]:
    """A key to compare values: numbers as numbers, and texts, such as days, as texts."""
    if isinstance(value, bool) or value is None:
        return (0, 0.0, as_text(value))
    try:
        return (1, float(as_text(value).replace(",", "")), "")
    except ValueError:
        return (2, 0.0, as_text(value))


class _Grades:
    """Who could have written what a reference gives, or have chosen it."""

    def __init__(
        self,
        facts: ResolvedFacts,
        ways: Sequence[Mapping[str, Candidate]],
        conditions: Mapping[str, tuple[Condition, list[Candidate]]],
    ) -> None:
        self._facts = facts
        self._ways = ways
        self._chosen: ReferenceGrade = SYSTEM
        for name, (_, wanted) in conditions.items():
            if not name.startswith(_ARGUMENT) and self._is_outsiders((name,)):
                self._chosen = _worst(self._chosen, SEARCHED)
            for each in wanted:
                self._chosen = _worst(self._chosen, each.grade)

    def of(self, record: _Record, reference: Found) -> ReferenceGrade:
        """The grade of a reference's field in one record."""
        grade = self._chosen
        way = self._ways[record.way]
        for each in way.values():
            grade = _worst(grade, each.grade)
        if reference.pick:
            name = reference.pick.partition(":")[2]
            is_counted = not name and self._facts.untrusted
            if is_counted or (name and self._is_outsiders((*record.path, name))):
                grade = _worst(grade, SEARCHED)
        if reference.field.startswith(_ARGUMENT):
            return grade
        if self._is_name_of_something(reference.field):
            # Others chose the name; that there is one so called, the system says.
            return _worst(grade, SEARCHED)
        if record.is_outside or self._is_outsiders((*record.path, *reference.field.split("."))):
            return OUTSIDE
        return grade

    def _is_name_of_something(self, field: str) -> bool:
        """Whether a list of plain values is declared to be names of things that the system knows."""
        return not field and self._facts.kinds.get("*") in ("channel", "person", "path", "record")

    def _is_outsiders(self, path: Sequence[str]) -> bool:
        facts = self._facts
        name = ".".join(filter(None, path))
        if facts.untrusted is True:
            return True
        if not name or _KEY in path or _VALUE in path:
            # Outside of any field, nobody says who wrote it.
            return bool(facts.untrusted)
        return facts.is_outsiders(name) or facts.is_identity(name)


def _worst(one: ReferenceGrade, other: ReferenceGrade) -> ReferenceGrade:
    return max(one, other)


def _values(
    reference: Found, records: list[_Record], grades: _Grades, ways: Sequence[Mapping[str, Candidate]]
) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for record in records:
        grade = grades.of(record, reference)
        if reference.field.startswith(_ARGUMENT):
            argument = ways[record.way].get(reference.field.removeprefix(_ARGUMENT))
            if argument is None:
                raise _Unresolved(f"{words_for(reference)}: {reference.field} is none of its args")
            values: list[JsonValue] = [argument.value]
        else:
            values = _field_values(record, reference.field)
        source = reference.tool
        if reference.field:
            source = f"{reference.tool}.{reference.field}"
        for value in values:
            key = dump(value)
            if key not in found or grade < found[key].grade:
                found[key] = Candidate(value, grade, source)
    return list(found.values())


def mentioned_in(texts: Iterable[Candidate], kind: Kind | None) -> list[Candidate]:
    """What texts mention that is of a kind, verbatim; for other kinds, every word and run of words."""
    found: dict[str, Candidate] = {}
    for each in texts:
        for value in _mentions(as_text(each.value), kind):
            found.setdefault(value, Candidate(value, each.grade, each.source))
    return list(found.values())


def _mentions(text: str, kind: Kind | None) -> Iterator[str]:
    if kind == "account":
        yield from accounts(text)
        return
    for type_, token in scan(plain(text)):
        is_number = token[:1].isdigit() and token.replace(".", "", 1).isdigit()
        match kind:
            case "address":
                if type_ == "mail" or (is_number and len(token) >= 6):  # noqa: PLR2004 - a telephone
                    yield token
            case "web":
                pass
            case "amount":
                if is_number:
                    yield token
            case "date":
                if type_ == "date":
                    yield token
            case _:
                if type_ == "word":
                    yield token
    if kind == "web":
        for token in active(text):
            if "@" not in token.partition("/")[0]:
                # As it is written: some tools know a page by nothing else.
                form = rf"(?:https?://)?(?:www\.)?{re.escape(token)}"
                as_written = re.search(form, text, re.IGNORECASE)
                yield as_written[0] if as_written else token


def is_mentioned(text: str, value: str, kind: Kind | None) -> bool:
    """Whether a text mentions a value that is of a kind, whole and as it is written."""
    if kind in ("account", "address", "web", "amount", "date"):
        return any(is_same(each, value) for each in _mentions(text, kind))
    sought = [token for _, token in scan(plain(value))]
    if not sought:
        return False
    tokens = [token for _, token in scan(plain(text))]
    size = len(sought)
    return any(tokens[at : at + size] == sought for at in range(len(tokens) - size + 1))


def as_text(value: JsonValue) -> str:
    """A plain value as a text."""
    if isinstance(value, str):
        return value
    return dump(value)


def words_for(reference: Found) -> str:
    """A reference in words, without any value that was looked up."""
    parts = []
    for name, value in (*reference.args.items(), *reference.where.items()):
        if isinstance(value, str | int | float):
            parts.append(f"{name}={value}")
        elif isinstance(value, Condition) and isinstance(value.value, str | int | float):
            parts.append(f"{name} {value.relation} {value.value}")
        else:
            parts.append(f"{name}=…")
    field = f".{reference.field}" if reference.field else ""
    return f"{reference.tool}({', '.join(parts)}){field}"
