"""Finds the records in a trusted result: each with its identifier and the words that describe it.

Untrusted text describes no record, except for short names that the system knows.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.words.describing import (
    FEWEST_DIGITS,
    NUMBERS,
    initials_of,
    joined,
    nouns_of,
    stem,
    terms_of,
)

_MOST_WORDS = 5
"""Words in a name, at most. A longer text could contain any word that a person may use."""
_DEEPEST = 16
_FEWEST_CODES = 3
_MOST_NUMBERED = 100
"""Records of one list whose other numbers are compared, at most."""
_SIZES = {"S": "s small", "M": "m medium", "L": "l large"}
"""What letters for sizes stand for."""


class Record(Struct, eq=False):
    """An object with an identifier."""

    key: str
    """The field that holds the identifier."""
    value: str
    terms: set[str]
    """The words in it and in what is below it."""
    held: dict[str, set[str]] = field(default_factory=dict)
    """The values in it and below it, by field."""
    nouns: set[str] = field(default_factory=set)
    """Nouns for it: from its identifier's field, and from its lists of things without identifiers."""
    flags: frozenset[tuple[str, bool]] = frozenset()
    family: "list[Record]" = field(default_factory=list)
    """The records in the same list, including itself."""
    context: set[str] = field(default_factory=set)
    """The words of the object that it is inside."""
    own: frozenset[str] = frozenset()
    """The words about the record itself, and not about its parts."""
    beside: frozenset[str] = frozenset()
    """The words in other identifiers of the same object: these say whose it is."""
    parts: frozenset[str] = frozenset()
    """The identifiers of its parts: those in its longest list."""
    traits: dict[str, str] = field(default_factory=dict)
    """Its plain fields and those of the objects directly in it, by name."""
    fields: dict[str, str] = field(default_factory=dict)
    """Its own plain fields that no outsider wrote, by name."""
    is_free: bool = False
    """Whether it was in a result that no hijacked model had narrowed."""
    is_own: bool = True
    """Whether the object is what the identifier names, and does not merely refer to it."""


class _Held(Struct, eq=False):
    """The contents of a part of a result."""

    terms: set[str] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    """The records directly in it."""
    inside: list[Record] = field(default_factory=list)
    """The records one level below it, or else those directly in it."""


def codes_in(value: JsonValue) -> Mapping[str, frozenset[str]]:
    """A table of codes, each with the words for it: ``{"LHR": "London", …}``."""
    if not isinstance(value, dict) or len(value) < _FEWEST_CODES:
        return {}
    if not all(isinstance(each, str) and key.isalnum() and key.isupper() for key, each in value.items()):
        return {}
    return {stem(key.lower()): frozenset(terms_of(str(each))) for key, each in value.items()}


