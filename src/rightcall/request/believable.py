"""What a vendor says it counted and charged, where that can be."""

from math import isfinite

from msgspec.structs import asdict, replace

from rightcall.core.message import Reply
from rightcall.log import request_logger


def believable(reply: Reply, provider: str) -> Reply:
    """The reply without numbers of tokens or dollars that cannot be: a budget must not be given back.

    Nothing that was used can be less than nothing. A count that is, is taken for none, and a price for
    one that is not known.
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
