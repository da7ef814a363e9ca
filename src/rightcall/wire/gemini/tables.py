"""Gemini's terms, and what they mean here."""

import re
from collections.abc import Callable, Mapping

from rightcall.core.message import StopReason
from rightcall.wire.google import TRANSIENT, add_details
from rightcall.wire.media import ANYWHERE, MediaTable, Takes
from rightcall.wire.refusal import (
    Refusals,
    malformed_call,
    malformed_reply,
    too_many_calls,
    unexpected_call,
)

NAME = "gemini"

# https://ai.google.dev/api/generate-content#FinishReason; google-genai 3.1.0 types.FinishReason.
STOPS: Mapping[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    **dict.fromkeys(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT"), "filtered"),
    **dict.fromkeys(("SPII", "MODEL_ARMOR", "IMAGE_SAFETY"), "filtered"),
    **dict.fromkeys(("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "filtered"),
    "UNEXPECTED_TOOL_CALL": "error",  # with its call: "calls", which are whole, and of no tool
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"), "error"),
    **dict.fromkeys(("MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER", "OTHER"), "error"),
}
"""Stop reasons by finish reason; an unknown one is an error. STOP is also used for calls."""

FINISHES: Mapping[StopReason, str] = {
    "end": "STOP",
    "calls": "STOP",
    "stop_sequence": "STOP",
    "length": "MAX_TOKENS",
    "pause": "MAX_TOKENS",
    "refusal": "SAFETY",
    "filtered": "SAFETY",
    "error": "OTHER",
}
"""The stop reason that a client receives."""

FAULTS: Mapping[str, Callable[[str], str]] = {
    "MALFORMED_FUNCTION_CALL": malformed_call,
    "UNEXPECTED_TOOL_CALL": unexpected_call,
    "TOO_MANY_TOOL_CALLS": too_many_calls,
    "MALFORMED_RESPONSE": malformed_reply,
}
"""Finish reasons that are the model's own fault, and the message that tells the model; the finishMessage
says more. MISSING_THOUGHT_SIGNATURE is the request's fault, which the model cannot correct."""

UNSAID = frozenset(["", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"])
"""Values that mean no finish reason."""

# The vendor's own mapping of effort levels: https://ai.google.dev/gemini-api/docs/openai#thinking
EFFORTS: Mapping[str, tuple[str, int]] = {
    "none": ("MINIMAL", 0),
    "minimal": ("MINIMAL", 1024),
    "low": ("LOW", 1024),
    "medium": ("MEDIUM", 8192),
    "high": ("HIGH", 24576),
    "xhigh": ("HIGH", 24576),
    "max": ("HIGH", 24576),
}
"""The level, and the budget for models without levels."""

PRO = re.compile(r"(?:^|/)gemini-[\d.]+-pro")
PRO_LEAST = 128
"""The smallest budget of models that always think: https://ai.google.dev/gemini-api/docs/thinking"""

# Models before Gemini 3 refuse thinkingLevel (https://ai.google.dev/gemini-api/docs/thinking) and media
# inside a function response (google-gemini/gemini-cli#19436).
NEWER = re.compile(r"(?:^|/)gemini-(?:[a-z]+-)*(?:(?:[3-9]|[1-9]\d)(?!\d)|latest$)")
"""Names of models since Gemini 3, and aliases of the newest."""

NESTED_MEDIA = frozenset(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"])
"""What a function response may hold. https://ai.google.dev/gemini-api/docs/function-calling#multimodal-function-responses"""

MEDIA: MediaTable = {
    **dict.fromkeys(("image", "pdf", "text", "audio", "video"), Takes(ANYWHERE)),
    "document": Takes(("address", "id")),
    "other": Takes(("address", "id")),
}
"""https://ai.google.dev/gemini-api/docs/files and .../file-input-methods"""

# https://ai.google.dev/gemini-api/docs/troubleshooting; for errors that come without a status.
REFUSALS = Refusals(code=("status", "code", "error"), transient=TRANSIENT, complete=add_details)

error = REFUSALS.over_http
parse_refusal = REFUSALS.inside
