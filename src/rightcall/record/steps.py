"""Runs effects through a journal: done once, recorded, remembered, by one holder of their run."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from inspect import isawaitable
from os import PathLike
from time import monotonic
from typing import Self, TypeGuard

from msgspec.structs import replace

from rightcall.core.decision import NOT_RECORDED, Allow, Deny, FinalDecision, Rewrite
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    Entry,
    HistoryCompacted,
    HookAnswered,
    MessageQueued,
    MessagesDelivered,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
)
from rightcall.core.events import StreamEvent
from rightcall.core.jsontext import dump
from rightcall.core.options import check_keywords
from rightcall.core.ports import AsyncJournal, Hold, HoldingJournal, Journal, Observer, Steps
from rightcall.core.secret_formats import REDACTED
from rightcall.errors import JournalError, RunHeld, UsageError
from rightcall.log import logger
from rightcall.record.file_journal import FileHold, FileJournal
from rightcall.record.waits import run_async

Body = Callable[[], Awaitable[Entry]]
_PATIENCE = 0.05
"""Seconds between two attempts to hold a run that another holds."""
_TURN = 0.01
"""Seconds for which remembered steps are returned before the event loop gets a turn."""


async def append(journal: Journal | AsyncJournal, run: str, entry: Entry) -> None:
    """Write one entry to a journal of any kind."""
    if is_file(journal):
        await run_async(journal.appending(run, entry))
        return
    written = journal.append(run, entry)
    if isawaitable(written):
        await written


async def entries_of(journal: Journal | AsyncJournal, run: str) -> Sequence[Entry]:
    """Returns all entries of a run in a journal of any kind."""
    if is_file(journal):
        return await run_async(journal.reading(run))
    if isinstance(journal, str | PathLike):
        raise UsageError(f"a path is no journal: rc.record.JsonLinesJournal({str(journal)!r}) opens one")
    found = journal.entries(run)
    return tuple(await found if isawaitable(found) else found)


def is_file(journal: Journal | AsyncJournal) -> TypeGuard[FileJournal]:
    """Whether the event loop can do the journal's waits: it is one of ours, used as it is.

    A subclass with its own ``append`` is called as such, and blocks for as long as that takes.
    """
    return isinstance(journal, FileJournal) and type(journal).append is FileJournal.append


class UnrecordedSteps:
    """Runs every effect, and records nothing."""

    __slots__ = ()

    async def step(self, _: str, body: Body) -> Entry:
        """Returns what ``body`` returns."""
        return await body()

    async def note(self, _: str, _entry: Entry) -> bool:
        """Do nothing."""
        return True

    def was_started(self, _: str) -> bool:
        """Always false: nothing is recorded."""
        return False


_LIVE = UnrecordedSteps()


class JournalSteps:
    """Effects of one run, recorded in a journal. Those in ``entries`` are not repeated."""

    def __init__(
        self,
        journal: Journal | AsyncJournal,
        run: str,
        entries: Sequence[Entry] = (),
        hold: Hold | None = None,
    ) -> None:
        self._journal = journal
        self._run = run
        self._hold = hold
        # Checked once: it is needed for every entry, and the checks take long.
        self._held_file = hold if isinstance(hold, FileHold) and is_file(journal) else None
        self._done: dict[str, Entry] = {}
        self._noted: set[str] = set()
        self._turned = monotonic()
        if entries:
            check_steps(run, entries)
        for entry in entries:
            self._remember(entry)

    async def step(self, key: str, body: Body) -> Entry:
        """Returns the recorded entry of that key, or what ``body`` returns, recorded."""
        if (known := self._done.get(key)) is not None:
            if monotonic() - self._turned > _TURN:
                # Replaying a long run never waits otherwise.
                await asyncio.sleep(0)
                self._turned = monotonic()
            return known
        entry = await body()
        await self._append(entry)
        return entry

    async def note(self, key: str, entry: Entry) -> bool:
        """Record something that happened on the way to a step, once."""
        if key in self._noted:
            return False
        self._noted.add(key)
        try:
            await self._append(entry)
        except BaseException:
            self._noted.discard(key)
            raise
        return True

    def recorded(self, key: str) -> Entry | None:
        """Returns the journal's entry for that key."""
        return self._done.get(key)

    def was_started(self, key: str) -> bool:
        """Whether the journal holds the call's start, and not its end."""
        return f"{key}.started" in self._noted and key not in self._done

    async def _append(self, entry: Entry) -> None:
        if self._held_file is not None:
            await run_async(self._held_file.appending(entry))
        elif self._hold is None:
            await append(self._journal, self._run, entry)
        else:
            self._hold.append(entry)

    def _remember(self, whole: Entry, entry: Entry | None = None, at: str = "") -> None:
        """Remember an entry; for an inner run's, the outer one that was recorded, under its path."""
        match entry or whole:
            case Nested(path=path, entry=inside):
                self._remember(whole, inside, f"{at}{path}/")
            case (
                ReplyReceived(key=key)
                | CallFinished(key=key)
                | StepDone(key=key)
                | HistoryCompacted(key=key)
                | HookAnswered(key=key)
                | MessagesDelivered(key=key)
            ):
                self._done[f"{at}{key}"] = whole
            case RequestSent(key=key):
                self._noted.add(f"{at}{key}.sent")
            case CallChecked(key=key):
                self._noted.add(f"{at}{key}.checked")
            case CallDecided(key=key):
                self._noted.add(f"{at}{key}.decided")
            case CallStarted(key=key):
                self._noted.add(f"{at}{key}.started")
            case CallDropped(key=key):
                self._noted.add(f"{at}{key}.dropped")
            case MessageQueued(key=key) | RunPaused(key=key):
                self._noted.add(f"{at}{key}")
            case RunStarted():
                self._noted.add(f"{at}run.started")
            case RunEnded():
                self._noted.add(f"{at}run.ended")
                self._done[f"{at}run.ended"] = whole
            case _:
                pass


