"""A tool's return value into the parts a model can read, within the tool's limits."""

import io
import json
import mimetypes
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import msgspec
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from rightcall.core.parts import Media, Part, Text
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Limits

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


class Unshowable(ValueError):
    """A value cannot be shown to a model; the message says why, for the developer."""


def encode(value: object, limits: Limits) -> tuple[Part, ...]:
    """The parts for a value: text as it is, media as media, everything else as compact JSON."""
    try:
        return tuple(_parts(value, limits))
    except Unshowable:
        raise
    except Exception as error:  # serialisers, files and images are the developer's code
        raise Unshowable(f"{type(value).__qualname__} cannot be written for a model") from error


def _parts(value: object, limits: Limits) -> Iterator[Part]:
    if isinstance(value, str):
        # A member of a string enum is its text.
        yield Text(encodable(str.__str__(value)))
    elif (media := _media(value, limits)) is not None:
        yield _within(media, limits)
    elif isinstance(value, list | tuple) and any(_is_media(item) for item in value):
        for item in value:
            yield from _parts(item, limits)
    else:
        yield Text(_json(value))


def cut(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` bytes: its head and tail, and between them how much is left out.

    A limit too small to say how much leaves a head that ends in an ellipsis.
    """
    if len(text) * 4 <= limit:
        return text
    size = len(text) if text.isascii() else len(text.encode())
    if size <= limit:
        return text
    room = limit - len(_marker(size, size).encode())
    if room <= 0:
        ellipsis = "…"[: limit // 3]
        return _head(text, limit - len(ellipsis.encode())) + ellipsis
    tail = room // 3
    start, end = _head(text, room - tail), _tail(text, tail)
    return f"{start}{_marker(size - len(start.encode()) - len(end.encode()), size)}{end}"


def _marker(left_out: int, size: int) -> str:
    return f"\n[… {left_out:,} of {size:,} bytes left out here …]\n"


# A character is at least a byte, so as many characters hold all of the bytes that can be kept; one
# that was cut in two is dropped.
def _head(text: str, size: int) -> str:
    return text[:size].encode()[:size].decode(errors="ignore")


def _tail(text: str, size: int) -> str:
    return text[max(len(text) - size, 0) :].encode()[-size:].decode(errors="ignore") if size else ""


def _json(value: Any) -> str:
    if isinstance(value, Iterator | AsyncIterator | Coroutine):
        raise Unshowable(f"{type(value).__name__} holds no value until it is read; return a list")
    try:
        return to_json(value, inf_nan_mode="strings", bytes_mode="base64", fallback=_plain).decode()
    except PydanticSerializationError:
        # Names of files may hold halves of surrogate pairs, which should not cost the rest of the
        # value. Whatever else is wrong fails here again.
        plain = to_jsonable_python(value, inf_nan_mode="strings", bytes_mode="base64", fallback=_plain)
        return encodable(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _plain(value: Any) -> Any:
    """What pydantic does not know: arrays of numbers, collections, msgspec and attrs classes."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Collection) else msgspec.to_builtins(value)


def _is_media(value: object) -> bool:
    return isinstance(value, Media | bytes | bytearray | memoryview | io.IOBase) or _is_image(value)


def _is_image(value: object) -> bool:
    """A Pillow image, known by its shape so that Pillow need not be installed."""
    return type(value).__module__.startswith("PIL.") and hasattr(value, "save")


def _media(value: Any, limits: Limits) -> Media | None:
    match value:
        case Media():
            return value
        case bytes() | bytearray() | memoryview():
            data = bytes(value)
            return Media(data, sniff(data))
        case io.IOBase():
            return _read(value, limits.max_media_bytes + 1)
        case _ if _is_image(value):
            buffer = io.BytesIO()
            value.save(buffer, format="PNG")
            return Media(buffer.getvalue(), "image/png")
        case _:
            return None


def _read(file: Any, size: int) -> Media:
    """What an open file holds, as far as the limit; the file is closed."""
    with file:
        content = file.read(size)
    data = content.encode() if isinstance(content, str) else bytes(content)
    name = getattr(file, "name", None)
    name = PurePath(name).name if isinstance(name, str) else None
    guessed = mimetypes.guess_type(name)[0] if name else None
    return Media(data, guessed or sniff(data), name)


def sniff(data: bytes) -> str:
    """The media type that the first bytes tell, or plain bytes."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "application/octet-stream")
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    return "application/octet-stream"


def _within(media: Media, limits: Limits) -> Part:
    if len(media.data) <= limits.max_media_bytes:
        return media
    return Text(f"[{media.media_type} left out: more than {limits.max_media_bytes:,} bytes]")
