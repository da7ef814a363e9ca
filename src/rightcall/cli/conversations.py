"""Conversations, kept from one command to the next in an SQLite journal in the XDG state directory.

An observer writes it, so that a failing disk does not stop a conversation. It is bounded, and only its
owner may read it. ``rightcall journal`` shows it like any other.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from msgspec import Struct

from rightcall.cli.places import state_folder
from rightcall.core.entry import MODEL_NOTE, CallFinished, Entry, ReplyReceived, RunStarted, StepDone
from rightcall.core.events import StreamEvent
from rightcall.core.history import mend
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Result
from rightcall.core.ports import Journal
from rightcall.errors import JournalError, ReplayError, UsageError
from rightcall.loop.replay import replay
from rightcall.record.sqlite import SqliteJournal

MOST_RUNS = 1000
MOST_BYTES = 128 * 1024 * 1024
"""When either limit is reached, the oldest runs are deleted first."""
ENTRIES: tuple[type, ...] = get_args(Entry)
"""The entries that observers get, besides the events of the stream."""


class Earlier(Struct, frozen=True, kw_only=True):
    """A conversation to continue."""

    run: str
    messages: Transcript
    model: str = ""
    """The model as the user named it; empty if not recorded."""
    system: str = ""


def conversations_file() -> Path:
    """The path of the journal."""
    return state_folder() / "conversations.sqlite"


class Keeping:
    """An observer that records every run of an agent. ``model`` is the user's name for the model."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._journal: SqliteJournal | None = None
        self._is_off = False

    def __call__(self, run: str, happened: Entry | StreamEvent, /) -> None:
        """Record an entry of a run."""
        if self._is_off or not isinstance(happened, ENTRIES):
            return
        try:
            if self._journal is None:
                self._journal = _opened()
            self._journal.append(run, happened)  # type: ignore[arg-type]
            if isinstance(happened, RunStarted):
                self._journal.trim(runs=MOST_RUNS, size=MOST_BYTES)
                self._journal.append(run, StepDone(key=MODEL_NOTE, value=self.model))
        except (JournalError, OSError) as error:
            self._is_off = True
            print(f"rightcall: this conversation is not kept: {error}", file=sys.stderr)

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _opened() -> SqliteJournal:
    file = conversations_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SqliteJournal(file)


def earlier(name: str | None) -> Earlier:
    """The conversation whose name is or begins with this; without one, the latest."""
    file = conversations_file()
    if not file.exists():
        raise UsageError("there is no conversation to continue: none is stored yet")
    with SqliteJournal(file) as journal:
        runs = journal.runs()
        if not runs:
            raise UsageError("there is no conversation to continue: none is stored yet")
        run = runs[-1] if name is None else find_run(runs, name)
        messages = asyncio.run(transcript_of(journal, run))
        entries = journal.entries(run)
    start = next(entry for entry in entries if isinstance(entry, RunStarted))
    noted = [e.value for e in entries if isinstance(e, StepDone) and e.key == MODEL_NOTE]
    # A question without any reply is not kept.
    while messages and isinstance(messages[-1], User):
        messages = messages[:-1]
    # The instructions may describe an output format, which was requested only once.
    system = start.system if start.wanted is None else ""
    return Earlier(run=run, messages=messages, model=noted[-1] if noted else "", system=system)


def find_run(runs: Sequence[str], name: str, file: str = "") -> str:
    """The run with that name, or the only one whose name begins with it."""
    if name in runs:
        return name
    found = [run for run in runs if run.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:5])
        raise UsageError(f"{len(found)} runs begin with {name!r}: {shown}{' …' * (len(found) > 5)}")  # noqa: PLR2004
    raise UsageError(f"there is no run {name!r}; rightcall journal list{file and f' {file}'} shows them")


async def transcript_of(journal: Journal, run: str) -> Transcript:
    """The messages of a run, in which every call has a result; also of an interrupted run."""
    try:
        messages = (await replay(journal, run)).transcript
    except ReplayError:
        messages = _as_far_as_it_came(tuple(journal.entries(run)))
    return mend(messages).messages


def _as_far_as_it_came(entries: tuple[Entry, ...]) -> Transcript:
    """The messages of an unfinished run, without those that the runtime added."""
    messages: list[Message] = []
    finished = {entry.key: entry.result for entry in entries if isinstance(entry, CallFinished)}
    for entry in entries:
        if isinstance(entry, RunStarted):
            messages += entry.messages
        elif isinstance(entry, ReplyReceived):
            messages += [entry.reply, *_results(entry.key, entry.reply, finished)]
    return tuple(messages)


def _results(key: str, reply: Reply, finished: dict[str, Result]) -> list[Results]:
    turn = key.removesuffix(".model")
    keys = [f"{turn}.{index}.{call.name}" for index, call in enumerate(reply.calls)]
    found = tuple(finished[each] for each in keys if each in finished)
    return [Results(found)] if found else []
