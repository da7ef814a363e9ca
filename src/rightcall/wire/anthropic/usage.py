"""A reply's usage as Anthropic counts it, including iterations and other models' share."""

from collections.abc import Mapping
from typing import Any

from rightcall.core.parts import Usage
from rightcall.wire.anthropic.tables import BESIDE, ELSEWHERE
from rightcall.wire.cost import charged


def merged_usage(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    """The counts so far, overridden by later ones. They are totals, not increments.

    Null or missing counts change nothing, nor does an input of zero, which some hosts send at the end.
    """
    fresh = {
        key: value
        for key, value in after.items()
        if value is not None and (value or "input" not in key or key not in before)
    }
    return {**before, **fresh}


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts converted to ours, whose input includes cached tokens."""
    iterations = _iterations(counts)

    def total(name: str) -> int:
        told = _count(counts, name)
        if not iterations:
            return told
        beside = [_count(step, name) for step in iterations if step.get("type") in BESIDE]
        within = [_count(step, name) for step in iterations if step.get("type") not in BESIDE]
        return max(told, sum(within)) + sum(beside)

    cached = total("cache_read_input_tokens")
    written = total("cache_creation_input_tokens")
    details = counts.get("output_tokens_details")
    return Usage(
        input_tokens=total("input_tokens") + cached + written,
        output_tokens=total("output_tokens"),
        cached_tokens=cached,
        cache_written_tokens=written,
        reasoning_tokens=_count(details, "thinking_tokens") if isinstance(details, Mapping) else 0,
        cost=charged(counts),
    )


def usage_of_others(counts: Mapping[str, Any]) -> dict[str, Usage]:
    """The usage of other models, by name."""
    found = dict[str, Usage]()
    for step in _iterations(counts):
        name = step.get("model")
        if step.get("type") in ELSEWHERE and isinstance(name, str):
            # It is counted as a separate reply without iterations.
            found[name] = found.get(name, Usage()) + usage({**step, "iterations": None})
    return found


def _iterations(counts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    steps = counts.get("iterations")
    return [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
