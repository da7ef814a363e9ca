"""The words of the Interactions API, as data: why it stopped, how it thinks, which media it takes."""

from collections.abc import Mapping

from rightcall.core.media_type import MediaKind
from rightcall.core.message import StopReason
from rightcall.wire.media import ANYWHERE, BYTES, MediaTable, Takes

NAME = "gemini_interactions"

# https://ai.google.dev/api/interactions-api; google-genai 3.1.0, InteractionStatus.
STOPS: Mapping[str, StopReason] = {
    "completed": "end",  # with calls: "calls"
    "requires_action": "calls",  # without any: "error", as nobody here knows what is wanted
    "incomplete": "length",
    "budget_exceeded": "length",
    "requires_continuation": "pause",
    "cancelled": "error",
}
"""The standings in which an interaction is over; a word that is not here is an error."""

WAITING = frozenset(["in_progress", "queued"])
"""Those in which it is not."""

EFFORTS: Mapping[str, str] = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""The level that a word asks for; there is none without any thinking."""

CONTENT: Mapping[MediaKind, str] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "pdf": "document",
    "document": "document",
}
"""What media of a kind are called."""

MEDIA: MediaTable = {
    **dict.fromkeys(CONTENT, Takes(ANYWHERE)),
    "text": Takes(BYTES),
    "other": Takes(("address", "id")),
}
"""https://ai.google.dev/api/interactions-api, Content. Text is words."""
