r"""Turns what vendors send as JSON, and a strict parser refuses, into JSON that it takes.

Hosts that count in UTF-16 cut a character in two: ``"\ud83d"`` ends one delta, ``"\ude00"`` begins the
next. In a stream, each half is marked by a character of a private plane, and ``HalfJoiner`` makes
characters of them again where the events leave the decoder. A half without its other becomes U+FFFD.

Nothing here is called until a parser has refused.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.lazy import pattern

_BLANK = b" \t\r\n\xef\xbb\xbf"
"""White space and the bytes of a byte order mark."""

# Both patterns match everything, so that each byte is read once: what stays as it is, in long pieces.
_ESCAPES = pattern(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F])++"
    rb"|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2})|.",
    re.DOTALL,
)
_WORDS = pattern(
    rb'(?:[^"NI-]++|"(?:[^"\\]++|\\.)*+"|N(?!aN)|I(?!nfinity)|-(?!Infinity|NaN))++'
    rb"|(?P<word>-?(?:NaN|Infinity))|.",
    re.DOTALL,
)
_MOST = 20_000
"""How many pieces a text may have, with its faults between them: more are no slip of an encoder, and
would take long."""

_MARKS = 0x100000
"""What is added to a half's number to mark it: a character of the last private plane."""
_LOST = "\ufffd"
_HALVES = pattern("[\U0010d800-\U0010dbff][\U0010dc00-\U0010dfff]|[\U0010d800-\U0010dfff]")


def mend_json(data: bytes, *, mark: bool = False) -> bytes | None:
    """The JSON that was meant; None if nothing is found to mend.

    A byte order mark is removed, ``NaN`` and ``Infinity`` become null. Halves of surrogate pairs become
    U+FFFD, or are marked for a ``HalfJoiner``.
    """
    mended = data.lstrip(_BLANK)
    pieces = 0
    if b"NaN" in mended or b"Infinity" in mended:
        mended, pieces = _WORDS.subn(_null, mended, count=_MOST)
    if b"\\u" in mended and pieces < _MOST:
        mended, pieces = _ESCAPES.subn(partial(_half, mark), mended, count=_MOST)
    if mended == data or pieces == _MOST:
        return None
    return mended


def _null(found: re.Match[bytes]) -> bytes:
    return b"null" if found["word"] else found[0]


def _half(mark: bool, found: re.Match[bytes]) -> bytes:  # noqa: FBT001 - by partial
    if not found["half"]:
        return found[0]
    if mark:
        return chr(_MARKS + int(found["half"], 16)).encode()
    return _LOST.encode()


class HalfJoiner:
    """Joins the marked halves in the events of one reply."""

    def __init__(self) -> None:
        self._said: type[TextDelta | ReasoningDelta] = TextDelta
        self._held = ""
        """The first half of a character of that kind."""
        self._arguments: dict[int, str] = {}
        """The first halves at the ends of calls' arguments."""

    def join(self, events: Iterable[ModelEvent]) -> tuple[ModelEvent, ...]:
        """The events, with whole characters. Half a character is held back until there is more."""
        joined: list[ModelEvent] = []
        for event in events:
            match event:
                case TextDelta(text) | ReasoningDelta(text):
                    if type(event) is not self._said:
                        self._release(joined)
                        self._said = type(event)
                    whole, self._held = _cut_half(self._held + text)
                    if whole:
                        joined.append(type(event)(whole))
                case CallDelta(index, text):
                    whole, self._arguments[index] = _cut_half(self._arguments.get(index, "") + text)
                    if whole:
                        joined.append(CallDelta(index, whole))
                case CallStart() | CallEnd() | ReasoningEnd() | ReplyEnd():
                    self._release(joined)
                    if isinstance(event, CallEnd) and self._arguments.pop(event.index, ""):
                        joined.append(CallDelta(event.index, _LOST))
                    joined.append(_join(event))
                case _:
                    joined.append(event)
        return tuple(joined)

    def _release(self, joined: list[ModelEvent]) -> None:
        """Give up waiting for the second half."""
        if self._held:
            self._held = ""
            joined.append(self._said(_LOST))


def _cut_half(text: str) -> tuple[str, str]:
    """The text with whole characters, and the first half of one at its end."""
    held = ""
    if text and "\U0010d800" <= text[-1] <= "\U0010dbff":
        held = text[-1]
        text = text[:-1]
    return _join(text), held


def _join(value: Any) -> Any:
    """The value with whole characters in every text."""
    match value:
        case str():
            return value if value.isascii() else _HALVES.sub(_character, value)
        case list() | tuple():
            return type(value)([_join(each) for each in value])
        case Mapping():
            return {_join(key): _join(each) for key, each in value.items()}
        case Struct():
            joined = {name: _join(getattr(value, name)) for name in value.__struct_fields__}
            return replace(value, **joined)
        case _:
            return value


def _character(found: re.Match[str]) -> str:
    units = found[0]
    if len(units) == 1:
        return _LOST
    codes = [ord(unit) - _MARKS for unit in units]
    return b"".join(code.to_bytes(2, "big") for code in codes).decode("utf-16-be")
