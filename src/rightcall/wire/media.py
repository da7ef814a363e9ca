"""The media that each dialect accepts, as data, and what happens to the others.

In a new message, media that cannot be sent raise an error before anything is sent. In earlier messages
and in a tool's result, a text replaces them: the conversation must be able to continue, also with
another vendor.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.message import Reply, Transcript
from rightcall.core.parts import Media, MediaKind, Way, essence
from rightcall.errors import EncodeError
from rightcall.wire.dialects import DIALECTS

_WIRE = __name__.rpartition(".")[0]
BYTES: tuple[Way, ...] = ("bytes",)
ANYWHERE: tuple[Way, ...] = ("bytes", "address", "id")

_NAMES: Mapping[MediaKind, str] = {
    "image": "images",
    "pdf": "PDF",
    "document": "office documents",
    "text": "text",
    "audio": "audio",
    "video": "video",
    "other": "files of an unknown type",
}
_WAYS: Mapping[Way, str] = {"bytes": "as bytes", "address": "by address", "id": "by a file's id"}


class Takes(Struct, frozen=True):
    """How media of one kind are accepted."""

    ways: tuple[Way, ...]
    types: frozenset[str] = frozenset()
    """The accepted types; empty if all types of the kind are."""
    scheme: str = ""
    """The prefix that an address must have; empty for any."""


MediaTable: TypeAlias = Mapping[MediaKind, Takes]
"""What a dialect accepts. Kinds that are missing are not accepted."""


def is_taken(media: Media, table: MediaTable) -> bool:
    """Whether the dialect accepts these media."""
    takes = table.get(media.kind)
    return (
        takes is not None and media.way in takes.ways and _is_of(media, takes) and _is_at(media, takes)
    )


def check_taken(media: Media, table: MediaTable, dialect: str, where: str) -> bool:
    """Whether the dialect accepts the media; raises in a new message, which ``where`` names."""
    if is_taken(media, table):
        return True
    if where:
        # Names the dialects that accept the media, for errors. A vendor's file id is valid only
        # there.
        tables = {name: import_module(f"{_WIRE}.{name}.tables") for name in DIALECTS if name != dialect}
        takers = [name for name, each in tables.items() if is_taken(media, getattr(each, "MEDIA", {}))]
        if media.way == "id" or not takers:
            others = ""
        else:
            others = f" {', '.join(takers)} would take it."
        words = _words(media, table) + others
        raise EncodeError(dialect, words, where=where)
    return False


def first_new(messages: Transcript) -> int:
    """The index of the first message after the last reply."""
    for end in range(len(messages), 0, -1):
        if isinstance(messages[end - 1], Reply):
            return end
    return 0


def place_of(at: int, new: int) -> str:
    """The path of a message, for errors; empty for one before the first new one."""
    if at >= new:
        return f"messages[{at}]"
    return ""


def _is_of(media: Media, takes: Takes) -> bool:
    plain = essence(media.media_type)
    # ``image/*`` means an image of unknown type; the vendor will decide.
    return not takes.types or plain in takes.types or plain.endswith("/*")


def _is_at(media: Media, takes: Takes) -> bool:
    return media.url is None or media.url.startswith(takes.scheme)


def _words(media: Media, table: MediaTable) -> str:
    takes = table.get(media.kind)
    if takes is not None and not _is_of(media, takes):
        listed = ", ".join(sorted(takes.types))
        return f"{media.media_type} cannot be sent; of {_NAMES[media.kind]}, {listed} can."
    if takes is not None and takes.ways:
        ways = []
        for way in takes.ways:
            if way == "address" and takes.scheme:
                ways.append(f"by an address that begins with {takes.scheme}")
            else:
                ways.append(_WAYS[way])
        given = _WAYS[media.way]
        if media.way in takes.ways:
            given = "by this address"
        return f"{media.media_type} cannot be sent {given}; give it {' or '.join(ways)}."
    sent = []
    for kind, each in table.items():
        if each.ways and kind != "other":
            sent.append(_NAMES[kind])
    if not sent:
        return f"{media.media_type} cannot be sent; this host takes text only."
    return f"{media.media_type} cannot be sent; {', '.join(sent)} can."
