"""The public API of durable runs: agents by name at an address, and operations on their runs."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from os import urandom
from time import time
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.decision import LATER_CALL, Answer, FinalDecision
from rightcall.core.entry import Entry, MessagesDelivered
from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.message import Message, User
from rightcall.core.options import check_keywords
from rightcall.core.proposal import Proposal
from rightcall.core.request import ModelOptions, ToolChoice, check_model_options
from rightcall.declare.attachment import Prompt
from rightcall.durable.engine import (
    JOURNAL_VERSION,
    DurableEngine,
    Queue,
    Segment,
    SegmentJob,
    Status,
    StepRecord,
    engine_at,
)
from rightcall.durable.inbox import SaidMessage, encode_said, read_said
from rightcall.durable.live import Latest, Live
from rightcall.durable.segment import (
    BeginInput,
    CancelInput,
    Dependencies,
    Outcome,
    ResumeInput,
    RunSettings,
    Segments,
    encode_input,
    read_input,
    read_outcome,
    read_record,
)
from rightcall.durable.stored_run import story_of
from rightcall.errors import AlreadyDecided, JournalError, RunStopped, UsageError
from rightcall.gate.executor import checked_async
from rightcall.gate.gate import Decisions, final_decision, validate_decisions
from rightcall.loop.agent_config import user_message
from rightcall.loop.events import RunEnd
from rightcall.loop.result import RunResult
from rightcall.loop.settings import Intents
from rightcall.record.entry_text import check_name
from rightcall.trust.intents import read_intents
from rightcall.wire.history import ChatHistory, history_of

_STATUS = 0.1
"""Seconds between two checks by a watcher whether the run has ended."""
_MONTH = 30 * 24 * 3600.0
_LAST = 2**31 - 1
"""The lowest priority."""
_AT_ONCE = 500
"""Runs that are deleted in one batch."""


RunStatus: TypeAlias = Literal[
    "queued", "running", "waiting", "done", "failed", "cancelled", "parked", "stranded"
]
"""The status of a run. ``waiting``: for a person. ``parked``: too many processes died executing it.
``stranded``: no worker of this version can go on with it."""
_OF_SEGMENTS: Mapping[Status, RunStatus] = {
    "queued": "queued",
    "running": "running",
    "cancelled": "cancelled",
    "parked": "parked",
    "broken": "failed",
    "stranded": "stranded",
}


class RunInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run, and its status."""

    run: str
    agent: str
    status: RunStatus
    segment: int
    """The number of its latest segment: how often it went on after a pause."""
    attempts: int
    """How often that segment was started; more than once after a process died."""
    queue: str
    created: float
    updated: float
    """Seconds since 1970, of the latest segment."""
    worker: str = ""
    reason: str = ""
    """Why it failed, was parked or is stranded."""
    stop: str = ""
    """Why it stopped, once it is done."""
    pending: tuple[Proposal, ...] = ()
    """The calls that it waits for."""
    forked_from: str = ""


class RunDetails(Struct, frozen=True, kw_only=True):
    """A run with everything that is stored of it."""

    info: RunInfo
    segments: tuple[Segment, ...]
    steps: Mapping[int, Sequence[StepRecord]]
    """By the number of the segment."""


class RunSnapshot:
    """The state of a run, from its latest segment."""

    def __init__(self, engine: DurableEngine, segment: Segment, output: Any = None) -> None:
        self._engine = engine
        self.segment = segment
        self._output = output
        ended = segment.status == "ended"
        self.outcome: Outcome | None = read_outcome(segment.outcome, segment.job.run) if ended else None
        """The segment's outcome, if it has ended."""

    @property
    def status(self) -> RunStatus:
        """The status of the run."""
        if self.outcome is None:
            return _OF_SEGMENTS[self.segment.status]
        if self.outcome.kind == "failed" and self.outcome.code == RunStopped.code:
            return "cancelled"
        return self.outcome.kind

    @property
    def reason(self) -> str:
        """Why there is no result."""
        if self.outcome is None or self.outcome.kind != "failed":
            return self.segment.reason
        return f"{self.outcome.code}: {self.outcome.message}"

    def info(self) -> RunInfo:
        """The public description of the run."""
        segment = self.segment
        outcome = self.outcome
        return RunInfo(
            run=segment.job.run,
            agent=segment.job.agent,
            status=self.status,
            segment=segment.job.segment,
            attempts=segment.attempts,
            queue=segment.job.queue,
            created=segment.created,
            updated=segment.updated,
            worker=segment.worker,
            reason=self.reason,
            stop="" if outcome is None else outcome.stop,
            pending=() if outcome is None else outcome.pending,
            forked_from=segment.forked_from,
        )

    async def result(self) -> RunResult[Any]:
        """The run's result. Raises RunStopped, with the partial result, if it has none."""
        outcome = self.outcome
        kept = None
        if outcome is not None and outcome.result:
            data = await self._engine.blobs.get(outcome.result)
            kept = RunResult.from_json(data, output=self._output)
        if outcome is None or outcome.kind == "failed" or kept is None:
            error = RunStopped(self.segment.job.run, self.status, self.reason)
            error.result = kept
            raise error
        return kept


