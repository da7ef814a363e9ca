"""Redacts the secrets in the plain form of an entry, before it is written.

A secret is recognised by its own format, wherever it is, or by the name of the member or setting that
holds it, also in strings that are JSON text themselves. Keys are never changed, and JSON text stays JSON
with the same structure. What is redacted is gone: a run that is resumed from its record continues
without it.
"""

import json
import re
from contextlib import suppress
from typing import Any

from rightcall.core.lazy import pattern
from rightcall.core.secret_formats import (
    REDACTED,
    Secrecy,
    may_hold_secret,
    may_name_secret,
    redact_formats,
    secrecy_of,
)

_ORDER: tuple[Secrecy, ...] = ("open", "text", "all")
# A name may be written with escapes.
_ESCAPED = "\\u00"
# Under these names, members that begin with this bracket are not values: their names are those of
# parameters in a schema, or of calls that were decided about.
_INDEXES = {
    "properties": "{",
    "patternProperties": "{",
    "dependentSchemas": "{",
    "dependentRequired": "[",
    "$defs": "{",
    "definitions": "{",
    "decisions": "{",
}

_SHORTEST = len("://:x@")
_BRACKETS: dict[type, str] = {dict: "{", list: "[", tuple: "["}

_JSON = pattern(r'\s*[\[{"]')
_JSON_TOKEN = pattern(
    r'(?P<literal>"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<close>"?))(?P<colon>\s*:)?|[\[\]{},]', re.DOTALL
)
_NUMBER = pattern(r"-?\d[\d.eE+-]*")
_LAST_STEP = pattern(r"[\w-]+(?=\W*$)")


def redact_secrets(value: object) -> object:
    """Returns a copy of ``value``, made of JSON types and bytes, with secrets redacted."""
    root = [value]
    todo: list[tuple[Any, Any, Secrecy]] = [(root, 0, "open")]
    while todo:
        holder, place, secrecy = todo.pop()
        match holder[place]:
            case str(text):
                if secrecy == "open":
                    holder[place] = redact_text(text)
                else:
                    holder[place] = text and REDACTED
            case bytes(data):
                # Bytes that are no text stay.
                with suppress(UnicodeDecodeError):
                    holder[place] = redact_text(data.decode()).encode()
            case bool():
                pass
            case int() | float() if secrecy == "all":
                holder[place] = REDACTED
            case dict(members):
                holder[place] = copy = dict(members)
                todo.extend((copy, name, _member(copy, name, place, secrecy)) for name in copy)
            case list(items) | tuple(items):
                holder[place] = copies = list(items)
                todo.extend((copies, index, secrecy) for index in range(len(copies)))
            case _:
                pass
    return root[0]


def redact_text(text: str) -> str:
    """Returns ``text`` with secrets redacted; JSON text stays JSON."""
    if len(text) < _SHORTEST:
        return text
    has_names = '"' in text and (may_name_secret(text) or _ESCAPED in text)
    if not has_names and not may_hold_secret(text):
        return text
    if '"' not in text or not _JSON.match(text):
        return redact_formats(text)
    clean = _redact_json(text)
    try:
        # Not our own strict parser: half a surrogate pair does no harm here.
        json.loads(clean)
    except (ValueError, RecursionError):
        return redact_formats(clean)
    return clean


def _member(siblings: dict[str, object], name: str, container: object, outer: Secrecy) -> Secrecy:
    """Returns how secret a member is, given the name of its object, which may be secret itself."""
    value = siblings[name]
    path = siblings.get("path")
    if _INDEXES.get(str(container)) == _BRACKETS.get(type(value), ""):
        return outer
    if name in ("before", "after") and isinstance(path, str):
        # The value that a repair changed is named by its path.
        step = _LAST_STEP.search(path)
        name = step[0] if step else name
    return max(outer, secrecy_of(name), key=_ORDER.index)


def _redact_json(text: str) -> str:
    """Redact JSON text token by token, so that it may also be cut off or invalid."""
    pieces = []
    position = 0
    levels: list[tuple[str, Secrecy]] = [("", "open")]
    """For every container around: its name, and how secret it is."""
    name, secrecy = levels[0]
    for token in _JSON_TOKEN.finditer(text):
        pieces.append(_redact_between(text[position : token.start()], secrecy))
        position = token.end()
        around, outer = levels[-1]
        piece = token[0]
        literal = token["literal"]
        if literal is None:
            if piece in "[{":
                levels.append((name, outer if _INDEXES.get(around) == piece else secrecy))
            elif piece in "]}" and len(levels) > 1:
                levels.pop()
            name = ""
            secrecy = levels[-1][1]
        elif token["colon"] is not None:
            try:
                name = str(json.loads(literal))
            except ValueError:
                name = literal
            secrecy = max(outer, secrecy_of(name), key=_ORDER.index)
        elif secrecy == "open":
            if len(literal) >= _SHORTEST:
                try:
                    plain = json.loads(literal)
                except ValueError:
                    piece = redact_formats(literal)
                else:
                    clean = redact_text(plain)
                    if clean != plain:
                        piece = json.dumps(clean, ensure_ascii="\\u" in literal)
        elif piece != '""':
            # One that is cut off stays cut off.
            piece = f'"{REDACTED}{token["close"]}'
        pieces.append(piece)
    return "".join(pieces) + _redact_between(text[position:], secrecy)


def _redact_between(text: str, secrecy: Secrecy) -> str:
    """Redact what is between the strings and brackets of JSON text: space, numbers, words."""
    if not text or text.isspace():
        return text
    if secrecy == "all":
        return _NUMBER.sub(f'"{REDACTED}"', text)
    return redact_formats(text)
