"""The words of Chat Completions and of its imitators, and what they mean."""

from collections.abc import Mapping
from typing import Any

from rightcall.core.message import StopReason
from rightcall.core.usage import Usage

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

CUT_OFF: frozenset[StopReason] = frozenset(("length", "filtered", "error"))
"""Stops that may have come in the middle of a call."""

REASONING = ("reasoning_content", "reasoning", "thinking")
"""Where hosts put the reasoning: DeepSeek, xAI, older vLLM; vLLM, OpenRouter, Groq, Ollama; others.
Some send the same text under two of these names, so only the first found counts."""

_XAI_TICKS = 1e10
"""xAI counts cost in ten-billionths of a dollar: https://docs.x.ai/developers/cost-tracking."""


def usage_of(raw: Any) -> Usage:
    """A usage object. Cached and reasoning tokens have moved about between hosts."""
    if not isinstance(raw, dict):
        return Usage()
    into, out = _object(raw, "prompt_tokens_details"), _object(raw, "completion_tokens_details")
    prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    reasoning = _count(out, "reasoning_tokens") or _count(raw, "reasoning_tokens")
    if reasoning and _count(raw, "total_tokens") == prompt + completion + reasoning:
        # xAI counts reasoning beside the completion; here it is a part of the output.
        completion += reasoning
    cost, ticks = raw.get("cost"), raw.get("cost_in_usd_ticks")
    if not isinstance(cost, _NUMBERS):
        cost = ticks / _XAI_TICKS if isinstance(ticks, int) else None
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=_count(into, "cached_tokens")
        or _count(raw, "prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens"),
        cache_written_tokens=_count(into, "cache_write_tokens", "cache_creation_tokens")
        or _count(raw, "cache_creation_input_tokens"),
        reasoning_tokens=reasoning,
        cost=cost,
    )


_NUMBERS = (int, float)


def _object(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _count(raw: dict[str, Any], *names: str) -> int:
    for name in names:
        value = raw.get(name)
        if value and isinstance(value, _NUMBERS):
            return int(value)
    return 0
