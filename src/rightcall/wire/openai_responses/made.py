"""Reads the images that the vendor's own tool made from their items, and writes them back."""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any

from rightcall.core.media_type import sniff
from rightcall.core.parts import Media
from rightcall.wire.encoding import base64_raw, mapping
from rightcall.wire.openai_responses.tables import NAME


def made_image(item: Mapping[str, Any]) -> Media | None:
    """The image of an item; None if there is none, or if sending it back would change it."""
    given = item.get("result")
    if item.get("type") != "image_generation_call" or not isinstance(given, str) or not given:
        return None
    try:
        data = b64decode(given, validate=True)
    except (NotBase64, ValueError):
        return None
    if b64encode(data).decode() != given:
        return None
    form = item.get("output_format")
    kind = f"image/{'svg+xml' if form == 'svg' else form}" if form else sniff(data)
    kind = kind if kind.startswith("image/") else "image/png"
    return Media(data, kind, vendor={NAME: {k: v for k, v in item.items() if k != "result"}})


def item_of(media: Media) -> dict[str, Any] | None:
    """The item that an image came in; None for another vendor's image."""
    own = mapping(media.vendor.get(NAME))
    return {**own, "result": base64_raw(media)} if own.get("type") == "image_generation_call" else None
