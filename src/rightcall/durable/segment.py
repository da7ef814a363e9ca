"""One segment of a run: its input into its outcome, by an agent whose steps are recorded in a journal.

The engine stores inputs and outcomes as text, so they contain no code: an agent is a name, and its
models, tools and dependencies are created where the segment is executed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import isawaitable
from json import dumps, loads
from time import time
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError, Raw, Struct, json

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.decision import FinalDecision
from rightcall.core.entry import CallFinished, CallStarted, Entry, Nested, RunStarted, StepDone
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Transcript, User
from rightcall.core.proposal import Proposal
from rightcall.core.request import ToolChoice
from rightcall.durable.engine import (
    INLINE,
    Blobs,
    LiveChannel,
    RunMessages,
    SegmentJob,
    SegmentJournal,
    encodable,
)
from rightcall.durable.inbox import DurableInbox, InboxWatch
from rightcall.durable.live import Publisher
from rightcall.errors import JournalError, RightcallError, RunHeld, RunStopped, UsageError
from rightcall.log import run_logger
from rightcall.loop.events import RunEnd
from rightcall.loop.result import RunResult
from rightcall.record.entry_text import decode, encode
from rightcall.record.steps import check_steps
from rightcall.wire.history import ChatHistory

Body: TypeAlias = Callable[[], Awaitable[Entry]]
Pairs: TypeAlias = list[tuple[str, Entry]]


class JournalRecord(Struct, frozen=True, omit_defaults=True):
    """A record of a journal: entries by their keys, the last of which is the record's own."""

    entries: tuple[tuple[str, Raw], ...] = ()
    blob: str = ""
    """The reference of the record, if it is too long for the journal."""


_RECORD = json.Decoder(JournalRecord)


class DurableSteps:
    """Records the effects of a segment in the engine's journal; used as a run's ``steps``.

    What must be known after a crash is recorded when it happens: a model's reply, a call's result, and
    that a call with effects is about to start. Other notes (that a request was sent, a call checked or
    decided about) wait for the next such record and are written with it, so that a turn costs as many
    records as it has effects. The result of a ``pure`` call is not recorded: it is computed again.
    """

    def __init__(self, journal: SegmentJournal, blobs: Blobs, run: str, known: Pairs) -> None:
        self._journal = journal
        self._blobs = blobs
        self._run = run
        self._entries = dict(known)
        """The entries of earlier executions, by key."""
        self._noted = set(self._entries)
        self._waiting: Pairs = []
        """Entries that are written with the next record."""

    async def step(self, key: str, body: Body) -> Entry:
        """The recorded entry of that key; or the result of ``body``, which is recorded."""
        if (known := self._entries.get(key)) is not None:
            return known
        entry = await body()
        finished = innermost_entry(entry)
        if not isinstance(finished, CallFinished):
            await self._keep(key, entry)
        elif not finished.attempts or finished.result.outcome == "cancelled":
            # Of a pure call, too: run again, it would have a result that the model did not read.
            self._waiting.append((key, entry))
        elif f"{key}.started" in self._noted:
            await self._keep(key, entry)
        # Otherwise it is the result of a pure call: for all others a start was noted.
        return entry

    async def note(self, key: str, entry: Entry) -> bool:
        """Record a note on the way to a step, once; at once if it matters after a crash."""
        if key in self._noted:
            return False
        self._noted.add(key)
        match innermost_entry(entry):
            case CallStarted(effect="write") | StepDone():
                # A call with effects must not be made twice, and a request that a vendor has accepted is
                # fetched from there. Anything else may be started again.
                await self._keep(key, entry)
            case RunStarted():
                # The start of a run is in the segment's input.
                pass
            case _:
                self._waiting.append((key, entry))
        return True

    def was_started(self, key: str) -> bool:
        """Whether an earlier execution started the call, and its end was not recorded."""
        return f"{key}.started" in self._entries and key not in self._entries

    def recorded(self, key: str) -> Entry | None:
        """The entry that earlier executions recorded under that key."""
        return self._entries.get(key)

    async def _keep(self, key: str, entry: Entry) -> None:
        pairs = [*self._waiting, (key, entry)]
        self._waiting = []
        where = f"the run {self._run!r}, {key}"
        record = JournalRecord(
            entries=tuple([(name, Raw(encode(each, None, where))) for name, each in pairs])
        )
        text = json.encode(record)
        if len(text) > INLINE:
            text = json.encode(JournalRecord(blob=await self._blobs.put(self._run, text)))
        await self._journal.record(key, text.decode())


