"""Measures a value that a tool returned, before it is encoded.

Encoding cannot be interrupted and blocks everything else, so a value is counted first, and only as far
as necessary. Small plain values are recognised cheaply: they are the most common, and are encoded on the
event loop.
"""

import dataclasses
import io
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import NoneType
from typing import Any
from uuid import UUID

from msgspec import Struct

from rightcall.core.handler import FoundTools
from rightcall.core.limits import Limits
from rightcall.core.parts import Media
from rightcall.declare.plain import is_model

MOST_VALUES = 500_000
"""The most values in what a tool returns; they take about 50 ms to encode."""
MOST_TEXT = 16 * 1024 * 1024
"""The most characters and bytes in those. A string alone may have any length: only its ends are read."""
_FEW = 2_000
_LINE = 64
"""Characters that take as long to encode as one value."""
SHORT_TEXT = 256 * 1024
"""Characters of a text that goes into its envelope within a few milliseconds."""
_DEEPEST = 255
"""The most levels that pydantic encodes; it refuses deeper values itself."""
_SHORT_NUMBER = 256
_LONG_NUMBER = 14_284
"""Bits above which Python refuses to print an int; the time to print grows with the square of its
length."""
_SCALARS = {NoneType, bool, float, date, datetime, time, timedelta, Decimal, UUID}
_KEYS = {str, int}


class Unshowable(ValueError):
    """A value cannot be shown to a model; the message says why, for the developer."""


class ValueTooLarge(Unshowable):
    """A value is too large to be encoded for a model; the message says what there is too much of."""


def is_small(value: object) -> bool:
    """Whether a value is small and of Python's own plain types, so that encoding takes almost no time.

    Neither this nor the encoding then runs anybody else's code.
    """
    kind = type(value)
    if kind is str:
        return len(value) <= SHORT_TEXT  # type: ignore[arg-type]
    if kind is bytes or kind is Media or kind is FoundTools:
        return True
    left = _FEW
    todo = [value]
    for each in todo:
        kind = type(each)
        if kind is str:
            left -= 1 + len(each) // _LINE  # type: ignore[arg-type]
        elif kind is dict:
            left -= 1 + 2 * len(each)  # type: ignore[arg-type]
            if left < 0 or not {*map(type, each)} <= _KEYS:  # type: ignore[call-overload]
                return False
            todo += each  # type: ignore[arg-type]
            todo += each.values()  # type: ignore[attr-defined]
        elif kind is list or kind is tuple:
            left -= 1 + len(each)  # type: ignore[arg-type]
            if left < 0:
                return False
            todo += each  # type: ignore[arg-type]
        elif kind is int:
            left -= 1 if each.bit_length() <= _SHORT_NUMBER else _FEW  # type: ignore[attr-defined]
        elif kind not in _SCALARS:
            return False
        if left < 0:
            return False
    return True


def check_size(value: object, limits: Limits) -> None:
    """Raise ValueTooLarge if a value holds too much to encode, Unshowable if it never ends.

    May run the value's own code, and take up to half a second.
    """
    if isinstance(value, str) or is_media(type(value)):
        return
    count = _Count(limits)
    level: list[Any] = [value]
    if isinstance(value, list | tuple):
        level = list(count.take(value))
        if holds_media(level):
            level = [each for each in level if not is_media(type(each))]
    depth = 0
    while level and depth <= _DEEPEST:
        below: list[Any] = []
        for each in level:
            below += count.take(each)
        level = below
        depth += 1


def holds_media(items: Collection[object]) -> bool:
    """Whether any item is shown as media. Looks only at their types, of which there are few."""
    return any(is_media(kind) for kind in {*map(type, items)})


def is_media(kind: type) -> bool:
    """Whether values of a type are shown as media, which have limits of their own."""
    return issubclass(kind, Media | bytes | bytearray | memoryview | io.IOBase) or is_image(kind)


def is_image(kind: type) -> bool:
    """Whether it is the type of a Pillow image, recognised by its attributes: Pillow is optional."""
    return kind.__module__.startswith("PIL.") and hasattr(kind, "save")


class _Count:
    """Counts the content of a value."""

    def __init__(self, limits: Limits) -> None:
        self._most_values = max(MOST_VALUES, limits.max_output_bytes)
        self._most_text = max(MOST_TEXT, limits.max_output_bytes)
        self._values = 0
        self._text = 0

    def take(self, each: Any) -> Iterable[Any]:
        """Count one value, and return the values inside it."""
        match each:
            case str():
                self._add_text(str.__len__(each))
            case int():
                bits = int.bit_length(each)
                if bits > _LONG_NUMBER:
                    raise ValueTooLarge("it holds a number of more than 4,300 digits")
                if bits > _SHORT_NUMBER:
                    self._add((bits // _SHORT_NUMBER) ** 2)
            case bytes() | bytearray():
                self._add_text(len(each))
            case memoryview():
                self._add_text(each.nbytes)
            case dict():
                self._add(2 * len(each))
                return [*each, *each.values()]
            case list() | tuple() | set() | frozenset():
                self._add(len(each))
                return each
            case Iterator() | AsyncIterator() | Coroutine():
                raise Unshowable(f"{type(each).__name__} holds no value until it is read; return a list")
            case _ if names := _fields(type(each)):  # type: ignore[arg-type]
                self._add(2 * len(names))
                return [getattr(each, name, None) for name in names]
            case _ if isinstance(size := getattr(each, "size", None), int) and hasattr(each, "tolist"):
                self._add(size)
            case Collection():
                self._add(len(each))
                if isinstance(each, Mapping):
                    return each.values()
                return ()
            case _:
                pass
        return ()

    def _add(self, values: int) -> None:
        self._values += values
        if self._values > self._most_values:
            raise ValueTooLarge(f"it holds more than {self._most_values:,} values")

    def _add_text(self, characters: int) -> None:
        self._text += characters
        if self._text > self._most_text:
            raise ValueTooLarge(f"it holds more than {self._most_text:,} characters of text")


@lru_cache(maxsize=1000)
def _fields(kind: type) -> tuple[str, ...]:
    """Returns the members of a class that are encoded as they are, which no serialiser changes."""
    if is_model(kind):
        from pydantic import PlainSerializer, WrapSerializer  # noqa: PLC0415 - light until used

        decorators = kind.__pydantic_decorators__
        if decorators.model_serializers:
            return ()
        rewritten = {name for each in decorators.field_serializers.values() for name in each.info.fields}
        names = []
        for name, field in kind.model_fields.items():
            has_own = any(isinstance(each, PlainSerializer | WrapSerializer) for each in field.metadata)
            if not (field.exclude or {name, "*"} & rewritten or has_own):
                names.append(name)
        return tuple(names)
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    return tuple(field.name for field in getattr(kind, "__attrs_attrs__", ()))
