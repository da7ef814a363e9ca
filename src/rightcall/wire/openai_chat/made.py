"""Reads images and audio that a model made from a message, and writes them back into one.

Audio is sent back by the vendor's id for it; its transcript, which is the reply's text, is then left
out. An image is sent back in the member that it came in.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.core.media_type import ANY_BYTES, sniff
from rightcall.core.message import Unknown
from rightcall.core.parts import Media
from rightcall.wire.encoding import mapping, url_raw
from rightcall.wire.openai_chat.tables import NAME

PCM = "audio/pcm"
"""The type of audio without a file header: 16 bits, 24 kHz, one channel, little-endian. No other format
is streamed. https://platform.openai.com/docs/guides/audio"""
_MPEG = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


class Sound:
    """Audio while it arrives."""

    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._pieces: list[str] = []

    def take(self, said: Mapping[str, Any]) -> None:
        """Add what a delta or a whole message says of it."""
        for key, value in said.items():
            if key == "data":
                if isinstance(value, str):
                    self._pieces.append(value)
            elif value is not None and key != "transcript":
                self._members[key] = value

    def parts(self) -> Iterator[Media | Unknown]:
        """The audio, if any arrived; what cannot be decoded is kept unchanged."""
        data = _bytes(self._pieces)
        if data:
            yield Media(data, _type(data), vendor={NAME: {"audio": self._members}})
        elif self._members or self._pieces:
            joined = {"data": "".join(self._pieces)} if self._pieces else {}
            yield Unknown({NAME: {"audio": {**self._members, **joined}}})


def picture(part: Any, member: str) -> Media | None:
    """The image in a part with a URL, which is sent back in that member; None for any other part."""
    holder = mapping(part).get("image_url")
    url = mapping(holder).get("url") or holder
    if not isinstance(url, str) or not url.startswith(("data:", "https://", "http://")):
        return None
    bag = {NAME: {"field": member}}
    if not url.startswith("data:"):
        return Media(b"", "image/*", vendor=bag, url=url)
    head, _, data = url.removeprefix("data:").partition(",")
    try:
        made = b64decode(data, validate=True)
    except (NotBase64, ValueError):
        return None
    return Media(made, head.partition(";")[0] or "image/png", vendor=bag)


def return_made(
    media: Media, members: dict[str, Any], content: list[dict[str, Any]], *, pictures: bool
) -> bool:
    """Put media made by a model back into its message; returns whether it has a field for them.

    ``pictures``: the host accepts ``images`` in an assistant message.
    """
    bag = mapping(media.vendor.get(NAME))
    identity = mapping(bag.get("audio")).get("id")
    if identity:
        members["audio"] = {"id": identity}
        return True
    if "field" not in bag or (bag["field"] == "images" and not pictures):
        return False
    part = {"type": "image_url", "image_url": {"url": url_raw(media)}}
    if bag["field"] == "images":
        members.setdefault("images", []).append(part)
    else:
        content.append(part)
    return True


def _bytes(pieces: list[str]) -> bytes:
    """Decodes pieces of one base64 text, or separate base64 texts."""
    for given in (["".join(pieces)], pieces):
        try:
            return b"".join([b64decode(piece, validate=True) for piece in given])
        except (NotBase64, ValueError):
            continue
    return b""


def _type(data: bytes) -> str:
    found = sniff(data)
    if found != ANY_BYTES:
        return found
    return "audio/mpeg" if data.startswith(_MPEG) else PCM
