"""Reads the images, audio and video that the model made from its steps."""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any

from rightcall.core.media_type import kind_of
from rightcall.core.parts import Media
from rightcall.wire.gemini_interactions.tables import CONTENT, NAME

_KNOWN = ("type", "mime_type", "data", "uri")


def media_in(content: Mapping[str, Any]) -> Media | None:
    """The media that the model made; None if sending them back would change them."""
    kind, given, place = content.get("mime_type"), content.get("data"), content.get("uri")
    if not isinstance(kind, str) or CONTENT.get(kind_of(kind)) != content.get("type"):
        return None
    more = {key: value for key, value in content.items() if key not in _KNOWN}
    vendor = {NAME: more} if more else {}
    if isinstance(place, str) and place and not given:
        return Media(media_type=kind, url=place, vendor=vendor)
    if not isinstance(given, str) or place:
        return None
    try:
        data = b64decode(given, validate=True)
    except (NotBase64, ValueError):
        return None
    return Media(data, kind, vendor=vendor) if b64encode(data).decode() == given else None
