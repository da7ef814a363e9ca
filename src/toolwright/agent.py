"""The face: a model, tools and instructions into an agent that runs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from toolwright.core.budget import Budget, Stop
from toolwright.core.call import CheckedCall
from toolwright.core.context import Context
from toolwright.core.decision import FinalDecision
from toolwright.core.entry import RunResumed, RunStarted
from toolwright.core.history import mend
from toolwright.core.jsontext import JsonValue, dump
from toolwright.core.message import Message, User, said
from toolwright.core.parts import Media, Text
from toolwright.core.ports import Journal, Model, TokenCounter
from toolwright.core.request import Named, OutputMode, ToolChoice, Wanted
from toolwright.core.tool import Limits, Tool
from toolwright.declare.function import tool
from toolwright.declare.output import form_of
from toolwright.declare.toolbox import Toolbox, ToolSource
from toolwright.errors import LimitReached, ToolFailure, ToolwrightError, UsageError
from toolwright.execute.executor import Executor
from toolwright.loop.answering import final
from toolwright.loop.asking import Emit
from toolwright.loop.drive import Driver
from toolwright.loop.output import judge
from toolwright.loop.result import CallRecord, RunResult
from toolwright.loop.segment import decisions_in, run_segment, state_of
from toolwright.loop.setup import Approve, Hooks, Policy, Setup, Summarise
from toolwright.loop.state import State
from toolwright.loop.stream import Event, events_of
from toolwright.loop.sync import run_sync
from toolwright.loop.tokens import estimate_tokens
from toolwright.loop.window import Window
from toolwright.models import connect
from toolwright.record.steps import JournalSteps, LiveSteps, redacted_calls

Prompt: TypeAlias = str | User | Sequence[str | Text | Media]
Decisions: TypeAlias = Mapping[str, FinalDecision | bool]
"""A person's decisions by call id; True allows, False denies."""


class RunOptions(TypedDict, total=False):
    """What can be said of one run."""

    history: Sequence[Message]
    """An earlier transcript to go on from; mended where calls and results do not match."""
    dependencies: Any
    """What tools reach through their Context."""
    choice: ToolChoice
    """Make the model call some tool, this tool, or none; on its first turn only, so that it ends."""
    sticky_choice: bool
    """The choice holds for every turn."""
    budget: Budget
    run: str
    """The run's name in the journal; made up unless given."""


_AS_JSON = "Give your answer as JSON that fits this schema, and nothing else:\n{schema}"


