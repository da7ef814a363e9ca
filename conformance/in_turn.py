"""Waits for one of a few places, and then becomes the program that its arguments name.

The suite starts the clients of all scenarios at once; on a small or busy machine each of them is then so
slow that connections time out. The place is a lock on a file, which the program keeps until it ends,
however it ends.
"""

import fcntl
import os
import sys
import time
from itertools import cycle
from pathlib import Path


def main(folder: str, program: list[str]) -> None:
    """Run the program when a place in this folder is free."""
    places = [os.open(path, os.O_RDWR) for path in sorted(Path(folder).iterdir())]
    for place in cycle(places):
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
            continue
        os.set_inheritable(place, True)  # noqa: FBT003 - that is how it is called
        os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
