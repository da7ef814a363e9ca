"""Parses JSON strictly.

RFC 8259 leaves dangerous cases to the parser. Here they are refused: a repeated key, ``NaN``, a number
too large to hold, half a surrogate pair, trailing text and extreme nesting, each with a message that
says where. So two parsers of one text can never see two different values.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.core.lazy import pattern
from rightcall.errors import ProtocolError

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
    )
else:
    # Values are decoded by their types, and a recursive type cannot be decoded.
    JsonValue = Any
JsonObject: TypeAlias = Mapping[str, JsonValue]

MAX_DEPTH = 64
"""How deep objects and arrays may nest. Real arguments stay below ten levels."""

MAX_PARTS = 1_000_000
"""How many objects, arrays, members and items a vendor's piece of JSON may have. While they are built,
for a tenth of a second, nothing else in the process gets a turn."""
_SLICE = 64 * 1024

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_encode_any = msgspec.json.Encoder(enc_hook=lambda value: type(value).__name__).encode

_UNFINISHED = pattern(r'|"[\s\S]*|u[0-9a-fA-F]{0,4}|t(ru?)?|f(a(ls?)?)?|n(ul?)?|-|\.|[eE][+-]?')
"""Matches a string, escape, word or number that has begun and not ended; or nothing where one should
begin."""


_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_TOO_LARGE = "a number is too large to be held exactly"
_HALF_PAIR = "half of a surrogate pair in a \\u escape"


class JsonError(ValueError):
    """The text is not valid, unambiguous JSON; the message says why, for a model to read."""

    def __init__(self, message: str, *, cut_off: bool = False) -> None:
        super().__init__(message)
        self.cut_off = cut_off
        """The text is a valid beginning that stops too early."""


def check_parts(data: bytes | bytearray, what: str) -> None:
    """Raise ProtocolError if JSON may have too many parts; commas and brackets in texts count, too."""
    if len(data) <= MAX_PARTS:
        return
    parts = 0
    for start in range(0, len(data), _SLICE):
        end = start + _SLICE
        for mark in (b",", b"[", b"{"):
            parts += data.count(mark, start, end)
        if parts > MAX_PARTS:
            words = f"{what} has more than {MAX_PARTS:,} parts: objects, arrays, members and items"
            raise ProtocolError(words)


def parse(text: str) -> JsonValue:
    """Parse ``text``. Raises JsonError."""
    try:
        value: JsonValue = _decode(text)
    except msgspec.ValidationError:
        raise JsonError(_TOO_LARGE) from None
    except msgspec.DecodeError as error:
        raise _explain(text, str(error)) from None
    except UnicodeEncodeError as error:
        raise JsonError(f"half of a surrogate pair at character {error.start}") from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise JsonError(_TOO_DEEP)
    # Without escapes, each key and string has two quotes, so a repeated key, of which one is lost, shows
    # in their number. With escapes only the slower check can tell.
    if "\\" in text or text.count('"') != _encode(value).count(b'"'):
        check_repeats(text)
    return value


def check_repeats(text: str | bytes) -> None:
    """Raise JsonError for a key that appears twice in one object."""
    json.loads(text, object_pairs_hook=_refuse_repeats)


def dump(value: object) -> str:
    """Encode ``value`` as compact JSON."""
    return _encode(value).decode()


def depth(value: JsonValue) -> int:
    """Returns how deep ``value`` nests: 0 for a scalar, 1 for a flat object."""
    level = 0
    layer: list[JsonValue] = [value]
    while True:
        below: list[JsonValue] = []
        is_nested = False
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
                is_nested = True
            elif isinstance(item, list):
                below += item
                is_nested = True
        if not is_nested:
            return level
        layer = below
        level += 1


def kind_of(value: object) -> str:
    """Returns the JSON name of a value's type, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case dict():
            return "an object"
        case _:
            return "a value that is not JSON"