async def read_record(value: str, blobs: Blobs, where: str) -> Pairs:
    """The entries of a record, by their keys."""
    try:
        record = _decode_record(value)
        if record.blob:
            record = _decode_record((await blobs.get(record.blob)).decode())
    except (DecodeError, ValueError) as error:
        raise JournalError(where, f"this is not a record of a step: {error}") from error
    return [(key, decode(bytes(entry), where)) for key, entry in record.entries]


def _decode_record(text: str) -> JournalRecord:
    try:
        return _RECORD.decode(text)
    except DecodeError:
        if "\\ud" not in text.lower():
            raise
    # Half of a surrogate pair, which msgspec cannot decode: each entry is extracted with json instead.
    plain = loads(text)
    pairs = [(str(key), Raw(dumps(entry).encode())) for key, entry in plain.get("entries", ())]
    return JournalRecord(entries=tuple(pairs), blob=plain.get("blob", ""))


async def steps_of(journal: SegmentJournal, blobs: Blobs, run: str) -> DurableSteps:
    """The steps of a segment, with everything that earlier executions recorded."""
    known: Pairs = []
    for key, value in journal.known.items():
        known += await read_record(value, blobs, f"the run {run!r}, {key}")
    check_steps(run, [entry for _, entry in known])
    return DurableSteps(journal, blobs, run, known)


def innermost_entry(entry: Entry) -> Entry:
    """The innermost entry: of a run inside a call, or inside a call of that run."""
    while isinstance(entry, Nested):
        entry = entry.entry
    return entry


class RunSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a run, as they are stored."""

    budget: Budget | None = None
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    intents: tuple[JsonValue, ...] | None = None
    dry_run: bool = False
    instructions: str | None = None
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    conversation: str | None = None
    """The id of the conversation that the run continues."""
    details: Mapping[str, JsonValue] = {}
    """For the function that makes the run's dependencies: which customer, which tenant."""


class BeginInput(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="begin"):
    """The first segment: the agent's prompt and history."""

    message: User
    history: Transcript = ()
    system: str = ""
    """The system text that came with the history, if any."""
    settings: RunSettings = RunSettings()


class ResumeInput(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="go_on"):
    """A later segment: a person's decisions about the calls that the run waited for."""

    result: str
    """The reference of the paused run's result."""
    decisions: Mapping[str, FinalDecision]
    settings: RunSettings = RunSettings()


class CancelInput(Struct, frozen=True, kw_only=True, tag="quit"):
    """In place of a later segment: the run was cancelled while it waited."""


class InputReference(Struct, frozen=True, kw_only=True, tag="elsewhere"):
    """The reference of an input that is too long for the job."""

    blob: str


Input: TypeAlias = BeginInput | ResumeInput | CancelInput
"""The input of a segment."""
_INPUT: json.Decoder[Input | InputReference] = json.Decoder(Input | InputReference)
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


async def encode_input(run: str, given: Input, blobs: Blobs) -> str:
    """An input as the text of a job."""
    try:
        text = encodable(_ENCODER, given)
    except TypeError as error:
        raise UsageError(
            f"the run {run!r} cannot be kept: {error}; details= and options= are what JSON can hold"
        ) from error
    if len(text) > INLINE:
        text = _ENCODER.encode(InputReference(blob=await blobs.put(run, text)))
    return text.decode()