def info_of(engine: DurableEngine, segment: Segment) -> RunInfo:
    """A run as lists show it. One whose outcome cannot be read is a failed one, and hides no other."""
    try:
        return RunSnapshot(engine, segment).info()
    except JournalError as error:
        return RunSnapshot(engine, replace(segment, status="broken", reason=str(error))).info()


async def latest_of(engine: DurableEngine, run: str) -> RunSnapshot:
    """A run by its latest segment. Raises UsageError if there is no such run."""
    segments = await engine.segments(run)
    if not segments:
        raise UsageError(f"there is no run {run!r}")
    return RunSnapshot(engine, max(segments, key=lambda each: each.job.segment))


class SubmitOptions(TypedDict, total=False):
    """Options of a durable run besides its agent and prompt. None means not given."""

    run: str | None
    """The run's name; a name can be submitted once. Generated unless given."""
    queue: str
    priority: int
    """Lower numbers are taken first; 0 unless given."""
    lane: str
    """The lane whose rate it counts against, on a queue with lanes: a tenant, a model."""
    deadline: float | None
    """Seconds from now until the run must have ended, including the time it waits."""
    details: Mapping[str, JsonValue] | None
    """Passed to the app's ``dependencies=`` function, which makes what the run's tools share."""
    budget: Budget | None
    history: Sequence[Message] | Sequence[Mapping[str, Any]] | ChatHistory | None
    conversation: str | None
    """The id of the conversation that it continues, if the agent has ``conversations``."""
    choice: ToolChoice
    sticky_choice: bool
    intents: Intents | None
    dry_run: bool
    instructions: str | None
    options: ModelOptions | None
    max_tokens: int | None


class Handle:
    """A submitted run; it works in any process."""

    def __init__(self, app: "App", run: str) -> None:
        self._app = app
        self.run = run
        """The run's name."""

    async def result(self) -> RunResult[Any]:
        """The run's result, once it ends or waits for a person. Raises RunStopped if it has none."""
        return await self._app.result(self.run)

    @checked_async("handle.say")
    async def say(self, prompt: Prompt, *, now: bool = False, id: str = "") -> None:  # noqa: A002
        """Add a message to the run; the model reads it before it is asked next."""
        await self._app.say(self.run, prompt, now=now, id=id)

    async def stop(self) -> None:
        """Stop the run before its next turn, with what there is."""
        await self._app.stop(self.run)

    def __repr__(self) -> str:
        return f"Handle({self.run!r})"


