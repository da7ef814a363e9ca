"""Text that stands for a value into JSON text of a type that its schema admits.

A value that can only be a string is one, letter by letter, and streams. Any other is read when it is
complete: as JSON if it is JSON of an admitted type, as Python's literal where only that fits, else as a
string, so that nothing is lost and the gate can say what is wrong. Quotes are part of the text.
"""

from math import isfinite
from typing import Any

from rightcall.core.jsontext import JsonError, parse
from rightcall.local.families.admitted import STRING, Types
from rightcall.local.families.jsonstring import quoted
from rightcall.local.families.python_value import literal

_WORDS = {"true": "true", "false": "false"}
_NOTHING = frozenset(("null", "none", "nil"))
_MAX_LITERAL = 100_000
"""A longer text is not tried as a Python literal."""


def to_json(text: str, types: Types) -> str:
    """The value that a text stands for, as JSON text."""
    bare = text.strip()
    if types != STRING and bare:
        found = _as_json(bare, types) or _as_scalar(bare, types) or _as_python(bare, types)
        if found:
            return found
    if not bare and "string" not in types:
        empty = {"object": "{}", "array": "[]"}
        return next((empty[kind] for kind in ("object", "array") if kind in types), '""')
    return quoted(text)


def _as_json(text: str, types: Types) -> str:
    if text[0] == '"':
        return ""
    try:
        value = parse(text)
    except JsonError:
        return ""
    return text if _fits(value, types) else ""


def _fits(value: Any, types: Types) -> bool:
    match value:
        case bool():
            return "boolean" in types
        case None:
            return "null" in types
        case int():
            return bool({"integer", "number"} & types)
        case float():
            return "number" in types or ("integer" in types and value.is_integer())
        case dict():
            return "object" in types
        case list():
            return "array" in types
        case _:
            return False


def _as_scalar(text: str, types: Types) -> str:
    """How models also spell numbers, truth and nothing, where no string could be meant."""
    if "string" in types:
        return ""
    lower = text.lower()
    if "boolean" in types and lower in _WORDS:
        return _WORDS[lower]
    if "null" in types and lower in _NOTHING:
        return "null"
    try:
        value = float(text)
        if "integer" in types and text.lstrip("+-").isdecimal():
            return str(int(text))
    except ValueError:
        return ""
    return repr(value) if "number" in types and isfinite(value) else ""


def _as_python(text: str, types: Types) -> str:
    if text[0] not in "{[(" or len(text) > _MAX_LITERAL or not {"object", "array"} & types:
        return ""
    written = literal(text)
    return _as_json(written, types) if written else ""
