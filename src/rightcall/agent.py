"""The face: a model, tools and instructions into an agent that runs."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Mapping
from functools import partial
from os import urandom
from typing import Any, Generic, Self, TypeAlias, TypeVar, Unpack, overload

from msgspec.structs import replace

from rightcall.background import run_sync
from rightcall.core.budget import Budget, Stop
from rightcall.core.call import CheckedCall
from rightcall.core.decision import FinalDecision
from rightcall.core.entry import RunResumed, RunStarted
from rightcall.core.events import Emit
from rightcall.core.handler import Context
from rightcall.core.history import mend
from rightcall.core.jsontext import dump
from rightcall.core.message import Transcript, User, said
from rightcall.core.ports import AsyncJournal, Journal, Model, Steps
from rightcall.core.request import Named, ToolChoice, Wanted
from rightcall.core.tool import Limits, Tool
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.declare.function import tool
from rightcall.declare.output import form_of
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import AlreadyDecided, LimitReached, RightcallError, ToolFailure, UsageError
from rightcall.gate.executor import Executor
from rightcall.gate.gate import final_decision, guard_above
from rightcall.loop.events import Event, events_of
from rightcall.loop.result import Out, RunResult, judge
from rightcall.loop.run import Run
from rightcall.loop.setup import (
    AgentOptions,
    AgentSettings,
    Following,
    Offered,
    RunOptions,
    Setup,
    is_live,
)
from rightcall.loop.state import started
from rightcall.loop.window import Window
from rightcall.models.connect import Connected, connect
from rightcall.record.steps import Holding, LiveSteps, decisions_in, redacted_calls
from rightcall.trust.facts import facts_together, labelled
from rightcall.wire.history import history_of

Decisions: TypeAlias = Mapping[str, FinalDecision | bool]
"""A person's decisions by call id; True allows, False denies."""


T = TypeVar("T")

_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"


