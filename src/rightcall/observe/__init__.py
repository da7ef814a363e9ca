"""Observers of runs for operators: OpenTelemetry, by its API alone, and what your own are given."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core.ports import AroundObserver as AroundObserver
    from rightcall.core.ports import CallEnd as CallEnd
    from rightcall.core.ports import ExchangeEnd as ExchangeEnd
    from rightcall.core.ports import ModelExchange as ModelExchange
    from rightcall.core.ports import Observer as Observer
    from rightcall.core.ports import RunSegment as RunSegment
    from rightcall.core.ports import SegmentEnd as SegmentEnd
    from rightcall.core.ports import ToolCall as ToolCall
    from rightcall.core.ports import Watch as Watch
    from rightcall.observe.conventions import conversation as conversation
    from rightcall.observe.otel_observer import OpenTelemetry as OpenTelemetry

_HOMES = {
    "AroundObserver": "core.ports",
    "CallEnd": "core.ports",
    "ExchangeEnd": "core.ports",
    "ModelExchange": "core.ports",
    "Observer": "core.ports",
    "OpenTelemetry": "observe.otel_observer",
    "RunSegment": "core.ports",
    "SegmentEnd": "core.ports",
    "ToolCall": "core.ports",
    "Watch": "core.ports",
    "conversation": "observe.conventions",
}

lazily(__name__, _HOMES)
