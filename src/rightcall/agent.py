"""The public Agent: a model, tools and instructions."""

from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from functools import partial
from os import urandom
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast, overload

from msgspec.structs import replace

from rightcall.background import run_sync
from rightcall.core.attributes import other_words
from rightcall.core.budget import Budget
from rightcall.core.entry import RunResumed, RunStarted
from rightcall.core.events import Emit
from rightcall.core.handler import Context
from rightcall.core.history import mend
from rightcall.core.message import Author, User, said
from rightcall.core.options import checked, fits
from rightcall.core.ports import AsyncJournal, Journal, Steps
from rightcall.core.request import Wanted, check_model_options
from rightcall.core.tool import ErrorWords, Tool
from rightcall.declare.attachment import Prompt
from rightcall.declare.defer import Descriptions
from rightcall.declare.function import tool
from rightcall.declare.output import form_of
from rightcall.declare.toolbox import ToolSource
from rightcall.declare.verdicts import Then, Thresholds
from rightcall.errors import RightcallError, ToolFailure, UsageError
from rightcall.gate.checked_async import checked_async
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Decisions, decided_about, guard_above
from rightcall.gate.slots import RUN_CONCURRENCY
from rightcall.loop.basis import UNNAMED, Basis, Defaults, look_for_tools, user_message
from rightcall.loop.carried import Carryover
from rightcall.loop.events import Event, events_of
from rightcall.loop.nested import nesting_of, rules_below
from rightcall.loop.offering import Deferred, Telling
from rightcall.loop.result import Out, RunResult, dropped_in
from rightcall.loop.resumed import check_standing, forget, resumed_once
from rightcall.loop.run import Run
from rightcall.loop.setup import (
    AgentOptions,
    AgentSettings,
    Deps,
    Instructions,
    ModelSource,
    Overrides,
    RecoverOptions,
    ResumeOptions,
    RunOptions,
    Setup,
    prepared,
    unpriced,
)
from rightcall.loop.state import started
from rightcall.models.fallback import Opened
from rightcall.record.steps import Holding, LiveSteps, decisions_in, redacted_calls, traces_in
from rightcall.wire.history import history_of

T = TypeVar("T")


