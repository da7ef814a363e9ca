"""Waits for one of a few places, and then becomes the program that its arguments name.

The suite starts the clients of all scenarios at once; on a small or busy machine each of them is then so
slow that connections time out. The place is a lock on a file, which the program keeps until it ends,
however it ends.
"""

import fcntl
import os
import sys
import time
from contextlib import suppress
from pathlib import Path


def main(folder: str, program: list[str]) -> None:
    """Run the program when a place in this folder is free."""
    places = [os.open(path, os.O_RDWR) for path in sorted(Path(folder).iterdir())]
    while (place := free(places)) is None:
        time.sleep(0.2)
    os.set_inheritable(place, True)  # noqa: FBT003 - that is how it is called
    os.execv(program[0], program)


def free(places: list[int]) -> int | None:
    """A place that nobody has, taken."""
    for place in places:
        with suppress(BlockingIOError):
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
    return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
