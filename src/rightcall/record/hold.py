"""One holder for each run: who comes second is told who it is, and cannot append.

Two workers that recover one run after a crash are ordinary, and would do every write twice. A small file
beside the journal, locked, stands for the hold: the system unlocks it when its process ends, however it
ends, so a holder that died holds nobody up. A holder that is stopped keeps it.
"""

import asyncio
import errno
import logging
import os
import socket
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from rightcall.core.ports import AsyncJournal, Hold, HoldingJournal, Journal, Steps
from rightcall.errors import RunHeld
from rightcall.record.steps import JournalSteps, LiveSteps, entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rightcall.core.entry import Entry

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("rightcall")

_HELD = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})
_PATIENCE = 0.05
"""Seconds between two tries of one who waits for a run."""


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
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
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
                if error.errno not in _HELD:
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
        if error.errno in _HELD:
            raise
        # Some file systems know no locks. Runs go on there as they did, and the log says so.
        _cannot_hold(error)


def _cannot_hold(why: object) -> None:
    logger.warning("runs cannot be held here, so two processes may take one: %s", why)


def myself() -> str:
    """How others are told of this process."""
    return f"process {os.getpid()} on {socket.gethostname()}"


class Holding:
    """Holds a run while it is entered, and knows what was recorded of it before.

    Without a journal there is nothing to hold. A journal of somebody's own that has no ``hold`` leaves
    it to them that nobody else is at the run.
    """

    def __init__(self, journal: Journal | AsyncJournal | None, run: str, *, wait: float = 0.0) -> None:
        self._journal = journal
        self._run = run
        self._wait = wait
        self._hold: Hold | None = None
        self.entries: Sequence[Entry] = ()

    async def __aenter__(self) -> Self:
        if self._journal is not None:
            if isinstance(self._journal, HoldingJournal):
                self._hold = await self._held(self._journal)
            try:
                self.entries = await entries_of(self._journal, self._run)
            except BaseException:
                self._release()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def steps(self) -> Steps:
        """The steps of the run, under this hold."""
        if self._journal is None:
            return LiveSteps()
        return JournalSteps(self._journal, self._run, self.entries, self._hold)

    async def _held(self, journal: HoldingJournal) -> Hold:
        end = monotonic() + self._wait
        while True:
            try:
                return journal.hold(self._run)
            except RunHeld:
                if monotonic() >= end:
                    raise
            await asyncio.sleep(_PATIENCE)

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.release()
            self._hold = None
