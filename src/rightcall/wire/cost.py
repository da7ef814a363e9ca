"""The price in dollars that a gateway reports for a reply, which is more reliable than a price table.

OpenRouter writes it into ``usage`` by default, in Chat and in Responses. Where the vendor was paid with
the user's own key, ``cost`` is only the gateway's fee, and the vendor's price stands beside it:
https://openrouter.ai/docs/use-cases/usage-accounting. Perplexity's ``cost`` is an object that contains
the sum (perplexityai 0.46.1, ResponsesUsage).
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any


def charged(usage: Mapping[str, Any]) -> float | None:
    """The reported price in dollars; None where the usage has none."""
    told = usage.get("cost")
    if told is None:
        return None
    cost = _dollars(told.get("total_cost") if isinstance(told, Mapping) else told)
    details = usage.get("cost_details")
    if cost is not None and usage.get("is_byok") is True and isinstance(details, Mapping):
        cost += _dollars(details.get("upstream_inference_cost")) or 0.0
    return cost


def _dollars(value: object) -> float | None:
    """An amount in dollars; None for a value that can only be a mistake."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None
