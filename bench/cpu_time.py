"""The CPU time of this process and of those that it started: a local model runs in one of its own."""

import os
import time
from contextlib import suppress
from pathlib import Path

_OF_A_PROCESS = 2


def cpu_seconds() -> float:
    """Seconds of CPU time so far, this process's and its children's, those that ended included."""
    ended = os.times()
    running = sum(map(_spent, _children()))
    return time.process_time() + ended.children_user + ended.children_system + running


def _children() -> list[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [pid for task in tasks for pid in task.read_text().split()]


def _spent(pid: str) -> float:
    with suppress(OSError):
        # The clock of another process, by Linux's numbering; its /proc counts in steps of 10 ms.
        return time.clock_gettime(~int(pid) << 3 | _OF_A_PROCESS)
    return 0.0
