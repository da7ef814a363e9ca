"""Diagnostics of a manifest: the place in the file, the value, and what to write instead.

A ``Spot`` is a value and its place. A reader takes a spot and returns the parsed value, or records a
problem and raises ``Refused``; a reader of several spots continues with the next, so that one pass
reports every problem.
"""

import difflib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isinf
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import MAX_DEPTH, JsonValue, kind_of, shorten
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


class UnusableValue(Exception):
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
        raise UnusableValue

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
            fix = f"remove it; there is {', '.join(known)}"
            for near in difflib.get_close_matches(key, known, n=1):
                fix = f"write {shorten(near)}"
            path = f"{self.path}.{key}" if self.path else key
            self.notes.wrong(place, path, "there is no such field", fix)


def each_of(spots: Iterable[Spot], read: Callable[[Spot], Read]) -> tuple[Read, ...]:
    """The results of reading each; all are read before a problem in one refuses the whole."""
    found = []
    is_refused = False
    for spot in spots:
        try:
            found.append(read(spot))
        except UnusableValue:
            is_refused = True
    if is_refused:
        raise UnusableValue
    return tuple(found)


def read_text(spot: Spot, example: str) -> str:
    """A string."""
    value = spot.content
    if not isinstance(value, str):
        spot.refuse(f"must be a string, not {kind_of(spot.value)}", f"write {shorten(example)}")
    return value


def read_texts(spot: Spot, example: str) -> tuple[str, ...]:
    """An array of strings."""
    return each_of(spot.items(), lambda item: read_text(item, example))


def read_flag(spot: Spot) -> bool:
    """True or false."""
    value = spot.content
    if not isinstance(value, bool):
        spot.refuse(f"must be true or false, not {kind_of(spot.value)}", "write true or false")
    return value


def read_integer(spot: Spot, least: int, most: int, example: int) -> int:
    """An integer within bounds."""
    value = spot.content
    if not isinstance(value, int) or isinstance(value, bool):
        spot.refuse(f"must be an integer, not {kind_of(spot.value)}", f"write {example}")
    if not least <= value <= most:
        nearest = least if value < least else most
        spot.refuse(f"must be from {least:,} to {most:,}, not {value:,}", f"write {nearest}")
    return value


def read_choice(spot: Spot, words: Sequence[str]) -> str:
    """One of some words."""
    value = spot.content
    if not isinstance(value, str) or value not in words:
        listed = " or ".join(map(shorten, words))
        fix = f"write {listed}"
        if isinstance(value, str):
            for near in difflib.get_close_matches(value, words, n=1):
                fix = f"write {shorten(near)}"
        spot.refuse(f"must be {listed}, not {shorten(spot.value)}", fix)
    return value


_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[\w.+-]+")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_MEANT = {
    **{word: word for word in _WORDS},
    **dict.fromkeys(("none", "nil", "undefined", "nan"), "null"),
    "yes": "true",
    "no": "false",
}
_LONGEST_NUMBER = 40
_MOST_NOTES = 100


def read_json(text: str, notes: Diagnostics) -> Spot:
    """The value of a text. Records whatever is not JSON; raises Refused if it cannot go on.

    Strict JSON and nothing else. Recoverable errors are recorded, and reading continues, so that one
    pass reports as much as possible: comments, extra or missing commas, duplicate keys, literals of
    other languages. Any other error ends it.
    """
    return _JsonReader(text, notes).document()


