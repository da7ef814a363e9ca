"""Every event that an agent's stream yields, in one place to import from."""

from toolwright.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from toolwright.core.progress import CallProgress
from toolwright.loop.result import RunEnd
from toolwright.loop.stream import Event

__all__ = [
    "CallDelta",
    "CallEnd",
    "CallProgress",
    "CallStart",
    "Event",
    "ReasoningDelta",
    "ReplyEnd",
    "ResultEnd",
    "RunEnd",
    "TextDelta",
    "TurnStart",
]
