"""Redacts the secrets in the plain form of an entry, before it is written.

A secret is recognised by its own format, wherever it is, or by the name of the member or setting that
holds it, also in strings that are JSON text themselves. Keys are never changed, and JSON text stays JSON
with the same structure. What is redacted is gone: a run that is resumed from its record continues
without it.
"""

import json
import re
from typing import Any

from rightcall.core.pattern import pattern
from rightcall.core.secret import (
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
_KEY = pattern(r'(?<!\\)(?P<quote>\\*+")(?P<name>[^"\\\n]{1,64})(?P=quote)\s*:\s*(?P=quote)')
_QUOTE = pattern(r'(\\*+)"|\n|\Z')
_LAST_STEP = pattern(r"[\w-]+(?=\W*$)")


def redact_secrets(value: object) -> object:
    """Returns a copy of ``value``, made of JSON types and bytes, with secrets redacted."""
    root = [value]
    todo: list[tuple[Any, Any, Secrecy]] = [(root, 0, "open")]
    while todo:
        holder, place, secrecy = todo.pop()
        match holder[place]:
            case str(text):
                holder[place] = redact_text(text) if secrecy == "open" else text and REDACTED
            case bytes(data):
                holder[place] = _redact_bytes(data)
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
    if len(text) < _SHORTEST or not (may_hold_secret(text) or _may_name_secret(text)):
        return text
    if '"' not in text or not _JSON.match(text):
        return _redact_prose(text)
    clean = _redact_json(text)
    return clean if _is_sound(clean) else _redact_prose(clean)


def _most(*secrecies: Secrecy) -> Secrecy:
    return max(secrecies, key=_ORDER.index)


def _member(siblings: dict[str, object], name: str, container: object, outer: Secrecy) -> Secrecy:
    """Returns how secret a member is, given the name of its object, which may be secret itself."""
    value, path = siblings[name], siblings.get("path")
    if _INDEXES.get(str(container)) == _BRACKETS.get(type(value), ""):
        return outer
    if name in ("before", "after") and isinstance(path, str):
        # The value that a repair changed is named by its path.
        step = _LAST_STEP.search(path)
        name = step[0] if step else name
    return _most(outer, secrecy_of(name))


def _may_name_secret(text: str) -> bool:
    if '"' not in text:
        return False
    return may_name_secret(text) or _ESCAPED in text


def _is_sound(text: str) -> bool:
    try:
        # Not our own strict parser: half a surrogate pair does no harm here.
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _redact_bytes(data: bytes) -> bytes:
    """Redact bytes that are text, such as a vendor's reply; other bytes are unchanged."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return redact_text(text).encode()


def _redact_json(text: str) -> str:
    """Redact JSON text token by token, so that it may also be cut off or invalid."""
    pieces, position = [], 0
    levels: list[tuple[str, Secrecy]] = [("", "open")]
    """For every container around: its name, and how secret it is."""
    name, secrecy = levels[0]
    for token in _JSON_TOKEN.finditer(text):
        pieces.append(_redact_between(text[position : token.start()], secrecy))
        position = token.end()
        around, outer = levels[-1]
        piece, literal = token[0], token["literal"]
        if literal is None:
            if piece in "[{":
                levels.append((name, outer if _INDEXES.get(around) == piece else secrecy))
            elif piece in "]}" and len(levels) > 1:
                levels.pop()
            name, secrecy = "", levels[-1][1]
        elif token["colon"] is not None:
            name = _unquote(literal)
            secrecy = _most(outer, secrecy_of(name))
        else:
            piece = _redact_literal(literal) if secrecy == "open" else _blot(token)
        pieces.append(piece)
    return "".join(pieces) + _redact_between(text[position:], secrecy)


def _redact_between(text: str, secrecy: Secrecy) -> str:
    """Redact what is between the strings and brackets of JSON text: space, numbers, words."""
    if not text or text.isspace():
        return text
    if secrecy == "all":
        return _NUMBER.sub(f'"{REDACTED}"', text)
    return redact_formats(text)


def _redact_literal(literal: str) -> str:
    if len(literal) < _SHORTEST:
        return literal
    try:
        text = json.loads(literal)
    except ValueError:
        return _redact_prose(literal)
    clean = redact_text(text)
    return literal if clean == text else json.dumps(clean, ensure_ascii="\\u" in literal)


def _blot(token: re.Match[str]) -> str:
    """Redact a secret string of JSON text. An empty one stays, and one that is cut off stays cut off."""
    return token[0] if token[0] == '""' else f'"{REDACTED}{token["close"]}'


def _unquote(literal: str) -> str:
    try:
        name = json.loads(literal)
    except ValueError:
        return literal
    return str(name)


def _redact_prose(text: str) -> str:
    """Redact text that may hold pieces of JSON, or strings that do."""
    pieces, position = [], 0
    for key in _KEY.finditer(text):
        if key.start() >= position and secrecy_of(key["name"]) != "open":
            pieces += [text[position : key.end()], REDACTED]
            position = _end_of_string(text, key.end(), escapes=len(key["quote"]) - 1)
    return redact_formats("".join(pieces) + text[position:])


def _end_of_string(text: str, start: int, escapes: int) -> int:
    """Returns where a string ends whose quotes have so many backslashes before them."""
    for quote in _QUOTE.finditer(text, start):
        found = len(quote[1] or "")
        if found < escapes or not quote[0].endswith('"'):
            return quote.start()
        if found == escapes or (escapes == 0 and found % 2 == 0):
            return quote.end() - escapes - 1
    return len(text)
