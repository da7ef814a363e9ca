"""One segment of a run: its input into its outcome, by an agent whose steps are recorded in a journal.

The engine stores inputs and outcomes as text, so they contain no code: an agent is a name, and its
models, tools and dependencies are created where the segment is executed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import isawaitable
from time import time
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError, Struct, json

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.decision import FinalDecision, Grant, Proposal
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Transcript, User
from rightcall.core.request import ToolChoice
from rightcall.durable.engine import INLINE, Blobs, Channel, Job, Journal
from rightcall.durable.live import Publisher
from rightcall.durable.steps import encodable, steps_of
from rightcall.errors import JournalError, RightcallError, RunHeld, RunStopped, UsageError
from rightcall.log import run_logger
from rightcall.loop.events import Event, RunEnd
from rightcall.loop.result import RunResult
from rightcall.wire.history import Said


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a run, as they are stored."""

    budget: Budget | None = None
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    grant: Grant | None = None
    dry_run: bool = False
    instructions: str | None = None
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    details: Mapping[str, JsonValue] = {}
    """For the function that makes the run's dependencies: which customer, which tenant."""


class Begin(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="begin"):
    """The first segment: the agent's prompt and history."""

    message: User
    history: Transcript = ()
    system: str = ""
    """The system text that came with the history, if any."""
    settings: Settings = Settings()


class GoOn(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="go_on"):
    """A later segment: a person's decisions about the calls that the run waited for."""

    result: str
    """The reference of the paused run's result."""
    decisions: Mapping[str, FinalDecision]
    settings: Settings = Settings()


class Quit(Struct, frozen=True, kw_only=True, tag="quit"):
    """In place of a later segment: the run was cancelled while it waited."""


class Elsewhere(Struct, frozen=True, kw_only=True, tag="elsewhere"):
    """The reference of an input that is too long for the job."""

    blob: str


Input: TypeAlias = Begin | GoOn | Quit
"""The input of a segment."""
_INPUT: json.Decoder[Input | Elsewhere] = json.Decoder(Input | Elsewhere)
_ENCODER = json.Encoder(order="sorted")
"""Sorted, so that the same input is the same text, whoever submits it."""


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a segment ended."""

    kind: Literal["done", "waiting", "failed"]
    result: str = ""
    """The reference of the run's result as JSON; of a failed run, what it had reached."""
    stop: str = ""
    pending: tuple[Proposal, ...] = ()
    """The calls that the run waits for."""
    code: str = ""
    message: str = ""
    """Why it failed."""


_OUTCOME: json.Decoder[Outcome] = json.Decoder(Outcome)
_TOO_LATE = Outcome(kind="failed", code="deadline", message="its deadline has passed")


class Submitted(Struct, frozen=True, kw_only=True):
    """What is known about a run when its dependencies are created."""

    run: str
    agent: str
    lane: str
    details: Mapping[str, JsonValue]


Dependencies: TypeAlias = Callable[[Submitted], Any]
"""Makes what a run's tools share, in the process that executes it, for each segment anew. It may be
async, and may return an async context manager, which is exited when the segment ends."""


async def written(run: str, given: Input, blobs: Blobs) -> str:
    """An input as the text of a job."""
    try:
        text = encodable(_ENCODER, given)
    except TypeError as error:
        raise UsageError(
            f"the run {run!r} cannot be kept: {error}; details= and options= are what JSON can hold"
        ) from error
    if len(text) > INLINE:
        text = _ENCODER.encode(Elsewhere(blob=await blobs.put(run, text)))
    return text.decode()


async def read_input(job: Job, blobs: Blobs) -> Input:
    """The input of a job."""
    where = f"the run {job.run!r}, the input of segment {job.segment}"
    try:
        found = _INPUT.decode(job.input)
        if isinstance(found, Elsewhere):
            found = _INPUT.decode(await blobs.get(found.blob))
    except DecodeError as error:
        raise JournalError(where, f"this is no input: {error}") from error
    if isinstance(found, Elsewhere):
        raise JournalError(where, "this refers to another reference")
    return found


def read_outcome(text: str, run: str) -> Outcome:
    """The outcome that a segment ended with."""
    try:
        return _OUTCOME.decode(text)
    except DecodeError as error:
        raise JournalError(f"the run {run!r}", f"this is no outcome: {error}") from error


