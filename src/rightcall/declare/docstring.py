"""Parses docstrings: the description of a tool and of its parameters.

Docstrings are read in the styles of Google, NumPy and reST, mixed if need be. Sections about parameters,
results and exceptions are taken out of the description; everything else (notes, examples) stays in it.
"""

import inspect
import re
from collections.abc import Iterator

from msgspec import Struct

from rightcall.core.pattern import pattern

_PARAMETERS = r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)"
_DROPPED = r"(?:Returns?|Yields?|Raises|Warns|Attributes)"
_GOOGLE = pattern(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED}):\s*")
_NUMPY = pattern(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED})\s*")
_NUMPY_ANY = pattern(r"[A-Z][A-Za-z ]*")
_RULE = pattern(r"-{3,}\s*")
_FIELD = pattern(
    r":(?:(?P<parameters>param|parameter|arg|argument|key|keyword)"
    r"|type|return|returns|rtype|yield|yields|raise|raises|except|exception)"
    r"(?P<rest>(?:\s[^:]*)?):\s*(?P<text>.*)"
)
_GOOGLE_ITEM = pattern(r"\*{0,2}(?P<names>\w+)\s*(?:\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:\s*(?P<text>.*)")
_NUMPY_ITEM = pattern(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Docstring(Struct, frozen=True):
    """A parsed docstring."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring; None is an empty one."""
    lines = inspect.cleandoc(text or "").splitlines()
    kept: list[str] = []
    parameters: dict[str, str] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        if header := _GOOGLE.fullmatch(line):
            block, position = _indented(lines, position + 1)
            items = _items(block, _GOOGLE_ITEM)
        elif (header := _NUMPY.fullmatch(line)) and _is_rule(lines, position + 1):
            block, position = _ruled(lines, position + 2)
            items = _items(block, _NUMPY_ITEM)
        elif header := _FIELD.fullmatch(line):
            block, position = _indented(lines, position + 1)
            items = _field(header, block)
        else:
            kept.append(line)
            position += 1
            continue
        if header["parameters"]:
            parameters.update(items)
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters)


def _is_rule(lines: list[str], position: int) -> bool:
    return position < len(lines) and _RULE.fullmatch(lines[position]) is not None


def _indented(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` that are blank or indented, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        end += 1
    return lines[start:end], end


def _ruled(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` up to the next underlined header or another style, and where they end."""
    end = start
    while end < len(lines) and not (
        (_NUMPY_ANY.fullmatch(lines[end].rstrip()) and _is_rule(lines, end + 1))
        or _GOOGLE.fullmatch(lines[end])
        or _FIELD.fullmatch(lines[end])
    ):
        end += 1
    return lines[start:end], end


def _items(block: list[str], item: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The items of a section: each begins at the section's own indent, deeper lines continue it."""
    block = inspect.cleandoc("\n" + "\n".join(block)).splitlines()
    names: list[str] = []
    text: list[str] = []
    for line in block:
        if line[:1].strip() and (match := item.fullmatch(line)):
            yield from _described(names, text)
            names = re.findall(r"\w+", match["names"])
            text = [match.groupdict().get("text") or ""]
        else:
            text.append(line)
    yield from _described(names, text)


def _field(header: re.Match[str], block: list[str]) -> Iterator[tuple[str, str]]:
    if words := header["rest"].split():
        yield from _described([words[-1].lstrip("*")], [header["text"], *block])


def _described(names: list[str], text: list[str]) -> Iterator[tuple[str, str]]:
    description = " ".join(line.strip() for line in text if line.strip())
    if description:
        yield from ((name, description) for name in names)
