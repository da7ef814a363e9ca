"""Parses a JSON text that is still streaming into a view of as much of its value as is certain.

Feeding is free; the text is parsed when the view is read, each character once, from where the last read
ended. What ``jsontext`` refuses is refused here too: a repeated key, ``NaN``, half a surrogate pair,
extreme nesting.
"""

import re
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.core.jsontext import MAX_DEPTH, JsonValue
from rightcall.core.lazy import pattern

_State: TypeAlias = Literal[
    "value",
    "first_item",
    "first_key",
    "key",
    "colon",
    "after_item",
    "after_member",
    "in_string",
    "in_key",
    "in_scalar",
    "closed",
    "end",
    "broken",
]
"""The parser's state: before one of the characters in ``_NEXT``, or inside a token."""

_VALUES: Mapping[str, _State] = {
    '"': "in_string",
    "{": "first_key",
    "[": "first_item",
    **dict.fromkeys("-0123456789tfn", "in_scalar"),
}
_NEXT: Mapping[_State, Mapping[str, _State]] = {
    "value": _VALUES,
    "first_item": {**_VALUES, "]": "closed"},
    "first_key": {'"': "in_key", "}": "closed"},
    "key": {'"': "in_key"},
    "colon": {":": "value"},
    "after_item": {",": "value", "]": "closed"},
    "after_member": {",": "key", "}": "closed"},
    "end": {},
}
"""The next state for each character; any other makes the text invalid."""

_HEX = "[0-9a-fA-F]"
_LOW = f"[dD][c-fC-F]{_HEX}"
_SPACE = pattern(r"[ \t\n\r]*")
_SCALAR = pattern(r"[-+.0-9A-Za-z]*")
_NUMBER = pattern(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, JsonValue] = {"true": True, "false": False, "null": None}
# Possessive: backtracking is never needed, and in a long string it would take long.
_CONTENT = pattern(
    r'(?:[^"\\\x00-\x1f\ud800-\udfff]++'
    r'|\\["\\/bfnrt]'
    rf"|\\u(?![dD][89a-fA-F]){_HEX}{{4}}"
    rf"|\\u[dD][89abAB]{_HEX}{{2}}\\u{_LOW}{_HEX})*+"
)
_CUT_ESCAPE = pattern(
    rf"\\(?:u(?:{_HEX}{{0,3}}"
    rf"|[dD][89abAB]{_HEX}{{2}}(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?"
    r"))?"
)
_unescape = msgspec.json.Decoder(str).decode


