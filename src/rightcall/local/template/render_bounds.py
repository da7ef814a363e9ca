"""What a chat template may cost: seconds and characters, counted while it is rendered.

A template comes with a model, from anyone. The sandbox keeps it from reaching out; this keeps it from
never ending and from growing without end. Bounded are loops, macros and calls (by time, looked at on
every one of them) and the size of what operators, filters and string methods build (before it is built).

Not bounded: comparing values that hold another many times over, filters that go over many large values
at once (``map`` over a list of huge strings), and the memory that several values, each within the bound,
take together. A template that nobody vouches for belongs into a process with a memory limit.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any

from msgspec import Struct

LONGEST_TEMPLATE = 250_000
"""Characters of a template's own text. Real ones stay under twenty thousand; compiling has no clock."""
_UNLOOKED = 32
"""How many steps are taken without a look at the clock."""
FINEST_ROUNDING = 400
"""Decimal places; a float has no more."""

_SIZED = (str, bytes, list, tuple)
_LONG_WIDTH = re.compile(r"\d{6,}|\*|\{[^{}]*\{")
"""In a format string: a width of a million, one from the arguments, or a nested field."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What one rendering may cost."""

    seconds: float = 5.0
    characters: int = 16_000_000
    """Of any text that is built on the way, and of the prompt. Ten times what a model can read."""


class Exceeded(RuntimeError):
    """A rendering went over its bounds; the message says which."""


class Meter:
    """What one rendering has left."""

    __slots__ = ("_deadline", "_left", "bounds")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._deadline = monotonic() + bounds.seconds
        self._left = _UNLOOKED

    def tick(self) -> None:
        """Something was done that could be done without end."""
        self._left -= 1
        if self._left:
            return
        self._left = _UNLOOKED
        if monotonic() > self._deadline:
            raise Exceeded(f"it was still not rendered after {self.bounds.seconds:g} s")


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)
DEFAULT = Bounds()


@contextmanager
def metered(bounds: Bounds) -> Iterator[None]:
    """Count what is rendered inside of it."""
    token = _METER.set(Meter(bounds))
    try:
        yield
    finally:
        _METER.reset(token)


def tick() -> None:
    """Look at the clock, if something is being rendered."""
    meter = _METER.get()
    if meter is not None:
        meter.tick()


def allow(size: int) -> None:
    """Refuse text, or a list, of more than is allowed."""
    meter = _METER.get()
    most = (DEFAULT if meter is None else meter.bounds).characters
    if size > most:
        raise Exceeded(f"it builds something of more than {most:,} characters or members")


def join(pieces: Iterable[str]) -> str:
    """All pieces as one text, as long as that is not too long."""
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        allow(size)
        kept.append(piece)
    return "".join(kept)


def add(left: Any, right: Any) -> Any:
    """``left + right``."""
    if isinstance(left, _SIZED) and isinstance(right, _SIZED):
        allow(len(left) + len(right))
    return left + right


def multiply(left: Any, right: Any) -> Any:
    """``left * right``."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, _SIZED) and isinstance(other, int):
            allow(len(one) * other)
    if isinstance(left, int) and isinstance(right, int):
        allow((left.bit_length() + right.bit_length()) // 3)
    return left * right


def power(left: Any, right: Any) -> Any:
    """``left ** right``."""
    if isinstance(left, int) and isinstance(right, int):
        # Unlike a product, a power takes time that grows with the square of its length.
        allow(left.bit_length() * max(right, 0) * 100)
    return left**right


def remainder(left: Any, right: Any) -> Any:
    """``left % right``, which for text is formatting."""
    if isinstance(left, str | bytes):
        check_format(_text(left), right if isinstance(right, tuple) else (right,))
    return left % right


def check_format(text: str, values: Iterable[object]) -> None:
    """Refuse a format that would write more than is allowed."""
    if _LONG_WIDTH.search(text):
        raise Exceeded("it formats text to a width that is very long, or not written in the format")
    allow(len(text) + (text.count("%") + text.count("{")) * max(map(weigh, values), default=0))


def check_width(*values: object) -> None:
    """Refuse a width, indent or count that is too large."""
    for value in values:
        if isinstance(value, int):
            allow(value)


def check_replace(text: object, old: object, new: object) -> None:
    """Refuse a replacement that would grow beyond what is allowed."""
    if all(isinstance(each, str | bytes) for each in (text, old, new)):
        allow(len(_text(text)) + _text(text).count(_text(old)) * len(_text(new)))


def check_join(separator: object, values: object) -> None:
    """Refuse to join more than is allowed."""
    if isinstance(values, list | tuple):
        between = len(separator) if isinstance(separator, str | bytes) else 0
        allow(sum([between + (len(each) if isinstance(each, str | bytes) else 0) for each in values]))


def _text(value: Any) -> str:
    """Text, or bytes with a character for each: as long, and with the same in it."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def weigh(value: object) -> int:
    """About how long ``value`` is when it is written out; what is too heavy is refused.

    A value that holds another one many times over is as heavy as all of them.
    """
    total, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str | bytes):
            total += len(each)
        elif isinstance(each, Mapping):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
        total += 1
        allow(total + len(waiting))
    return total
