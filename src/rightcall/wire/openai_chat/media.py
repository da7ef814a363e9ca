"""Media into content parts, and back."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from rightcall.core.parts import Media

_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
}
"""OpenAI takes wav and mp3; imitators take more."""


def part_of(media: Media) -> dict[str, Any]:
    """The content part of a user's message that carries the media."""
    kind = media.media_type.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": _url(media)}}
    if kind in _AUDIO:
        data = b64encode(media.data).decode()
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[kind]}}
    if kind.startswith("video/"):
        # Not OpenAI's: vLLM, Qwen and OpenRouter take it so.
        return {"type": "video_url", "video_url": {"url": _url(media)}}
    if kind.startswith("text/") or kind in ("application/json", "application/xml"):
        text = media.data.decode(errors="replace")
        return {"type": "text", "text": f"{media.name}:\n{text}" if media.name else text}
    name = media.name or f"file.{kind.rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": _url(media)}}


def note_of(media: Media) -> str:
    """What is said of media where only text can be sent."""
    name = f" {media.name!r}" if media.name else ""
    return f"[{media.media_type}{name}, {len(media.data):,} bytes, which cannot be shown here]"


def media_from_url(image: Any) -> Media | None:
    """The media in a part with a data URL; None for any other."""
    holder = image.get("image_url") if isinstance(image, Mapping) else None
    url = holder.get("url") if isinstance(holder, Mapping) else holder
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url.removeprefix("data:").partition(",")
    try:
        return Media(b64decode(data, validate=True), head.partition(";")[0] or "image/png")
    except (binascii.Error, ValueError):
        return None


def _url(media: Media) -> str:
    return f"data:{media.media_type};base64,{b64encode(media.data).decode()}"
