"""The pictures and sounds that a model made, out of a message and back into one.

A sound goes back by the id that the vendor has for it; its words are the reply's text, and stay behind
where the sound goes. A picture goes back in the member that it came in.
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
"""What a sound is that does not begin like a file: 16 bits, 24 kHz, one channel, little end first. No
other form is streamed. https://platform.openai.com/docs/guides/audio"""
_MPEG = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


class Sound:
    """A sound while it arrives."""

    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._pieces: list[str] = []

    def take(self, said: Mapping[str, Any]) -> None:
        """What a delta, or a whole message, says of it."""
        for key, value in said.items():
            if key == "data":
                if isinstance(value, str):
                    self._pieces.append(value)
            elif value is not None and key != "transcript":
                self._members[key] = value

    def parts(self) -> Iterator[Media | Unknown]:
        """The sound, if any came; what cannot be read is kept as it is."""
        data = _bytes(self._pieces)
        if data:
            yield Media(data, _type(data), vendor={NAME: {"audio": self._members}})
        elif self._members or self._pieces:
            joined = {"data": "".join(self._pieces)} if self._pieces else {}
            yield Unknown({NAME: {"audio": {**self._members, **joined}}})


def picture(part: Any, member: str) -> Media | None:
    """The picture in a part with an address, which goes back in that member; None for any other."""
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
    """Put what a model made back into its message; whether there is a place for it.

    ``pictures``: the host takes ``images`` in a message of the model's.
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
    """Pieces of one text in base64, or texts in base64, each by itself."""
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
