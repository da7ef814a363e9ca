"""Effects taken through a journal: done once, recorded, and from then on remembered."""

from collections.abc import Awaitable, Callable, Iterable

from rightcall.core.decision import Deny, FinalDecision
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
    StepDone,
)
from rightcall.core.ports import Journal
from rightcall.core.secret import REDACTED

Body = Callable[[], Awaitable[Entry]]


def redacted_calls(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """A no to every call whose arguments the record does not hold whole: it cannot be run from there."""
    replies = [entry.reply for entry in entries if isinstance(entry, ReplyReceived)]
    return {
        call.id: Deny("secrets in its arguments were not recorded. Make the call again if it is needed.")
        for reply in replies
        for call in reply.calls
        if REDACTED in call.arguments
    }


class LiveSteps:
    """Every effect happens, and nothing is kept."""

    async def step(self, _: str, body: Body) -> Entry:
        """What ``body`` gives."""
        return await body()

    def note(self, _: str, entry: Entry) -> None:
        """Forget it."""

    def was_started(self, _: str) -> bool:
        """Nobody remembers."""
        return False


class JournalSteps:
    """Effects of one run, recorded in a journal. Those it holds already do not happen again."""

    def __init__(self, journal: Journal, run: str) -> None:
        self._journal = journal
        self._run = run
        self._done: dict[str, Entry] = {}
        self._noted: set[str] = set()
        for entry in journal.entries(run):
            self._remember(entry)

    async def step(self, key: str, body: Body) -> Entry:
        """The recorded entry of that key, or what ``body`` gives, recorded."""
        if (known := self._done.get(key)) is not None:
            return known
        entry = await body()
        self._journal.append(self._run, entry)
        return entry

    def note(self, key: str, entry: Entry) -> None:
        """Record something that happened on the way to a step, once."""
        if key not in self._noted:
            self._noted.add(key)
            self._journal.append(self._run, entry)

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
            case RunEnded():
                self._noted.add("run.ended")
            case _:
                pass