class Agent(Generic[Out]):
    """A model with tools. It holds no conversation: pass ``history`` to go on with one.

    ``model`` is a model, or the name of one, as ``connect`` takes it. ``output`` is the type that an
    answer must have, and then the type of ``result.output``.
    """

    @overload
    def __init__(
        self: "Agent[None]",
        model: Model | str,
        tools: ToolSource = ...,
        instructions: str = ...,
        *,
        output: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Agent[T]",
        model: Model | str,
        tools: ToolSource = ...,
        instructions: str = ...,
        *,
        output: type[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Agent[Any]",
        model: Model | str,
        tools: ToolSource = ...,
        instructions: str = ...,
        *,
        output: Any,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    def __init__(  # noqa: PLR0913 - an agent's options, by name
        self,
        model: Model | str,
        tools: ToolSource = (),
        instructions: str = "",
        *,
        name: str = "agent",
        output: Any = None,
        budget: Budget | None = None,
        journal: Journal | AsyncJournal | None = None,
        concurrency: int = 32,
        retry_broken: bool = False,
        **settings: Unpack[AgentSettings],
    ) -> None:
        self._connected: Connected | None = None
        if isinstance(model, str):
            model = self._connected = connect(model)
        self.name = name
        strict, trust = bool(settings.get("options", {}).get("strict")), settings.get("trust")
        self.trust = trust
        make = partial(_toolbox, repair=strict, label=trust is not None)
        self.tools = make(tools)
        self._follow = partial(Following, tools, make) if is_live(tools) else None
        self.budget = budget or Budget()
        self._journal = journal
        self._retry_broken = retry_broken
        self._instructions = instructions
        self._form = form = None if output is None else form_of(output)
        self._mode = None if form is None else form.output.mode or model.profile.structured
        offered = self._offered(self.tools)
        if settings.get("window") is None:
            settings["window"] = _default_window(model, settings.get("max_tokens"))
        settings["observers"] = tuple(settings.get("observers", ()))
        self._setup = Setup(
            run="",
            model=model,
            tools=offered.tools,
            steps=LiveSteps(),
            executor=Executor(concurrency=concurrency),
            specs=offered.specs,
            system=self._system(instructions),
            answer=None if form is None else form.tool,
            **settings,  # type: ignore[arg-type]
        )

    async def run(self, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult[Out]:
        """Run to an answer, a limit or a pause; which one is in ``result.stop``."""
        return await self._begin(prompt, options)

    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult[Out]:
        """``run``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.run(prompt, **options))

    async def close(self) -> None:
        """Close the model that the agent connected by its name; one that it was given stays open."""
        if self._connected is not None:
            await self._connected.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stream(self, prompt: Prompt, **options: Unpack[RunOptions]) -> AsyncIterator[Event]:
        """``run``, as the events it is made of; the last is RunEnd, with the result."""
        return events_of(partial(self._begin, prompt, options))

    async def resume(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        *,
        dependencies: Any = None,
        steps: Steps | None = None,
        wait: float = 0.0,
    ) -> RunResult[Out]:
        """Go on with a run that waits for a person, here or in another process.

        ``decisions`` are by call id, and every pending call needs one: True or ``Allow()``, False or
        ``Deny("why")``, ``Rewrite({...})`` for other arguments, ``Answer("...")`` for a result given
        by hand. The first answer stands: the same one again does nothing twice, another one is
        AlreadyDecided. ``wait`` is how many seconds to wait for a run that somebody else holds, before
        RunHeld.
        """
        pending = [proposal.call_id for proposal in result.pending]
        if missing := [call_id for call_id in pending if call_id not in decisions]:
            raise UsageError(f"no decision about {', '.join(missing)}")
        if unknown := [call_id for call_id in decisions if call_id not in pending]:
            raise UsageError(f"a decision about {', '.join(unknown)}, which nobody asked for")
        decided = {call_id: final_decision(decision) for call_id, decision in decisions.items()}
        async with Holding(self._journal, result.run, wait=wait) as held:
            given = decisions_in(held.entries)
            stands = {call_id: given[call_id] for call_id in pending if call_id in given}
            if any(decided[call_id] != decision for call_id, decision in stands.items()):
                raise AlreadyDecided(result.run, stands)
            run = Run(
                self._setup_for(result.run, self._steps(held, steps), dependencies),
                result.state,
                begins=result.begins,
                decisions=decided,
                earlier=result.calls,
            )
            return self._with_output(await run.go(RunResumed(decisions=decided)))

    async def recover(self, run: str, *, dependencies: Any = None, wait: float = 0.0) -> RunResult[Out]:
        """Go on with a run whose process died, from its journal: what was done is not done again.

        A run that somebody holds is theirs: after ``wait`` seconds this is RunHeld.
        """
        if self._journal is None:
            raise UsageError("an agent without a journal has nothing to recover from")
        async with Holding(self._journal, run, wait=wait) as held:
            start = next((entry for entry in held.entries if isinstance(entry, RunStarted)), None)
            if start is None:
                raise UsageError(f"the journal holds no run {run!r}")
            again = Run(
                replace(self._setup_for(run, held.steps(), dependencies), system=start.system),
                started(start),
                begins=len(start.messages) - 1,
                decisions={**redacted_calls(held.entries), **decisions_in(held.entries)},
            )
            return self._with_output(await again.go())

    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str = "",
        budget: Budget | None = None,
        timeout: float = 600.0,
    ) -> Tool:
        """The agent as another's tool, with its own budget; what it spends counts there too."""

        async def delegate(task: str, context: Context[Any]) -> Any:
            own = budget or self.budget
            try:
                said_by = said(task, "agent") if self._setup.trust is not None else task
                result = await self.run(said_by, dependencies=context.dependencies, budget=own)
            except RightcallError as error:
                if error.result is not None:
                    context.spend(error.result.usage)
                raise
            context.spend(result.usage)
            if not result.stop.is_answer:
                raise ToolFailure(f"The agent stopped without an answer: {result.stop}.")
            return result.text if self._form is None else result.output

        return tool(
            delegate,
            name=name or self.name,
            description=description or f"Hand a task to {self.name}. Say everything it needs to know.",
            limits=Limits(timeout=timeout),
            facts=facts_together(self.tools, is_guarded=self._setup.trust is not None),
        )

    async def _begin(
        self, prompt: Prompt, options: RunOptions, emit: Emit | None = None
    ) -> RunResult[Out]:
        given = history_of(options.get("history", ()))
        history = mend(given.messages).messages if given.messages else ()
        run = options.get("run") or urandom(16).hex()
        message = await _user(prompt)
        async with Holding(self._journal, run) as held:
            if held.entries:
                raise UsageError(f"the journal holds a run {run!r} already; recover it, or name another")
            steps = self._steps(held, options.get("steps"))
            setup = self._setup_for(run, steps, options.get("dependencies"))
            if given.system:
                setup = replace(setup, system=self._system(given.system_under(self._instructions)))
            start = self._start((*history, message), setup, options)
            going = Run(setup, started(start), begins=len(history), emit=emit)
            return self._with_output(await going.go(start))

    def _start(self, messages: Transcript, setup: Setup, options: RunOptions) -> RunStarted:
        wanted, grant = self._wanted(), options.get("grant")
        if grant is not None and setup.trust is None:
            raise UsageError(
                "a grant needs rules to hold the run to it; give the agent some with trust="
            )
        return RunStarted(
            messages=messages,
            budget=options.get("budget") or self.budget,
            system=setup.system,
            specs=setup.specs,
            choice=options.get("choice") or self._first_choice(wanted),
            sticky_choice=options.get("sticky_choice", False),
            retry_broken=self._retry_broken,
            wanted=wanted,
            grant=grant,
        )

    def _steps(self, held: Holding, given: Steps | None) -> Steps:
        if given is None:
            return held.steps()
        if self._journal is not None:
            raise UsageError("a run is recorded by its agent's journal or by steps=, not by both")
        return given

    def _setup_for(self, run: str, steps: Steps, dependencies: Any) -> Setup:
        above = guard_above()
        setup = replace(self._setup, run=run, steps=steps, dependencies=dependencies, above=above)
        if self._follow is None:
            return setup
        following = self._follow()
        offered = self._offered(following.toolbox)

        def follow() -> Offered | None:
            changed = following.changed()
            return None if changed is None else self._offered(changed)

        return replace(setup, tools=offered.tools, specs=offered.specs, follow=follow)

    def _offered(self, tools: Toolbox) -> Offered:
        form = self._form
        box = Toolbox(tools, form.tool) if form and self._mode == "tool" else tools
        return Offered(box, tuple(each.spec for each in box))

    def _with_output(self, result: RunResult[Any]) -> RunResult[Out]:
        """The result with the output that the run ended with, read from its transcript."""
        form = self._form
        if form is None or result.stop != Stop("output"):
            return result
        text = result.text
        if self._mode == "tool":
            given = [call for call in result.calls if call.name == form.tool.name]
            text = next(call.arguments for call in reversed(given) if call.outcome == "returned")
        verdict = judge(form.tool, text)
        assert isinstance(verdict, CheckedCall)
        return replace(result, output=form.value(verdict.bound))

    def _wanted(self) -> Wanted | None:
        if self._form is None or self._mode is None:
            return None
        answer, retries = self._form.tool, self._form.output.retries
        return Wanted(tool=answer.name, mode=self._mode, schema=answer.parameters, retries=retries)

    def _first_choice(self, wanted: Wanted | None) -> ToolChoice:
        """An agent whose only tool is its answer must give it."""
        if wanted is not None and wanted.mode == "tool" and not self.tools:
            return Named(wanted.tool)
        return "auto"

    def _system(self, instructions: str) -> str:
        if self._form is None or self._mode != "text":
            return instructions
        schema = _AS_JSON.format(schema=dump(self._form.tool.parameters))
        return f"{instructions}\n\n{schema}".strip()


def _toolbox(tools: ToolSource, *, repair: bool, label: bool) -> Toolbox:
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    if label:
        # What rules take for outsiders' words must be shown to the model as such.
        box = Toolbox([labelled(each) for each in box])
    # Strict schemas have the model write null for what it leaves out; repair takes it out again.
    held = {each.name for each in box if (repair if each.strict is None else each.strict)}
    return (
        Toolbox([each.replace(repair=each.name in held or each.repair) for each in box]) if held else box
    )


async def _user(prompt: Prompt) -> User:
    """The prompt as a message; files are read where they hold nobody up."""
    return await to_thread(message_of, prompt) if reads_files(prompt) else message_of(prompt)


def _default_window(model: Model, max_tokens: int | None) -> Window | None:
    """What the model's context leaves for messages, with room for the reply, the tools and error."""
    context = model.profile.context_window
    if context is None:
        return None
    return Window(tokens=max(int(context * 0.75) - (max_tokens or 0), context // 4))


def ask(
    prompt: Prompt,
    *,
    model: Model | str = "embedded",
    tools: ToolSource | None = None,
    **options: Unpack[RunOptions],
) -> str:
    """One question, one answer: the text of an agent's reply. Raises when a run ends without one.

    Without a model it is the embedded one; without tools, arithmetic and the date and time.
    """
    if tools is None:
        from rightcall.builtin import default_tools  # noqa: PLC0415 - light until used

        tools = default_tools()
    result = Agent(model, tools).run_sync(prompt, **options)
    if not result.stop.is_answer:
        error = LimitReached(f"the run ended without an answer: {result.stop}")
        error.result = result
        raise error
    return result.text
