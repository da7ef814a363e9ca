"""One run, read from its journal for people: whole, without its secrets, and retraced."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from rightcall.core.entry import Entry, Nested, RunStarted
from rightcall.core.message import Reply, User
from rightcall.core.parts import Media
from rightcall.errors import JournalError, RightcallError
from rightcall.loop.replay import Retraced, retrace
from rightcall.loop.window import Window
from rightcall.record.entry_text import decode, encode
from rightcall.record.redact import redact_secrets
from rightcall.serve.studio.run_items import At
from rightcall.serve.studio.sources import RunRecord
from rightcall.serve.studio.to_json import media_id


class RunView(Struct, frozen=True, eq=False):
    """Everything that is known of a run."""

    run: str
    written: tuple[At, ...]
    """Its entries, with the time of each, if that is known."""
    start: RunStarted | None
    retraced: Retraced | None
    """The run, computed again from its record; None if the record does not allow that."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its entries."""
        return tuple([entry for entry, _ in self.written])

    @property
    def version(self) -> int:
        """The number of entries."""
        return len(self.written)

    def notes(self) -> dict[int, list[User]]:
        """By turn: messages to the model after it, besides results."""
        found: dict[int, list[User]] = {}
        if self.retraced is None or self.start is None:
            return found
        turn = 0
        for message in self.retraced.result.transcript[len(self.start.messages) :]:
            turn += isinstance(message, Reply)
            if isinstance(message, User):
                found.setdefault(turn, []).append(message)
        return found

    def counts(self) -> dict[int, int]:
        """By turn: how many messages there were when the model was asked."""
        if self.retraced is None or self.start is None:
            return {}
        found = {}
        turn = 0
        messages = self.retraced.result.transcript
        for index in range(len(self.start.messages), len(messages) + 1):
            if index == len(messages) or isinstance(messages[index], Reply):
                turn += 1
                found[turn] = index
        return found


async def read_run(run: str, recorded: RunRecord, before: RunView | None = None) -> RunView:
    """A run as people may see it; ``before`` is an earlier reading, of when it was shorter."""
    known = before.entries if before is not None else ()
    fresh = await asyncio.to_thread(without_secrets, recorded.entries[len(known) :])
    entries = (*known, *fresh)
    times: Sequence[float | None] = recorded.times or [None] * len(entries)
    start = start_of(entries)
    retraced = None
    if start is not None:
        with suppress(RightcallError):
            # It fails for a record that no agent could have written, as that of an MCP server's call.
            retraced = await retrace_aside(entries, run)
    return RunView(run, tuple(zip(entries, times, strict=True)), start, retraced)


def start_of(entries: Sequence[Entry]) -> RunStarted | None:
    """The entry with which a run began; None if it is not there."""
    for entry in entries:
        if isinstance(entry, RunStarted):
            return entry
    return None


async def retrace_aside(entries: Sequence[Entry], run: str, window: Window | None = None) -> Retraced:
    """A run computed again from its record, in a thread: a long one takes a while, and never awaits."""
    return await asyncio.to_thread(lambda: asyncio.run(retrace(entries, run, window=window)))


def without_secrets(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with their secrets redacted, as a redacting journal would hold them."""
    try:
        return tuple([decode(encode(entry, redact_secrets, "studio"), "studio") for entry in entries])
    except JournalError:
        # After redaction it is no valid entry any more, so nothing of it is shown.
        raise JournalError("the record", "an entry cannot be shown without its secrets") from None


def media_in(entries: Sequence[Entry], wanted: str) -> Media | None:
    """The media of that id."""
    todo: list[object] = list(entries)
    while todo:
        value = todo.pop()
        if isinstance(value, Media):
            if value.data and media_id(value) == wanted:
                return value
        elif isinstance(value, Struct):
            todo += [getattr(value, name) for name in value.__struct_fields__]
        elif isinstance(value, list | tuple):
            todo += value
    return None


def entries_at(reading: RunView, path: str) -> tuple[Entry, ...]:
    """The entries of the run inside a call, by its path: ``t1.0.writer/t2.0.checker``."""
    found: Sequence[Entry] = reading.entries
    for key in path.split("/") if path else ():
        inside = []
        for each in found:
            if isinstance(each, Nested) and each.path == key:
                inside.append(each.entry)
        found = inside
    return tuple(found)