class Reading:
    """Finds the records in one result."""

    def __init__(self, facts: ResolvedFacts) -> None:
        self._facts = facts
        self.found: list[Record] = []
        """Every record; inner records come before the ones that contain them."""
        self.lists: dict[str, frozenset[str]] = {}
        """By text in a list of texts: all texts in that list."""

    def read(self, value: JsonValue, path: str = "", depth: int = 0) -> _Held:
        """Read a part of a result and the records in it. Returns its contents."""
        held = _Held()
        if depth > _DEEPEST:
            return held
        match value:
            case dict():
                self._read_object(value, path, depth, held)
            case list():
                self._add(held, [self.read(each, path, depth + 1) for each in value])
                held.terms |= _counted(len(value), path.rpartition(".")[2])
                if not self._facts.is_outsiders(path):
                    listed = [each for each in value if isinstance(each, str)]
                    self.lists |= dict.fromkeys(listed, frozenset(listed))
            case str() | int() | float() if not isinstance(value, bool):
                self._read_leaf(str(value), path, held)
            case _:
                pass
        return held

    def _read_object(self, value: dict[str, JsonValue], path: str, depth: int, held: _Held) -> None:
        below = [
            self.read(each, f"{path}.{name}" if path else name, depth + 1)
            for name, each in value.items()
        ]
        self._add(held, below)
        said = self._put_inside(value, below)
        own = list[Record]()
        for name, each in value.items():
            inner = f"{path}.{name}" if path else name
            if isinstance(each, str | int) and not isinstance(each, bool) and self._identifies(inner):
                flags = frozenset((key, flag) for key, flag in value.items() if isinstance(flag, bool))
                lists = self._plain_lists(value, path)
                nouns = {noun for key in (name, *lists) for noun in nouns_of(key)}
                record = Record(name, str(each), held.terms, held.values, nouns, flags)
                record.own = said
                # A ticket begins with its own number, and may go on with that of an order.
                around = nouns_of(path.rpartition(".")[2]) if path else frozenset[str]()
                record.is_own = not own or not around.isdisjoint(nouns_of(name))
                record.traits = self._traits(value, path)
                record.fields = self._fields(value, path)
                record.parts = max((_values(inside) for inside in below), key=len)
                own.append(record)
        for record in own if len(own) > 1 else ():
            others = (other.value for other in own if other is not record)
            record.beside = frozenset(t for other in others for t in (*terms_of(other), *joined(other)))
        self.found += own
        held.records = own
        held.inside = held.inside or own

    def _traits(self, value: dict[str, JsonValue], path: str) -> dict[str, str]:
        found = dict[str, str]()
        for name, each in value.items():
            inner = f"{path}.{name}" if path else name
            fields = each.items() if isinstance(each, dict) else ((name, each),)
            for key, text in fields:
                where = f"{inner}.{key}" if isinstance(each, dict) else inner
                is_plain = isinstance(text, str | int | float) and not isinstance(text, bool)
                if is_plain and self._describes(where) and not self._identifies(where):
                    found[key] = str(text)
        return found

    def _fields(self, value: dict[str, JsonValue], path: str) -> dict[str, str]:
        own = {name: each for name, each in value.items() if isinstance(each, str | int | float)}
        return {
            name: str(each).lower() if isinstance(each, bool) else str(each)
            for name, each in own.items()
            if not self._is_outsiders(f"{path}.{name}" if path else name)
        }

    def _plain_lists(self, value: dict[str, JsonValue], path: str) -> list[str]:
        """The fields with trusted lists of things without identifiers."""
        found = list[str]()
        for key, each in value.items():
            inner = f"{path}.{key}" if path else key
            if not isinstance(each, list) or self._facts.is_outsiders(inner):
                continue
            names = dict.fromkeys(name for item in each if isinstance(item, dict) for name in item)
            if not any(self._identifies(f"{inner}.{name}") for name in names):
                found.append(key)
        return found

    def _put_inside(self, value: dict[str, JsonValue], below: list[_Held]) -> frozenset[str]:
        """Add an object's own words to the context of the records inside it. Returns these words."""
        plain_ones = [not isinstance(each, dict | list) for each in value.values()]
        own = {t for each, is_own in zip(below, plain_ones, strict=True) if is_own for t in each.terms}
        for each, is_own in zip(below, plain_ones, strict=True):
            for record in () if is_own else each.inside:
                record.context |= own
        return frozenset(own)

    def _identifies(self, path: str) -> bool:
        return self._facts.kind_in(path) == "record" and not self._is_outsiders(path)

    def _is_outsiders(self, path: str) -> bool:
        return self._facts.is_outsiders(path) or self._facts.is_identity(path)

    def _describes(self, path: str) -> bool:
        """Whether a field describes its record: it is trusted, or a name that the system knows."""
        return not self._is_outsiders(path) or self._facts.is_name(path)

    def _add(self, held: _Held, below: list[_Held]) -> None:
        family = list[Record]()
        for each in below:
            held.terms |= each.terms
            for name, values in each.values.items():
                held.values.setdefault(name, set()).update(values)
            family += each.records
        for record in family:
            record.family = family
        held.inside = family

    def _read_leaf(self, text: str, path: str, held: _Held) -> None:
        if not self._describes(path):
            return
        if not self._is_outsiders(path):
            held.values.setdefault(path.rpartition(".")[2], set()).add(text)
        # A number and its unit say together what neither does: ``9 bar``.
        if len(text.split()) <= _MOST_WORDS:
            # A field that is simply so describes its record by its own name: ``waterproof: yes``.
            said = path.rpartition(".")[2] if text.lower() == "yes" else _SIZES.get(text, text)
            held.terms.update(terms_of(said), joined(said))
            if len(text) < FEWEST_DIGITS and text.isdigit():
                # A small number says something only with its field: ``size 8``.
                held.terms.update(joined(f"{path.rpartition('.')[2]} {text}"))
            if self._identifies(path) and (initials := initials_of(text)):
                held.terms.add(initials)


def own_numbers(record: Record) -> set[str]:
    """The other numbers of a record that no other in its list has."""
    if len(record.family) > _MOST_NUMBERED:
        return set()
    others = [each for each in record.family if each.value != record.value]
    numbers = {each for each in record.beside if len(each) > FEWEST_DIGITS and each.isdigit()}
    return numbers.difference(*[each.beside for each in others]) if others else set()


def _counted(number: int, name: str) -> set[str]:
    """How people say how many are in a list: ``five items``."""
    if not 1 < number < len(NUMBERS):
        return set()
    return {stem(f"{said}{name}") for said in (number, NUMBERS[number])}


def _values(held: _Held) -> frozenset[str]:
    return frozenset(record.value for record in held.inside)