ANSWERED = ".answer"
"""What follows a call's key in the key of the answer that came later."""
_COMPACTION_KEY = re.compile(r"t\d+\.(compact|overflow)")
_STEP_KEY = re.compile(r"t\d+\.(model|compact|overflow)")
"""Matches the keys at which there are replies and compactions only; that of a call of a tool named
``model`` has one number more."""


def check_steps(run: str, entries: Iterable[Entry]) -> None:
    """Raise JournalError for a step that no run records at its key, so that a run may rely on the rest.

    At a reply's key is a reply, at the key of a call that it asked for the end of this call, and
    nothing else is at such keys. A record without its start has not the replies of what was resumed.
    """
    starts: dict[str, RunStarted] = {}
    calls: dict[str, str] = {}
    ends: list[tuple[str, str, str]] = []
    others: list[str] = []
    for at, entry in unfold_entries(entries):
        match entry:
            case RunStarted():
                starts[at] = entry
            case ReplyReceived(key=key, reply=reply):
                if at in starts and not starts[at].messages:
                    raise _damage(run, f"{at}{key}", "a reply to nothing")
                turn = f"{at}{key.removesuffix('model')}"
                calls.update({f"{turn}{n}.{call.name}": call.id for n, call in enumerate(reply.calls)})
            case CallFinished(key=key, result=result):
                ends.append((at, key, result.call_id))
            case HistoryCompacted(key=key):
                if not _COMPACTION_KEY.fullmatch(key) or entry.message.compaction is None:
                    raise _damage(run, f"{at}{key}", "a compaction")
            case StepDone(key=key) | HookAnswered(key=key):
                is_hooks = key.endswith((".before_model", ".before_tool"))
                if _STEP_KEY.fullmatch(key) or is_hooks != isinstance(entry, HookAnswered):
                    raise _damage(run, f"{at}{key}", "another step")
                others.append(f"{at}{key}")
            case _:
                pass
    for at, key, call_id in ends:
        # The answer of a call whose tool answers later has a key below its own.
        if calls.get(f"{at}{key.removesuffix(ANSWERED)}", None if at in starts else call_id) != call_id:
            raise _damage(run, f"{at}{key}", f"the end of {call_id!r}, for which no reply asks there")
    for key in others:
        if key in calls:
            raise _damage(run, key, "another step")


def _damage(run: str, key: str, what: str) -> JournalError:
    return JournalError(f"the run {run!r}, {key}", f"a damaged record: there is {what}")


class WatchedSteps:
    """Shows the steps of another to observers as they happen. Remembered ones are not shown again."""

    def __init__(self, steps: Steps, show: Callable[[Entry], None]) -> None:
        self._steps = steps
        self._show = show
        self.was_started = steps.was_started

    async def step(self, key: str, body: Body) -> Entry:
        """Run the step, and show it once it is done."""
        happened = False

        async def run_body() -> Entry:
            nonlocal happened
            happened = True
            return await body()

        entry = await self._steps.step(key, run_body)
        if happened:
            self._show(entry)
        return entry

    def recorded(self, key: str) -> Entry | None:
        """Returns the other steps' entry for that key."""
        return recorded_entry(self._steps, key)

    async def note(self, key: str, entry: Entry) -> bool:
        """Record the note, and show it if it is new."""
        is_new = await self._steps.note(key, entry)
        if is_new:
            self._show(entry)
        return is_new


