"""Finds the journal file and the run that a user named."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rightcall.cli.conversations import conversations_file, find_run
from rightcall.cli.load import is_journal, load_journal
from rightcall.durable.store_file import is_store
from rightcall.errors import UsageError
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal


def journal_and_run(words: list[str]) -> tuple[str, str | None]:
    """The file and the run, both of which are optional."""
    file = str(conversations_file())
    if words and is_journal(words[0]):
        file, *words = words
    if len(words) > 1:
        raise UsageError(f"{words[0]} is no journal: its name must end in .jsonl, .sqlite or .db")
    if not Path(file).exists():
        raise UsageError(f"there is no journal {file}")
    return file, words[0] if words else None


@contextmanager
def opened_journal(file: str) -> Iterator[JsonLinesJournal | SqliteJournal]:
    """The journal in a file, closed on exit."""
    if is_store(Path(file)):
        raise UsageError(
            f"{file} is a store of durable runs, and no journal: rightcall runs list sqlite:///{file}"
        )
    journal = load_journal(file)
    assert isinstance(journal, JsonLinesJournal | SqliteJournal)
    with journal:
        yield journal


def chosen_run(journal: JsonLinesJournal | SqliteJournal, name: str | None) -> str:
    """The run whose name is or begins with this; without one, the latest."""
    runs = journal.runs()
    if not runs:
        raise UsageError(f"{journal.path} holds no runs")
    if name is None:
        return runs[-1]
    return find_run(runs, name, "" if Path(journal.path) == conversations_file() else str(journal.path))
