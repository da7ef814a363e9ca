"""The problems of a call's arguments: where and what, in words that a model can act on."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Protocol

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, kind_of, shorten

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 100
_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(32)},
    **str.maketrans(
        {"\\": "\\\\", "'": "\\'", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    ),
}


class Problem(Struct, frozen=True, gc=False):
    """One problem at one place of a JSON document."""

    path: str
    """Where, as a JSON path: ``$.items[2].name``; ``$`` is the whole document."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def json_path(steps: Iterable[str | int]) -> str:
    """Returns the steps from the root of a document as a JSON path (RFC 9535).

    A key that is too long for a sentence is cut, with an ellipsis.
    """
    return "$" + "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > _LONGEST_KEY:
        step = step[: _LONGEST_KEY - 1] + "…"
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    return f"['{step.translate(_ESCAPES)}']"


class Valid(Struct, frozen=True, gc=False, eq=False):
    """Arguments that passed validation, as the handler takes them."""

    bound: Any


class Validator(Protocol):
    """Validates a tool's arguments."""

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate the arguments, given both as the model's text and as that text parsed."""


class Description(Struct, frozen=True, eq=False):
    """The JSON Schema of the arguments, and their validator."""

    parameters: JsonObject
    validator: Validator


MAX_PROBLEMS = 50
"""How many problems are listed; a model that made more does not need a longer list."""

_ARTICLES = {"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}


def describe_unexpected(name: str, known: list[str]) -> str:
    """Returns the sentence for a member that the schema does not have."""
    if nearest := get_close_matches(name, known, n=1):
        return f"is not a parameter; did you mean {shorten(nearest[0])}?"
    if not known:
        return "is not a parameter; leave it out"
    return f"is not a parameter; there is {', '.join(map(shorten, known[:20]))}"


def must_be(types: list[str], value: object) -> str:
    """Returns the sentence for a value of the wrong type."""
    last_null = sorted(types, key=lambda kind: kind == "null")
    wanted = list(dict.fromkeys(_ARTICLES.get(kind, f"a {kind}") for kind in last_null))
    return f"must be {' or '.join(wanted)}, not {describe_value(value)}"


def describe_value(value: object) -> str:
    """Returns a value for use in a sentence: its type, and the value if that adds something."""
    if value is None or value in ([], {}):
        return kind_of(value).replace("an ", "an empty ")
    return f"{kind_of(value)} ({shorten(value)})"
