"""Parses JSON into spots: values with their positions.

Strict JSON and nothing else. The parser records recoverable errors and continues, so that one pass
reports as much as possible: comments, extra or missing commas, duplicate keys, literals of other
languages. Any other error ends it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from math import inf, isinf
from typing import NoReturn

import msgspec

from rightcall.core.jsontext import MAX_DEPTH, shorten
from rightcall.manifest.diagnostics import Diagnostics, Refused, Scalar, Spot

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[\w.+-]+")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_MEANT = {**dict.fromkeys(("none", "nil", "undefined", "nan"), "null"), "yes": "true", "no": "false"}
_LONGEST_NUMBER = 40
_MOST_NOTES = 100


def read_json(text: str, notes: Diagnostics) -> Spot:
    """The value of a text. Records whatever is not JSON; raises Refused if it cannot go on."""
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
                content = self._number_or_word()
        return Spot(self._notes, place, path, content)

    def _object(self, place: tuple[int, int], path: str) -> Spot:
        found: dict[str, Spot] = {}
        keys: dict[str, tuple[int, int]] = {}
        for _ in self._items("}"):
            at = self._at
            if self._next != '"':
                self._stop("a key is wanted here, in double quotes", fix=self._quoted())
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
            self._bad_string()
        try:
            text: str = msgspec.json.decode(found[0], type=str)
        except (msgspec.DecodeError, UnicodeEncodeError):
            message, fix = "a \\ escape that JSON does not have", "write \\\\ for a backslash itself"
            if re.search(r"\\u[dD][89a-fA-F]", found[0]):
                message, fix = "half of a surrogate pair in a \\u escape", "write the character itself"
            self._note(message, fix=fix)
            text = found[1]
        self._at = found.end()
        return text

    def _bad_string(self) -> NoReturn:
        rest = self._text[self._at + 1 :]
        control = re.search(r'(?<!\\)"|[\x00-\x1f]', rest)
        if control is not None and control[0] not in '"\n\r':
            self._at += 1 + control.start()
            code = f"\\u{ord(control[0]):04x}"
            self._stop("a control character inside a string", fix=f"write {code}")
        self._stop("the string that begins here does not end in its line", fix='write " at its end')

    def _number_or_word(self) -> Scalar:
        if found := _NUMBER.match(self._text, self._at):
            return self._number(found[0])
        found = _WORD.match(self._text, self._at)
        if found is None:
            if not self._next:
                self._cut_off()
            self._stop("a value is wanted here", fix=self._quoted())
        word = found[0]
        if word not in _WORDS:
            lower = word.lower()
            meant = lower if lower in _WORDS else _MEANT.get(lower, f'"{word[:60]}"')
            self._note(f"{word[:60]} is not JSON", fix=f"write {meant}")
        self._at = found.end()
        return _WORDS.get(word)

    def _number(self, text: str) -> int | float:
        value: int | float = inf
        if len(text) <= _LONGEST_NUMBER:
            value = int(text) if text.lstrip("-").isdigit() else float(text)
        if isinf(value):
            shown = text[:_LONGEST_NUMBER]
            self._note(f"the number {shown} is too long or too large", fix="write another")
            value = 0
        self._at += len(text)
        return value

    def _quoted(self) -> str:
        """A hint about something that is not quoted as JSON requires."""
        if self._next == "'":
            return "write \" instead of '"
        word = _WORD.match(self._text, self._at)
        return f'write "{word[0][:60]}"' if word else "write a value"

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
            raise Refused

    def _stop(self, message: str, *, fix: str = "") -> NoReturn:
        self._note(message, fix=fix)
        raise Refused
