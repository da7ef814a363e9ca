"""Ollama's terms, as data: stop reasons, thinking levels, media."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.wire.media import BYTES, MediaTable, Takes

NAME = "ollama"

STOPS: Mapping[str, StopReason] = {"stop": "end", "length": "length", "load": "end", "unload": "end"}
"""https://docs.ollama.com/api/chat. A stop sequence gives ``stop``, too; unknown reasons mean the
end."""

EFFORTS: Mapping[str, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""https://docs.ollama.com/capabilities/thinking. Models without levels think at any level."""

MEDIA: MediaTable = {"image": Takes(BYTES), "text": Takes(BYTES)}
"""Images are a list beside the text. Text files are sent as text."""
