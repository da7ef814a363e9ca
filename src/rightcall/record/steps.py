"""Effects taken through a journal: done once, recorded, and from then on remembered."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable

from msgspec.structs import replace

from rightcall.core.decision import NOT_RECORDED, Allow, Deny, FinalDecision
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
)
from rightcall.core.events import StreamEvent
from rightcall.core.ports import AsyncJournal, Journal, Observer, Steps
from rightcall.core.secret import REDACTED
from rightcall.errors import UsageError
from rightcall.log import logger

Body = Callable[[], Awaitable[Entry]]


async def append(journal: Journal | AsyncJournal, run: str, entry: Entry) -> None:
    """Write one entry, in a journal of either kind."""
    written = journal.append(run, entry)
    if written is not None:
        await written


async def entries_of(journal: Journal | AsyncJournal, run: str) -> Sequence[Entry]:
    """Everything that a journal of either kind holds of a run."""
    found = journal.entries(run)
    return tuple(await found if isawaitable(found) else found)


class LiveSteps:
    """Every effect happens, and nothing is kept."""

    async def step(self, _: str, body: Body) -> Entry:
        """What ``body`` gives."""
        return await body()

    async def note(self, _: str, _entry: Entry) -> bool:
        """Forget it."""
        return True

    def was_started(self, _: str) -> bool:
        """Nobody remembers."""
        return False


class JournalSteps:
    """Effects of one run, recorded in a journal. Those in ``entries`` do not happen again."""

    def __init__(self, journal: Journal | AsyncJournal, run: str, entries: Iterable[Entry] = ()) -> None:
        self._journal = journal
        self._run = run
        self._done: dict[str, Entry] = {}
        self._noted: set[str] = set()
        for entry in entries:
            self._remember(entry)

    async def step(self, key: str, body: Body) -> Entry:
        """The recorded entry of that key, or what ``body`` gives, recorded."""
        if (known := self._done.get(key)) is not None:
            return known
        entry = await body()
        await append(self._journal, self._run, entry)
        return entry

    async def note(self, key: str, entry: Entry) -> bool:
        """Record something that happened on the way to a step, once."""
        if key in self._noted:
            return False
        self._noted.add(key)
        await append(self._journal, self._run, entry)
        return True

    def was_started(self, key: str) -> bool:
        """Whether the journal knows that the call was started, and not how it ended."""
        return f"{key}.started" in self._noted and key not in self._done

    def _remember(self, entry: Entry) -> None:
        match entry:
            case ReplyReceived(key=key) | CallFinished(key=key) | StepDone(key=key):
                self._done[key] = entry
            case RequestSent(key=key):
                self._noted.add(f"{key}.sent")
            case CallChecked(key=key):
                self._noted.add(f"{key}.checked")
            case CallDecided(key=key):
                self._noted.add(f"{key}.decided")
            case CallStarted(key=key):
                self._noted.add(f"{key}.started")
            case RunPaused(key=key):
                self._noted.add(key)
            case RunStarted():
                self._noted.add("run.started")
            case RunEnded():
                self._noted.add("run.ended")
            case _:
                pass


class WatchedSteps:
    """Other steps, shown to observers as they happen. What is only remembered is not shown again."""

    def __init__(self, steps: Steps, show: Callable[[Entry], None]) -> None:
        self._steps = steps
        self._show = show
        self.was_started = steps.was_started

    async def step(self, key: str, body: Body) -> Entry:
        """The step, shown once it is done."""
        happened = False

        async def watched() -> Entry:
            nonlocal happened
            happened = True
            return await body()

        entry = await self._steps.step(key, watched)
        if happened:
            self._show(entry)
        return entry

    async def note(self, key: str, entry: Entry) -> bool:
        """The note, shown where it is new."""
        is_new = await self._steps.note(key, entry)
        if is_new:
            self._show(entry)
        return is_new


def showing(observers: Sequence[Observer], run: str) -> Callable[[Entry | StreamEvent], None]:
    """Shows what happens in a run to each observer. One that raises is logged, and harms nobody."""

    def show(happened: Entry | StreamEvent) -> None:
        for observer in observers:
            try:
                observer(run, happened)
            except Exception:
                logger.exception("an observer of run %s failed", run)

    return show


def decisions_in(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """Everything that was decided about a run's calls, but for a policy's yes, which is no order.

    What was refused stays refused, whatever the policy is by now.
    """
    decisions: dict[str, FinalDecision] = {}
    for entry in entries:
        match entry:
            case RunResumed(decisions=given):
                decisions.update(given)
            case CallDecided(call_id=call_id, decision=decision, by=by):
                if by == "person" or not isinstance(decision, Allow):
                    decisions[call_id] = decision
            case _:
                pass
    return decisions


def redacted_calls(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """A no to every call whose arguments the record does not hold whole: it cannot be run from there."""
    replies = [entry.reply for entry in entries if isinstance(entry, ReplyReceived)]
    calls = [call for reply in replies for call in reply.calls if REDACTED in call.arguments]
    return {call.id: Deny(NOT_RECORDED) for call in calls}


def fork(journal: Journal, run: str, new: str, *, at: int) -> None:
    """Begin a new run from the first ``at`` entries of another; resume it to go on from there."""
    entries = list(journal.entries(run))
    if not 0 < at <= len(entries):
        raise UsageError(f"run {run!r} has {len(entries)} entries; fork after one of them, not {at}")
    for entry in entries[:at]:
        journal.append(new, replace(entry, parent=run) if isinstance(entry, RunStarted) else entry)