class Agent:
    """A model with tools. It holds no conversation: pass ``history`` to go on with one.

    ``model`` is a model, or the name of one, as ``connect`` takes it.
    """

    def __init__(  # noqa: PLR0913 - an agent's options, by name
        self,
        model: Model | str,
        tools: ToolSource = (),
        instructions: str = "",
        *,
        name: str = "agent",
        output: Any = None,
        budget: Budget | None = None,
        policy: Policy | None = None,
        approve: Approve | None = None,
        hooks: Hooks | None = None,
        journal: Journal | None = None,
        window: Window | None = None,
        summarise: Summarise | None = None,
        count: TokenCounter = estimate_tokens,
        options: Mapping[str, JsonValue] | None = None,
        max_tokens: int | None = None,
        speculate: bool = True,
        concurrency: int = 32,
    ) -> None:
        model = connect(model) if isinstance(model, str) else model
        self.name = name
        self.tools = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        if options and options.get("strict"):
            # Strict schemas have the model write null for what it leaves out; repair takes it out again.
            self.tools = Toolbox([each.replace(repair=True) for each in self.tools])
        self.budget = budget or Budget()
        self._model = model
        self._form = None if output is None else form_of(output)
        self._mode: OutputMode | None = (
            None if self._form is None else self._form.output.mode or model.profile.structured
        )
        self._instructions = instructions
        self._policy = policy
        self._approve = approve
        self._hooks = hooks or Hooks()
        self._journal = journal
        self._window = window or _default_window(model, max_tokens)
        self._summarise = summarise
        self._count = count
        self._options = options or {}
        self._max_tokens = max_tokens
        self._speculate = speculate
        self._executor = Executor(concurrency=concurrency)
        self._all_tools = self.tools
        if self._form is not None and self._mode == "tool":
            self._all_tools = Toolbox(self.tools, self._form.tool)
        self._specs = tuple(each.spec for each in self._all_tools)

    async def run(self, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult:
        """Run to an answer, a limit or a pause; which one is in ``result.stop``."""
        return await self._drive(self._begin(prompt, options))

    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult:
        """``run``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.run(prompt, **options))

    def stream(self, prompt: Prompt, **options: Unpack[RunOptions]) -> AsyncIterator[Event]:
        """``run``, as the events it is made of; the last is RunEnd, with the result."""
        return events_of(lambda emit: self._drive(self._begin(prompt, options), emit))

    async def resume(
        self, result: RunResult, decisions: Decisions, *, dependencies: Any = None
    ) -> RunResult:
        """Go on with a run that waits for a person, here or in another process.

        ``decisions`` are by call id, and every pending call needs one: True or ``Allow()``, False or
        ``Deny("why")``, ``Rewrite({...})`` for other arguments, ``Answer("...")`` for a result given
        by hand.
        """
        if missing := [p.call_id for p in result.pending if p.call_id not in decisions]:
            raise UsageError(f"no decision about {', '.join(missing)}")
        decided = {call_id: final(decision) for call_id, decision in decisions.items()}
        if self._journal is not None:
            self._journal.append(result.run, RunResumed(decisions=decided))
        segment = _Segment(
            setup=self._setup(result.run, dependencies),
            state=result.state,
            begins=result.begins,
            decisions=decided,
            earlier=result.calls,
        )
        return await self._drive(segment)

    async def recover(self, run: str, *, dependencies: Any = None) -> RunResult:
        """Go on with a run whose process died, from its journal: what was done is not done again."""
        if self._journal is None:
            raise UsageError("an agent without a journal has nothing to recover from")
        entries = list(self._journal.entries(run))
        start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
        if start is None:
            raise UsageError(f"the journal holds no run {run!r}")
        segment = _Segment(
            setup=self._setup(run, dependencies),
            state=state_of(start),
            begins=len(start.messages) - 1,
            decisions={**redacted_calls(entries), **decisions_in(entries)},
        )
        return await self._drive(segment)

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
                result = await self.run(task, dependencies=context.dependencies, budget=own)
            except ToolwrightError as error:
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
        )

    def _begin(self, prompt: Prompt, options: RunOptions) -> "_Segment":
        history = mend(options.get("history", ())).messages
        wanted = self._wanted()
        choice = options.get("choice") or self._first_choice(wanted)
        start = RunStarted(
            messages=(*history, _user(prompt)),
            budget=options.get("budget") or self.budget,
            system=self._system(),
            specs=self._specs,
            choice=choice,
            sticky_choice=options.get("sticky_choice", False),
            wanted=wanted,
        )
        run = options.get("run") or uuid4().hex
        if self._journal is not None:
            if any(True for _ in self._journal.entries(run)):
                raise UsageError(f"the journal holds a run {run!r} already; recover it, or name another")
            self._journal.append(run, start)
        return _Segment(
            setup=self._setup(run, options.get("dependencies")),
            state=state_of(start),
            begins=len(history),
        )

    def _setup(self, run: str, dependencies: Any) -> Setup:
        journal = self._journal
        return Setup(
            run=run,
            model=self._model,
            tools=self._all_tools,
            steps=LiveSteps() if journal is None else JournalSteps(journal, run),
            executor=self._executor,
            specs=self._specs,
            system=self._system(),
            options=self._options,
            max_tokens=self._max_tokens,
            answer=None if self._form is None else self._form.tool,
            policy=self._policy,
            approve=self._approve,
            hooks=self._hooks,
            window=self._window,
            count=self._count,
            summarise=self._summarise,
            speculate=self._speculate,
            dependencies=dependencies,
        )

    async def _drive(self, segment: "_Segment", emit: Emit | None = None) -> RunResult:
        driver = Driver(segment.setup, segment.state, emit=emit, decisions=segment.decisions)
        result = await run_segment(driver, segment.begins, self._journal)
        calls = (*segment.earlier, *result.calls)
        return replace(result, calls=calls, output=self._output_of(result))

    def _output_of(self, result: RunResult) -> Any:
        """The output that the run ended with, from its transcript."""
        form = self._form
        if form is None or result.stop != Stop("output"):
            return None
        text = result.text
        if self._mode == "tool":
            given = [call for call in result.calls if call.name == form.tool.name]
            text = next(call.arguments for call in reversed(given) if call.outcome == "returned")
        verdict = judge(form.tool, text)
        assert isinstance(verdict, CheckedCall)
        return form.value(verdict.bound)

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

    def _system(self) -> str:
        if self._form is None or self._mode != "text":
            return self._instructions
        schema = _AS_JSON.format(schema=dump(self._form.tool.parameters))
        return f"{self._instructions}\n\n{schema}".strip()


class _Segment(Struct, frozen=True, kw_only=True, eq=False):
    """What one segment of a run starts from."""

    setup: Setup
    state: State
    begins: int
    decisions: Mapping[str, FinalDecision] = {}
    earlier: tuple[CallRecord, ...] = ()


def _user(prompt: Prompt) -> User:
    if isinstance(prompt, User):
        return prompt
    if isinstance(prompt, str):
        return said(prompt)
    return User(tuple(Text(part) if isinstance(part, str) else part for part in prompt))


def _default_window(model: Model, max_tokens: int | None) -> Window | None:
    """What the model's context leaves for messages, with room for the reply, the tools and error."""
    context = model.profile.context_window
    if context is None:
        return None
    return Window(tokens=max(int(context * 0.75) - (max_tokens or 0), context // 4))


def ask(
    prompt: Prompt, *, model: Model | str, tools: ToolSource = (), **options: Unpack[RunOptions]
) -> str:
    """One question, one answer: the text of an agent's reply. Raises when a run ends without one."""
    result = Agent(model, tools).run_sync(prompt, **options)
    if not result.stop.is_answer:
        error = LimitReached(f"the run ended without an answer: {result.stop}")
        error.result = result
        raise error
    return result.text
