"""Gives each run one holder: a second one is told who holds it, and cannot append.

It is normal that two workers recover one run after a crash; both together would do every write twice. A
small locked file beside the journal is the hold: the system unlocks it when its process ends, however it
ends, so a dead holder blocks nobody. A holder that is stopped keeps it.
"""

import errno
import os
import socket
import sys
import time
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from rightcall.errors import RunHeld
from rightcall.log import logger
from rightcall.platforms import after_fork

if sys.platform != "win32":
    import fcntl

HELD = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})
"""The error codes for a lock that somebody else has."""
_GATHER = 0.01
"""Seconds for which descriptors are collected before they are closed."""


def folder_of(journal: Path) -> str:
    """Returns the folder of the locks on a journal's runs."""
    return f"{journal}.holds"


class RunLock:
    """The lock on one run: a file in the folder ``PATH.holds`` beside the journal at PATH."""

    def __init__(self, journal: Path, run: str) -> None:
        name = sha256(run.encode(errors="surrogatepass")).hexdigest()[:32]
        # Plain strings: this runs for every run, and joining Paths takes longer than all the rest.
        self._folder = folder_of(journal)
        self._path = f"{self._folder}{os.sep}{name}"
        self._descriptor = self._open(run)
        os.write(self._descriptor, myself().encode())

    def _open(self, run: str) -> int:
        while True:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                # Not exist_ok: that checks again, and raises if the last holder removed it meanwhile.
                with suppress(FileExistsError):
                    os.mkdir(self._folder, 0o700)  # noqa: PTH102
                continue
            try:
                _lock(descriptor)
                # The last holder may have removed the file between our opening and our locking it.
                with suppress(FileNotFoundError):
                    opened = os.fstat(descriptor)
                    if os.stat(self._path).st_ino == opened.st_ino:  # noqa: PTH116
                        if opened.st_size:  # left by a holder that died
                            os.ftruncate(descriptor, 0)
                        return descriptor
                os.close(descriptor)
            except OSError as error:
                holder = os.read(descriptor, 1000).decode(errors="replace")
                os.close(descriptor)
                if error.errno not in HELD:
                    raise
                raise RunHeld(run, holder or "another process") from None

    def release(self) -> None:
        """Unlock the run. Calling it twice is fine."""
        descriptor = self._descriptor
        self._descriptor = -1
        if descriptor >= 0:
            with suppress(OSError):
                os.unlink(self._path)  # noqa: PTH108
            _unlock(descriptor)
            _closer().put((descriptor, self._folder))


def remove_folder(folder: str) -> None:
    """Remove the folder of a journal's locks, unless it holds a lock."""
    with suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106


def _unlock(descriptor: int) -> None:
    if sys.platform != "win32":
        with suppress(OSError):  # where locks are not supported
            fcntl.flock(descriptor, fcntl.LOCK_UN)


@cache
def _closer() -> "SimpleQueue[tuple[int, str]]":
    """Returns the queue of a thread that closes descriptors: closing a removed file deletes its data.

    On a busy disk that took ten milliseconds, which blocked the event loop. The folder is removed with
    the last file: making and removing it costs more than the rest of a hold.
    """
    waiting: SimpleQueue[tuple[int, str]] = SimpleQueue()

    def close() -> None:
        while True:
            released = [waiting.get()]
            # What is put in meanwhile need not wake this thread, which costs more than the closing.
            time.sleep(_GATHER)
            while not waiting.empty():
                released.append(waiting.get())
            for descriptor, _ in released:
                os.close(descriptor)
            for folder in {folder for _, folder in released}:
                remove_folder(folder)

    Thread(target=close, name="rightcall: closing", daemon=True).start()
    return waiting


# A forked child has none of its parent's threads.
after_fork(_closer.cache_clear)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        _cannot_hold("Windows has no such locks")
    else:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in HELD:
                raise
            # Some file systems support no locks. Runs continue there without, and the log says so.
            _cannot_hold(error)


def _cannot_hold(why: object) -> None:
    logger.warning("runs cannot be locked here, so two processes may take the same run: %s", why)


def myself() -> str:
    """Returns the name of this process for others."""
    return f"process {os.getpid()} on {_host()}"


_host = cache(socket.gethostname)
