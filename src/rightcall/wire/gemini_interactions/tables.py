"""The terms of the Interactions API, as data: statuses, thinking levels, media."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.core.parts import MediaKind
from rightcall.errors import VendorError
from rightcall.wire.google import TRANSIENT, add_details
from rightcall.wire.media import ANYWHERE, BYTES, MediaTable, Takes
from rightcall.wire.refusal import Refusals

NAME = "gemini_interactions"

# https://ai.google.dev/api/interactions-api; google-genai 3.1.0, InteractionStatus.
STOPS: Mapping[str, StopReason] = {
    "completed": "end",  # with calls: "calls"
    "requires_action": "calls",  # without any: "error", as it is unknown what is wanted
    "incomplete": "length",
    "budget_exceeded": "length",
    "requires_continuation": "pause",
    "cancelled": "error",
}
"""Statuses of an interaction that is over; an unknown one is an error."""

WAITING = frozenset(["in_progress", "queued"])
"""Statuses of an interaction that is not over."""

EFFORTS: Mapping[str, str] = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""The thinking level for an effort; no level switches thinking off."""

CONTENT: Mapping[MediaKind, str] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "pdf": "document",
    "document": "document",
}
"""The content type for each kind of media."""

MEDIA: MediaTable = {
    **dict.fromkeys(CONTENT, Takes(ANYWHERE)),
    "text": Takes(BYTES),
    "other": Takes(("address", "id")),
}
"""https://ai.google.dev/api/interactions-api, Content. Text files are sent as text."""

# Over HTTP Google's usual codes, in a stream others, such as ``gateway_timeout``:
# https://ai.google.dev/gemini-api/docs/interactions/streaming#error
REFUSALS = Refusals(
    code=("status", "code", "error"),
    transient=TRANSIENT
    | frozenset(word.lower() for word in TRANSIENT)
    | {"gateway_timeout", "internal_error", "rate_limit_exceeded", "service_unavailable"},
    complete=add_details,
)

error = REFUSALS.over_http
parse_refusal = REFUSALS.inside


_NOT_FOUND = 404


def is_forgotten(refusal: VendorError) -> bool:
    """Whether the vendor has lost what it stored: https://ai.google.dev/gemini-api/docs/interactions.

    The error is undocumented; retrying once with everything settles it.
    """
    return refusal.status == _NOT_FOUND or "previous_interaction" in refusal.body
