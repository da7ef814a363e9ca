"""Work of several sides in many short turns, and the middle of what each took.

On a machine with other work, the CPU time of the same instructions differs by a half from one second to
the next. Turns of some hundredths of a second, in changing order, share that evenly; the ratio of two
long rounds is a lottery.
"""

import re
import statistics
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path


async def in_turn(
    sides: Mapping[str, Callable[[], Awaitable[float]]], turns: int
) -> dict[str, list[float]]:
    """What each turn of each side took, without the first, which makes it warm."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    for turn in range(turns + 1):
        for name in order:
            took = await sides[name]()
            if turn:
                found[name].append(took)
        order.reverse()
    return found


def medians(found: Mapping[str, list[float]]) -> dict[str, float]:
    """The middle of each side's turns."""
    return {name: statistics.median(each) for name, each in found.items()}


class Counter:
    """Counts the instructions of a process in the parts of its life that are of interest.

    Without counting, valgrind runs a process at a fifth of its speed; counting, at a fiftieth.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self.command = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--callgrind-out-file=/dev/null",
            f"--log-file={log}",
        ]
        """What stands before the process's own command."""

    def switch(self, process: int, state: str) -> None:
        """Begin or end to count, ``on`` or ``off``."""
        command = ["callgrind_control", "-i", state, str(process)]
        subprocess.run(command, check=True, capture_output=True)

    def counted(self) -> int:
        """How many instructions there were, once the process has ended."""
        found = re.search(r"Collected : (\d+)", self._log.read_text())
        assert found, self._log.read_text()
        return int(found[1])
