"""Removes impossible numbers from a vendor's usage and cost."""

from math import isfinite

from msgspec.structs import asdict, replace

from rightcall.core.message import Reply
from rightcall.log import request_logger


def believable(reply: Reply, provider: str) -> Reply:
    """Returns the reply without impossible numbers of tokens or dollars: they must not refund a budget.

    Nothing used can be negative or infinite. Such a count becomes 0, and such a price an unknown one.
    """
    usage = reply.usage
    counted = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_written_tokens,
        usage.reasoning_tokens,
    )
    cost = usage.cost
    if min(counted) >= 0 and (cost is None or (cost >= 0 and isfinite(cost))):
        return reply
    wrong = {
        name: value
        for name, value in asdict(usage).items()
        if value is not None and not (value >= 0 and isfinite(value))
    }
    told = ", ".join(f"{name} {value}" for name, value in wrong.items())
    request_logger.warning("%s: usage that cannot be is not counted: %s", provider, told)
    sound = {name: None if name == "cost" else 0 for name in wrong}
    return replace(reply, usage=replace(usage, **sound))
