"""A journal's entries in place of the model, the tools, or both."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.entry import CallFinished, Entry, ReplyReceived, RunStarted, StepDone
from rightcall.core.jsontext import JsonObject
from rightcall.core.ports import Journal
from rightcall.core.problem import Problem
from rightcall.core.tool import Tool
from rightcall.core.validate import Valid
from rightcall.errors import DeclarationError, ReplayError, UsageError

Body = Callable[[], Awaitable[Entry]]


class RecordedSteps:
    """Effects as a journal remembers them. ``live`` says which happen anew, by the end of their keys."""

    def __init__(self, entries: Sequence[Entry], live: Callable[[str], bool]) -> None:
        self._live = live
        self._done = {
            entry.key: entry
            for entry in entries
            if isinstance(entry, ReplyReceived | CallFinished | StepDone)
        }

    async def step(self, key: str, body: Body) -> Entry:
        """The recorded entry of that key."""
        if self._live(key):
            return await body()
        if (known := self._done.get(key)) is None:
            raise ReplayError(key)
        return known

    def note(self, _: str, entry: Entry) -> None:
        """A replay writes nothing."""

    def was_started(self, _: str) -> bool:
        """What a replay runs, it runs for the first time."""
        return False


class RecordedTools:
    """Stands where the tools were: any name is a tool that takes anything."""

    def get(self, name: str) -> Tool | None:
        """A tool of that name; what could be no tool's name stays unknown."""
        try:
            return Tool(name, "", validator=_Anything())
        except DeclarationError:
            return None

    def names(self) -> tuple[str, ...]:
        """Nobody remembers."""
        return ()


class _Anything:
    def validate(self, _: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        return Valid(value)


def recorded_results(entries: Sequence[Entry]) -> Iterator[tuple[Call, CallFinished]]:
    """Every recorded call with how it ended, in order."""
    finished = {entry.key: entry for entry in entries if isinstance(entry, CallFinished)}
    for entry in entries:
        if isinstance(entry, ReplyReceived):
            turn = entry.key.removesuffix(".model")
            for index, call in enumerate(entry.reply.calls):
                if (end := finished.get(f"{turn}.{index}.{call.name}")) is not None:
                    yield call, end


def fork(journal: Journal, run: str, new: str, *, at: int) -> None:
    """Begin a new run from the first ``at`` entries of another; resume it to go on from there."""
    entries = list(journal.entries(run))
    if not 0 < at <= len(entries):
        raise UsageError(f"run {run!r} has {len(entries)} entries; fork after one of them, not {at}")
    for entry in entries[:at]:
        journal.append(new, replace(entry, parent=run) if isinstance(entry, RunStarted) else entry)
