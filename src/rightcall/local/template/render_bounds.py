"""Limits of rendering a chat template: seconds, characters and memory, counted meanwhile.

A template comes with a model, from anyone. The sandbox limits what it can reach; this limits its time
and memory. The deadline is checked on every iteration of a loop, call and filter. Whatever can hold
memory is counted when it is built and never subtracted, so the total stays within ``Bounds.memory``; a
filter or method that could build much out of little is checked before it runs (``growth.py``).
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
"""The longest template, in characters. Real ones stay under twenty thousand; compiling has no
deadline."""
_UNLOOKED = 32
"""How many steps are taken between two checks of the deadline."""
_MEMBER = 64
"""Bytes of a list's member, besides its slot: a short text, a small number."""
_SCALAR, _FLOAT = 8, 24
"""Characters of a value that is not text: ``false`` has five, a float as many as it needs."""
_UNLOOKED_WEIGHED = 1024
"""How many values are measured between two checks of the deadline."""


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits of one rendering."""

    seconds: float = 5.0
    characters: int = 16_000_000
    """Characters of any text that is built, and of the prompt. Ten times what a model can read."""
    memory: int = 512_000_000
    """Bytes of everything that is built, including what is soon released. A text that is made longer
    with each of a thousand messages, up to half a million characters, takes half of it."""


class Exceeded(RuntimeError):
    """A rendering exceeded its limits; the message says which."""


class Meter:
    """The remaining budget of one rendering."""

    __slots__ = ("_deadline", "bounds", "memory", "steps")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._deadline = monotonic() + bounds.seconds
        self.steps = _UNLOOKED
        self.memory = bounds.memory

    def look(self) -> None:
        """Check the deadline."""
        self.steps = _UNLOOKED
        if monotonic() > self._deadline:
            raise Exceeded(f"it was still not rendered after {self.bounds.seconds:g} s")


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)
DEFAULT = Bounds()


@contextmanager
def metered(bounds: Bounds) -> Iterator[None]:
    """Count what is rendered inside this context."""
    token = _METER.set(Meter(bounds))
    try:
        yield
    finally:
        _METER.reset(token)


def tick(size: int) -> None:
    """Count a step that could be repeated endlessly, and the bytes that it may leave behind."""
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
    """Count a built value, and return it. A list's members existed before."""
    tick(getsizeof(built))
    return built


def charge_all(built: Any) -> Any:
    """Count a built value with its members, which may be new, and return it."""
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
    """Refuse text, or a list, longer than allowed."""
    meter = _METER.get()
    most = (DEFAULT if meter is None else meter.bounds).characters
    if size > most:
        raise Exceeded(f"it builds something of more than {most:,} characters or members")


def weigh(value: object) -> int:
    """The approximate length of ``value`` when it is written out; refuses one that is too long.

    A value that contains another one several times counts it each time.
    """
    total, unlooked, waiting = 0, _UNLOOKED_WEIGHED, [value]
    while waiting:
        each = waiting.pop()
        # Most values have these exact types, and checking a type is faster than isinstance.
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
    """Check the deadline, if something is being rendered."""
    meter = _METER.get()
    if meter is not None:
        meter.look()


def _alone(value: object) -> int:
    """The length of a value without its parts."""
    if isinstance(value, str | bytes):
        return len(value) + 1
    if isinstance(value, int):
        return value.bit_length() // 3 + _SCALAR
    return _FLOAT if isinstance(value, float) else _SCALAR


def _parts(value: object) -> Iterable[object]:
    """The parts that are written out with ``value``."""
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
