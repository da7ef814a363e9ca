"""Limits what operators, filters, methods and tests could build, checked before they run.

Each checks its operands and refuses an excessive result. What it builds is counted afterwards.
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
"""Checks a value and the arguments; returns the value, or a list of what it would have yielded."""

_SIZED = (str, bytes, list, tuple)
_LONG_WIDTH = re.compile(r"\d{6,}|\*|\{[^{}]*\{")
"""In a format string: a width of a million, one from the arguments, or a nested field."""
_WIDTH = re.compile(r"\d{2,5}")
_FINEST_ROUNDING = 400
"""The most decimal places; a float has no more."""
_PIECE = 96
"""Bytes of a short text in a list."""
_DEEPEST = 400
"""The deepest value that a recursive function may write out."""
_FOREIGN = 12
"""The most characters that an escaped character takes."""
_DATE = 256
"""The most characters that one character of a date format becomes."""


def join(pieces: Iterable[str]) -> str:
    """All pieces as one text, unless that is too long."""
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
    """A list, a dictionary or a tuple in a template."""
    if isinstance(value, tuple):
        # It may become a key, for which all of it is hashed.
        weigh(value)
    return charge(value)


def comparable(value: Any) -> Any:
    """A value to be compared with another, unless it is too large."""
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
    """A date format whose result cannot be too long."""
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
    """Check a call of a method of a text, bytes, a number or a list; returns the arguments for it."""
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
    """A filter that checks its arguments first (the first ``skips`` are Jinja's), and is counted."""
    check = FILTERS.get(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        if check is not None and len(args) > skips:
            value = check(*args[skips:], *kwargs.values())
            args = (*args[:skips], value, *args[skips + 1 :])
        return charge_all(function(*args, **kwargs))

    return run


def _size(value: object) -> int:
    """The size of a value; a number counts as its own value."""
    if isinstance(value, int):
        return abs(value)
    return len(value) if isinstance(value, str | bytes) else weigh(value)


def _as_text(value: Any, *rest: object) -> Any:
    """For filters that write out their value, and their arguments beside it."""
    for each in (value, *rest):
        if not isinstance(each, str | bytes | int):
            weigh(each)
    return value


def _width(value: Any, *rest: object) -> Any:
    _as_text(value)
    allow(_size(value if isinstance(value, str | bytes) else "") + sum(map(_size, rest)))
    return value


def _times(value: Any, *rest: object) -> Any:
    """For filters that may write their arguments once per character."""
    foresee(weigh(value) * (_FOREIGN + sum(map(_size, rest))))
    return value


def _indented(text: Any, *rest: object) -> Any:
    lines = text.count("\n") + 1 if isinstance(text, str) else 1
    allow(weigh(text) + lines * sum(map(_size, rest)))
    return text


def _pieces(text: Any, separator: object = None, *_: object) -> Any:
    """For filters that split a text."""
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
    """The members to be joined, unless they are too long together."""
    members = gathered(values)
    between = _size(separator) if isinstance(separator, str | bytes) else weigh(separator)
    allow(between * len(members))
    size = 0
    for each in members:
        size += between + (len(each) if isinstance(each, str | bytes) else weigh(each))
        allow(size)
    return members


def _compared(values: Any, *_: object) -> Any:
    """For filters that compare members with each other."""
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
        # Adding up lists copies each once for every list that is added.
        foresee(weigh(members) * max(len(members), 1) * 8)
    _as_text(None, *rest)
    return members


def _listed(values: Any, *_: object) -> Any:
    return _pieces(values) if isinstance(values, str | bytes) else gathered(values)


def gathered(values: Any) -> Any:
    """The items of an iterator, as a list; the deadline is checked meanwhile."""
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
    """Text, or bytes as text of the same length and content."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


_METHODS: Mapping[str, Check] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "to_bytes"), _width),
    **dict.fromkeys(("split", "rsplit", "splitlines"), _pieces),
    "expandtabs": _tabs,
    "replace": _replaced,
    "translate": _times,
}
"""Methods of texts, bytes and numbers that can make much out of little. The others make at most a few
times their input."""

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
