"""The protocol between the runner, which requests a command, and the keeper that runs it.

Imported on both sides: by this process, and by the warden's, which imports as little as possible.
"""

from struct import Struct

HEADER = Struct("=I")
"""The header of a request: its length in bytes."""
REPORT = Struct("=Bii?")
"""A report: how a command ended, its wait status or errno, how many processes are left, and whether it
had a pid namespace of its own."""
EXITED, TIMED_OUT, ENDED, CROWDED, NO_START, NO_DIRECTORY, NO_NAMESPACE = range(7)
AUTO = b"a"
OWN = b"o"
HOST = b"h"
"""The kinds of keepers: with a pid namespace if root may have one, always, or never."""
END = b"e"
"""The message to end the command now, with its grace period."""
SWEEP_SECONDS = 2.0
"""Seconds for which SIGKILL is repeated before a report says that something is left."""
