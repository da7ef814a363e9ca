"""Watch one run in the terminal: its recorded entries, as they are written."""

import asyncio
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence

from rightcall.cli import NO_ANSWER
from rightcall.cli.conversations import chosen_run, journal_and_run, open_journal
from rightcall.cli.load import is_journal
from rightcall.cli.session import view_for
from rightcall.cli.summary import PATIENCE, OutputView, SummaryProgress
from rightcall.cli.terminal import columns
from rightcall.cli.work import runs
from rightcall.core.entry import (
    CallFinished,
    Entry,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.events import ResultEnd, StreamEvent, SubagentEvent, TurnStart, reply_events
from rightcall.core.message import User
from rightcall.core.ports import Journal
from rightcall.core.proposal import question
from rightcall.core.sanitize import printable
from rightcall.errors import RightcallError, UsageError
from rightcall.loop.replay import replay
from rightcall.loop.result import RunEnd
from rightcall.record.steps import entries_of

_OFTEN = 0.2
"""Seconds between two polls."""


def run(options: Namespace) -> int:
    """Watch until the run ends or waits for a person."""
    where, *names = options.where or [""]
    if "://" in where or (":" in where and not is_journal(where)):
        # Watch a run in a store, or of an app at MODULE:APP, with the command for durable runs.
        if len(names) != 1 or options.reasoning:
            raise UsageError(
                "a durable run is watched by its whole name, and without its reasoning: "
                "rightcall runs watch ADDRESS RUN"
            )
        return runs.run(Namespace(action="watch", where=where, run=names[0], json=options.json))
    file, name = journal_and_run(options.where)
    with open_journal(file) as journal:
        chosen = chosen_run(journal, name)
        watching = _Watching(journal, chosen, view_for(options, chosen), file)
        return asyncio.run(watching.watch())


class _Watching:
    """One run, followed through its record."""

    def __init__(self, journal: Journal, run: str, view: OutputView, file: str) -> None:
        self._journal = journal
        self._run = run
        self._file = file
        self._view = view
        self._progress = SummaryProgress()
        self._begun = time.monotonic()

    async def watch(self) -> int:
        """Show the recorded entries and new ones."""
        seen = 0
        waited = 0.0
        while True:
            entries = await entries_of(self._journal, self._run)
            for entry in entries[seen:]:
                self._show(entry)
            waited = 0.0 if len(entries) > seen else waited + _OFTEN
            seen = len(entries)
            if not entries:
                raise UsageError(f"there is no run {self._run!r}")
            match _standing(entries):
                case RunEnded():
                    return await self._end()
                case RunFailed(message=message):
                    return self._sum_up(RightcallError(message))
                case RunPaused():
                    return await self._ask()
                case _:
                    pass
            if waited > PATIENCE:
                self._view.waiting()
            await asyncio.sleep(_OFTEN)

    def _show(self, entry: Entry) -> None:
        if isinstance(entry, RunStarted):
            prompt = None
            for message in entry.messages:
                if isinstance(message, User):
                    prompt = message.text
            self._progress = SummaryProgress(prompt or "", entry.messages[:-1])
            shown = self._run if prompt is None else prompt
            self._view.people.write(printable(f"> {shown}\n"))
        for event in _events(entry):
            self._progress.see(event)
            self._view.show(event)

    async def _end(self) -> int:
        self._progress.see(RunEnd(await replay(self._journal, self._run)))
        return self._sum_up()

    async def _ask(self) -> int:
        """Show what the run waits for, and how to answer."""
        result = await replay(self._journal, self._run)
        self._view.hush()
        for proposal in result.pending:
            self._say(question(proposal, columns()))
        resume = f"rightcall journal resume {self._file} {self._run}"
        show = f"--journal {self._file}"
        self._say(f"It waits for a person: {resume}, or rightcall studio {show} --write")
        return NO_ANSWER

    def _say(self, text: str) -> None:
        self._view.people.write(f"{printable(text)}\n")

    def _sum_up(self, error: RightcallError | None = None) -> int:
        summary = self._progress.summarise(time.monotonic() - self._begun, error)
        self._view.end(summary)
        return summary.code


def _standing(entries: Sequence[Entry]) -> Entry | None:
    """The last entry that determines the run's state."""
    found: Entry | None = None
    for entry in entries:
        if isinstance(entry, RunEnded):
            return entry
        if isinstance(entry, RunFailed | RunPaused | RunResumed):
            found = entry
        elif isinstance(entry, RequestSent | ReplyReceived) and isinstance(found, RunFailed):
            found = None
    return found


def _events(entry: Entry) -> Iterator[StreamEvent]:
    """The event that an entry would have been streamed as."""
    match entry:
        case RequestSent(key=key):
            turn = key.partition(".")[0][1:]
            if turn.isdigit():
                yield TurnStart(int(turn))
        case ReplyReceived(reply=reply):
            yield from reply_events(reply)
        case CallFinished(result=result, seconds=seconds):
            yield ResultEnd(result, seconds)
        case Nested(path=path, agent=agent, entry=inside):
            for event in _events(inside):
                yield SubagentEvent(agent, path, event)
        case _:
            pass
