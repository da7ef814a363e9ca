"""The terms of Chat Completions and its imitators, and what they mean."""

from collections.abc import Mapping
from typing import Any

from rightcall.core.message import StopReason
from rightcall.errors import VendorError
from rightcall.wire.media import BYTES, MediaTable, Takes
from rightcall.wire.refusal import Refusals, is_bare_error, malformed_call

NAME = "openai_chat"

STOPS: Mapping[str, StopReason] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "filtered",
    # Imitators.
    "tool_call": "calls",
    "tool_use": "calls",
    "eos": "end",
    "eos_token": "end",
    "end_turn": "end",
    "stop_sequence": "stop_sequence",
    "max_tokens": "length",
    "model_length": "length",  # Mistral: the context is full
    "model_context_window_exceeded": "length",
    "safety": "filtered",
    "recitation": "filtered",
    "sensitive": "filtered",  # Z.ai
    "refusal": "refusal",
    "error": "error",  # Mistral, OpenRouter
    "abort": "error",  # vLLM, SGLang
    "network_error": "error",  # Z.ai
    "insufficient_system_resource": "error",  # DeepSeek
    "malformed_function_call": "error",  # Gemini's compatible endpoint
}

FINISHES: Mapping[StopReason, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refusal": "stop",  # with its text in ``refusal``
    "pause": "length",  # the reply is not over, but a client has no way to continue it
    "filtered": "content_filter",
}
"""The stop reason that a client receives. A reply that broke off has none."""

FAULTS: Mapping[str, str] = {"malformed_function_call": malformed_call()}
"""Stop reasons that are the model's own fault, and the message that tells the model."""

CUT_OFF: frozenset[StopReason] = frozenset(("length", "filtered", "error"))
"""Stop reasons that may cut off a call."""

REASONING = ("reasoning_content", "reasoning", "thinking")
"""The members with reasoning: DeepSeek, xAI, older vLLM; vLLM, OpenRouter, Groq, Ollama; others. Some
send the same text under two of these names, so only the first found counts."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""As ReasoningEffort of openai 3.49.0. A model refuses those that it does not support."""

XAI_TICKS = 1e10
"""xAI counts cost in ten-billionths of a dollar: https://docs.x.ai/developers/cost-tracking."""

AUDIO: Mapping[str, str] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
}
"""OpenAI's names of audio formats. OpenAI accepts wav and mp3; imitators accept more."""

TTLS = ("30m", "24h")
"""How long OpenAI can cache the beginning of a prompt."""

MEDIA: MediaTable = {
    "image": Takes(("bytes", "address")),
    "pdf": Takes(("bytes", "id")),
    "document": Takes(("bytes", "id")),
    "text": Takes(("bytes", "id")),
    "audio": Takes(BYTES, frozenset(AUDIO)),
    # Not OpenAI's: vLLM, Qwen and OpenRouter accept it so.
    "video": Takes(("bytes", "address")),
    "other": Takes(("id",)),
}
"""The media that have a content part. https://platform.openai.com/docs/api-reference/chat/create"""

_TRANSIENT = frozenset([
    "rate_limit_exceeded", "rate_limit_error", "server_error", "internal_server_error", "timeout",
    "service_unavailable", "service_unavailable_error", "overloaded", "overloaded_error",
    "engine_overloaded", "timeout_error", "internal_error", "api_error", "unavailable_error",
])  # fmt: skip

REFUSALS = Refusals(
    code=("code", "type", "status"),
    transient=_TRANSIENT,
    # OpenAI sends these with 429, and waiting does not help.
    final=frozenset(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]),
)

error = REFUSALS.over_http


def find_refusal(value: Any) -> VendorError | None:
    """The error that came with status 200 instead of a reply or a chunk; None if there is none."""
    if not isinstance(value, dict):
        return None
    # vLLM and Mistral: {"object": "error", "message": …}; FastAPI's own: {"detail": …}.
    is_said = "error" in (value.get("object"), value.get("type")) or value.get("detail")
    if value.get("error") or ("choices" not in value and (is_said or is_bare_error(value))):
        return REFUSALS.inside(value)
    return None