class Holding:
    """Holds a run while the context is entered, and has its entries from before.

    Without a journal there is nothing to hold. With a user's own journal that has no ``hold``, the user
    must make sure that nobody else has the run.
    """

    __slots__ = ("_hold", "_is_new", "_journal", "_run", "_wait", "entries")

    def __init__(
        self,
        journal: Journal | AsyncJournal | None,
        run: str,
        *,
        wait: float = 0.0,
        is_new: bool = False,
    ) -> None:
        self._journal = journal
        self._run = run
        self._wait = wait
        self._is_new = is_new
        """Whether the name was made up just now, so that nothing can be recorded under it."""
        self._hold: Hold | None = None
        self.entries: Sequence[Entry] = ()

    async def __aenter__(self) -> Self:
        if self._journal is not None:
            # is_file first: isinstance with a protocol takes long.
            if is_file(self._journal) or isinstance(self._journal, HoldingJournal):
                end = monotonic() + self._wait
                while True:
                    try:
                        if is_file(self._journal):
                            self._hold = await run_async(self._journal.holding(self._run))
                        else:
                            self._hold = self._journal.hold(self._run)
                        break
                    except RunHeld:
                        if monotonic() >= end:
                            raise
                        await asyncio.sleep(_PATIENCE)
            try:
                if not self._is_new:
                    self.entries = await entries_of(self._journal, self._run)
            except BaseException:
                self._release()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def steps(self) -> Steps:
        """Returns the steps of the run, under this hold."""
        if self._journal is None:
            return _LIVE
        return JournalSteps(self._journal, self._run, self.entries, self._hold)

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.release()
            self._hold = None


def showing(observers: Sequence[Observer], run: str) -> Callable[[Entry | StreamEvent], None]:
    """Returns a function that shows entries and events to each observer. Errors are logged once."""
    failed: set[int] = set()

    def show(happened: Entry | StreamEvent) -> None:
        for number, observer in enumerate(observers):
            try:
                observer(run, happened)
            except (Exception, asyncio.CancelledError):
                # An observer's CancelledError does not mean that the run is cancelled. Logged once: an
                # observer that fails at every event would fill the log.
                if number not in failed:
                    failed.add(number)
                    logger.exception("an observer of run %s failed", run)

    return show


def decisions_in(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """Returns all decisions about a run's calls, except a policy's Allow, which binds nobody.

    What was refused stays refused, whatever the policy is now.
    """
    decisions: dict[str, FinalDecision] = {}
    for at, entry in unfold_entries(entries):
        match entry:
            case RunResumed(decisions=given):
                decisions.update(given)
            case CallDecided(call_id=call_id, decision=decision, by=by):
                if by == "person" or not isinstance(decision, Allow):
                    decisions[f"{at}{call_id}"] = decision
            case _:
                pass
    return decisions


def queued_in(entries: Iterable[Entry]) -> tuple[MessageQueued, ...]:
    """Returns the messages that were added to a run while it went on, in order."""
    return tuple([entry for entry in entries if isinstance(entry, MessageQueued)])


def traces_in(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Returns the observers' trace ids of a run's recorded segments."""
    return tuple([e.trace for e in entries if isinstance(e, RunStarted | RunResumed) and e.trace])


def unfold_entries(entries: Iterable[Entry], at: str = "") -> Iterator[tuple[str, Entry]]:
    """Yields every entry with its path, including those of inner runs."""
    for entry in entries:
        if isinstance(entry, Nested):
            yield from unfold_entries((entry.entry,), f"{at}{entry.path}/")
        else:
            yield at, entry


def stop_of(entries: Sequence[Entry]) -> str:
    """Returns why a run ended, or its present state."""
    # An end is final, even in journals where an ended run was resumed and that was recorded.
    if (end := next((entry for entry in entries if isinstance(entry, RunEnded)), None)) is not None:
        return str(end.stop)
    for entry in reversed(entries):
        match entry:
            case RunFailed(code=code):
                return f"failed ({code})"
            case RunPaused():
                return "paused"
            case RunResumed():
                break
            case _:
                pass
    return "cut off"


def recorded_entry(steps: Steps, key: str) -> Entry | None:
    """Returns the recorded entry of a step, if the steps can tell without running it."""
    known = getattr(steps, "recorded", None)
    found: Entry | None = None if known is None else known(key)
    return found


def redacted_calls(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """Returns a Deny for every call whose arguments were redacted in the record: it cannot be run."""
    calls: list[str] = []
    for at, entry in unfold_entries(entries):
        match entry:
            case ReplyReceived(reply=reply):
                calls += [f"{at}{call.id}" for call in reply.calls if REDACTED in call.arguments]
            case HookAnswered(call_id=call_id, decision=Rewrite(arguments)):
                calls += [f"{at}{call_id}"] if REDACTED in dump(arguments) else []
            case _:
                pass
    return {call_id: Deny(NOT_RECORDED) for call_id in calls}


@check_keywords("rc.record.fork")
def fork(journal: Journal, run: str, new: str, *, at: int) -> None:
    """Start a new run from the first ``at`` entries of another; recover it to continue from there."""
    entries = list(journal.entries(run))
    if not 0 < at <= len(entries):
        raise UsageError(f"run {run!r} has {len(entries)} entries; fork after one of them, not {at}")
    for entry in entries[:at]:
        journal.append(new, replace(entry, parent=run) if isinstance(entry, RunStarted) else entry)
