"""Child processes: started without a shell, limited, drained, and reliably ended."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.process.command import Captured as Captured
    from rightcall.process.command import Command as Command
    from rightcall.process.command import Completed as Completed
    from rightcall.process.command import Crowded as Crowded
    from rightcall.process.command import Exit as Exit
    from rightcall.process.command import Exited as Exited
    from rightcall.process.command import Isolation as Isolation
    from rightcall.process.command import Lost as Lost
    from rightcall.process.command import NotStarted as NotStarted
    from rightcall.process.command import Signalled as Signalled
    from rightcall.process.command import TimedOut as TimedOut
    from rightcall.process.command import decode as decode
    from rightcall.process.command import describe as describe
    from rightcall.process.deadline_validator import DeadlineValidator as DeadlineValidator
    from rightcall.process.runner import run as run

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
