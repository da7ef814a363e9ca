"""Makes media from files, bytes, addresses and ids of uploaded files; and messages from prompts."""

import mimetypes
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.media_type import ANY_BYTES, PLAIN_TEXT, kind_of, sniff
from rightcall.core.message import User, said
from rightcall.core.options import checked
from rightcall.core.parts import Media, Part, Text
from rightcall.errors import UsageError

Piece: TypeAlias = str | Text | Media | Path | bytes
"""A part of a prompt. A path is a file to read; the type of bytes is detected from their beginning."""
Prompt: TypeAlias = Piece | User | Sequence[Piece]

MAX_BYTES = 32 * 1024 * 1024
"""The largest file, in bytes. No vendor takes more in one request; upload a larger one and use its
id."""

_MUCH = 1024 * 1024
_ADDRESSES = ("http://", "https://", "gs://", "s3://")
_TYPES = {".md": "text/markdown", ".toml": "application/toml", ".yaml": "application/yaml"}
"""Media types that not every system's table has."""
_TYPES |= {".yml": "application/yaml", ".webp": "image/webp", ".jsonl": PLAIN_TEXT, ".log": PLAIN_TEXT}


@checked("rc.image")
def image(
    source: str | Path | bytes | None = None,
    *,
    id: str | None = None,  # noqa: A002 - what vendors call it
    media_type: str = "",
    name: str | None = None,
    vendor: Mapping[str, JsonValue] | None = None,
    cache: bool = False,
) -> Media:
    """An image for a prompt, or for a tool to return: a path, bytes, a URL, or the id of an upload.

    A text that begins with ``https://`` is a URL, which the vendor fetches; with ``data:``, the bytes
    themselves; any other is a path, which is read now. ``vendor`` has more fields for a dialect:
    ``{"openai_chat": {"detail": "low"}}``. With ``cache`` the vendor caches the prompt up to its end,
    if it supports that.
    """
    made = file(source, id=id, media_type=media_type, name=name, vendor=vendor, cache=cache)
    if made.kind == "image":
        return made
    if made.way != "bytes" and made.kind == "other" and not media_type:
        return replace(made, media_type="image/*")
    raise UsageError(f"this is no image: [{made.about}]; rc.file takes files of any type")


@checked("rc.file")
def file(
    source: str | Path | bytes | None = None,
    *,
    id: str | None = None,  # noqa: A002 - what vendors call it
    media_type: str = "",
    name: str | None = None,
    vendor: Mapping[str, JsonValue] | None = None,
    cache: bool = False,
) -> Media:
    """A file for a prompt, or for a tool to return: a PDF, a text, audio, video, an image.

    The source is as for ``image``. The type is detected from the first bytes, or else from the file's
    extension, unless it is given. More than 32 MB are an error: upload such a file, and pass its
    ``id``.
    """
    made = _made(source, id, media_type, name, vendor or {})
    return replace(made, cache=True) if cache else made


def _made(
    source: str | Path | bytes | None,
    id: str | None,  # noqa: A002
    media_type: str,
    name: str | None,
    more: Mapping[str, JsonValue],
) -> Media:
    if (source is None) == (id is None):
        raise UsageError("give a source (a path, bytes or an address) or the id of an uploaded file")
    if id is not None:
        return Media(b"", media_type or _named(name) or ANY_BYTES, name, more, None, id)
    if isinstance(source, str) and source.startswith("data:"):
        data, kind = _held(source)
        return Media(data, media_type or kind or _told(data, name), name, more)
    if isinstance(source, str) and source.lower().startswith(_ADDRESSES):
        ending = PurePosixPath(unquote(urlsplit(source).path)).name
        return Media(b"", media_type or _named(name or ending) or ANY_BYTES, name, more, source)
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        _check_size(len(data), "these bytes")
        return Media(data, media_type or _told(data, name), name, more)
    if not isinstance(source, str | Path):
        raise UsageError(f"a file is a path, bytes or an address, and not {type(source).__name__}")
    path = Path(source)
    data, name = _read(path), name or path.name
    return Media(data, media_type or _told(data, name), name, more)


def message_of(prompt: Prompt) -> User:
    """The user message for a prompt. Reads the files that are named in it."""
    if isinstance(prompt, User):
        return prompt
    if isinstance(prompt, str):
        return said(prompt)
    if isinstance(prompt, Text | Media | Path | bytes):
        return User((_part(prompt, "the prompt"),))
    if not isinstance(prompt, Sequence):
        raise UsageError(_misfit(prompt, "the prompt"))
    return User(tuple([_part(piece, f"prompt[{at}]") for at, piece in enumerate(prompt)]))


def reads_files(prompt: Prompt) -> bool:
    """Whether making the message reads the disk or processes many bytes."""
    if isinstance(prompt, str):
        return False
    pieces = prompt if isinstance(prompt, list | tuple) else (prompt,)
    return any(
        isinstance(piece, Path) or (isinstance(piece, bytes) and len(piece) > _MUCH) for piece in pieces
    )


def _part(piece: object, where: str) -> Part:
    match piece:
        case str():
            return Text(piece)
        case Text() | Media():
            return piece
        case Path() | bytes() | bytearray() | memoryview():
            return file(piece if isinstance(piece, Path) else bytes(piece))
        case _:
            raise UsageError(_misfit(piece, where))


def _misfit(piece: object, where: str) -> str:
    kinds = "text, a Path, bytes, rc.image(…) or rc.file(…)"
    hint = "; earlier messages go into history=" if isinstance(piece, Mapping) else ""
    return f"{where}: {kinds}, and not {type(piece).__name__}{hint}"


def _read(path: Path) -> bytes:
    try:
        facts = path.stat()
        if not S_ISREG(facts.st_mode):
            raise UsageError(f"{path} is not a file")
        _check_size(facts.st_size, str(path))
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    _check_size(len(data), str(path))
    return data


def _check_size(size: int, what: str) -> None:
    if size > MAX_BYTES:
        raise UsageError(
            f"{what}: more than {MAX_BYTES:,} bytes, which no vendor takes in a request; "
            "upload it to the vendor and give its id, or give an address"
        )


def _held(url: str) -> tuple[bytes, str]:
    """The bytes and the media type in a ``data:`` URL."""
    head, comma, data = url.removeprefix("data:").partition(",")
    kind, *parameters = head.split(";")
    if not comma:
        raise UsageError("this data: address has no data; it is data:TYPE;base64,DATA")
    _check_size(len(data) * 3 // 4, "this data: address")
    if "base64" not in parameters:
        return unquote(data).encode(), kind or PLAIN_TEXT
    try:
        return b64decode(data, validate=True), kind
    except (Base64Error, ValueError) as error:
        raise UsageError("the data in this data: address is not valid base64") from error


def _told(data: bytes, name: str | None) -> str:
    """The media type by the bytes, else by the name, else text if it decodes."""
    found = sniff(data)
    named = _named(name)
    if found != ANY_BYTES:
        # A container's signature does not say what is in it; the file's name may.
        return named if kind_of(named) in ("audio", "video") and kind_of(found) == "video" else found
    if named and kind_of(named) not in ("image", "pdf"):
        return named
    return PLAIN_TEXT if _is_text(data) else named or ANY_BYTES


def _named(name: str | None) -> str:
    ending = PurePosixPath(name or "").suffix.lower()
    return _TYPES.get(ending) or mimetypes.guess_type(f"x{ending}")[0] or ""


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False
