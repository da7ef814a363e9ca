"""The CPU time of this process and of those that it started: a local model runs in one of its own."""

import os
import time
from contextlib import suppress
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


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
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK
    return 0.0