async def read_input(job: SegmentJob, blobs: Blobs) -> Input:
    """The input of a job."""
    where = f"the run {job.run!r}, the input of segment {job.segment}"
    try:
        found = _INPUT.decode(job.input)
        if isinstance(found, InputReference):
            found = _INPUT.decode(await blobs.get(found.blob))
    except DecodeError as error:
        raise JournalError(where, f"this is no input: {error}") from error
    if isinstance(found, InputReference):
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
        channel: LiveChannel,
        messages: RunMessages,
    ) -> None:
        self._agents = agents
        self._dependencies = dependencies
        self._blobs = blobs
        self._channel = channel
        self._messages = messages
        self._watch = InboxWatch(messages)

    async def execute(self, job: SegmentJob, journal: SegmentJournal) -> str:
        """Execute one segment; returns its outcome as text."""
        left = None if job.deadline is None else job.deadline - time()
        if left is not None and left <= 0:
            return encodable(_ENCODER, _TOO_LATE).decode()
        try:
            async with asyncio.timeout(left) as time_left:
                result = await self._go(job, journal)
                outcome = Outcome(
                    kind="waiting" if result.stop.reason == "pending" else "done",
                    result=await self._blobs.put(job.run, result.to_json()),
                    stop=str(result.stop),
                    pending=result.pending,
                )
        except RunHeld:
            # Another process holds the segment now, and stores how it ends.
            raise
        except RightcallError as error:
            kept = ""
            if error.result is not None:
                kept = await self._blobs.put(job.run, error.result.to_json())
            outcome = Outcome(kind="failed", result=kept, code=error.code, message=str(error))
        except Exception as error:
            if isinstance(error, TimeoutError) and time_left.expired():
                outcome = _TOO_LATE
            else:
                run_logger.exception("run %s: segment %d failed", job.run, job.segment)
                outcome = Outcome(kind="failed", code=type(error).__name__, message=str(error))
        return encodable(_ENCODER, outcome).decode()

    async def _go(self, job: SegmentJob, journal: SegmentJournal) -> RunResult[Any]:
        agent = self._agents.get(job.agent)
        if agent is None:
            there = ", ".join(sorted(self._agents)) or "none"
            raise JournalError(
                f"the run {job.run!r}",
                f"the process that took it has no agent {job.agent!r} (it has: {there}); give it one, "
                "and fork the run from where it stood",
            )
        given = await read_input(job, self._blobs)
        if isinstance(given, CancelInput):
            raise RunStopped(job.run, "cancelled")
        steps = await steps_of(journal, self._blobs, job.run)
        publisher = Publisher(self._channel, job, journal.attempt)
        submitted = Submitted(
            run=job.run, agent=job.agent, lane=job.lane, details=given.settings.details
        )
        inbox = DurableInbox(job.run, self._messages, self._blobs, self._watch)
        async with _make_dependencies(self._dependencies, submitted) as shared, publisher, inbox:
            if isinstance(given, BeginInput):
                events = agent.stream(
                    given.message,
                    run=job.run,
                    steps=steps,
                    inbox=inbox,
                    **begin_options(given),
                    **shared,
                )
            else:
                events = agent.resume_stream(
                    RunResult.from_json(await self._blobs.get(given.result)),
                    given.decisions,
                    steps=steps,
                    inbox=inbox,
                    **resume_options(given.settings),
                    **shared,
                )
            async for event in events:
                if isinstance(event, RunEnd):
                    return event.result
                publisher.show(event)
        raise AssertionError("a run's events end with RunEnd")


def begin_options(given: BeginInput) -> dict[str, Any]:
    """The arguments for ``agent.run`` besides the prompt."""
    settings = given.settings
    options = resume_options(settings)
    for name in ("sticky_choice", "intents", "dry_run", "budget", "instructions", "conversation"):
        value = getattr(settings, name)
        if value is not None and value is not False:
            options[name] = value
    if settings.choice != "auto":
        options["choice"] = settings.choice
    if given.history or given.system:
        options["history"] = ChatHistory(given.history, given.system)
    return options


def resume_options(settings: RunSettings) -> dict[str, Any]:
    """The options that are passed to the agent again when a run goes on."""
    options: dict[str, Any] = {}
    if settings.options:
        options["options"] = settings.options
    if settings.max_tokens is not None:
        options["max_tokens"] = settings.max_tokens
    return options


@asynccontextmanager
async def _make_dependencies(
    make: Dependencies | None, submitted: Submitted
) -> AsyncIterator[dict[str, Any]]:
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
