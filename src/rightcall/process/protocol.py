"""What is said between those who ask for a command and the keeper that runs it.

Imported on both sides: by this process, and by the warden's, which loads as little as it can.
"""

from struct import Struct

HEADER = Struct("=I")
"""Before a request: how many bytes it has."""
REPORT = Struct("=Bii?")
"""What became of a command: a word, its wait status or errno, how many processes are left, and whether
it had process numbers of its own."""
EXITED, TIMED_OUT, ENDED, CROWDED, NO_START, NO_DIRECTORY, NO_NAMESPACE = range(7)
AUTO, OWN, HOST = b"a", b"o", b"h"
"""What a keeper is asked for with: its own process numbers where root may have them, surely, or not."""
END = b"e"
"""End the command now, with its grace."""
SWEEP_SECONDS = 2.0
"""How long SIGKILL is tried before a report says that something is left."""
