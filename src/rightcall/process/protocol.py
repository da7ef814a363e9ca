"""What the runner and a keeper say to each other, in bytes.

A request is a header and a command (``marshal``: both ends are one Python), with the descriptor that the
command writes to. Then, perhaps, the word to end it. A report is the answer.
"""

from struct import Struct

HEADER = Struct("=I")
"""Before a request: how many bytes it has."""
REPORT = Struct("=Bii")
"""What became of a command: a word, its wait status or errno, and how many processes are left."""
EXITED, TIMED_OUT, ENDED, CROWDED, NO_START, NO_DIRECTORY = range(6)
END = b"e"
"""End the command now, with its grace."""
SWEEP_SECONDS = 2.0
"""How long SIGKILL is tried before a report says that something is left."""
