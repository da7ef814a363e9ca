"""Media types: the kind that one belongs to, and the one that a file's first bytes show."""

from typing import Literal, TypeAlias

MediaKind: TypeAlias = Literal["image", "pdf", "document", "text", "audio", "video", "other"]
"""The kinds that vendors distinguish. A document is an office document; ``other`` is anything
unknown."""

ANY_BYTES = "application/octet-stream"
PLAIN_TEXT = "text/plain"

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BRANDS = {b"avif": "image/avif", b"heic": "image/heic", b"mif1": "image/heif", b"M4A ": "audio/mp4"}

_TEXTS = frozenset(
    f"application/{name}"
    for name in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "sql", "x-sh")
)
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")
_DOCUMENTS = (
    "application/vnd.openxmlformats-",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
)
_OTHER_DOCUMENTS = frozenset(("application/msword", "application/rtf", "application/epub+zip"))


def essence(media_type: str) -> str:
    """Returns the type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def kind_of(media_type: str) -> MediaKind:
    """Returns the kind of a media type."""
    plain = essence(media_type)
    match plain.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case "text":
            return "text"
        case _:
            pass
    if plain == "application/pdf":
        return "pdf"
    if plain in _TEXTS or plain.endswith(_TEXT_ENDINGS):
        return "text"
    return "document" if plain in _OTHER_DOCUMENTS or plain.startswith(_DOCUMENTS) else "other"


def sniff(data: bytes) -> str:
    """Returns the media type that the first bytes show, or plain bytes."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], ANY_BYTES)
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    return ANY_BYTES
