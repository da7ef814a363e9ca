"""Marks calls whose nulls a strict schema forced, for the gate."""

from collections.abc import Container, Sequence

from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.events import CallEnd, ModelEvent, ReplyEnd
from rightcall.core.message import Reply


def marked(events: Sequence[ModelEvent], forced: Container[str]) -> Sequence[ModelEvent]:
    """Returns the events, with the calls of these tools marked. The model's own text is unchanged."""
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
