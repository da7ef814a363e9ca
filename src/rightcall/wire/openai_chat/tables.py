"""The words of Chat Completions and of its imitators, and what they mean."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.wire.faults import malformed_call
from rightcall.wire.media import BYTES, MediaTable, Takes

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
    "refusal": "stop",  # with its words in ``refusal``
    "pause": "length",  # the reply is not over, and nobody can be asked to go on with it
    "filtered": "content_filter",
}
"""What a client is told of why a reply stopped. One that broke off has no such word."""

FAULTS: Mapping[str, str] = {"malformed_function_call": malformed_call()}
"""The stops that are the model's own fault, and what it is told."""

CUT_OFF: frozenset[StopReason] = frozenset(("length", "filtered", "error"))
"""Stops that may have come in the middle of a call."""

REASONING = ("reasoning_content", "reasoning", "thinking")
"""Where hosts put the reasoning: DeepSeek, xAI, older vLLM; vLLM, OpenRouter, Groq, Ollama; others.
Some send the same text under two of these names, so only the first found counts."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""As ReasoningEffort of openai 3.49.0. Which of them a model knows, it says itself."""

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
"""The words for formats of sound. OpenAI takes wav and mp3; imitators take more."""

TTLS = ("30m", "24h")
"""How long OpenAI keeps the beginning of a prompt."""

MEDIA: MediaTable = {
    "image": Takes(("bytes", "address")),
    "pdf": Takes(("bytes", "id")),
    "document": Takes(("bytes", "id")),
    "text": Takes(("bytes", "id")),
    "audio": Takes(BYTES, frozenset(AUDIO)),
    # Not OpenAI's: vLLM, Qwen and OpenRouter take it so.
    "video": Takes(("bytes", "address")),
    "other": Takes(("id",)),
}
"""What there is a part for. https://platform.openai.com/docs/api-reference/chat/create"""
