"""The source of the studio's runs: what it needs of a journal, of whichever kind.

Files are only read: no lock is taken and no table created. A journal is opened as such only when
something is to be written. Any other store of runs, a durable one or a custom journal, needs ``runs``
and ``entries``, which may be async; ``written`` if it knows times; and ``decide`` if it continues a run
by itself (``Deciding``).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from rightcall.core.decision import FinalDecision
from rightcall.core.entry import Entry
from rightcall.core.message import Transcript
from rightcall.core.ports import AsyncJournal, Journal


class Written(Struct, frozen=True, gc=False):
    """One entry, as it was found."""

    run: str
    at: float
    """When it was written, in seconds since 1970; 0 if unknown."""
    entry: Entry | None
    """None for a line that cannot be read."""
    start: int = 0
    end: int = 0
    """Its byte range in a file of lines."""
    row: int = 0
    """Its number in a table."""

    @property
    def place(self) -> int:
        """A number that only grows from entry to entry; 0 if there is none."""
        return self.row or self.end


class Batch(Struct, frozen=True):
    """The entries that were written since a cursor."""

    written: Sequence[Written]
    cursor: str
    """Where the next read begins."""
    share: float = 1.0
    """The share of the whole that has been read."""
    is_anew: bool = False
    """Whether another journal has replaced the one that was read before."""
    first: int = 0
    """The lowest number that is left in a table: earlier rows were trimmed."""


class Recorded(Struct, frozen=True):
    """Everything that is recorded of a run."""

    entries: tuple[Entry, ...] = ()
    times: tuple[float, ...] = ()
    """When each was written; empty if unknown."""


class Source(Protocol):
    """The source of the studio's runs."""

    name: str
    kind: str

    async def read(self, cursor: str, most: int, /) -> Batch:
        """At most so many entries after the cursor, in the order in which they were written."""
        ...

    async def newest(self, most: int, /) -> Sequence[Written]:
        """Some of the latest entries, to be shown before everything else has been read."""
        ...

    async def run(self, name: str, places: Sequence[tuple[int, int]], /) -> Recorded:
        """The record of one run, which is at these places in a file of lines."""
        ...

    def held(self) -> frozenset[str]:
        """The names of the locks of runs that a process holds."""
        ...

    def holder(self, lock: str, /) -> str:
        """Who holds the lock of a run; empty if nobody is known to."""
        ...

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself, to write into."""
        ...

    async def close(self) -> None:
        """Close it."""
        ...


@runtime_checkable
class Deciding(Protocol):
    """A store that continues runs by itself, as a durable one does."""

    async def decide(self, run: str, decisions: Mapping[str, FinalDecision], /) -> object:
        """Take a person's decisions. Raises AlreadyDecided if there are others."""
        ...


@runtime_checkable
class Beginning(Protocol):
    """A store that starts runs by itself: forks of its runs, and prompts to its agents."""

    async def fork(self, run: str, before_turn: int, new: str, /) -> None:
        """Begin another run from before a turn of this one."""
        ...

    async def submit(
        self, agent: str, prompt: str, run: str, history: Transcript, /, *, dry_run: bool
    ) -> None:
        """Submit a run of an agent that the store's workers have."""
        ...
