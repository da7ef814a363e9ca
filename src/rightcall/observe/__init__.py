"""Observers of runs for operators: OpenTelemetry, using its API only."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.observe.identity import conversation
    from rightcall.observe.tracing import OpenTelemetry

__all__ = ["OpenTelemetry", "conversation"]

lazily(
    __name__,
    {"OpenTelemetry": "observe.tracing", "conversation": "observe.identity"},
)
