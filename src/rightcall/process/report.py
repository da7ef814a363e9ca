"""A keeper's report into how a command ended, and that into words."""

import errno
import os
import signal
from typing import assert_never

from rightcall.process import protocol
from rightcall.process.command import (
    Command,
    Crowded,
    Exit,
    Exited,
    Lost,
    NotStarted,
    Signalled,
    TimedOut,
)

_REASONS = {
    errno.E2BIG: "its arguments are longer than the system takes",
    errno.EACCES: "it may not be executed",
    errno.ENOENT: "there is no such program, or its #! line names one that is missing",
    errno.ENOEXEC: "it is not a program that this system can run; a script needs a #! line",
}


def explain(kind: int, status: int, command: Command) -> Exit:
    """What a keeper's report means; ``status`` is a wait status, or an errno where nothing started."""
    if kind == protocol.TIMED_OUT:
        return TimedOut(command.timeout)
    if kind == protocol.CROWDED:
        return Crowded(command.max_processes)
    if kind == protocol.NO_START:
        reason = _REASONS.get(status) or os.strerror(status)
        return NotStarted(f"{command.argv[0]} cannot be started: {reason}")
    if kind == protocol.NO_DIRECTORY:
        return NotStarted(f"its directory {command.directory} cannot be entered: {os.strerror(status)}")
    code = os.waitstatus_to_exitcode(status)
    return Exited(code) if code >= 0 else Signalled(-code)


def describe(end: Exit) -> str:
    """How a command ended, in words that follow its name."""
    match end:
        case Exited(code):
            return f"ended with exit code {code}"
        case Signalled(number):
            return f"was ended by {_signal_name(number)}"
        case TimedOut(seconds):
            return f"did not finish within {seconds:g} s and was stopped"
        case Crowded(most):
            return f"started more than {most} processes and was stopped"
        case NotStarted(reason):
            return f"was not run: {reason}"
        case Lost():
            return "was lost with the process that watched over it; it may have done part of its work"
        case _:
            assert_never(end)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