class Segments:
    """Executes segments of the runs of some agents, for an engine."""

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        dependencies: Dependencies | None,
        blobs: Blobs,
        channel: Channel,
    ) -> None:
        self._agents = agents
        self._dependencies = dependencies
        self._blobs = blobs
        self._channel = channel

    async def execute(self, job: Job, journal: Journal) -> str:
        """Execute one segment; returns its outcome as text."""
        left = None if job.deadline is None else job.deadline - time()
        if left is not None and left <= 0:
            return encodable(_ENCODER, _TOO_LATE).decode()
        try:
            async with asyncio.timeout(left) as time_left:
                outcome = await self._ended(job, await self._go(job, journal))
        except RunHeld:
            # Another process holds the segment now, and stores how it ends.
            raise
        except RightcallError as error:
            outcome = await self._failed(job, error.code, str(error), error.result)
        except Exception as error:
            if isinstance(error, TimeoutError) and time_left.expired():
                outcome = _TOO_LATE
            else:
                run_logger.exception("run %s: segment %d failed", job.run, job.segment)
                outcome = Outcome(kind="failed", code=type(error).__name__, message=str(error))
        return encodable(_ENCODER, outcome).decode()

    async def _go(self, job: Job, journal: Journal) -> RunResult[Any]:
        agent = self._agents.get(job.agent)
        if agent is None:
            there = ", ".join(sorted(self._agents)) or "none"
            raise JournalError(
                f"the run {job.run!r}",
                f"the process that took it has no agent {job.agent!r} (it has: {there}); give it one, "
                "and fork the run from where it stood",
            )
        given = await read_input(job, self._blobs)
        if isinstance(given, Quit):
            raise RunStopped(job.run, "cancelled")
        steps = await steps_of(journal, self._blobs, job.run)
        publisher = Publisher(self._channel, job, journal.attempt)
        async with self._shared(job, given.settings) as shared, publisher:
            events = (
                agent.stream(given.message, run=job.run, steps=steps, **begun_with(given), **shared)
                if isinstance(given, Begin)
                else agent.resume_stream(
                    RunResult.from_json(await self._blobs.get(given.result)),
                    given.decisions,
                    steps=steps,
                    **gone_on_with(given.settings),
                    **shared,
                )
            )
            return await _result(events, publisher)

    def _shared(self, job: Job, settings: Settings) -> AbstractAsyncContextManager[dict[str, Any]]:
        submitted = Submitted(run=job.run, agent=job.agent, lane=job.lane, details=settings.details)
        return _made(self._dependencies, submitted)

    async def _ended(self, job: Job, result: RunResult[Any]) -> Outcome:
        return Outcome(
            kind="waiting" if result.stop.reason == "pending" else "done",
            result=await self._blobs.put(job.run, result.to_json()),
            stop=str(result.stop),
            pending=result.pending,
        )

    async def _failed(self, job: Job, code: str, message: str, result: RunResult[Any] | None) -> Outcome:
        kept = "" if result is None else await self._blobs.put(job.run, result.to_json())
        return Outcome(kind="failed", result=kept, code=code, message=message)


def begun_with(given: Begin) -> dict[str, Any]:
    """The arguments for ``agent.run`` besides the prompt."""
    settings = given.settings
    said: dict[str, Any] = {
        "choice": settings.choice if settings.choice != "auto" else None,
        "sticky_choice": settings.sticky_choice or None,
        "grant": settings.grant,
        "dry_run": settings.dry_run or None,
        "budget": settings.budget,
        "instructions": settings.instructions,
        "history": Said(given.history, given.system) if given.history or given.system else None,
    }
    return {**{name: each for name, each in said.items() if each is not None}, **gone_on_with(settings)}


def gone_on_with(settings: Settings) -> dict[str, Any]:
    """The options that are passed to the agent again when a run goes on."""
    said: dict[str, Any] = {"options": settings.options or None, "max_tokens": settings.max_tokens}
    return {name: each for name, each in said.items() if each is not None}


async def _result(events: AsyncIterator[Event], publisher: Publisher) -> RunResult[Any]:
    async for event in events:
        if isinstance(event, RunEnd):
            return event.result
        publisher.show(event)
    raise AssertionError("a run's events end with RunEnd")


@asynccontextmanager
async def _made(make: Dependencies | None, submitted: Submitted) -> AsyncIterator[dict[str, Any]]:
    """The dependencies of a run's tools, for as long as a segment lasts."""
    if make is None:
        yield {}
        return
    made = make(submitted)
    if isawaitable(made):
        made = await made
    if isinstance(made, AbstractAsyncContextManager):
        async with made as entered:
            yield {"dependencies": entered}
    else:
        yield {"dependencies": made}
