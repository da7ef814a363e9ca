"""Diagnostics of a manifest: the place in the file, the value, and what to write instead.

A ``Spot`` is a value and its place. A reader takes a spot and returns the parsed value, or records a
problem and raises ``Refused``; a reader of several spots continues with the next, so that one pass
reports every problem.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

from msgspec import Struct

from rightcall.core.jsontext import JsonValue, kind_of, shorten
from rightcall.errors import UsageError

MOST = 200
"""How many findings are reported at most."""
Scalar: TypeAlias = str | int | float | bool | None
Read = TypeVar("Read")


class Finding(Struct, frozen=True, kw_only=True):
    """A problem or a warning at one place of a file."""

    file: str
    line: int
    column: int
    path: str = ""
    """The path of the value: ``tools[1].argv[2]``; empty for the file itself."""
    message: str
    fix: str = ""
    """What to write instead."""

    @property
    def place(self) -> str:
        """The location, as compilers write it and editors read it."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def words(self) -> str:
        """The problem, the value, and what to write instead."""
        path = f"{self.path}: " if self.path else ""
        return f"{path}{self.message}" + (f"; {self.fix}" if self.fix else "")

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


class ManifestError(UsageError):
    """A manifest cannot be used as it is; ``problems`` are all that is wrong with it."""

    code = "manifest"

    def __init__(self, problems: Sequence[Finding]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class Refused(Exception):
    """A value cannot be used; the problem was recorded."""


class TooMany(Exception):
    """The file has too many problems to go on."""


class Diagnostics:
    """The findings so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Finding] = []
        self.warnings: list[Finding] = []

    def wrong(self, place: tuple[int, int], path: str, message: str, fix: str = "") -> None:
        """Record a problem: the file cannot be used."""
        self.problems.append(self._finding(place, path, message, fix))
        if len(self.problems) >= MOST:
            raise TooMany

    def warn(self, place: tuple[int, int], path: str, message: str, fix: str = "") -> None:
        """Record a warning: something that may be a mistake."""
        if len(self.warnings) < MOST:
            self.warnings.append(self._finding(place, path, message, fix))

    def _finding(self, place: tuple[int, int], path: str, message: str, fix: str) -> Finding:
        line, column = place
        return Finding(file=self.file, line=line, column=column, path=path, message=message, fix=fix)


class Spot(Struct, frozen=True, eq=False):
    """A value of the file, with its path and its position, counted from 1."""

    notes: Diagnostics
    place: tuple[int, int]
    path: str
    content: "Scalar | tuple[Spot, ...] | Mapping[str, Spot]" = None
    keys: Mapping[str, tuple[int, int]] = {}
    """The positions of an object's keys."""

    @property
    def value(self) -> JsonValue:
        """The plain value."""
        if isinstance(self.content, tuple):
            return [item.value for item in self.content]
        if isinstance(self.content, Mapping):
            return {key: item.value for key, item in self.content.items()}
        return self.content

    def wrong(self, message: str, fix: str = "") -> None:
        """Record a problem with this value."""
        self.notes.wrong(self.place, self.path, message, fix)

    def refuse(self, message: str, fix: str = "") -> NoReturn:
        """Record a problem with this value, and raise Refused."""
        self.wrong(message, fix)
        raise Refused

    def warn(self, message: str, fix: str = "") -> None:
        """Record a warning about this value."""
        self.notes.warn(self.place, self.path, message, fix)

    def members(self) -> "Mapping[str, Spot]":
        """The members of an object."""
        if not isinstance(self.content, Mapping):
            self.refuse(f"must be an object, not {kind_of(self.value)}", "write { … }")
        return self.content

    def items(self) -> "tuple[Spot, ...]":
        """The items of an array."""
        if not isinstance(self.content, tuple):
            self.refuse(f"must be an array, not {kind_of(self.value)}", "write [ … ]")
        return self.content

    def below(self, steps: Sequence[str | int]) -> "Spot":
        """The value at a path below this one, or the deepest that exists."""
        spot = self
        for step in steps:
            inside: Any = spot.content
            if isinstance(inside, tuple):
                inside = dict(enumerate(inside))
            if not isinstance(inside, Mapping) or step not in inside:
                break
            spot = inside[step]
        return spot

    def refuse_unknown(self, known: Sequence[str]) -> None:
        """Record unknown members, each at the position of its key."""
        for key, place in self.keys.items():
            if key in known:
                continue
            near = difflib.get_close_matches(key, known, n=1)
            fix = f"write {shorten(near[0])}" if near else f"remove it; there is {', '.join(known)}"
            path = f"{self.path}.{key}" if self.path else key
            self.notes.wrong(place, path, "there is no such field", fix)


def each_of(spots: Iterable[Spot], read: Callable[[Spot], Read]) -> tuple[Read, ...]:
    """The results of reading each; all are read before a problem in one refuses the whole."""
    found, is_refused = [], False
    for spot in spots:
        try:
            found.append(read(spot))
        except Refused:
            is_refused = True
    if is_refused:
        raise Refused
    return tuple(found)


def text(spot: Spot, example: str) -> str:
    """A string."""
    value = spot.content
    if not isinstance(value, str):
        spot.refuse(f"must be a string, not {kind_of(spot.value)}", f"write {shorten(example)}")
    return value


def texts(spot: Spot, example: str) -> tuple[str, ...]:
    """An array of strings."""
    return each_of(spot.items(), lambda item: text(item, example))


def flag(spot: Spot) -> bool:
    """True or false."""
    value = spot.content
    if not isinstance(value, bool):
        spot.refuse(f"must be true or false, not {kind_of(spot.value)}", "write true or false")
    return value


def whole(spot: Spot, least: int, most: int, example: int) -> int:
    """An integer within bounds."""
    value = spot.content
    if not isinstance(value, int) or isinstance(value, bool):
        spot.refuse(f"must be an integer, not {kind_of(spot.value)}", f"write {example}")
    if not least <= value <= most:
        nearest = least if value < least else most
        spot.refuse(f"must be from {least:,} to {most:,}, not {value:,}", f"write {nearest}")
    return value


def word(spot: Spot, words: Sequence[str]) -> str:
    """One of some words."""
    value = spot.content
    if not isinstance(value, str) or value not in words:
        near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
        listed = " or ".join(map(shorten, words))
        fix = f"write {shorten(near[0])}" if near else f"write {listed}"
        spot.refuse(f"must be {listed}, not {shorten(spot.value)}", fix)
    return value
