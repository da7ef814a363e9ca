"""Runs that outlive processes and machines, on an existing durable-execution engine."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core.ports import Steps as Steps
    from rightcall.durable.app import App as App
    from rightcall.durable.app import Handle as Handle
    from rightcall.durable.app import RunInfo as RunInfo
    from rightcall.durable.engine import Queue as Queue
    from rightcall.durable.live import Live as Live
    from rightcall.durable.segment import Submitted as Submitted

lazily(
    __name__,
    {
        "App": "durable.app",
        "Handle": "durable.app",
        "Live": "durable.live",
        "Queue": "durable.engine",
        "RunInfo": "durable.app",
        "Steps": "core.ports",
        "Submitted": "durable.segment",
    },
)
