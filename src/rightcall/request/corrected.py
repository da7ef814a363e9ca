"""Corrects a decoded reply before anybody sees it: impossible counts, and nulls that a schema forced."""

from collections.abc import Container, Sequence
from math import isfinite

from msgspec.structs import asdict, replace

from rightcall.core.call import Call
from rightcall.core.events import CallEnd, ModelEvent, ReplyEnd
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


def marked(events: Sequence[ModelEvent], forced: Container[str]) -> Sequence[ModelEvent]:
    """Returns the events, with the calls of these tools marked: a strict schema forced their nulls."""
    return [_marked(event, forced) for event in events]


def _marked(event: ModelEvent, forced: Container[str]) -> ModelEvent:
    match event:
        case CallEnd(call=call) if call.name in forced:
            return replace(event, call=replace(call, nulls=True))
        case ReplyEnd(reply=reply):
            return replace(event, reply=marked_reply(reply, forced))
        case _:
            return event


def marked_reply(reply: Reply, forced: Container[str]) -> Reply:
    """Returns the reply, with the calls of these tools marked."""
    if not any(call.name in forced for call in reply.calls):
        return reply
    content = [
        replace(part, nulls=True) if isinstance(part, Call) and part.name in forced else part
        for part in reply.content
    ]
    return replace(reply, content=tuple(content))