class _JsonReader:
    def __init__(self, text: str, notes: Diagnostics) -> None:
        self._text = text
        self._notes = notes
        self._at = 0
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._open: list[int] = []
        """The positions of the objects and arrays that are still open."""

    def document(self) -> Spot:
        if self._text.startswith("\ufeff"):
            self._note("the file begins with a byte order mark", fix="save it as UTF-8 without one")
            self._at = 1
        self._skip()
        if self._at == len(self._text):
            self._stop("the file is empty", fix='write {"version": 1, "tools": []}')
        spot = self._value("")
        self._skip()
        if self._at < len(self._text):
            self._stop("there is text after the end of the JSON", fix="remove it")
        return spot

    @property
    def _next(self) -> str:
        """The next character; empty at the end of the text."""
        return self._text[self._at : self._at + 1]

    def _value(self, path: str) -> Spot:
        place = self._place(self._at)
        match self._next:
            case "{":
                return self._object(place, path)
            case "[":
                items = enumerate(self._items("]"))
                content: Scalar | tuple[Spot, ...] = tuple(
                    self._value(f"{path}[{at}]") for at, _ in items
                )
            case '"':
                content = self._string()
            case _:
                if found := _NUMBER.match(self._text, self._at):
                    text = found[0]
                    value: int | float = inf
                    if len(text) <= _LONGEST_NUMBER:
                        value = int(text) if text.lstrip("-").isdigit() else float(text)
                    if isinf(value):
                        shown = text[:_LONGEST_NUMBER]
                        self._note(f"the number {shown} is too long or too large", fix="write another")
                        value = 0
                    self._at += len(text)
                    content = value
                else:
                    found = _WORD.match(self._text, self._at)
                    if found is None:
                        if not self._next:
                            self._cut_off()
                        self._stop("a value is wanted here", fix=self._quoting_hint())
                    word = found[0]
                    if word not in _WORDS:
                        meant = _MEANT.get(word.lower(), f'"{word[:60]}"')
                        self._note(f"{word[:60]} is not JSON", fix=f"write {meant}")
                    self._at = found.end()
                    content = _WORDS.get(word)
        return Spot(self._notes, place, path, content)

    def _object(self, place: tuple[int, int], path: str) -> Spot:
        found: dict[str, Spot] = {}
        keys: dict[str, tuple[int, int]] = {}
        for _ in self._items("}"):
            at = self._at
            if self._next != '"':
                self._stop("a key is wanted here, in double quotes", fix=self._quoting_hint())
            key = self._string()
            self._skip()
            if self._next != ":":
                missing = f"a colon is missing after the key {shorten(key)}"
                self._stop(missing, fix="write : before its value")
            self._at += 1
            self._skip()
            value = self._value(f"{path}.{key}" if path else key)
            if key in keys:
                first = keys[key][0]
                self._note(f"the key {shorten(key)} is there twice; the first is in line {first}", at=at)
                continue
            keys[key] = self._place(at)
            found[key] = value
        return Spot(self._notes, place, path, found, keys)

    def _items(self, end: str) -> Iterator[None]:
        """Yield at every item of an object or array; the caller reads it."""
        self._open.append(self._at)
        if len(self._open) > MAX_DEPTH:
            self._stop(f"nested more than {MAX_DEPTH} levels deep")
        self._at += 1
        self._skip()
        comma: int | None = None
        is_first = True
        while self._next != end:
            # The empty string, at the end of the file, is in every other string.
            if comma is None and not is_first and self._next not in "]}:":
                self._note("a comma is missing before this", fix="write , between the two")
            if not self._next:
                self._cut_off()
            if self._next in "]}:,":
                self._stop(
                    f"{self._next} does not belong here, within {self._inner()}", fix=f"write {end}"
                )
            yield
            is_first = False
            self._skip()
            comma = self._at if self._next == "," else None
            if comma is not None:
                self._at += 1
                self._skip()
        if comma is not None:
            self._note(f"a comma before {end}", at=comma, fix="remove it")
        self._at += 1
        self._open.pop()

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            rest = self._text[self._at + 1 :]
            control = re.search(r'(?<!\\)"|[\x00-\x1f]', rest)
            if control is not None and control[0] not in '"\n\r':
                self._at += 1 + control.start()
                code = f"\\u{ord(control[0]):04x}"
                self._stop("a control character inside a string", fix=f"write {code}")
            self._stop("the string that begins here does not end in its line", fix='write " at its end')
        try:
            text: str = msgspec.json.decode(found[0], type=str)
        except (msgspec.DecodeError, UnicodeEncodeError):
            message = "a \\ escape that JSON does not have"
            fix = "write \\\\ for a backslash itself"
            if re.search(r"\\u[dD][89a-fA-F]", found[0]):
                message = "half of a surrogate pair in a \\u escape"
                fix = "write the character itself"
            self._note(message, fix=fix)
            text = found[1]
        self._at = found.end()
        return text

    def _quoting_hint(self) -> str:
        """A hint about something that is not quoted as JSON requires."""
        if self._next == "'":
            return "write \" instead of '"
        word = _WORD.match(self._text, self._at)
        if word:
            return f'write "{word[0][:60]}"'
        return "write a value"

    def _skip(self) -> None:
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            comment = _COMMENT.match(self._text, self._at)
            if comment is None:
                return
            self._note("a comment, which JSON does not have", fix="remove it")
            self._at = comment.end()

    def _cut_off(self) -> NoReturn:
        close = "}" if self._text[self._open[-1]] == "{" else "]"
        self._stop(f"the file stops here; {self._inner()} is not closed", fix=f"write {close}")

    def _inner(self) -> str:
        at = self._open[-1]
        return f"the {self._text[at]} of line {self._place(at)[0]}"

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _note(self, message: str, *, at: int | None = None, fix: str = "") -> None:
        self._notes.wrong(self._place(self._at if at is None else at), "", message, fix)
        if len(self._notes.problems) >= _MOST_NOTES:
            raise UnusableValue

    def _stop(self, message: str, *, fix: str = "") -> NoReturn:
        self._note(message, fix=fix)
        raise UnusableValue
