"""What a chat template may cost: seconds, characters and memory, counted while it is rendered.

A template comes with a model, from anyone. The sandbox keeps it from reaching out; this keeps it from
never ending and from growing without end. The clock is looked at on every turn of a loop, call and
filter. Whatever can hold memory is counted when it is built and never counted back, so all of it
together stays within ``Bounds.memory``; what a filter or method could make out of little is worked out
before it is reached (``growth.py``).
"""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from contextlib import contextmanager
from contextvars import ContextVar
from sys import getsizeof
from time import monotonic
from typing import Any

from jinja2.utils import Namespace
from msgspec import Struct

LONGEST_TEMPLATE = 250_000
"""Characters of a template's own text. Real ones stay under twenty thousand; compiling has no clock."""
_UNLOOKED = 32
"""How many steps are taken without a look at the clock."""
_MEMBER = 64
"""Bytes of a member of a list, beside its place in it: a short text, a small number."""
_SCALAR, _FLOAT = 8, 24
"""Characters of a value that is no text: ``false`` has five, a float as many as it needs."""
_UNLOOKED_WEIGHED = 1024
"""How many values are weighed without a look at the clock."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What one rendering may cost."""

    seconds: float = 5.0
    characters: int = 16_000_000
    """Of any text that is built on the way, and of the prompt. Ten times what a model can read."""
    memory: int = 512_000_000
    """Bytes of all that is built on the way, also of what is soon let go of. A text that is made longer
    with each of a thousand messages, up to half a million characters, takes half of it."""


class Exceeded(RuntimeError):
    """A rendering went over its bounds; the message says which."""


class Meter:
    """What one rendering has left."""

    __slots__ = ("_deadline", "bounds", "memory", "steps")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._deadline = monotonic() + bounds.seconds
        self.steps = _UNLOOKED
        self.memory = bounds.memory

    def look(self) -> None:
        """Look at the clock."""
        self.steps = _UNLOOKED
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


def tick(size: int) -> None:
    """Count a step that could be taken without end, and the bytes that it may leave behind."""
    meter = _METER.get()
    if meter is None:
        return
    meter.memory -= size
    if meter.memory < 0:
        raise _too_much(meter.bounds)
    meter.steps -= 1
    if not meter.steps:
        meter.look()


def charge(built: Any) -> Any:
    """Count what was built, and give it back. What a list holds was there before."""
    tick(getsizeof(built))
    return built


def charge_all(built: Any) -> Any:
    """Count what was built together with its members, which may be new, and give it back."""
    tick(getsizeof(built) + (_MEMBER * len(built) if isinstance(built, list | tuple) else 0))
    return built


def foresee(size: int) -> None:
    """Refuse to build something for which too little memory is left."""
    meter = _METER.get()
    if size > (DEFAULT.memory if meter is None else meter.memory):
        raise _too_much(DEFAULT if meter is None else meter.bounds)


def _too_much(bounds: Bounds) -> Exceeded:
    return Exceeded(f"it builds more than {bounds.memory / 1e6:,.0f} MB")


def allow(size: int) -> None:
    """Refuse text, or a list, of more than is allowed."""
    meter = _METER.get()
    most = (DEFAULT if meter is None else meter.bounds).characters
    if size > most:
        raise Exceeded(f"it builds something of more than {most:,} characters or members")


def weigh(value: object) -> int:
    """About how long ``value`` is when it is written out; what is too heavy is refused.

    A value that holds another one many times over is as heavy as all of them.
    """
    total, unlooked, waiting = 0, _UNLOOKED_WEIGHED, [value]
    while waiting:
        each = waiting.pop()
        # By far the most are of these types, and asking for one is quicker than for all like it.
        kind = type(each)
        if kind is str:
            total += len(each) + 1  # type: ignore[arg-type]
        elif kind is dict:
            total += _SCALAR
            waiting += each  # type: ignore[arg-type]
            waiting += each.values()  # type: ignore[attr-defined]
        else:
            total += _alone(each)
            waiting += _parts(each)
        unlooked -= 1
        if not unlooked:
            unlooked = _UNLOOKED_WEIGHED
            allow(total + len(waiting))
            look()
    allow(total)
    return total


def look() -> None:
    """Look at the clock, if something is being rendered."""
    meter = _METER.get()
    if meter is not None:
        meter.look()


def _alone(value: object) -> int:
    """How long a value is without its parts."""
    if isinstance(value, str | bytes):
        return len(value) + 1
    if isinstance(value, int):
        return value.bit_length() // 3 + _SCALAR
    return _FLOAT if isinstance(value, float) else _SCALAR


def _parts(value: object) -> Iterable[object]:
    """What is written out as a part of ``value``."""
    match value:
        case None | str() | bytes() | int() | float():
            return ()
        case list() | tuple() | KeysView() | ValuesView() | ItemsView():
            return value
        case Mapping():
            return [*value.keys(), *value.values()]
        case Namespace():
            held: dict[str, object] = object.__getattribute__(value, "_Namespace__attrs")
            return [*held.keys(), *held.values()]
        case _:
            return ()