class Agent(Generic[Deps, Out]):
    """A model with tools. It stores no conversation: pass ``history`` to continue one.

    ``Agent[Deps, Output]`` says what its tools share and what it answers with, for type checkers.

    Args:
        model: A model, or the name of one, as ``rc.connect`` takes it, or a list of those, to fall back
            on in order.
        tools: The tools that the model may call: functions, tools, toolboxes, MCP servers, or a list.
        instructions: What the model is told first: a text, or a function that gives one for each run.
        output: The type that the answer must have, and then the type of ``result.output``.
    """

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = other_words(
            {
                **dict.fromkeys(["tool", "tool_plain"], "@rc.tool, and tools=[…] of rc.Agent"),
                **dict.fromkeys(["system_prompt", "clone"], "another rc.Agent(…, instructions=…)"),
                **dict.fromkeys(["run_stream", "run_stream_sync", "astream"], "agent.stream(…)"),
                **dict.fromkeys(["run_stream_events", "run_streamed", "iter"], "agent.stream(…)"),
                **dict.fromkeys(["ainvoke", "arun"], "agent.run(…)"),
                "invoke": "agent.run_sync(…)",
                "override": "agent.run(…, model=…)",
                "output_validator": "a validator of the output's own pydantic model",
            }
        )

    @overload
    def __init__(
        self: "Agent[Deps, None]",
        model: ModelSource,
        tools: ToolSource[Deps] | None = ...,
        instructions: Instructions | None = ...,
        *,
        output: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Agent[Deps, T]",
        model: ModelSource,
        tools: ToolSource[Deps] | None = ...,
        instructions: Instructions | None = ...,
        *,
        output: type[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Agent[Deps, Any]",
        model: ModelSource,
        tools: ToolSource[Deps] | None = ...,
        instructions: Instructions | None = ...,
        *,
        output: Any,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @checked("rc.Agent", say="rc.Agent(…, {}=…)")
    def __init__(  # noqa: PLR0913 - an agent's options, by name
        self,
        model: ModelSource,
        tools: ToolSource[Deps] | None = (),
        instructions: Instructions | None = "",
        *,
        name: str = UNNAMED,
        output: Any = None,
        budget: Budget | None = None,
        journal: Journal | AsyncJournal | None = None,
        concurrency: int = RUN_CONCURRENCY,
        retry_broken: bool | None = None,
        errors: ErrorWords = "neutral",
        descriptions: Descriptions = "full",
        defer: Deferred = False,
        footprint: Then | Thresholds = "warn",
        **settings: Unpack[AgentSettings],
    ) -> None:
        check_model_options(options := settings.get("options") or {})
        self._opened, self.name, self.output = Opened(), name, output
        self._executor, self._carryover = Executor(concurrency=concurrency), Carryover()
        self.trust = trust = settings.get("trust")
        self._basis = basis = Basis(
            model=self._opened.model(model),
            tools=() if tools is None else tools,
            instructions=instructions or "",
            options=cast("Mapping[str, Any]", options),
            max_tokens=settings.get("max_tokens"),
            window=settings.get("window"),
            form=None if output is None else form_of(output),
            rules=trust,
            errors=errors,
            telling=Telling(descriptions, defer),
        )
        self.tools = basis.toolbox()
        self.budget, self._journal, self._retry_broken = budget or Budget(), journal, retry_broken
        settings.update(prepared(settings, self._opened.model))
        setup = Setup(
            run="",
            agent=name,
            model=basis.model,
            tools=self.tools,
            steps=LiveSteps(),
            executor=self._executor,
            answer=None if basis.form is None else basis.form.tool,
            **settings,  # type: ignore[arg-type]
        )
        self._setup, self._is_fixed = basis.applied(setup, basis.mode), basis.is_fixed
        basis.weigh(self._setup, footprint)

    @checked_async("agent.run", say="agent.run(…, {}=…)")
    async def run(self, prompt: Prompt, **options: Unpack[RunOptions[Deps]]) -> RunResult[Out]:
        """Run until an answer, a limit or a pause; ``result.stop`` says which."""
        return await self._begin(prompt, options)

    @checked("agent.run_sync")
    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions[Deps]]) -> RunResult[Out]:
        """``run``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.run(prompt, **options))

    async def close(self) -> None:
        """Close the models that the agent connected by name. Models that you passed in stay open."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @checked("agent.stream")
    def stream(self, prompt: Prompt, **options: Unpack[RunOptions[Deps]]) -> AsyncIterator[Event]:
        """``run`` as a stream of events; the last is RunEnd, with the result."""
        return events_of(partial(self._begin, prompt, options))

    @checked_async("agent.resume")
    async def resume(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Deps]]
    ) -> RunResult[Out]:
        """Continue a run that waits for approval, here or in another process.

        ``decisions`` are by call id; every pending call needs one: True or ``Allow()``, False or
        ``Deny("why")``, ``Rewrite({...})`` for other arguments, ``Answer("...")`` to give the result
        yourself. The first answer counts: repeating it does nothing, a different one raises
        AlreadyDecided. ``wait`` is how many seconds to wait if another process holds the run, before
        RunHeld. If the run was started with its own ``model``, ``tools``, ``options`` or
        ``max_tokens``, pass them again here.
        """
        return await self._go_on(result, decisions, options)

    @checked("agent.resume_sync")
    def resume_sync(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Deps]]
    ) -> RunResult[Out]:
        """``resume``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.resume(result, decisions, **options))

    @checked("agent.resume_stream")
    def resume_stream(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Deps]]
    ) -> AsyncIterator[Event]:
        """``resume`` as a stream of events; the last is RunEnd, with the result."""
        return events_of(partial(self._go_on, result, decisions, options))

    async def _go_on(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        options: ResumeOptions[Deps],
        emit: Emit | None = None,
    ) -> RunResult[Out]:
        if not fits(result, RunResult):
            raise UsageError(f"agent.resume takes a RunResult that waits, not a {type(result).__name__}")
        decided, steps = decided_about(result.pending, decisions), options.get("steps")
        async with Holding(self._journal, result.run, wait=options.get("wait", 0.0)) as held:
            check_standing(result, decided, decisions_in(held.entries))
            basis, state = self._basis_with(options), result.state
            taken = self._steps(held, steps)
            setup = self._setup_for(result.run, taken, options.get("dependencies"), basis, state.wanted)
            look_for_tools(held.entries, result.pending, setup)
            if state.system is None:
                state = replace(state, system=await basis.system(setup, steps))
            begins, calls, drops = result.begins, result.calls, result.dropped
            run = Run(
                setup, state, begins=begins, emit=emit, decisions=decided, earlier=calls, dropped=drops
            )
            is_unknown = self._journal is None and steps is None and bool(decided)
            with resumed_once(result, decided, run) if is_unknown else nullcontext():
                return basis.with_output(await run.go(RunResumed(decisions=decided)))

    @checked_async("agent.recover")
    async def recover(self, run: str, **options: Unpack[RecoverOptions[Deps]]) -> RunResult[Out]:
        """Continue a run whose process died, from its journal. What was done is not done again.

        If another process holds the run, this raises RunHeld after ``wait`` seconds. The instructions
        come from the journal. If the run was started with its own ``model``, ``tools``, ``options`` or
        ``max_tokens``, pass them again here.
        """
        if self._journal is None:
            raise UsageError("an agent without a journal has nothing to recover from")
        async with Holding(self._journal, run, wait=options.get("wait", 0.0)) as held:
            start = next((entry for entry in held.entries if isinstance(entry, RunStarted)), None)
            if start is None:
                raise UsageError(f"the journal holds no run {run!r}")
            basis, shared = self._basis_with(options), options.get("dependencies")
            setup = self._setup_for(run, held.steps(), shared, basis, start.wanted)
            look_for_tools(held.entries, (), setup)
            decided = {**redacted_calls(held.entries), **decisions_in(held.entries)}
            begins, dropped = len(start.messages) - 1, dropped_in(held.entries)
            state = replace(started(start), traces=traces_in(held.entries))
            going = Run(setup, state, begins=begins, decisions=decided, dropped=dropped)
            return basis.with_output(await going.go())

    @checked("agent.recover_sync")
    def recover_sync(self, run: str, **options: Unpack[RecoverOptions[Deps]]) -> RunResult[Out]:
        """``recover``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.recover(run, **options))

    @checked("agent.as_tool")
    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str = "",
        budget: Budget | None = None,
        timeout: float = 600.0,
    ) -> Tool[Deps]:
        """The agent as a tool of another agent.

        It has its own budget; what it spends counts in both.
        """

        async def delegate(task: str, context: Context[Any]) -> Any:
            try:
                author: Author = "agent" if self.trust or guard_above() else "user"
                result = await self._nested(said(task, author), context, budget or self.budget)
            except RightcallError as error:
                if error.result is not None:
                    context.spend(error.result.usage)
                raise
            if result is None:
                return None
            context.spend(result.usage)
            if not result.stop.is_answer:
                raise ToolFailure(f"The agent stopped without an answer: {result.stop}.")
            return result.text if self._basis.form is None else result.output

        from rightcall.trust.facts import facts_together  # noqa: PLC0415 - light until used

        asks = unpriced(self._basis.model, self.tools)
        return tool(
            delegate,
            name=name or self.name,
            description=description or f"Hand a task to {self.name}. Say everything it needs to know.",
            timeout=timeout,
            dry_run=True,
            # Its exceptions hold the text of its model's vendor.
            errors="neutral",
            facts=facts_together(self.tools, is_guarded=self._setup.trust is not None),
        ).replace(delegates=True, inside=self.tools.get, unpriced=asks)

    async def _nested(self, task: User, context: Context[Any], budget: Budget) -> RunResult[Out] | None:
        """Run a task that another run handed on; None if it waits for a person, or cannot continue."""
        nesting, dependencies = nesting_of(context.key), context.dependencies
        if nesting is None:
            return await self.run(
                task, dependencies=dependencies, budget=budget, dry_run=context.dry_run
            )
        journal = self._journal if nesting.steps is None else None
        async with Holding(journal, nesting.run) as held:
            steps, basis, paused = nesting.steps or held.steps(), self._basis, nesting.paused
            wanted = None if paused is None else paused.state.wanted
            setup = self._setup_for(nesting.run, steps, dependencies, basis, wanted)
            setup = replace(setup, approve=setup.approve or nesting.approve)
            start, begins = None, 0
            if paused is None:
                said: RunOptions[Any] = {"budget": budget, "steps": steps, "dry_run": context.dry_run}
                start = await basis.started(setup, (task,), said, self._defaults())
                state = started(start)
            else:
                nesting.look_for_tools(setup.tools)
                if nesting.lost is not None:
                    return None
                state, begins = paused.state, paused.begins
            going = Run(setup, state, begins=begins, emit=nesting.emit, decisions=nesting.decisions)
            result = await going.go(start)
        if result.stop.reason == "pending":
            nesting.waits = result
            return None
        return basis.with_output(result)

    async def _begin(
        self, prompt: Prompt, options: RunOptions[Deps], emit: Emit | None = None
    ) -> RunResult[Out]:
        given = history_of(options.get("history"))
        history = mend(given.messages).messages if given.messages else ()
        run = options.get("run") or urandom(16).hex()
        forget(run)
        message = await user_message(prompt)
        async with Holding(self._journal, run, is_new=not options.get("run")) as held:
            if held.entries:
                raise UsageError(f"the journal holds a run {run!r} already; recover it, or name another")
            steps, basis = self._steps(held, options.get("steps")), self._basis_with(options)
            setup = self._setup_for(run, steps, options.get("dependencies"), basis)
            said = (*history, message)
            start = await basis.started(setup, said, options, self._defaults(), given)
            going = Run(setup, started(start), begins=len(history), emit=emit, carryover=self._carryover)
            return basis.with_output(await going.go(start))

    def _defaults(self) -> Defaults:
        return Defaults(self.budget, self._retry_broken, self.name)

    def _steps(self, held: Holding, given: Steps | None) -> Steps:
        if given is None:
            return held.steps()
        if self._journal is not None:
            raise UsageError("a run is recorded by its agent's journal or by steps=, not by both")
        return given

    def _basis_with(self, said: RunOptions[Any] | Overrides) -> Basis:
        return self._basis.with_overrides(said, self._opened.model)

    def _setup_for(
        self, run: str, steps: Steps, shared: Any, basis: Basis, wanted: Wanted | None = None
    ) -> Setup:
        """Returns the setup of a run; ``wanted`` is the output that a continued run was asked for."""
        base, own, above = self._setup, self._executor.for_run(), guard_above()
        setup = replace(base, run=run, steps=steps, executor=own, above=above, dependencies=shared)
        if self.trust is None and (trust := rules_below(above, self.name, run)) is not None:
            setup, basis = replace(setup, trust=trust), replace(basis, rules=trust)
        mode = basis.mode if wanted is None else wanted.mode
        if basis is self._basis and self._is_fixed and mode == basis.mode:
            return setup
        return basis.applied(setup, mode)
