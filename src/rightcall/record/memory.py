"""Entries into lists: a journal that lasts as long as its process."""

from collections.abc import Sequence

from rightcall.core.entry import Entry


class MemoryJournal:
    """Keeps every entry as it is, nothing redacted. Threads may share it."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Entry]] = {}

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        self._runs.setdefault(run, []).append(entry)

    def entries(self, run: str, /) -> Sequence[Entry]:
        """Everything recorded of a run up to now, in order; nothing for a run that is not known."""
        return tuple(self._runs.get(run, ()))

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        return tuple(self._runs)
