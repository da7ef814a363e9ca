"""A journal in memory, which lasts as long as its process."""

from collections.abc import Sequence

from rightcall.core.entry import Entry
from rightcall.errors import RunHeld


class MemoryJournal:
    """Keeps every entry in memory, with nothing redacted. Threads may share it."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Entry]] = {}
        self._held: set[str] = set()

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        self._runs.setdefault(run, []).append(entry)

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Returns all entries of a run so far, in order; none for an unknown run."""
        return tuple(self._runs.get(run, ()))

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        return tuple(self._runs)

    def hold(self, run: str, /) -> "MemoryHold":
        """Hold a run; raises RunHeld if it is held already."""
        if run in self._held:
            raise RunHeld(run, "this process")
        self._held.add(run)
        return MemoryHold(self, run, self._held)


class MemoryHold:
    """A run of a journal in memory, held."""

    def __init__(self, journal: MemoryJournal, run: str, held: set[str]) -> None:
        self._journal = journal
        self._run = run
        self._held = held

    def append(self, entry: Entry, /) -> None:
        """Write one entry at the end of the run's record."""
        self._journal.append(self._run, entry)

    def release(self) -> None:
        """Release the run for others."""
        self._held.discard(self._run)
