"""One holder for each run: who comes second is told who it is, and cannot append.

Two workers that recover one run after a crash are ordinary, and would do every write twice. A small file
beside the journal, locked, stands for the hold: the system unlocks it when its process ends, however it
ends, so a holder that died holds nobody up. A holder that is stopped keeps it.
"""

import errno
import os
import socket
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rightcall.errors import RunHeld
from rightcall.log import logger

if sys.platform != "win32":
    import fcntl

HELD = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})
"""What the system says of a lock that somebody else has."""


class RunLock:
    """The lock on one run: a file in the folder ``PATH.holds`` beside the journal at PATH."""

    def __init__(self, journal: Path, run: str) -> None:
        name = sha256(run.encode(errors="surrogatepass")).hexdigest()[:32]
        self._path = journal.with_name(f"{journal.name}.holds") / name
        self._descriptor = self._open(run)
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, myself().encode())

    def _open(self, run: str) -> int:
        while True:
            # Not exist_ok: that looks again, and raises where the last holder removed it meanwhile.
            with suppress(FileExistsError):
                self._path.parent.mkdir(mode=0o700)
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue  # the last holder has just removed the folder
            try:
                _lock(descriptor)
                # Whoever held it may have removed the file between our opening and our locking.
                with suppress(FileNotFoundError):
                    if self._path.stat().st_ino == os.fstat(descriptor).st_ino:
                        return descriptor
                os.close(descriptor)
            except OSError as error:
                holder = os.read(descriptor, 1000).decode(errors="replace")
                os.close(descriptor)
                if error.errno not in HELD:
                    raise
                raise RunHeld(run, holder or "another process") from None

    def release(self) -> None:
        """Unlock the run. Doing so twice is fine."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                self._path.unlink()
                self._path.parent.rmdir()
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        _cannot_hold("Windows has no such locks")
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            raise
        # Some file systems know no locks. Runs go on there as they did, and the log says so.
        _cannot_hold(error)


def _cannot_hold(why: object) -> None:
    logger.warning("runs cannot be held here, so two processes may take one: %s", why)


def myself() -> str:
    """How others are told of this process."""
    return f"process {os.getpid()} on {socket.gethostname()}"
