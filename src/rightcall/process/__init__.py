"""Child processes: started without a shell, limited, drained, and reliably ended."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.process.command import (
        Captured,
        Command,
        Completed,
        Crowded,
        Exit,
        Exited,
        Isolation,
        Lost,
        NotStarted,
        Signalled,
        TimedOut,
        decode,
        describe,
    )
    from rightcall.process.deadline_validator import DeadlineValidator
    from rightcall.process.runner import run

__all__ = [
    "Captured",
    "Command",
    "Completed",
    "Crowded",
    "DeadlineValidator",
    "Exit",
    "Exited",
    "Isolation",
    "Lost",
    "NotStarted",
    "Signalled",
    "TimedOut",
    "decode",
    "describe",
    "run",
]

lazily(
    __name__,
    {
        "Captured": "process.command",
        "Command": "process.command",
        "Completed": "process.command",
        "Crowded": "process.command",
        "DeadlineValidator": "process.deadline_validator",
        "Exit": "process.command",
        "Exited": "process.command",
        "Isolation": "process.command",
        "Lost": "process.command",
        "NotStarted": "process.command",
        "Signalled": "process.command",
        "TimedOut": "process.command",
        "decode": "process.command",
        "describe": "process.command",
        "run": "process.runner",
    },
)