def _refuse_repeats(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in result:
            raise JsonError(f"the key {shorten(key)} appears twice in one object")
        result[key] = value
    return result


def shorten(value: object, limit: int = 60) -> str:
    """Returns ``value`` as JSON text, short enough for a sentence."""
    if isinstance(value, str) and len(value) > limit:
        return f'{dump(value[: limit - 10])[:-1]}…" ({len(value):,} characters)'
    text = _encode_any(value).decode()
    if len(text) <= limit or isinstance(value, str):
        return text
    return text[: limit - 1] + "…"


def _explain(text: str, refusal: str) -> JsonError:
    """Returns why the fast parser refused ``text``, in words and character positions."""
    if text.startswith("\ufeff"):
        return JsonError("the text begins with a byte order mark, which is not part of JSON")
    if "surrogate" in refusal:
        return JsonError(_HALF_PAIR)
    may_stop = "truncated" in refusal or "invalid number" in refusal
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if may_stop and _UNFINISHED.fullmatch(text, error.pos):
            return JsonError("the text stops before the JSON is complete", cut_off=True)
        near = text[error.pos : error.pos + 20]
        what = f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" at")
        return JsonError(f"{what} at character {error.pos}, near {shorten(near)}")
    except JsonError as error:
        return error
    except RecursionError:
        return JsonError(_TOO_DEEP)
    except ValueError:
        return JsonError(_TOO_LARGE)
    return JsonError(_HALF_PAIR)


def _refuse_constant(name: str) -> None:
    raise JsonError(f"{name} is not a JSON number")


Place: TypeAlias = tuple[str | int, ...]


class _Key(str):
    """The last step of the path of a key, which a value with the same text does not have."""

    __slots__ = ()


def leaves(value: JsonValue, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yields the texts in a value with their paths: strings, numbers, and the keys of objects.

    True, false and null are left out: they cannot carry untrusted text.
    """
    todo: list[tuple[Place, JsonValue]] = [(path, value)]
    while todo:
        place, item = todo.pop()
        match item:
            case None | bool():
                pass
            case str():
                yield place, item
            case dict():
                for key in item:
                    yield (*place, _Key(key)), key
                for key in reversed(item):
                    todo.append(((*place, key), item[key]))
            case list() | tuple():
                for at in reversed(range(len(item))):
                    todo.append(((*place, at), item[at]))
            case _:
                yield place, dump(item)


def is_key(place: Place) -> bool:
    """Whether the text of ``leaves`` with this path is a key. A value may have the text of its key."""
    return bool(place) and isinstance(place[-1], _Key)


def field_at(place: Place) -> str:
    """Returns the path of the field that a text of ``leaves`` is in; for a key, that of its object."""
    if is_key(place):
        place = place[:-1]
    return ".".join([step for step in place if isinstance(step, str)])


_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def nodes(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every object in a document, the outermost first."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node


def at(document: Any, pointer: str) -> Any:
    """Resolve a JSON pointer in a URI fragment (``#/$defs/a``); None if nothing is there."""
    node = document
    escaped = pointer.removeprefix("#").encode()
    decoded = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), escaped).decode(errors="replace")
    for step in decoded.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list | tuple) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


_LONG = 1000


def size_of(value: JsonValue, most: int) -> tuple[int, int]:
    """Returns how many values a value holds, and how deep it nests; counts only up to ``most``.

    A long text counts as several values: an error about it makes a copy of it.
    """
    level: list[JsonValue] = [value]
    count = depth = 0
    while level and count <= most:
        count += len(level)
        below: list[JsonValue] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list | tuple):
                below += each
            elif isinstance(each, str):
                count += len(each) // _LONG
        level = below
        depth += 1
    return count, max(depth - 1, 0)


def cut_down(
    value: JsonValue, kept: int, steps: tuple[str | int, ...], cuts: list[tuple[str | int, ...]]
) -> JsonValue:
    """Returns the value with only the first items and members of each; ``cuts`` lists where."""
    if isinstance(value, list | tuple | dict) and len(value) > kept:
        cuts.append(steps)
    if isinstance(value, dict):
        return {key: cut_down(value[key], kept, (*steps, key), cuts) for key in islice(value, kept)}
    if isinstance(value, list | tuple):
        return [cut_down(each, kept, (*steps, at), cuts) for at, each in enumerate(value[:kept])]
    return value
