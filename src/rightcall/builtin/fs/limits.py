"""How much of a file system a model may see or change in one call."""

from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from rightcall.errors import UsageError


class FileLimits(Struct, frozen=True, kw_only=True):
    """Caps on what one call may read, write or look through."""

    max_file_bytes: int = 16 * 1024 * 1024
    """A larger file is shown only as far as this, and is neither edited nor searched."""
    max_write_bytes: int = 1024 * 1024
    """The most that one write may hold."""
    max_lines: int = 2000
    """Lines in one read."""
    max_characters: int = 40_000
    """Characters in one result; what is left can be asked for."""
    max_line_characters: int = 2000
    """Longer lines are cut when they are shown."""
    max_entries: int = 500
    """Names in one listing or glob."""
    max_matches: int = 200
    """Lines that match in one grep."""
    max_visited: int = 50_000
    """Names that a search looks at before it gives up."""
    search_seconds: float = 15.0
    """Time after which a search gives up."""
    skipped: tuple[str, ...] = (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv")
    """Directories that searches from above pass by; a search that starts in one looks into it."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name != "skipped" and not value > 0:
                raise UsageError(f"file limits: {name} must be more than 0, not {value!r}")


class Watch:
    """Says when a search must end: its time is up, or nobody waits for it any more."""

    def __init__(self, seconds: float, is_cancelled: Callable[[], bool] = bool) -> None:
        self._end = monotonic() + seconds
        self._is_cancelled = is_cancelled

    def is_over(self) -> bool:
        """Whether to stop now."""
        return self._is_cancelled() or monotonic() > self._end
