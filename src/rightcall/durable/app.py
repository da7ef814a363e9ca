"""The public API of durable runs: agents by name at an address, and operations on their runs."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from os import urandom
from time import time
from typing import Any, Self, TypedDict, Unpack

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.decision import FinalDecision, Grant
from rightcall.core.entry import Entry
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message
from rightcall.core.options import checked
from rightcall.core.request import ModelOptions, ToolChoice, check_model_options
from rightcall.declare.attachment import Prompt
from rightcall.durable.engine import Engine, Job, Queue, Segment, StepRecord
from rightcall.durable.engines import engine_at
from rightcall.durable.live import Latest, Live
from rightcall.durable.segment import (
    Begin,
    Dependencies,
    GoOn,
    Quit,
    Segments,
    Settings,
    read_input,
    written,
)
from rightcall.durable.standing import RunInfo, Shown, Standing, info_of, latest_of
from rightcall.durable.steps import read
from rightcall.durable.story import story_of
from rightcall.errors import AlreadyDecided, UsageError
from rightcall.gate.checked_async import checked_async
from rightcall.gate.gate import Decisions, decided_about, final_decision
from rightcall.loop.basis import user_message
from rightcall.loop.events import RunEnd
from rightcall.loop.result import RunResult
from rightcall.record.entry_text import check_name
from rightcall.wire.history import Said, history_of

_STATUS = 0.1
"""Seconds between two checks by a watcher whether the run has ended."""
_MONTH = 30 * 24 * 3600.0
_LAST = 2**31 - 1
"""The lowest priority."""
_AT_ONCE = 500
"""Runs that are deleted in one batch."""


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
    history: Sequence[Message] | Sequence[Mapping[str, Any]] | Said | None
    choice: ToolChoice
    sticky_choice: bool
    grant: Grant | None
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

    def __repr__(self) -> str:
        return f"Handle({self.run!r})"


class App:
    """Agents whose runs outlive processes, kept at an address.

    ``sqlite:///runs.db`` is a file, ``postgresql://…`` a server that many workers share, ``restate://…``
    another kind of server. A process with agents executes runs of its ``queues``, "default" unless
    given; with ``queues=()``, or without agents, it executes none and is only a client. ``dependencies``
    makes what the tools of a run share, in the process that executes it.
    """

    @checked("rc.durable.App")
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
        self._engine: Engine | None = None
        self._opening: asyncio.Lock | None = None

    async def open(self) -> Self:
        """Connect, and begin to execute runs if there are agents and queues."""
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._engine is None:
                engine = engine_at(self.address)
                segments = Segments(self.agents, self._dependencies, engine.blobs, engine.channel)
                works = bool(self.agents and self.queues)
                await engine.open(segments.execute if works else None, self.queues)
                self._engine = engine
        return self

    async def close(self, *, patience: float = 0.0) -> None:
        """Take no more runs, wait so many seconds for those under way, and leave the rest to others."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close(patience=patience)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _at(self) -> Engine:
        if self._engine is None:
            await self.open()
        assert self._engine is not None
        return self._engine

    @checked_async("app.submit", say="app.submit(…, {}=…)")
    async def submit(
        self, agent: str | Agent[Any, Any], prompt: Prompt, **options: Unpack[SubmitOptions]
    ) -> Handle:
        """Submit a run of an agent, to be executed by any worker. A name can be submitted only once."""
        engine, name = await self._at(), agent if isinstance(agent, str) else agent.name
        if self.agents and name not in self.agents:
            raise UsageError(f"there is no agent {name!r} here; there is {', '.join(self.agents)}")
        run = _checked_name(urandom(16).hex() if (given := options.get("run")) is None else given)
        if not 0 <= (priority := options.get("priority", 0)) <= _LAST:
            raise UsageError(
                f"a priority is 0 for what goes first, or more, up to {_LAST}, and not {priority}"
            )
        check_model_options(options.get("options") or {})
        said = history_of(options.get("history"))
        begin = Begin(
            message=await user_message(prompt),
            history=said.messages,
            system=said.system,
            settings=_settings(options),
        )
        job = Job(
            run=run,
            segment=0,
            agent=name,
            input=await written(run, begin, engine.blobs),
            deadline=None if (left := options.get("deadline")) is None else time() + left,
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

    def _standing(self, engine: Engine, segment: Segment) -> Standing:
        agent = self.agents.get(segment.job.agent)
        return Standing(engine, segment, None if agent is None else agent.output)

    async def watch(self, run: str) -> AsyncIterator[Live]:
        """The events of a run from now on; the last is its RunEnd, as it is stored.

        It ends when the run ends or waits for a person. Raises RunStopped if the run has no result.
        """
        engine = await self._at()
        seen, looked = Latest(run), 0.0
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
            await self._look_at_earlier(engine, found, decisions)
            return Handle(self, run)
        job, outcome = found.segment.job, found.outcome
        before = await read_input(job, engine.blobs)
        settings = Settings() if isinstance(before, Quit) else before.settings
        decided = decided_about(outcome.pending, decisions)
        given = GoOn(result=outcome.result, decisions=decided, settings=settings)
        following = _next(job, await written(run, given, engine.blobs))
        standing = await engine.submit(following)
        if standing.input != following.input:
            raise AlreadyDecided(run, await _decisions_in(engine, standing), advice=_ADVICE)
        return Handle(self, run)

    async def _look_at_earlier(self, engine: Engine, found: Standing, decisions: Decisions) -> None:
        """Check decisions about a run that does not wait: they must be those that were made already."""
        job = found.segment.job
        stand = await _decisions_in(engine, job)
        if not stand or stand.keys() != decisions.keys():
            raise UsageError(f"the run {job.run!r} has no pending calls: it is {found.status}")
        given = {name: final_decision(each) for name, each in decisions.items()}
        if given != stand:
            raise AlreadyDecided(job.run, stand, advice=_ADVICE)

    async def cancel(self, run: str) -> bool:
        """Cancel a run, wherever it is: inside an async tool at once, else when the tool returns.

        False if there is nothing left to cancel.
        """
        engine = await self._at()
        found = await latest_of(engine, run)
        if found.status == "waiting":
            # Submitting the next segment prevents any later answer.
            job = found.segment.job
            standing = await engine.submit(_next(job, await written(run, Quit(), engine.blobs)))
            await engine.cancel(run)
            return isinstance(await read_input(standing, engine.blobs), Quit)
        return await engine.cancel(run)

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
                pairs = await read(step.value, engine.blobs, f"the run {run!r}, {step.key}")
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

    async def show(self, run: str) -> Shown:
        """A run with its segments and steps."""
        engine = await self._at()
        info = (await latest_of(engine, run)).info()
        segments = sorted(await engine.segments(run), key=lambda each: each.job.segment)
        steps: dict[int, Sequence[StepRecord]] = {
            each.job.segment: await engine.history(run, each.job.segment) for each in segments
        }
        return Shown(info=info, segments=tuple(segments), steps=steps)

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
        engine, before = await self._at(), time() - older
        over = [
            each.run
            for each in await self.list()
            if each.updated < before and each.status in ("done", "failed", "cancelled")
        ]
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


def _next(job: Job, text: str) -> Job:
    return Job(
        run=job.run,
        segment=job.segment + 1,
        agent=job.agent,
        input=text,
        queue=job.queue,
        priority=job.priority,
        lane=job.lane,
        deadline=job.deadline,
    )


async def _decisions_in(engine: Engine, job: Job) -> Mapping[str, FinalDecision]:
    given = await read_input(job, engine.blobs)
    return given.decisions if isinstance(given, GoOn) else {}


def _settings(options: SubmitOptions) -> Settings:
    said = {name: given for name, given in options.items() if name in Settings.__struct_fields__}
    return Settings(**{name: given for name, given in said.items() if given is not None})  # type: ignore[arg-type]
