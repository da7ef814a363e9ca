"""Follow a run, and summarise it, whether or not it completes."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, redirect_stdout
from typing import TYPE_CHECKING, TextIO, cast

from msgspec import UNSET, Struct

from rightcall.cli import INTERRUPTED, NO_ANSWER, OK
from rightcall.core.budget import Stop
from rightcall.core.events import (
    CallEnd,
    MessageEnd,
    OutputDelta,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from rightcall.core.history import mend
from rightcall.core.jsontext import dump
from rightcall.core.message import Message, Reply, Results, Transcript, User, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.errors import RightcallError
from rightcall.loop.events import Event
from rightcall.loop.result import CallRecord, RunEnd, RunResult

if TYPE_CHECKING:
    from rightcall.core.parts import Result

INTERRUPTION = "interrupted"
PATIENCE = 0.5
"""Seconds without an event after which the view is told that the run goes on."""


class Summary(Struct, frozen=True, kw_only=True):
    """The summary of a run: its end, or how far it got."""

    text: str
    """The answer, or the part of it that arrived."""
    is_unsaid: bool = False
    """Whether the answer was given as a call, so that no text of a reply shows it."""
    reason: str
    """Why it ended: a Stop's reason, or ``interrupted``."""
    limit: str | None = None
    detail: str = ""
    calls: tuple[CallRecord, ...] = ()
    usage: Usage = Usage()
    turns: int = 0
    seconds: float = 0.0
    transcript: Transcript = ()
    """Messages from which a next run can continue; every call in them has its result."""
    run: str = ""
    """The run's name in the journal, if the run got far enough to report it."""

    @property
    def is_answer(self) -> bool:
        """Whether the model completed its answer."""
        return not self.trouble

    @property
    def trouble(self) -> str:
        """Why there is no answer; empty if there is one."""
        match self.reason:
            case "end" | "stop_sequence":
                return ""
            case "output" if not self.detail:
                return ""
            case "limit":
                return f"the run reached its limit of {self.limit}"
            case "length":
                return "the reply reached its limit of tokens and is cut off"
            case "refusal":
                return "the model refused"
            case "filtered":
                return "the vendor's filter stopped the reply"
            case "error":
                return self.detail or "the reply broke off"
            case _:
                if self.detail:
                    return f"{self.reason}: {self.detail}"
                return self.reason

    @property
    def code(self) -> int:
        """The exit code for this summary."""
        if self.reason == INTERRUPTION:
            return INTERRUPTED
        if self.is_answer:
            return OK
        return NO_ANSWER


class SummaryProgress:
    """Follows a run by its events, starting from the earlier messages."""

    def __init__(self, prompt: str | User = "", history: Transcript = ()) -> None:
        if isinstance(prompt, str):
            asked = user_text(prompt)
        else:
            asked = prompt
        self._messages: list[Message] = [*history, asked]
        self._calls: dict[str, Call] = {}
        self._records: list[CallRecord] = []
        self._results: list[Result] = []
        self._draft: list[str] = []
        self._usage = Usage()
        self._turns = 0
        self._result: RunResult | None = None

    def see(self, event: Event) -> None:
        """Process the next event."""
        match event:
            case TurnStart(turn):
                self._settle()
                self._turns = turn
            case TextDelta(text) | OutputDelta(text, index=None):
                self._draft.append(text)
            case CallEnd(_, call):
                self._calls[call.id] = call
            case ReplyEnd(reply):
                self._draft = []
                self._messages.append(reply)
                self._usage += reply.usage
                self._calls.update((call.id, call) for call in reply.calls)
            case ResultEnd(result, seconds):
                self._results.append(result)
                call = self._calls.get(result.call_id) or Call(id=result.call_id, name=result.name)
                self._records.append(CallRecord(call=call, result=result, seconds=seconds))
            case MessageEnd(message):
                self._settle()
                self._messages.append(message)
            case RunEnd(result):
                self._result = result
            case _:
                pass

    def summarise(self, seconds: float, error: RightcallError | None = None) -> Summary:
        """The run's summary, after RunEnd or after the error that ended it."""
        result = self._result if error is None else error.result
        if isinstance(result, RunResult):
            has_form = result.stop == Stop("output")
            return Summary(
                text=result.text if result.value is UNSET else dump(result.value),
                is_unsaid=has_form and any(reply.calls for reply in result.replies[-1:]),
                reason=result.stop.reason,
                limit=result.stop.limit,
                detail=result.stop.detail,
                calls=result.calls,
                usage=result.usage,
                turns=len(result.turns),
                seconds=seconds,
                transcript=mend(result.transcript).messages,
                run=result.run,
            )
        if error is None:
            detail = "the run ended without its end"
        else:
            detail = str(error)
        return self._so_far("error", detail, seconds)

    def summarise_interruption(self, seconds: float) -> Summary:
        """The summary of an interrupted run."""
        return self._so_far(INTERRUPTION, "", seconds)

    def _so_far(self, reason: str, detail: str, seconds: float) -> Summary:
        self._settle()
        last = self._messages[-1]
        return Summary(
            text=last.text if isinstance(last, Reply) else "",
            reason=reason,
            detail=detail,
            calls=tuple(self._records),
            usage=self._usage,
            turns=self._turns,
            seconds=seconds,
            transcript=mend(self._messages).messages,
        )

    def _settle(self) -> None:
        """Turn the events since the last message into messages.

        Of an unfinished reply only the text is kept: its calls were not run.
        """
        if self._results:
            self._messages.append(Results(tuple(self._results)))
            self._results = []
        if text := "".join(self._draft):
            self._messages.append(Reply((Text(text),), "error"))
            self._draft = []


class OutputView:
    """A view of runs, one after the other.

    ``people`` is the stream where a person would read a question. ``reasoning``: whether the model's
    reasoning is shown, and not hidden.
    """

    def __init__(self, people: TextIO, *, reasoning: bool = False) -> None:
        self.people = people
        self.reasoning = reasoning

    def show(self, event: Event) -> None:
        """Show an event."""

    def waiting(self) -> None:
        """Called when nothing has happened for a while."""

    def hush(self) -> None:
        """Leave the screen alone until the next event: a person is being asked something."""

    def end(self, summary: Summary) -> None:
        """Show the run's summary."""


class RunWatch:
    """One run from its first event to its summary."""

    def __init__(self, view: OutputView, prompt: str | User, history: Transcript = ()) -> None:
        self._view = view
        self._progress = SummaryProgress(prompt, history)
        self._started = time.monotonic()

    async def watch(self, events: AsyncIterator[Event]) -> Summary:
        """Show the run until it ends. An error that ends it is in the summary."""
        error = None
        try:
            # What a tool prints goes to the people's stream; stdout is for the answer.
            with redirect_stdout(self._view.people):
                await self._follow(cast("AsyncGenerator[Event, None]", events))
        except RightcallError as problem:
            error = problem
        return self._end(self._progress.summarise(self._seconds(), error))

    def show_interruption(self) -> Summary:
        """The run was cancelled; show how far it got."""
        return self._end(self._progress.summarise_interruption(self._seconds()))

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        loop = asyncio.get_running_loop()
        view = self._view
        waiting = loop.call_later(PATIENCE, view.waiting)
        try:
            async with aclosing(events):
                async for event in events:
                    waiting.cancel()
                    self._progress.see(event)
                    view.show(event)
                    waiting = loop.call_later(PATIENCE, view.waiting)
        finally:
            waiting.cancel()
            view.hush()

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _end(self, summary: Summary) -> Summary:
        self._view.end(summary)
        return summary
