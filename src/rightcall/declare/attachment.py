"""Makes media from files, bytes, addresses and ids of uploaded files; and messages from prompts."""

import mimetypes
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.message import User, user_text
from rightcall.core.options import check_keywords
from rightcall.core.parts import ANY_BYTES, PLAIN_TEXT, Media, Part, Text, media_kind, sniff
from rightcall.core.sanitize import encodable, escape_hidden
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


@check_keywords("rc.image")
def image(
    source: str | Path | bytes | None = None,
    *,
    id: str | None = None,  # noqa: A002 - what vendors call it
    media_type: str = "",
    name: str | None = None,
    vendor: Mapping[str, JsonValue] | None = None,
    cache: bool = False,
    untrusted: str = "",
) -> Media:
    """An image for a prompt, or for a tool to return: a path, bytes, a URL, or the id of an upload.

    A text that begins with ``https://`` is a URL, which the vendor fetches; with ``data:``, the bytes
    themselves; any other is a path, which is read now. ``vendor`` has more fields for a dialect:
    ``{"openai_chat": {"detail": "low"}}``. With ``cache`` the vendor caches the prompt up to its end,
    if it supports that. ``untrusted`` is as for ``file``.
    """
    media = file(
        source, id=id, media_type=media_type, name=name, vendor=vendor, cache=cache, untrusted=untrusted
    )
    if media.kind == "image":
        return media
    if media.way != "bytes" and media.kind == "other" and not media_type:
        return replace(media, media_type="image/*")
    raise UsageError(f"this is no image: [{media.about}]; rc.file takes files of any type")


@check_keywords("rc.file")
def file(
    source: str | Path | bytes | None = None,
    *,
    id: str | None = None,  # noqa: A002 - what vendors call it
    media_type: str = "",
    name: str | None = None,
    vendor: Mapping[str, JsonValue] | None = None,
    cache: bool = False,
    untrusted: str = "",
) -> Media:
    """A file for a prompt, or for a tool to return: a PDF, a text, audio, video, an image.

    The source is as for ``image``. The type is detected from the first bytes, or else from the file's
    extension, unless it is given. More than 32 MB are an error: upload such a file, and pass its
    ``id``.

    ``untrusted`` says whose words it holds, if an outsider could have written them, as in ``"a
    customer's mail"``. A text is then sent as data that says so, and trust rules count it as theirs.
    """
    media = _read_source(source, id, media_type, name, vendor or {}, cache=cache)
    if untrusted:
        return _quote_outsider(media, untrusted)
    return media


def _quote_outsider(media: Media, whose: str) -> Media:
    """The same, labelled. The name of a file is its sender's word as well."""
    is_text = media.way == "bytes" and media.kind == "text"
    if media.way == "bytes" and media.kind in ("document", "other"):
        # A mail, or text under some other type: what can be encoded is.
        is_text = _is_text(media.data)
    if not is_text:
        return replace(media, name=None, untrusted=whose)
    label = {"untrusted_source": whose}
    if media.name:
        label["name"] = encodable(media.name)
    envelope = escape_hidden(dump({**label, "content": media.data.decode(errors="replace")}))
    return replace(media, data=envelope.encode(), media_type=PLAIN_TEXT, name=None, untrusted=whose)


def _read_source(
    source: str | Path | bytes | None,
    id: str | None,  # noqa: A002 - what vendors call it
    media_type: str,
    name: str | None,
    more: Mapping[str, JsonValue],
    *,
    cache: bool,
) -> Media:
    if (source is None) == (id is None):
        raise UsageError("give a source (a path, bytes or an address) or the id of an uploaded file")
    if id is not None:
        kind = media_type or _type_by_name(name) or ANY_BYTES
        return Media(media_type=kind, name=name, vendor=more, id=id, cache=cache)
    if isinstance(source, str) and source.lower().startswith(_ADDRESSES):
        ending = PurePosixPath(unquote(urlsplit(source).path)).name
        kind = media_type or _type_by_name(name or ending) or ANY_BYTES
        return Media(media_type=kind, name=name, vendor=more, url=source, cache=cache)
    if isinstance(source, str) and source.startswith("data:"):
        data, kind = _decode_data_url(source)
        media_type = media_type or kind
    elif isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        _check_size(len(data), "these bytes")
    elif isinstance(source, str | Path):
        path = Path(source)
        data = _read(path)
        name = name or path.name
    else:
        raise UsageError(f"a file is a path, bytes or an address, and not {type(source).__name__}")
    kind = media_type or _detect_media_type(data, name)
    return Media(data, kind, name, more, cache=cache)


def message_of(prompt: Prompt) -> User:
    """The user message for a prompt. Reads the files that are named in it."""
    if isinstance(prompt, User):
        return prompt
    if isinstance(prompt, str):
        return user_text(prompt)
    if isinstance(prompt, Text | Media | Path | bytes):
        return User((_part(prompt, "the prompt"),))
    if not isinstance(prompt, Sequence):
        raise UsageError(_misfit(prompt, "the prompt"))
    return User(tuple([_part(piece, f"prompt[{at}]") for at, piece in enumerate(prompt)]))


def reads_files(prompt: Prompt) -> bool:
    """Whether making the message reads the disk or processes many bytes."""
    if isinstance(prompt, str):
        return False
    for piece in prompt if isinstance(prompt, list | tuple) else (prompt,):
        if isinstance(piece, Path) or (isinstance(piece, bytes) and len(piece) > _MUCH):
            return True
    return False


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


def _decode_data_url(url: str) -> tuple[bytes, str]:
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
    except ValueError as error:
        raise UsageError("the data in this data: address is not valid base64") from error


def _detect_media_type(data: bytes, name: str | None) -> str:
    """The media type by the bytes, else by the name, else text if it decodes."""
    found = sniff(data)
    named = _type_by_name(name)
    if found != ANY_BYTES:
        # A container's signature does not say what is in it; the file's name may.
        if media_kind(named) in ("audio", "video") and media_kind(found) == "video":
            return named
        return found
    if named and media_kind(named) not in ("image", "pdf"):
        return named
    if _is_text(data):
        return PLAIN_TEXT
    return named or ANY_BYTES


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _type_by_name(name: str | None) -> str:
    ending = PurePosixPath(name or "").suffix.lower()
    return _TYPES.get(ending) or mimetypes.guess_type(f"x{ending}")[0] or ""