class App:
    """Agents whose runs outlive processes, kept at an address.

    ``sqlite:///runs.db`` is a file, ``postgresql://…`` a server that many workers share, ``restate://…``
    another kind of server. A process with agents executes runs of its ``queues``, "default" unless
    given; with ``queues=()``, or without agents, it executes none and is only a client. ``dependencies``
    makes what the tools of a run share, in the process that executes it.
    """

    @check_keywords("rc.durable.App")
    def __init__(
        self,
        address: str,
        agents: Iterable[Agent[Any, Any]] = (),
        *,
        queues: Sequence[str | Queue] = ("default",),
        dependencies: Dependencies | None = None,
    ) -> None:
        self.address = address
        self.agents: dict[str, Agent[Any, Any]] = {}
        for agent in agents:
            if agent.name in self.agents:
                raise UsageError(f"two agents are named {agent.name!r}; runs find theirs by its name")
            self.agents[agent.name] = agent
        self.queues = tuple(Queue(name=each) if isinstance(each, str) else each for each in queues)
        self._dependencies = dependencies
        self._engine: DurableEngine | None = None
        self._opening: asyncio.Lock | None = None
        self._is_closed = False

    async def open(self) -> Self:
        """Connect, and begin to execute runs if there are agents and queues."""
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._engine is None:
                engine = engine_at(self.address)
                segments = Segments(
                    self.agents, self._dependencies, engine.blobs, engine.channel, engine.messages
                )
                works = bool(self.agents and self.queues)
                await engine.open(segments.execute if works else None, self.queues)
                self._engine = engine
        self._is_closed = False
        return self

    async def close(self, *, patience: float = 0.0) -> None:
        """Take no more runs, wait so many seconds for those under way, and leave the rest to others."""
        engine = self._engine
        self._engine = None
        self._is_closed = True
        if engine is not None:
            await engine.close(patience=patience)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _at(self) -> DurableEngine:
        if self._is_closed:
            raise UsageError("this app is closed; await app.open() opens it again")
        if self._engine is None:
            await self.open()
        assert self._engine is not None
        return self._engine

    @checked_async("app.submit", say="app.submit(…, {}=…)")
    async def submit(
        self, agent: str | Agent[Any, Any], prompt: Prompt, **options: Unpack[SubmitOptions]
    ) -> Handle:
        """Submit a run of an agent, to be executed by any worker. A name can be submitted only once."""
        engine = await self._at()
        name = agent if isinstance(agent, str) else agent.name
        if self.agents and name not in self.agents:
            raise UsageError(f"there is no agent {name!r} here; there is {', '.join(self.agents)}")
        run = options.get("run")
        run = _checked_name(urandom(16).hex() if run is None else run)
        priority = options.get("priority", 0)
        if not 0 <= priority <= _LAST:
            raise UsageError(
                f"a priority is 0 for what goes first, or more, up to {_LAST}, and not {priority}"
            )
        check_model_options(options.get("options") or {})
        earlier = history_of(options.get("history"))
        settings: dict[str, Any] = {}
        for option, value in options.items():
            if option in RunSettings.__struct_fields__ and value is not None:
                settings[option] = value
        if "intents" in settings:
            settings["intents"] = tuple([each.notation for each in read_intents(settings["intents"])])
        begin = BeginInput(
            message=await user_message(prompt),
            history=earlier.messages,
            system=earlier.system,
            settings=RunSettings(**settings),
        )
        seconds = options.get("deadline")
        job = SegmentJob(
            run=run,
            segment=0,
            agent=name,
            input=await encode_input(run, begin, engine.blobs),
            deadline=None if seconds is None else time() + seconds,
            queue=options.get("queue", "default"),
            priority=priority,
            lane=options.get("lane", ""),
        )
        standing = await engine.submit(job)
        if (standing.agent, standing.input) != (job.agent, job.input):
            raise UsageError(
                f"there is a run {run!r} already, of {standing.agent!r} and with another input; "
                "name this one otherwise"
            )
        return Handle(self, run)

    def handle(self, run: str) -> Handle:
        """A run that was submitted before, by its name."""
        return Handle(self, run)

    async def result(self, run: str) -> RunResult[Any]:
        """A run's result, once it ends or waits for a person. Raises RunStopped if it has none."""
        engine = await self._at()
        found = (await latest_of(engine, run)).segment
        while True:
            ended = await engine.wait(run, found.job.segment)
            # It may have been answered in the meantime.
            found = (await latest_of(engine, run)).segment
            if found.job.segment == ended.job.segment:
                return await self._standing(engine, ended).result()

    def _standing(self, engine: DurableEngine, segment: Segment) -> RunSnapshot:
        agent = self.agents.get(segment.job.agent)
        return RunSnapshot(engine, segment, None if agent is None else agent.output)

    async def watch(self, run: str) -> AsyncIterator[Live]:
        """The events of a run from now on; the last is its RunEnd, as it is stored.

        It ends when the run ends or waits for a person. Raises RunStopped if the run has no result.
        """
        engine = await self._at()
        seen = Latest(run)
        looked = 0.0
        found = (await latest_of(engine, run)).segment
        async for texts in engine.channel.follow(run):
            for text in texts:
                if (live := seen.read(text)) is not None:
                    yield live
            if texts or time() - looked < _STATUS:
                continue
            looked = time()
            if found.status not in ("queued", "running"):
                break
            found = (await latest_of(engine, run)).segment
        result = await self._standing(engine, found).result()
        yield seen.last(found.job.segment, RunEnd(result))

    @checked_async("app.decide")
    async def decide(self, run: str, decisions: Decisions) -> Handle:
        """Answer the calls that a run waits for, and have it go on. The first answer counts.

        ``decisions`` are by call id, as ``agent.resume`` takes them. The same answer again does nothing;
        a different one raises AlreadyDecided.
        """
        engine = await self._at()
        found = await latest_of(engine, run)
        if found.outcome is None or found.outcome.kind != "waiting":
            # A run that does not wait: the decisions must be those that were made already.
            made = await _decisions_in(engine, found.segment.job)
            if not made or made.keys() != decisions.keys():
                raise UsageError(f"the run {run!r} has no pending calls: it is {found.status}")
            if {name: final_decision(each) for name, each in decisions.items()} != made:
                raise AlreadyDecided(run, made, advice=_ADVICE)
            return Handle(self, run)
        job = found.segment.job
        outcome = found.outcome
        before = await read_input(job, engine.blobs)
        settings = RunSettings()
        if not isinstance(before, CancelInput):
            settings = before.settings
        decided = validate_decisions(outcome.pending, decisions)
        given = ResumeInput(result=outcome.result, decisions=decided, settings=settings)
        following = _next(job, await encode_input(run, given, engine.blobs))
        standing = await engine.submit(following)
        if standing.input != following.input:
            raise AlreadyDecided(run, await _decisions_in(engine, standing), advice=_ADVICE)
        return Handle(self, run)

    @checked_async("app.say")
    async def say(self, run: str, prompt: Prompt, *, now: bool = False, id: str = "") -> None:  # noqa: A002
        """Add a message to a run, from any process; the model reads it before it is asked next.

        It is stored when this returns, and delivered once, in order. ``now``: the reply that streams is
        cut off, and so are calls of pure and read tools. ``id``: a message of an id that was said before
        is not added again. Raises RunStopped if the run is over.
        """
        await self._add_message(run, SaidMessage(message=await user_message(prompt), now=now), id)

    async def stop(self, run: str) -> None:
        """Stop a run before its next turn, with what there is. A run that is over raises RunStopped."""
        await self._add_message(run, SaidMessage(now=True), "")

    async def unread(self, run: str) -> Sequence[User]:
        """The messages to a run that have not been delivered."""
        engine = await self._at()
        delivered = 0
        for segment in await engine.segments(run):
            for step in await engine.history(run, segment.job.segment):
                pairs = await read_record(step.value, engine.blobs, f"the run {run!r}, {step.key}")
                for _, entry in pairs:
                    if isinstance(entry, MessagesDelivered):
                        delivered = max(delivered, entry.last)
        waiting: list[User] = []
        for number, text in await engine.messages.after(run, delivered):
            queued = await read_said(run, number, text, engine.blobs)
            if queued.message is not None:
                waiting.append(queued.message)
        return waiting

    async def _add_message(self, run: str, said: SaidMessage, name: str) -> None:
        engine = await self._at()
        found = await latest_of(engine, run)
        if found.status in ("queued", "running", "waiting", "parked", "stranded"):
            text = await encode_said(run, said, engine.blobs)
            if await engine.messages.put(run, text, name=name, urgent=said.now):
                return
        raise RunStopped(run, "over", "it takes no more messages; submit another run with this one")

    async def answer(self, run: str, call: str, value: object) -> Handle:
        """Give the answer of a call whose tool returned ``rc.Later``, and have the run go on.

        ``call`` is the handle of that ``Later``, or the call's id; ``value`` a text, or what JSON can
        hold. From any process, such as one that serves a webhook. The first answer counts: the same
        again does nothing, a different one raises AlreadyDecided.
        """
        if isinstance(value, str):
            said = Answer(value)
        else:
            said = Answer(dump(to_builtins(value)))
        engine = await self._at()
        found = await latest_of(engine, run)
        pending: Sequence[Proposal] = ()
        if found.outcome is not None:
            pending = found.outcome.pending
        waits = _later_id(pending, call)
        if waits is not None:
            return await self.decide(run, {waits: said})
        # It may be the answer that the run has gone on with, given again.
        given = await read_input(found.segment.job, engine.blobs)
        if isinstance(given, ResumeInput):
            paused = RunResult.from_json(await engine.blobs.get(given.result))
            waited = _later_id(paused.pending, call)
            if waited is not None and waited in given.decisions:
                if given.decisions[waited] != said:
                    raise AlreadyDecided(run, given.decisions, advice=_ADVICE)
                return Handle(self, run)
        handles = ", ".join([each.later for each in pending if each.later]) or "nothing"
        raise UsageError(
            f"the run {run!r} does not wait for {call!r}: it is {found.status}, and waits for {handles}"
        )

    async def cancel(self, run: str) -> bool:
        """Cancel a run, wherever it is: inside an async tool at once, else when the tool returns.

        False if there is nothing left to cancel.
        """
        engine = await self._at()
        found = await latest_of(engine, run)
        if found.status == "waiting":
            # Submitting the next segment prevents any later answer.
            quit_ = await encode_input(run, CancelInput(), engine.blobs)
            standing = await engine.submit(_next(found.segment.job, quit_))
            await engine.cancel(run)
            return isinstance(await read_input(standing, engine.blobs), CancelInput)
        return await engine.cancel(run)

    async def retry(self, run: str) -> Handle:
        """Queue a parked run again, once what ended its processes is mended; it goes on where it was.

        Raises UsageError for any other run.
        """
        engine = await self._at()
        found = await latest_of(engine, run)
        if found.status != "parked" or not await engine.retry(run, found.segment.job.segment):
            raise UsageError(f"the run {run!r} is {found.status}, and only a parked one is retried")
        return Handle(self, run)

    @checked_async("app.fork")
    async def fork(self, run: str, *, at: str, new: str | None = None) -> Handle:
        """Begin another run from a step of this one: earlier steps are kept, that one is taken again.

        ``at`` is the step's key, as ``show`` lists them; ``new`` is the name, generated unless given.
        """
        engine = await self._at()
        name = _checked_name(f"{run}~{urandom(4).hex()}" if new is None else new)
        if await engine.segments(name):
            raise UsageError(f"there is a run {name!r} already; name the fork otherwise")
        keys: list[str] = []
        for segment in sorted(await engine.segments(run), key=lambda each: each.job.segment):
            for step in await engine.history(run, segment.job.segment):
                pairs = await read_record(step.value, engine.blobs, f"the run {run!r}, {step.key}")
                keys += [key for key, _ in pairs]
                if at in keys:
                    await engine.fork(run, segment.job.segment, step.key, name)
                    return Handle(self, name)
        await latest_of(engine, run)
        raise UsageError(f"the run {run!r} has no step {at!r}; it has {', '.join(keys) or 'none yet'}")

    async def list(self, *, limit: int | None = None) -> Sequence[RunInfo]:
        """Every run and its status, the latest first."""
        engine = await self._at()
        found: dict[str, Segment] = {}
        for segment in await engine.segments(limit=limit):
            known = found.setdefault(segment.job.run, segment)
            if segment.job.segment > known.job.segment:
                found[segment.job.run] = segment
        return [info_of(engine, segment) for segment in found.values()]

    async def show(self, run: str) -> RunDetails:
        """A run with its segments and steps."""
        engine = await self._at()
        info = (await latest_of(engine, run)).info()
        segments = sorted(await engine.segments(run), key=lambda each: each.job.segment)
        steps: dict[int, Sequence[StepRecord]] = {
            each.job.segment: await engine.history(run, each.job.segment) for each in segments
        }
        return RunDetails(info=info, segments=tuple(segments), steps=steps)

    async def story(self, run: str) -> Sequence[tuple[float, Entry]]:
        """The entries of a run, as a journal would hold them, each with its time.

        Raises UsageError if there is no such run.
        """
        engine = await self._at()
        await latest_of(engine, run)
        return await story_of(engine, run, self.agents)

    @checked_async("app.gc")
    async def gc(self, *, older: float = _MONTH) -> int:
        """Delete runs that ended so many seconds ago, with all that they stored; returns how many."""
        if not older >= 0:
            raise UsageError(f"older= is in seconds, 0 or more, and not {older}")
        engine = await self._at()
        before = time() - older
        over = []
        for each in await self.list():
            if each.updated < before and each.status in ("done", "failed", "cancelled"):
                over.append(each.run)
        for at in range(0, len(over), _AT_ONCE):
            await engine.delete(over[at : at + _AT_ONCE])
        return len(over)


_ADVICE = "the first answer stands"


def _checked_name(run: str) -> str:
    """The name, checked to be one that every engine can store."""
    if not run.strip():
        raise UsageError("a run's name must not be blank")
    if "\0" in run:
        raise UsageError(f"no database can hold a run named {run!r}: leave the NUL out")
    return check_name(run)


def _next(job: SegmentJob, text: str) -> SegmentJob:
    return replace(job, segment=job.segment + 1, input=text, version=JOURNAL_VERSION)


def _later_id(pending: Sequence[Proposal], call: str) -> str | None:
    """Returns the id under which a call is answered that waits for its answer; None if none does."""
    for proposal in pending:
        if proposal.later and call in (proposal.later, proposal.call_id.removesuffix(LATER_CALL)):
            return proposal.call_id
    return None


async def _decisions_in(engine: DurableEngine, job: SegmentJob) -> Mapping[str, FinalDecision]:
    given = await read_input(job, engine.blobs)
    if isinstance(given, ResumeInput):
        return given.decisions
    return {}
