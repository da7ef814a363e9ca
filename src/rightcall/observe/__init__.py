"""Observers of runs for operators: OpenTelemetry, by its API alone, and what your own are given."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core.around import (
        CallEnd,
        ExchangeEnd,
        ModelExchange,
        RunSegment,
        SegmentEnd,
        ToolCall,
    )
    from rightcall.core.ports import AroundObserver, Watch
    from rightcall.observe.identity import conversation
    from rightcall.observe.tracing import OpenTelemetry

_HOMES = {
    "AroundObserver": "core.ports",
    "CallEnd": "core.around",
    "ExchangeEnd": "core.around",
    "ModelExchange": "core.around",
    "OpenTelemetry": "observe.tracing",
    "RunSegment": "core.around",
    "SegmentEnd": "core.around",
    "ToolCall": "core.around",
    "Watch": "core.ports",
    "conversation": "observe.identity",
}
__all__ = [
    "AroundObserver",
    "CallEnd",
    "ExchangeEnd",
    "ModelExchange",
    "OpenTelemetry",
    "RunSegment",
    "SegmentEnd",
    "ToolCall",
    "Watch",
    "conversation",
]

lazily(__name__, _HOMES)
