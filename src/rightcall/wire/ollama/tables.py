"""Ollama's words, as data: why it stopped, how it thinks, which media it takes."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.wire.media import BYTES, MediaTable, Takes

NAME = "ollama"

STOPS: Mapping[str, StopReason] = {"stop": "end", "length": "length", "load": "end", "unload": "end"}
"""https://docs.ollama.com/api/chat. A stop sequence is ``stop``, too, and other words are an end."""

EFFORTS: Mapping[str, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""https://docs.ollama.com/capabilities/thinking. Models without levels think, whichever is said."""

MEDIA: MediaTable = {"image": Takes(BYTES), "text": Takes(BYTES)}
"""Pictures are a list beside the words. Text is words."""