class PartialJson:
    """A view of a JSON text that is still streaming, cut anywhere. Bad JSON never raises."""

    __slots__ = (
        "_changes",
        "_complete",
        "_fragments",
        "_key",
        "_open",
        "_pending",
        "_pieces",
        "_rest",
        "_root",
        "_scanned",
        "_shown",
        "_state",
    )

    def __init__(self) -> None:
        self._fragments: list[str] = []
        self._pending: list[str] = []
        self._state: _State = "value"
        self._root: list[JsonValue] = []
        self._open: list[dict[str, JsonValue] | list[JsonValue]] = [self._root]
        self._key = ""
        self._pieces: list[str]
        """The pieces of the key or the scalar that is being parsed; not there before the first."""
        self._shown = ""
        """The string that is being parsed, as the view shows it."""
        self._rest = ""
        """An escape that was cut in two; its rest comes in the next piece."""
        self._changes = 0
        self._complete = False
        self._scanned = 0
        """Characters parsed, for the test that reading often costs no more."""

    def feed(self, text: str) -> None:
        """Add the next piece."""
        self._fragments.append(text)
        self._pending.append(text)

    @property
    def text(self) -> str:
        """Everything fed so far."""
        if len(self._fragments) != 1:
            self._fragments = ["".join(self._fragments)]
        return self._fragments[0]

    @property
    def value(self) -> JsonValue:
        """The value so far; None before there is any.

        A string that is still open is shown as far as it goes; a number or a word only once something
        follows it, and a key once its value has begun. This is the live object and grows: copy it to
        keep it or to change it. After an error in the text it stays as it was.
        """
        self._advance()
        if self._root:
            return self._root[0]
        return None

    @property
    def changes(self) -> int:
        """How often the value has changed; it does when it is read, and not when text is fed."""
        return self._changes

    @property
    def is_complete(self) -> bool:
        """Whether the value has ended. A bare number or word ends with the space after it."""
        self._advance()
        return self._complete

    @property
    def is_broken(self) -> bool:
        """Whether the text so far cannot be the beginning of any JSON that ``jsontext`` accepts."""
        self._advance()
        return self._state == "broken"

    def _advance(self) -> None:
        """Parse what was fed since the last time."""
        if not self._pending:
            return
        chunk = self._rest + "".join(self._pending)
        self._pending.clear()
        self._rest = ""
        position = 0
        while position < len(chunk):
            match self._state:
                case "broken":
                    return
                case "in_string" | "in_key":
                    position = self._read_string(chunk, position)
                case "in_scalar":
                    position = self._read_scalar(chunk, position)
                case _:
                    position = self._read_token(chunk, position)
        self._scanned += len(chunk)

    def _read_token(self, chunk: str, position: int) -> int:
        position = _end(_SPACE, chunk, position)
        if position == len(chunk):
            return position
        character = chunk[position]
        self._state = _NEXT[self._state].get(character, "broken")
        match self._state:
            case "in_string":
                self._shown = ""
                self._put("")
            case "in_key":
                self._pieces = []
            case "in_scalar":
                self._pieces = [character]
            case "first_key":
                self._nest({})
            case "first_item":
                self._nest([])
            case "closed":
                self._open.pop()
                self._end_value()
            case _:
                pass
        return position + 1

    def _read_string(self, chunk: str, position: int) -> int:
        end = _end(_CONTENT, chunk, position)
        piece = chunk[position:end]
        if "\\" in piece:
            piece = _unescape(f'"{piece}"')
        if self._state == "in_key":
            self._pieces.append(piece)
        else:
            self._grow(piece)
        if end == len(chunk):
            return end
        if chunk[end] == '"':
            if self._state != "in_key":
                self._end_value()
                return end + 1
            self._key = "".join(self._pieces)
            self._state = "broken" if self._key in self._open[-1] else "colon"
            return end + 1
        if _CUT_ESCAPE.fullmatch(chunk, end):
            self._rest = chunk[end:]
        else:
            self._state = "broken"
        return len(chunk)

    def _read_scalar(self, chunk: str, position: int) -> int:
        end = _end(_SCALAR, chunk, position)
        self._pieces.append(chunk[position:end])
        if end == len(chunk):
            return end
        try:
            value = _scalar("".join(self._pieces), chunk[end])
        except ValueError:
            self._state = "broken"
        else:
            self._put(value)
            self._end_value()
        return end

    def _grow(self, piece: str) -> None:
        """Append to the open string."""
        if not piece:
            return
        self._changes += 1
        # Python appends to a string in place while nothing else refers to it, so the view drops its
        # reference first: otherwise reading after every fragment would copy the string every time.
        shown = self._shown
        self._shown = ""
        self._put_open_string("")
        shown += piece
        self._put_open_string(shown)
        self._shown = shown

    def _put_open_string(self, text: str) -> None:
        container = self._open[-1]
        if isinstance(container, dict):
            container[self._key] = text
        else:
            container[-1] = text

    def _put(self, value: JsonValue) -> None:
        self._changes += 1
        container = self._open[-1]
        if isinstance(container, dict):
            container[self._key] = value
        else:
            container.append(value)

    def _end_value(self) -> None:
        if len(self._open) == 1:
            self._state = "end"
            self._complete = True
        elif isinstance(self._open[-1], dict):
            self._state = "after_member"
        else:
            self._state = "after_item"

    def _nest(self, container: dict[str, JsonValue] | list[JsonValue]) -> None:
        if len(self._open) > MAX_DEPTH:
            self._state = "broken"
        else:
            self._put(container)
            self._open.append(container)


class PartialOutput:
    """A structured answer that is still being written, and how its value is shown."""

    __slots__ = ("_show", "json")

    def __init__(self, json: PartialJson, show: Callable[[JsonValue], Any]) -> None:
        self.json = json
        self._show = show

    @property
    def value(self) -> Any:
        """The answer so far; None before there is any. It grows: copy it to keep it."""
        value = self.json.value
        if value is None:
            return None
        return self._show(value)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Returns where the longest match of ``pattern`` ends."""
    found = pattern.match(text, position)
    if found is None:
        return position
    return found.end()


def _scalar(text: str, delimiter: str) -> JsonValue:
    """Parse a number or a word; ValueError if it is neither, or the delimiter may not follow it."""
    if delimiter not in ",]} \t\n\r":
        raise ValueError(delimiter)
    if text in _WORDS:
        return _WORDS[text]
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(text)
    if found.lastindex is None:
        return int(text)
    number = float(text)
    if isinf(number):
        raise ValueError(text)
    return number
