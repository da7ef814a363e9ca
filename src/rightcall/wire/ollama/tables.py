"""Ollama's terms, as data: stop reasons, thinking levels, media."""

from collections.abc import Mapping
from typing import Any

from rightcall.core.message import StopReason
from rightcall.errors import VendorError
from rightcall.wire.media import BYTES, MediaTable, Takes
from rightcall.wire.refusal import Refusals

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

_BROKE = "stream_error"
# There is a message and a status. An error inside a stream is the server's: a runner that stopped, a
# model that did not fit.
REFUSALS = Refusals(code=("code",), transient=frozenset([_BROKE]))

error = REFUSALS.over_http


def parse_refusal(value: Any) -> VendorError:
    """The refusal that came in place of a reply, or in the middle of one."""
    told = value.get("error") if isinstance(value, dict) else value
    return REFUSALS.inside({"error": {"message": told, "code": _BROKE}})
