"""Every event that an agent's stream yields, in one place to import from."""

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from rightcall.core.progress import CallProgress
from rightcall.loop.result import RunEnd
from rightcall.loop.stream import Event

__all__ = [
    "CallDelta",
    "CallEnd",
    "CallProgress",
    "CallStart",
    "Event",
    "ModelEvent",
    "ReasoningDelta",
    "ReplyEnd",
    "ResultEnd",
    "RunEnd",
    "TextDelta",
    "TurnStart",
]
