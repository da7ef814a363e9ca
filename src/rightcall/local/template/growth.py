"""What operators, filters, methods and tests could make out of what they are given, seen before they do.

Each looks at its operands and refuses what would be too much. What it builds is counted afterwards.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from sys import getsizeof
from typing import Any, TypeAlias

from rightcall.local.template.render_bounds import (
    Exceeded,
    allow,
    charge,
    charge_all,
    foresee,
    tick,
    weigh,
)

Check: TypeAlias = Callable[..., Any]
"""Looks at a value and the arguments; gives the value back, or a list of what it would have given."""

_SIZED = (str, bytes, list, tuple)
_LONG_WIDTH = re.compile(r"\d{6,}|\*|\{[^{}]*\{")
"""In a format string: a width of a million, one from the arguments, or a nested field."""
_WIDTH = re.compile(r"\d{2,5}")
_FINEST_ROUNDING = 400
"""Decimal places; a float has no more."""
_PIECE = 96
"""Bytes of a short text in a list."""
_DEEPEST = 400
"""How deep a value can be that is written out by a function that calls itself."""
_FOREIGN = 12
"""Characters at most that one character is escaped by."""
_DATE = 256
"""Characters at most that one character of a form of dates becomes."""


def join(pieces: Iterable[str]) -> str:
    """All pieces as one text, as long as that is not too long."""
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        allow(size)
        kept.append(piece)
    text: str = charge("".join(kept))
    return text


def written(value: object) -> str:
    """The value as text."""
    if not isinstance(value, str):
        weigh(value)
    return str(value)


def add(left: Any, right: Any) -> Any:
    """``left + right``."""
    if isinstance(left, _SIZED) and isinstance(right, _SIZED):
        allow(len(left) + len(right))
    return charge(left + right)


def multiply(left: Any, right: Any) -> Any:
    """``left * right``."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, _SIZED) and isinstance(other, int):
            allow(len(one) * other)
    if isinstance(left, int) and isinstance(right, int):
        allow((left.bit_length() + right.bit_length()) // 3)
    return charge(left * right)


def subtract(left: Any, right: Any) -> Any:
    """``left - right``."""
    return charge(left - right)


def divide(left: Any, right: Any) -> Any:
    """``left // right``."""
    return charge(left // right)


def negate(value: Any) -> Any:
    """``-value``."""
    return charge(-value)


def power(left: Any, right: Any) -> Any:
    """``left ** right``."""
    if isinstance(left, int) and isinstance(right, int):
        # Unlike a product, a power takes time that grows with the square of its length.
        allow(left.bit_length() * max(right, 0) * 100)
    return charge(left**right)


def remainder(left: Any, right: Any) -> Any:
    """``left % right``, which for text is formatting."""
    if isinstance(left, str | bytes):
        check_format(_text(left), right if isinstance(right, tuple) else (right,))
    return charge(left % right)


def cut(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """``value[start:stop:step]``."""
    return charge(value[start:stop:step])


def literal(value: Any) -> Any:
    """A list, a dictionary or a tuple that stands in a template."""
    if isinstance(value, tuple):
        # It may become a key, for which all of it is gone through.
        weigh(value)
    return charge(value)


def comparable(value: Any) -> Any:
    """A value that is compared with another one, as long as that is not too large."""
    if not isinstance(value, str | bytes | int | float):
        weigh(value)
    return value


def check_format(text: str, values: Iterable[object]) -> None:
    """Refuse a format that would write more than is allowed."""
    if _LONG_WIDTH.search(text):
        raise Exceeded("it formats text to a width that is very long, or not written in the format")
    widths = sum([int(each) for each in _WIDTH.findall(text)])
    fields = text.count("%") + text.count("{")
    allow(len(text) + widths + fields * max(map(weigh, values), default=0))


def check_date(form: object) -> str:
    """A form of dates that is not too long for what can become of it."""
    text = written(form)
    allow(len(text) * _DATE)
    return text


def check_json(value: Any, indent: object, separators: object) -> None:
    """Refuse JSON that would be too long."""
    weight = weigh(value)
    around = 0 if indent is None else _size(indent) * _DEEPEST
    foresee(weight * (around + (0 if separators is None else weigh(separators))))
    if indent is not None:
        allow(_size(indent))


def check_method(of: Any, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Look at a call of a method of a text, bytes, a number or a list; the arguments it is to get."""
    if isinstance(of, list | tuple):
        weigh(of)
        return arguments
    if name == "join" and arguments:
        return (_joined(arguments[0], of), *arguments[1:])
    check = _METHODS.get(name)
    if check is not None:
        check(of, *arguments)
    return arguments


def taken_apart(of: Any, result: Any) -> None:
    """Count the pieces that a method has made of a text."""
    if isinstance(of, str | bytes) and isinstance(result, list | tuple):
        tick(sum(map(getsizeof, result)))


def guarded(name: str, function: Callable[..., Any], skips: int) -> Callable[..., Any]:
    """A filter that looks at its arguments first (the first ``skips`` are Jinja's), and is counted."""
    check = FILTERS.get(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        if check is not None and len(args) > skips:
            value = check(*args[skips:], *kwargs.values())
            args = (*args[:skips], value, *args[skips + 1 :])
        return charge_all(function(*args, **kwargs))

    return run


def _size(value: object) -> int:
    """How much a value stands for: a number for as many."""
    if isinstance(value, int):
        return abs(value)
    return len(value) if isinstance(value, str | bytes) else weigh(value)


def _as_text(value: Any, *rest: object) -> Any:
    """For what writes its value out, and its arguments beside it."""
    for each in (value, *rest):
        if not isinstance(each, str | bytes | int):
            weigh(each)
    return value


def _width(value: Any, *rest: object) -> Any:
    _as_text(value)
    allow(_size(value if isinstance(value, str | bytes) else "") + sum(map(_size, rest)))
    return value


def _times(value: Any, *rest: object) -> Any:
    """For what may write its arguments once for every character."""
    foresee(weigh(value) * (_FOREIGN + sum(map(_size, rest))))
    return value


def _indented(text: Any, *rest: object) -> Any:
    lines = text.count("\n") + 1 if isinstance(text, str) else 1
    allow(weigh(text) + lines * sum(map(_size, rest)))
    return text


def _pieces(text: Any, separator: object = None, *_: object) -> Any:
    """For what takes a text apart."""
    if isinstance(text, str | bytes):
        known = isinstance(separator, str | bytes) and type(separator) is type(text) and separator
        count = text.count(separator) if known else len(text)  # type: ignore[arg-type]
        foresee(len(text) + (count + 1) * _PIECE)
    return text


def _tabs(text: Any, width: object = 8, *_: object) -> Any:
    allow(len(text) + _text(text).count("\t") * _size(width))
    return text


def _replaced(text: Any, old: object = "", new: object = "", *_: object) -> Any:
    _as_text(text, old, new)
    if all(isinstance(each, str | bytes) for each in (text, old, new)):
        allow(len(text) + _text(text).count(_text(old)) * len(_text(new)))
    else:
        foresee(weigh(text) * (weigh(new) + 1))
    return text


def _joined(values: Any, separator: object = "", *_: object) -> Any:
    """The members that are to be joined, when they are not too long together."""
    members = gathered(values)
    between = _size(separator) if isinstance(separator, str | bytes) else weigh(separator)
    allow(between * len(members))
    size = 0
    for each in members:
        size += between + (len(each) if isinstance(each, str | bytes) else weigh(each))
        allow(size)
    return members


def _compared(values: Any, *_: object) -> Any:
    """For what compares members with each other."""
    if isinstance(values, str | bytes | Mapping):
        _pieces(values)
        weigh(values)
        return values
    members = gathered(values)
    weigh(members)
    tick(_PIECE * len(members) if isinstance(members, Sized) else 0)
    return members


def _summed(values: Any, *rest: object) -> Any:
    members = gathered(values)
    if isinstance(members, str | bytes) or not all(isinstance(each, int | float) for each in members):
        # Lists that are added up are copied once for each that is added.
        foresee(weigh(members) * max(len(members), 1) * 8)
    _as_text(None, *rest)
    return members


def _listed(values: Any, *_: object) -> Any:
    return _pieces(values) if isinstance(values, str | bytes) else gathered(values)


def gathered(values: Any) -> Any:
    """What comes out of something lazy, as a list; the clock is looked at meanwhile."""
    if isinstance(values, Sized) or not isinstance(values, Iterable):
        return values
    kept = []
    for each in values:
        tick(_PIECE)
        kept.append(each)
    return kept


def _rounded(value: Any, precision: object = 0, *_: object) -> Any:
    if isinstance(precision, int) and abs(precision) > _FINEST_ROUNDING:
        raise Exceeded(f"it rounds to {precision} decimal places")
    return value


def _formatted(text: Any, *values: object) -> Any:
    check_format(written(text), values)
    return text


def _divided(values: Any, *rest: object) -> Any:
    members = gathered(values)
    foresee(sum(map(_size, rest)) * _PIECE)
    tick(_PIECE * len(members) if isinstance(members, Sized) else 0)
    return members


def _printed(value: Any, *_: object) -> Any:
    foresee(weigh(value) * _DEEPEST)
    return value


def _text(value: Any) -> str:
    """Text, or bytes with a character for each: as long, and with the same in it."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


_METHODS: Mapping[str, Check] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "to_bytes"), _width),
    **dict.fromkeys(("split", "rsplit", "splitlines"), _pieces),
    "expandtabs": _tabs,
    "replace": _replaced,
    "translate": _times,
}
"""Methods of texts, bytes and numbers that can make much out of little. The others make at most a few
times what they are given."""

FILTERS: Mapping[str, Check] = {
    **dict.fromkeys(("capitalize", "lower", "title", "trim", "truncate", "upper"), _as_text),
    **dict.fromkeys(("e", "escape", "forceescape", "safe", "striptags", "urlencode"), _as_text),
    **dict.fromkeys(("dictsort", "groupby", "max", "min", "sort", "unique"), _compared),
    **dict.fromkeys(("urlize", "wordwrap", "xmlattr"), _times),
    **dict.fromkeys(("batch", "slice"), _divided),
    "center": _width,
    "format": _formatted,
    "indent": _indented,
    "join": _joined,
    "list": _listed,
    "pprint": _printed,
    "replace": _replaced,
    "round": _rounded,
    "string": _as_text,
    "sum": _summed,
    "wordcount": _pieces,
}
"""The same for filters."""

COMPARING = ("eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", "gt", ">", "ge", ">=")
"""Tests that compare two values; ``in`` does, and ``lower`` and ``upper`` write theirs out."""
TESTS = (*COMPARING, "greaterthan", "in", "lower", "upper")
