"""A model's regular expression or glob into a test whose time grows only with the text.

Python's own expressions can take forever on a short line, and hold the whole process while they do. The
engine here is the one that pydantic carries, Rust's ``regex``, which never goes back: no look-around and
no backreferences, and in return no expression that hangs.
https://docs.rs/regex/latest/regex/#untrusted-input
"""

import re
from collections.abc import Iterator

from pydantic_core import SchemaError, SchemaValidator
from pydantic_core.core_schema import str_schema

from rightcall.errors import ToolFailure

MAX_PATTERN = 500
"""The longest pattern, in characters."""
MAX_REPEATS = 500
"""What the counts of an expression may multiply to: ``{n}`` makes that much more to do at each step."""

_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_SPACE = re.compile(r"\s+")
_SPECIAL = re.compile(r"[][\\.+*?(){}|^$#&~-]")
_ANY = {"*": "[^/]*", "?": "[^/]"}


class Pattern:
    """Says whether a text holds a match."""

    def __init__(self, expression: str) -> None:
        """Raises a ToolFailure for an expression that is not valid, or too much."""
        try:
            self._validator = SchemaValidator(str_schema(pattern=expression, regex_engine="rust-regex"))
        except SchemaError as error:
            reason = str(error).partition("SchemaError: ")[2] or "it cannot be read"
            raise ToolFailure(f"The pattern is not valid: {reason}") from None

    def is_in(self, text: str) -> bool:
        """Whether there is a match anywhere in the text."""
        return self._validator.isinstance_python(text)


def line_pattern(expression: str, *, ignore_case: bool = False) -> Pattern:
    """The test for lines: a regular expression, in which ``^`` and ``$`` are the ends of a line."""
    repeats = 1
    for least, most in _COUNTED.findall(_SPACE.sub("", expression)):
        repeats *= max(int(least), int(most or 0), 1)
    if len(expression) > MAX_PATTERN or repeats > MAX_REPEATS:
        raise ToolFailure(
            f"The pattern is too large: at most {MAX_PATTERN:,} characters, and counts like {{3}} that "
            f"multiply to no more than {MAX_REPEATS:,}."
        )
    # Alone first, so that words about a mistake show the expression as it was given.
    Pattern(expression)
    return Pattern(f"(?mi){expression}" if ignore_case else f"(?m){expression}")


def glob_pattern(glob: str) -> Pattern:
    """The test for whole paths: ``*`` and ``?`` stay in one name, ``**`` goes over any number of them.

    ``{a,b}`` is either, ``[a-c]`` and ``[!a-c]`` are classes. A glob without a slash is for names at any
    depth.
    """
    glob = glob.removeprefix("./").strip("/")
    if not glob or len(glob) > MAX_PATTERN:
        raise ToolFailure(f'The pattern must have 1 to {MAX_PATTERN} characters, like "src/**/*.py".')
    expression = "".join(_pieces(glob if "/" in glob else f"**/{glob}"))
    return Pattern(f"(?s)^(?:{expression})$")


def _pieces(glob: str) -> Iterator[str]:
    """A glob as an expression, piece by piece."""
    depth = at = 0
    while at < len(glob):
        character, rest = glob[at], glob[at:]
        at += 1
        if rest.startswith("**/") and (at == 1 or glob[at - 2] in "/{,"):
            yield "(?:.+/)?"
            at += 2
        elif rest == "**":
            yield ".+"
            at += 1
        elif character == "[" and "]" in rest[2:]:
            end = glob.index("]", at + 1)
            yield _class(glob[at:end])
            at = end + 1
        elif character == "{" and "}" in rest:
            yield "(?:"
            depth += 1
        elif character == "}" and depth:
            yield ")"
            depth -= 1
        else:
            yield "|" if character == "," and depth else _ANY.get(character) or _escape(character)
    yield ")" * depth


def _class(inside: str) -> str:
    """The inside of a bracketed class; ``!`` in front turns it round."""
    negated, members = ("^/", inside[1:]) if inside[0] in "!^" and inside[1:] else ("", inside)
    escaped = re.sub(r"[][\\^&~]", r"\\\g<0>", members)
    return f"[{negated}{escaped}]"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
