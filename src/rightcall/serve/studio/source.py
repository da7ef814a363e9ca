"""Where the studio's runs are: what it asks of a journal, whichever kind that is.

The files are read, and nothing in them is touched: neither a lock is taken nor a table made. A journal
is opened as such only when something is to be written. Whatever else keeps runs, a durable store or a
journal of somebody's own, needs ``runs`` and ``entries``, which may be async; ``written`` where it knows
times; and ``decide`` where it goes on with a run by itself (``hosting.Deciding``).
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rightcall.core.entry import Entry
from rightcall.core.ports import AsyncJournal, Journal


class Written(Struct, frozen=True, gc=False):
    """One entry, as it was found."""

    run: str
    at: float
    """When it was written, in seconds since 1970; 0 where nobody knows."""
    entry: Entry | None
    """None for a line that cannot be read."""
    start: int = 0
    end: int = 0
    """Where it stands in a file of lines."""
    row: int = 0
    """Its number in a table."""

    @property
    def place(self) -> int:
        """A number that only grows from entry to entry; 0 where there is none."""
        return self.row or self.end


class Batch(Struct, frozen=True):
    """What was written since a look."""

    written: Sequence[Written]
    cursor: str
    """Where the next look begins."""
    share: float = 1.0
    """How much of the whole has been seen."""
    is_anew: bool = False
    """Another journal stands where the one was that was looked at before."""
    first: int = 0
    """The lowest number that is left in a table: what came before it was trimmed away."""


class Recorded(Struct, frozen=True):
    """Everything that is recorded of a run."""

    entries: tuple[Entry, ...] = ()
    times: tuple[float, ...] = ()
    """When each was written; empty where nobody knows."""


class Source(Protocol):
    """Where the studio's runs are."""

    name: str
    kind: str

    async def read(self, cursor: str, most: int, /) -> Batch:
        """At most so many entries after the cursor, in the order in which they were written."""
        ...

    async def newest(self, most: int, /) -> Sequence[Written]:
        """Some of what was written last, to be shown before everything else has been read."""
        ...

    async def run(self, name: str, places: Sequence[tuple[int, int]], /) -> Recorded:
        """The record of one run, which stands at these places of a file of lines."""
        ...

    def held(self) -> frozenset[str]:
        """The names of the locks of runs that somebody is at."""
        ...

    def holder(self, lock: str, /) -> str:
        """Who is at the run with that lock; nothing where nobody is known to be."""
        ...

    def journal(self) -> Journal | AsyncJournal:
        """The journal itself, to write into."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...
