"""Runs that outlive processes and machines, on an existing durable-execution engine."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.durable.app import App, Handle
    from rightcall.durable.engine import Queue
    from rightcall.durable.live import Live
    from rightcall.durable.segment import Submitted
    from rightcall.durable.standing import RunInfo

__all__ = ["App", "Handle", "Live", "Queue", "RunInfo", "Submitted"]

lazily(
    __name__,
    {
        "App": "durable.app",
        "Handle": "durable.app",
        "Live": "durable.live",
        "Queue": "durable.engine",
        "RunInfo": "durable.standing",
        "Submitted": "durable.segment",
    },
)
