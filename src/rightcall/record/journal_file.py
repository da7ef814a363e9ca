"""Work on a file that may have to wait: for another's lock, for the disk, for a long read.

It is written once, as a generator that yields what it waits for, and run in two ways: by code that may
block, and on an event loop, which keeps running meanwhile. No step waits for a lock by itself: it raises
``Busy``, and is tried again. So a wait can be cancelled between two tries, when nothing is under way,
and a step that has begun always finishes.
"""

import asyncio
import errno
import os
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Self, TypeAlias, TypeVar

from msgspec import Struct

from rightcall.core.entry import Entry, RunStarted
from rightcall.errors import JournalError, JournalLocked, RunHeld
from rightcall.log import logger
from rightcall.platforms import after_fork
from rightcall.record.entry_text import Redact, add_digest, encode, is_large, pack, refer_to_run

T = TypeVar("T")
Waiting: TypeAlias = Generator[float | Callable[[], Any], Any, T]
"""Yields seconds to wait, or a slow function to call, and is sent that function's result."""

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


class Busy(Exception):
    """Somebody else has the file locked. Nothing was done; try again."""


def retry_while_busy(attempt: Callable[[], T], path: Path, *, slow: bool = False) -> Waiting[T]:
    """Try until nobody else has the file locked; JournalLocked when that takes too long.

    ``slow``: the work itself may take long too, such as waiting for the disk.
    """
    begun = time.monotonic()
    pause = _FIRST_PAUSE
    while True:
        try:
            return (yield attempt) if slow else attempt()
        except Busy:
            waited = time.monotonic() - begun
            if waited >= PATIENCE:
                reason = f"still locked by somebody else after {waited:.0f} s; find out who writes to it"
                raise JournalLocked(str(path), reason, seconds=waited) from None
        yield pause
        pause = min(pause * 2, _LONGEST_PAUSE)


def run_blocking(work: Waiting[T]) -> T:
    """Run the work here, blocking."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            step = work.send(value) if error is None else work.throw(error)
            value = error = None
            if callable(step):
                try:
                    value = step()
                except BaseException as raised:  # noqa: BLE001 - for the work to see
                    error = raised
            else:
                time.sleep(step)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    finally:
        work.close()


async def run_async(work: Waiting[T]) -> T:
    """Run the work without blocking the event loop. A cancellation ends a wait, but never a write."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            step = work.send(value) if error is None else work.throw(error)
            value = error = None
            if callable(step):
                try:
                    value = await off_loop(step)
                except Exception as raised:  # noqa: BLE001 - for the work to see
                    error = raised
            else:
                await asyncio.sleep(step)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    finally:
        work.close()


async def off_loop(function: Callable[[], T], room: str = "journal") -> T:
    """Run a function in a thread of its own. A cancelled caller waits until it has ended.

    The thread is a daemon and belongs to no pool: it does not delay the exit of the process, and no fork
    misses it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - for whoever awaits
            tell = ended.set_exception
            told = error
        else:
            tell, told = ended.set_result, value  # type: ignore[assignment]
        with suppress(RuntimeError):  # the event loop has closed, and the waiter with it
            loop.call_soon_threadsafe(tell, told)

    Thread(target=work, name=f"rightcall: {room}", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait((ended,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        ended.exception()  # retrieved, so that asyncio does not log it
        raise cancelled
    return ended.result()


# Gives each run one holder: a second one is told who holds it, and cannot append. It is normal that
# two workers recover one run after a crash; both together would do every write twice. A small
# locked file beside the journal is the hold: the system unlocks it when its process ends, however
# it ends, so a dead holder blocks nobody. A holder that is stopped keeps it.


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


# The common part of the journals that store their entries in a file. Each defines in ``appending``,
# ``reading`` and ``holding`` what it does, and where that may wait; so blocking code can use it
# and, through ``steps``, an event loop that must not block.


MUCH = 256 * 1024
"""Bytes that take noticeably long to write or to search."""


class EncodedEntry(Struct, frozen=True):
    """An entry as text, and the run that its history refers to, if any."""

    text: bytes
    after: str | None


class FileHold:
    """A run in a file, held by a lock."""

    def __init__(self, journal: "FileJournal", run: str, lock: RunLock) -> None:
        self._journal = journal
        self._run = run
        self._lock = lock

    def appending(self, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of the run's record."""
        return self._journal.appending(self._run, entry)

    def append(self, entry: Entry, /) -> None:
        """Write one entry, blocking."""
        run_blocking(self.appending(entry))

    def release(self) -> None:
        """Release the run for others."""
        self._lock.release()


class FileJournal(ABC):
    """A file of many runs. Threads may share it, and processes may write to the same file."""

    def __init__(self, path: str | os.PathLike[str], redact: Redact | None, *, sync: bool) -> None:
        self.path = Path(path)
        self._name = str(self.path)
        self._redact = redact
        self._sync = sync
        self._lock = Lock()

    @abstractmethod
    def appending(self, run: str, entry: Entry, /) -> Waiting[None]:
        """Write one entry at the end of a run's record."""

    @abstractmethod
    def reading(self, run: str, /) -> Waiting[Sequence[Entry]]:
        """Read everything recorded of a run."""

    @abstractmethod
    def holding(self, run: str, /) -> Waiting[FileHold]:
        """Hold a run."""

    @abstractmethod
    def close(self) -> None:
        """Close the file. Closing twice is fine."""

    @abstractmethod
    def runs(self) -> Sequence[str]:
        """Returns the runs that are recorded, oldest first."""

    @abstractmethod
    def written(self, run: str, /) -> Sequence[float]:
        """Returns when each entry of a run was written, in seconds since 1970."""

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        run_blocking(self.appending(run, entry))

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        return run_blocking(self.reading(run))

    def hold(self, run: str, /) -> FileHold:
        """Hold a run; raises RunHeld, with the holder, if another process or task holds it."""
        return run_blocking(self.holding(run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _started_with(self, digests: Collection[str]) -> tuple[str, str] | None:
        """Returns a run that started with the messages of the first known digest, and that digest."""

    def _encoding(self, entry: Entry, *, is_whole: bool = False) -> Waiting[EncodedEntry]:
        """Encode an entry as text. Searching a large one for secrets takes long.

        With ``is_whole`` it refers to no other run.
        """
        packed = pack(entry)
        after = None
        if isinstance(entry, RunStarted):
            entry = yield from self._without_history(entry, large=is_large(packed), is_whole=is_whole)
            packed = pack(entry)
            after = entry.after
        encoding = partial(encode, entry, self._redact, self._name, packed)
        text = (yield encoding) if is_large(packed) else encoding()
        return EncodedEntry(text, None if after is None else after.run)

    def _without_history(self, start: RunStarted, *, large: bool, is_whole: bool) -> Waiting[RunStarted]:
        """Returns the RunStarted with a reference in place of messages that an earlier one holds."""
        digesting = partial(add_digest, start)
        start, earlier = (yield digesting) if large else digesting()
        if not earlier or is_whole:
            return start
        look = partial(self._started_with, earlier)
        found = yield from retry_while_busy(look, self.path, slow=self._is_behind())
        if found is None:
            return start
        return refer_to_run(start, found[0], earlier[found[1]])

    def _is_behind(self) -> bool:
        """Whether a lookup takes long, because much was written since the last one."""
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other threads; raises Busy if one has the lock."""
        if not self._lock.acquire(blocking=False):
            raise Busy
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(str(self.path), error.strerror or str(error)) from error
