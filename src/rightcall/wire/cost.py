"""What a gateway says that a reply was charged, in dollars: it knows better than any table of prices.

OpenRouter writes it into ``usage`` unasked, in Chat and in Responses. Where the vendor was paid with a
key of the user's own, ``cost`` is the gateway's fee alone, and what the vendor took stands beside it:
https://openrouter.ai/docs/use-cases/usage-accounting. Perplexity's ``cost`` is an object with the sum
in it (perplexityai 0.46.1, ResponsesUsage).
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any


def charged(usage: Mapping[str, Any]) -> float | None:
    """Dollars, where the usage says so."""
    told = usage.get("cost")
    if told is None:
        return None
    cost = _dollars(told.get("total_cost") if isinstance(told, Mapping) else told)
    details = usage.get("cost_details")
    if cost is not None and usage.get("is_byok") is True and isinstance(details, Mapping):
        cost += _dollars(details.get("upstream_inference_cost")) or 0.0
    return cost


def _dollars(value: object) -> float | None:
    """An amount; what could only be a mistake counts as not said."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None
