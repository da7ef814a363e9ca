"""Commands that can be found again, and a look at what is left of them."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rightcall.process.command import Command

HOSTILE = str(Path(__file__).with_name("hostile.py"))
PYTHON = os.path.realpath(sys.executable)


def hostile(what: str, *arguments: str, **options: Any) -> Command:
    """A command that does what ``hostile.py`` can do."""
    return Command(argv=(PYTHON, "-I", "-S", HOSTILE, what, *arguments), **options)


def marked(mark: str) -> list[str]:
    """The living processes that have a mark among their arguments."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (place / "cmdline").read_bytes()
            state = (place / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in arguments and state not in {b"Z", b"X"}:
            found.append(f"{place.name} {arguments.replace(bytes(1), b' ').decode()}")
    return found


def descriptors() -> dict[str, str]:
    """What this process has open."""
    found = {}
    for place in Path("/proc/self/fd").iterdir():
        try:
            found[place.name] = str(place.readlink())
        except OSError:
            continue
    return found


def wait_until(true: Callable[[], Any], seconds: float = 20.0) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
