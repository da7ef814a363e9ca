"""Those who watch runs for operators: OpenTelemetry, on its API alone."""

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
