"""The kinds of journals that are files: one row for each, for all who open a journal by its name."""

from importlib import import_module
from pathlib import Path

from msgspec import Struct

from rightcall.record.file_journal import FileJournal


class JournalKind(Struct, frozen=True, kw_only=True):
    """One kind of journal."""

    name: str
    """The name of its class in ``rightcall.record``."""
    endings: tuple[str, ...]
    """What the names of its files end in."""
    head: bytes
    """What its files begin with; empty if they begin with anything else."""
    reader: str
    """The class in ``serve.studio.sources`` by which the studio reads such a file."""

    def open(self, path: str | Path) -> FileJournal:
        """Open the journal in a file, which is created if it is missing."""
        # By name: a kind is imported when one of its files is opened.
        journal: FileJournal = getattr(import_module("rightcall.record"), self.name)(path)
        return journal


LINES = JournalKind(
    name="JsonLinesJournal", endings=(".jsonl", ".ndjson"), head=b"", reader="LinesSource"
)
DATABASE = JournalKind(
    name="SqliteJournal",
    endings=(".db", ".sqlite", ".sqlite3"),
    head=b"SQLite format 3",
    reader="TableSource",
)
JOURNAL_KINDS = (LINES, DATABASE)
JOURNAL_ENDINGS = tuple(ending for kind in JOURNAL_KINDS for ending in kind.endings)


def kind_of(journal: FileJournal) -> JournalKind:
    """Returns the kind of a journal."""
    names = {each.__name__ for each in type(journal).__mro__}
    return next(kind for kind in JOURNAL_KINDS if kind.name in names)


def kind_by_name(path: str | Path) -> JournalKind | None:
    """Returns the kind of journal that a file's name says; None if it says none."""
    ending = Path(path).suffix.lower()
    return next((kind for kind in JOURNAL_KINDS if ending in kind.endings), None)


def kind_by_content(path: Path) -> JournalKind:
    """Returns the kind of journal in a file; of an empty one by its name."""
    with path.open("rb") as file:
        head = file.read(16)
    for kind in JOURNAL_KINDS:
        if kind.head and head.startswith(kind.head):
            return kind
    if head:
        return LINES
    return kind_by_name(path) or DATABASE
