"""Reads the images and audio that Gemini made from the parts of a reply."""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

from rightcall.core.media_type import essence, kind_of
from rightcall.core.parts import Media
from rightcall.wire.encoding import mapping
from rightcall.wire.gemini.tables import NAME

Part = TypeVar("Part")

_FLOWING = ("audio/l16", "audio/pcm")
"""Raw audio formats, which are streamed in pieces."""


def media_in(part: dict[str, Any]) -> Media | None:
    """The media that the model made; None if sending them back would change them.

    A thought may be an image, too, which is not part of the answer.
    """
    if set(part) == {"fileData"}:
        return _placed(part)
    blob = mapping(part.get("inlineData"))
    more = {key: value for key, value in part.items() if key != "inlineData"}
    given, kind = blob.get("data"), blob.get("mimeType")
    if set(blob) != {"mimeType", "data"} or "thought" in more:
        return None
    if not isinstance(given, str) or not isinstance(kind, str):
        return None
    try:
        data = b64decode(given, validate=True)
    except (NotBase64, ValueError):
        return None
    if b64encode(data).decode() != given:
        return None
    return Media(data, kind, vendor={NAME: more} if more else {})


def joined(content: Iterable[Part]) -> Iterator[Part | Media]:
    """The parts, with pieces of audio joined."""
    for flow, parts in groupby(content, _flow):
        if not flow:
            yield from parts
        else:
            pieces = [part.data for part in parts if isinstance(part, Media)]
            yield Media(b"".join(pieces), flow)


def _flow(part: object) -> str:
    """The type of a piece of raw audio; empty for anything else, also for a part with a signature."""
    if not isinstance(part, Media) or part.vendor or essence(part.media_type) not in _FLOWING:
        return ""
    return part.media_type


def _placed(part: dict[str, Any]) -> Media | None:
    place = mapping(part["fileData"])
    kind, address = place.get("mimeType"), place.get("fileUri")
    if set(place) != {"mimeType", "fileUri"} or not isinstance(kind, str) or kind_of(kind) == "other":
        return None
    return Media(media_type=kind, url=address) if isinstance(address, str) and address else None
