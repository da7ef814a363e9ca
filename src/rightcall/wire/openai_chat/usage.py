"""A reply's usage, as hosts report it."""

from typing import Any

from rightcall.core.parts import Usage
from rightcall.wire.cost import charged
from rightcall.wire.openai_chat.tables import XAI_TICKS


def usage_of(raw: Any) -> Usage:
    """Parses a usage object. Hosts put cached and reasoning tokens into different members."""
    if not isinstance(raw, dict):
        return Usage()
    if raw.keys() <= _PLAIN:
        return Usage(
            input_tokens=_count(raw, "prompt_tokens"), output_tokens=_count(raw, "completion_tokens")
        )
    into, out = _object(raw, "prompt_tokens_details"), _object(raw, "completion_tokens_details")
    prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    reasoning = _count(out, "reasoning_tokens") or _count(raw, "reasoning_tokens")
    if reasoning and _count(raw, "total_tokens") == prompt + completion + reasoning:
        # xAI counts reasoning beside the completion; here it is part of the output.
        completion += reasoning
    cost = charged(raw) if "cost" in raw else None
    if cost is None and isinstance(ticks := raw.get("cost_in_usd_ticks"), int):
        cost = ticks / XAI_TICKS
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
_PLAIN = frozenset(("prompt_tokens", "completion_tokens", "total_tokens"))
"""The members that every host has; many have no others."""


def _object(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _count(raw: dict[str, Any], *names: str) -> int:
    for name in names:
        value = raw.get(name)
        if value and isinstance(value, _NUMBERS):
            return int(value)
    return 0
