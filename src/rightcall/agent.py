"""The public Agent: a model, tools and instructions."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from functools import partial
from os import urandom
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack, cast, overload

from msgspec.structs import replace
from typing_extensions import TypeForm, TypeVar

from rightcall.background import run_sync
from rightcall.core.budget import Budget
from rightcall.core.entry import Entry, RunResumed, RunStarted
from rightcall.core.events import Emit
from rightcall.core.handler import Context
from rightcall.core.history import mend
from rightcall.core.message import Author, Transcript, User, user_text
from rightcall.core.options import check_keywords, fits, other_words
from rightcall.core.ports import RunInbox, Steps
from rightcall.core.request import RequiredOutput
from rightcall.core.tool import Tool
from rightcall.declare.function import tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import RightcallError, RunStopped, ToolFailure, UsageError
from rightcall.gate.concurrency import RUN_CONCURRENCY
from rightcall.gate.executor import Executor, checked_async
from rightcall.gate.gate import Decisions, guard_above, validate_decisions
from rightcall.loop.agent_config import (
    EMPTY_PROMPT,
    UNNAMED,
    AgentConfig,
    is_conversation,
    look_for_tools,
    read_options,
    split_conversation,
    unpriced_model,
    user_message,
)
from rightcall.loop.events import RunStream
from rightcall.loop.handoffs import (
    check_agent_names,
    check_first_agent,
    check_guards,
    find_agent,
    handoff_tool,
    is_handed_over,
    reachable_agents,
    read_handoffs,
)
from rightcall.loop.inner_runs import nesting_of, rules_below
from rightcall.loop.observers import with_outer_observers
from rightcall.loop.output_checks import with_check
from rightcall.loop.replay import check_standing, forget_decisions, resume_once
from rightcall.loop.result import RunResult, dropped_in, require_output
from rightcall.loop.run import Run
from rightcall.loop.settings import (
    AgentOptions,
    Deps,
    Handoff,
    HandoffAgent,
    Instructions,
    Intents,
    ModelSource,
    NeedyResumeOptions,
    NeedyRunOptions,
    RecoverOptions,
    ResumeOptions,
    RunOptions,
    RunPrompt,
    Setup,
)
from rightcall.loop.state import State, initial_state
from rightcall.loop.window import Carryover
from rightcall.models.fallback_model import OpenedModels
from rightcall.record.steps import (
    Holding,
    UnrecordedSteps,
    decisions_in,
    queued_in,
    redacted_calls,
    traces_in,
)
from rightcall.wire.history import ChatHistory, history_of

if TYPE_CHECKING:
    from rightcall.conversation.run_handle import RunHandle

T = TypeVar("T")
Answered = TypeVar("Answered", default=str)
"""What an agent answers with: text, unless it has an ``output``."""
_TEXT = cast("type[str]", None)
"""The default of ``output``, which type checkers take for the type of a text."""
Check = TypeVar("Check", bound=Callable[..., Any])


class Agent(Generic[Deps, Answered]):
    """A model with tools. ``history`` continues a conversation; ``conversations`` stores them by id.

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
                "output_validator": "@agent.validate, or output=rc.Output(…, check=…)",
            }
        )

    @check_keywords("rc.Agent", say="rc.Agent(…, {}=…)")
    def __init__(
        self,
        model: ModelSource,
        tools: ToolSource[Deps] | None = (),
        instructions: Instructions | None = "",
        *,
        output: TypeForm[Answered] = _TEXT,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None:
        self._opened = OpenedModels()
        skills: tuple[Tool, ...] = ()
        if options.get("skills") is not None:
            from rightcall.conversation.skills import skill_tools  # noqa: PLC0415 - light until used

            skills = skill_tools(options["skills"])
        config = read_options(
            self._opened.model(model), tools, instructions, output, options, self._opened.model, skills
        )
        self._config = config
        if config.handoffs:
            check_agent_names(self, config.handoffs, _handoffs_of)
        self._executor = Executor(concurrency=options.get("concurrency", RUN_CONCURRENCY))
        self._carryover = Carryover()
        self._journal = options.get("journal")
        self._conversations = options.get("conversations")
        self.output = output
        self.trust = config.rules
        self.tools = config.toolbox()
        if config.large_results is not None and not config.is_live:
            config.large_results.check_tools(self.tools.names())
        self._setup = config.compose(self._executor, config.mode)
        """What every run starts from that overrides nothing."""
        config.check_footprint(self._setup, options.get("footprint", "warn"))

    def validate(self, check: Check) -> Check:
        """Check every answer by a function, as a decorator: what it raises goes back to the model.

        It gets the answer, and the run's Context if it takes two arguments; it may be async. It is the
        same as ``output=rc.Output(…, check=…)``.
        """
        form = self._config.form
        if form is None:
            raise UsageError("@agent.validate checks an output, and this agent has none: say output=…")
        self._config = replace(self._config, form=with_check(form, check))
        self._setup = self._config.compose(self._executor, self._config.mode)
        return check

    def add_handoffs(self, *handoffs: HandoffAgent | Handoff) -> None:
        """Add agents that its runs may be handed over to, such as one that hands over to this one."""
        added = read_handoffs(handoffs, self.output)
        check_agent_names(self, added, _handoffs_of)
        config = self._config
        tools = Toolbox(config.tools, [handoff_tool(each) for each in added])
        self._config = replace(config, handoffs=(*config.handoffs, *added), tools=tools)
        self.tools = self._config.toolbox()
        self._setup = self._config.compose(self._executor, self._config.mode)

    @property
    def name(self) -> str:
        """What it is called in journals and traces, and as another agent's tool."""
        return self._config.name

    @name.setter
    def name(self, name: str) -> None:
        self._config = replace(self._config, name=name)
        self._setup = replace(self._setup, agent=name)

    @property
    def budget(self) -> Budget:
        """What each of its runs may use."""
        return self._config.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._config = replace(self._config, budget=budget)

    # Without dependencies an agent runs only if its tools need none: the first of each pair. A call that
    # fits neither is told of both.
    @overload
    async def run(
        self: "Agent[None, Answered]", prompt: RunPrompt, **options: Unpack[RunOptions[Any]]
    ) -> RunResult[Answered]: ...
    @overload
    async def run(
        self, prompt: RunPrompt, **options: Unpack[NeedyRunOptions[Deps]]
    ) -> RunResult[Answered]: ...
    @checked_async("agent.run", say="agent.run(…, {}=…)")
    async def run(self, prompt: RunPrompt, **options: Unpack[RunOptions[Any]]) -> RunResult[Answered]:
        """Run until an answer, a limit or a pause; ``result.stop`` says which.

        Raises NoOutput if the agent has an ``output`` and the run ends without it.
        """
        result = await self._begin(prompt, options)
        return result if self._config.form is None else require_output(result)

    @overload
    def run_sync(
        self: "Agent[None, Answered]", prompt: RunPrompt, **options: Unpack[RunOptions[Any]]
    ) -> RunResult[Answered]: ...
    @overload
    def run_sync(
        self, prompt: RunPrompt, **options: Unpack[NeedyRunOptions[Deps]]
    ) -> RunResult[Answered]: ...
    @check_keywords("agent.run_sync")
    def run_sync(self, prompt: RunPrompt, **options: Unpack[RunOptions[Any]]) -> RunResult[Answered]:
        """``run``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.run(prompt, **options))

    @checked_async("agent.check_intents")
    async def check_intents(self, intents: Intents, *, dependencies: Deps | None = None) -> list[str]:
        """What a run with these intents could not do, because a reference gives nothing; for repair.

        References are looked up as the run would do it. Raises UsageError for what no tool fits.
        """
        from rightcall.loop.stated_intents import check_references  # noqa: PLC0415 - seldom needed

        options: RecoverOptions[Deps] = {"dependencies": dependencies}
        setup = self._compose(self._config, urandom(16).hex(), UnrecordedSteps(), options)
        return await check_references(setup, intents)

    async def close(self) -> None:
        """Close the models that the agent connected by name. Models that you passed in stay open."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @check_keywords("agent.start")
    def start(self, prompt: RunPrompt, **options: Unpack[RunOptions[Deps]]) -> "RunHandle[Answered]":
        """Begin a run that goes on by itself, and that messages can be added to: a RunHandle."""
        from rightcall.conversation.run_handle import RunHandle  # noqa: PLC0415 - light until used

        if options.get("inbox") is not None:
            raise UsageError("agent.start makes the run's inbox itself; agent.run takes one of yours")
        run = options.get("run") or urandom(16).hex()

        async def begin(inbox: RunInbox, emit: Emit) -> RunResult[Answered]:
            return await self._begin(prompt, {**options, "run": run, "inbox": inbox}, emit)

        async def give_up() -> None:
            conversation = options.get("conversation")
            if self._conversations is not None and conversation is not None:
                await self._conversations.abandon(conversation)

        return RunHandle(run, begin, give_up)

    @overload
    def stream(
        self: "Agent[None, Answered]", prompt: RunPrompt, **options: Unpack[RunOptions[Any]]
    ) -> RunStream[Answered]: ...
    @overload
    def stream(
        self, prompt: RunPrompt, **options: Unpack[NeedyRunOptions[Deps]]
    ) -> RunStream[Answered]: ...
    @check_keywords("agent.stream")
    def stream(self, prompt: RunPrompt, **options: Unpack[RunOptions[Any]]) -> RunStream[Answered]:
        """``run`` as a stream of events; the last is RunEnd, with the result."""
        return RunStream(partial(self._begin, prompt, options))

    @overload
    async def resume(
        self: "Agent[None, Answered]",
        result: RunResult[Any],
        decisions: Decisions,
        **options: Unpack[ResumeOptions[Any]],
    ) -> RunResult[Answered]: ...
    @overload
    async def resume(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        **options: Unpack[NeedyResumeOptions[Deps]],
    ) -> RunResult[Answered]: ...
    @checked_async("agent.resume")
    async def resume(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Any]]
    ) -> RunResult[Answered]:
        """Continue a run that waits for approval, here or in another process.

        ``decisions`` are by call id; every pending call needs one: True or ``Allow()``, False or
        ``Deny("why")``, ``Rewrite({...})`` for other arguments, ``Answer("...")`` to give the result
        yourself. The first answer counts: repeating it does nothing, a different one raises
        AlreadyDecided. ``wait`` is how many seconds to wait if another process holds the run, before
        RunHeld. If the run was started with its own ``model``, ``tools``, ``options`` or
        ``max_tokens``, pass them again here.
        """
        return await self._resume(result, decisions, options)

    async def _resume(
        self, result: RunResult[Any], decisions: Decisions, options: ResumeOptions[Any]
    ) -> RunResult[Answered]:
        return require_output(await self._go_on(result, decisions, options))

    @overload
    def resume_sync(
        self: "Agent[None, Answered]",
        result: RunResult[Any],
        decisions: Decisions,
        **options: Unpack[ResumeOptions[Any]],
    ) -> RunResult[Answered]: ...
    @overload
    def resume_sync(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        **options: Unpack[NeedyResumeOptions[Deps]],
    ) -> RunResult[Answered]: ...
    @check_keywords("agent.resume_sync")
    def resume_sync(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Any]]
    ) -> RunResult[Answered]:
        """``resume``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self._resume(result, decisions, options))

    @check_keywords("agent.resume_stream")
    def resume_stream(
        self, result: RunResult[Any], decisions: Decisions, **options: Unpack[ResumeOptions[Deps]]
    ) -> RunStream[Answered]:
        """``resume`` as a stream of events; the last is RunEnd, with the result."""
        return RunStream(partial(self._go_on, result, decisions, options))

    async def _go_on(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        options: ResumeOptions[Deps],
        emit: Emit | None = None,
    ) -> RunResult[Answered]:
        if not fits(result, RunResult):
            raise UsageError(f"agent.resume takes a RunResult that waits, not a {type(result).__name__}")
        if self._conversations is None:
            if result.conversation:
                raise UsageError(
                    f"this run waits in the conversation {result.conversation!r}: resume it by an agent "
                    "that has it, rc.Agent(…, conversations=…)"
                )
            return await self._resume_run(result, decisions, options, emit)
        going = partial(self._resume_run, result, decisions, options, emit)
        is_kept = self._journal is not None or options.get("steps") is not None
        resumed: RunResult[Answered] = await _load_turns().resume_in_turn(
            self._conversations, result, going, is_kept=is_kept
        )
        return resumed

    async def _resume_run(
        self,
        result: RunResult[Any],
        decisions: Decisions,
        options: ResumeOptions[Deps],
        emit: Emit | None,
    ) -> RunResult[Answered]:
        decided = validate_decisions(result.pending, decisions)
        steps = options.get("steps")
        async with Holding(self._journal, result.run, wait=options.get("wait", 0.0)) as held:
            check_standing(result, decided, decisions_in(held.entries))
            config = self._config.with_overrides(options, self._opened.model)
            state = result.state
            wanted = None if state.path else state.wanted
            setup = self._compose(config, result.run, self._steps(held, steps), options, wanted)
            setup = _restore_inbox(setup, held.entries, paused=state)
            setup = self._follow_handoffs(setup, state)
            look_for_tools(held.entries, result.pending, setup)
            if state.system is None:
                state = replace(state, system=await config.system(setup, steps))
            run = Run(
                setup,
                state,
                begins=result.begins,
                emit=emit,
                decisions=decided,
                earlier=result.calls,
                dropped=result.dropped,
            )
            is_unknown = self._journal is None and steps is None and bool(decided)
            with resume_once(result, decided, run) if is_unknown else nullcontext():
                return config.with_output(await run.go(RunResumed(decisions=decided)))

    def _follow_handoffs(self, setup: Setup, state: State) -> Setup:
        """Returns the setup of the agent at work in a run that waits, and may have been handed over."""
        if state.path:
            check_first_agent(setup.run, state.began_by, self.name)
            for name in state.path:
                setup = find_agent(self, name, _handoffs_of).take_over(setup)
            check_guards(setup.run, state.guards, setup)
        return setup

    def take_over(self, before: Setup) -> Setup:
        """Returns the setup with which it goes on in a run that another agent began, for handoffs."""
        config = self._config
        base = self._setup
        earlier = before.earlier_rules
        if config.rules is None and before.trust is not None:
            config = replace(config, rules=before.trust)
        elif before.trust is not None and before.trust not in (config.rules, *earlier):
            earlier = (*earlier, before.trust)
        if config is not self._config or base.follow is not None:
            base = config.compose(self._executor, config.mode)
        if base.needs and before.dependencies is None:
            raise UsageError(f"dependencies=… is missing: the tool {base.needs} needs it")
        return replace(
            base,
            run=before.run,
            steps=before.steps,
            executor=self._executor.for_run(),
            above=before.above,
            approve=base.approve or before.approve,
            observers=before.observers,
            around=before.around,
            clock=before.clock,
            inbox=before.inbox,
            dependencies=before.dependencies,
            earlier_rules=earlier,
        )

    async def begin_turn(self, setup: Setup) -> tuple[str, RequiredOutput | None]:
        """Returns its instructions for a run, and the output that it is to give, for handoffs."""
        config = self._config
        mode = config.mode
        wanted = None
        if config.form is not None and mode is not None:
            wanted = config.form.required_output(mode)
        return await config.system(setup, None), wanted

    @checked_async("agent.recover")
    async def recover(self, run: str, **options: Unpack[RecoverOptions[Deps]]) -> RunResult[Answered]:
        """Continue a run whose process died, from its journal. What was done is not done again.

        If another process holds the run, this raises RunHeld after ``wait`` seconds. The instructions
        come from the journal. If the run was started with its own ``model``, ``tools``, ``options`` or
        ``max_tokens``, pass them again here.
        """
        if self._conversations is None:
            return await self._recover(run, options)
        return await self._go_on_in_turn(run, partial(self._recover, run, options))

    async def _recover(self, run: str, options: RecoverOptions[Deps]) -> RunResult[Answered]:
        if self._journal is None:
            raise UsageError("an agent without a journal has nothing to recover from")
        async with Holding(self._journal, run, wait=options.get("wait", 0.0)) as held:
            start = next((entry for entry in held.entries if isinstance(entry, RunStarted)), None)
            if start is None:
                raise UsageError(f"the journal holds no run {run!r}")
            began_by = start.agent or UNNAMED
            if began_by != self.name and is_handed_over(held.entries):
                check_first_agent(run, began_by, self.name)
            config = self._config.with_overrides(options, self._opened.model)
            setup = self._compose(config, run, held.steps(), options, start.wanted)
            setup = _restore_inbox(setup, held.entries)
            if not config.handoffs:
                # A run that was handed over changes hands again while it is recovered.
                look_for_tools(held.entries, (), setup)
            going = Run(
                setup,
                replace(initial_state(start), traces=traces_in(held.entries)),
                begins=len(start.messages) - 1,
                decisions={**redacted_calls(held.entries), **decisions_in(held.entries)},
                dropped=dropped_in(held.entries),
            )
            return require_output(config.with_output(await going.go()))

    @check_keywords("agent.recover_sync")
    def recover_sync(self, run: str, **options: Unpack[RecoverOptions[Deps]]) -> RunResult[Answered]:
        """``recover``, for code that cannot await; also where an event loop already runs."""
        return run_sync(self.recover(run, **options))

    @check_keywords("agent.as_tool")
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
                if self.trust or guard_above():
                    author: Author = "agent"
                else:
                    author = "user"
                result = await self._run_nested(user_text(task, author), context, budget or self.budget)
            except RightcallError as error:
                if error.result is not None:
                    context.spend(error.result.usage)
                raise
            if result is None:
                return None
            context.spend(result.usage)
            if not result.stop.is_answer:
                raise ToolFailure(f"The agent stopped without an answer: {result.stop}.")
            return result.output

        from rightcall.trust.facts import facts_together  # noqa: PLC0415 - light until used

        asks = unpriced_model(self._config.model, self.tools)
        made = tool(
            delegate,
            name=name or self.name,
            description=description or f"Hand a task to {self.name}. Say everything it needs to know.",
            timeout=timeout,
            dry_run=True,
            # Its exceptions hold the text of its model's vendor.
            errors="raise" if self._config.errors == "raise" else "neutral",
            facts=facts_together(self.tools, is_guarded=self._setup.trust is not None),
        )
        assert made.calling is not None
        calling = replace(made.calling, needs=self._setup.needs)
        return made.replace(delegates=True, inside=self._find_tool, unpriced=asks, calling=calling)

    def _find_tool(self, name: str) -> Tool | None:
        """Returns its tool of that name, or that of an agent which its runs can be handed over to."""
        for agent in reachable_agents(self, _handoffs_of):
            found: Tool | None = agent.tools.get(name)
            if found is not None:
                return found
        return None

    async def _run_nested(
        self, task: User, context: Context[Any], budget: Budget
    ) -> RunResult[Answered] | None:
        """Run a task that another run handed on; None if it waits for a person, or cannot continue."""
        nesting = nesting_of(context.key)
        if nesting is None:
            alone: RunOptions[Any] = {
                "dependencies": context.dependencies,
                "budget": budget,
                "dry_run": context.dry_run,
            }
            return await self._begin(task, alone)
        config = self._config
        paused = nesting.paused
        journal = self._journal if nesting.steps is None else None
        async with Holding(journal, nesting.run) as held:
            steps = nesting.steps or held.steps()
            options: RunOptions[Any] = {
                "budget": budget,
                "steps": steps,
                "dry_run": context.dry_run,
                "dependencies": context.dependencies,
            }
            wanted = None
            if paused is not None and not paused.state.path:
                wanted = paused.state.wanted
            setup = self._compose(config, nesting.run, steps, options, wanted)
            setup = replace(setup, approve=setup.approve or nesting.approve)
            setup = with_outer_observers(setup, nesting.setup)
            start = None
            begins = 0
            if paused is None:
                start = await config.make_start_entry(setup, (task,), options)
                state = initial_state(start)
            else:
                setup = self._follow_handoffs(setup, paused.state)
                nesting.look_for_tools(setup.tools)
                if nesting.lost is not None:
                    return None
                state = paused.state
                begins = paused.begins
            going = Run(setup, state, begins=begins, emit=nesting.emit, decisions=nesting.decisions)
            result = await going.go(start)
        if result.stop.reason == "pending":
            nesting.waits = result
            return None
        return config.with_output(result)

    async def _begin(
        self, prompt: RunPrompt, options: RunOptions[Deps], emit: Emit | None = None
    ) -> RunResult[Answered]:
        chat = None
        if options.get("history") is not None:
            chat = history_of(options["history"])
        elif (not prompt or (isinstance(prompt, str) and prompt.isspace())) and not options.get(
            "conversation"
        ):
            raise UsageError(EMPTY_PROMPT)
        if isinstance(prompt, str):
            message = user_text(prompt)
        elif is_conversation(prompt):
            chat, message = split_conversation(prompt, chat)
        else:
            message = await user_message(prompt)
        if options and options.get("conversation") is not None:
            if is_conversation(prompt):
                raise UsageError("a run continues a conversation= or takes messages, and not both")
            return await self._take_turn(message, options, emit)
        messages: Transcript = (message,)
        if chat is not None:
            messages = (*mend(chat.messages).messages, message)
        name = options.get("run")
        if name:
            # A run of this name starts anew, whatever was decided about an earlier one.
            forget_decisions(name)
        run = name or urandom(16).hex()
        steps = options.get("steps")
        if self._journal is None:
            steps = UnrecordedSteps() if steps is None else steps
            return await self._start(run, messages, chat, options, steps, emit)
        async with Holding(self._journal, run, is_new=not name) as held:
            if held.entries:
                raise UsageError(f"the journal holds a run {run!r} already; recover it, or name another")
            steps = self._steps(held, steps)
            return await self._start(run, messages, chat, options, steps, emit)

    async def _take_turn(
        self, message: User, options: RunOptions[Deps], emit: Emit | None
    ) -> RunResult[Answered]:
        """Run with what was said in a conversation before, and append what is said now."""
        turns = _load_turns()
        conversation = options["conversation"] or ""
        if self._conversations is None:
            raise UsageError(
                "conversation= needs a place where conversations are stored: "
                'rc.Agent(…, conversations=rc.Conversations("chat.sqlite"))'
            )
        if options.get("history") is not None:
            raise UsageError("a run continues a conversation= or a history=, and not both")
        run = options.get("run") or urandom(16).hex()

        async def start(history: Transcript) -> RunResult[Answered]:
            going: RunOptions[Deps] = {**options, "run": run, "conversation": None}
            if history:
                going["history"] = history
            return await self._begin(message, going, emit)

        async def recover(earlier: str) -> RunResult[Answered]:
            return await self._recover(earlier, {})

        keeper = turns.NOBODY if self._journal is None else turns.JOURNAL
        if options.get("steps") is not None:
            keeper = turns.STEPS
        turn = turns.NewTurn(
            conversation=conversation,
            run=run,
            prompt=message,
            keeper=keeper,
            start=start,
            recover=recover,
        )
        result: RunResult[Answered] = await turns.take_turn(self._conversations, turn)
        return result

    async def _go_on_in_turn(
        self, run: str, going: Callable[[], Coroutine[Any, Any, RunResult[Answered]]]
    ) -> RunResult[Answered]:
        """Go on with a run that may be of a conversation."""
        result: RunResult[Answered] = await _load_turns().go_on_in_turn(self._conversations, run, going)
        return result

    async def _start(
        self,
        run: str,
        messages: Transcript,
        chat: ChatHistory | None,
        options: RunOptions[Deps],
        steps: Steps,
        emit: Emit | None,
    ) -> RunResult[Answered]:
        config = self._config
        if options:
            config = config.with_overrides(options, self._opened.model)
        setup = self._compose(config, run, steps, options)
        start = await config.make_start_entry(setup, messages, options, chat)
        going = Run(
            setup, initial_state(start), begins=len(messages) - 1, emit=emit, carryover=self._carryover
        )
        return config.with_output(await going.go(start))

    def _steps(self, held: Holding, given: Steps | None) -> Steps:
        if given is None:
            return held.steps()
        if self._journal is not None:
            raise UsageError("a run is recorded by its agent's journal or by steps=, not by both")
        return given

    def _compose(
        self,
        config: AgentConfig,
        run: str,
        steps: Steps,
        options: RunOptions[Any] | RecoverOptions[Any],
        wanted: RequiredOutput | None = None,
    ) -> Setup:
        """Returns the setup of a run; ``wanted`` is the output that a continued run was asked for."""
        above = guard_above()
        if above is not None and config.rules is None:
            rules = rules_below(above, self.name, run)
            if rules is not None:
                config = replace(config, rules=rules)
        mode = config.mode if wanted is None else wanted.mode
        base = self._setup
        if config is not self._config or base.follow is not None or mode != config.mode:
            base = config.compose(self._executor, mode)
        dependencies = options.get("dependencies")
        if dependencies is None and base.needs:
            raise UsageError(f"dependencies=… is missing: the tool {base.needs} needs it")
        return replace(
            base,
            run=run,
            steps=steps,
            executor=self._executor.for_run(),
            above=above,
            inbox=options.get("inbox"),
            dependencies=dependencies,
        )


def _handoffs_of(agent: object) -> tuple[Handoff, ...]:
    if isinstance(agent, Agent):
        return agent._config.handoffs  # noqa: SLF001 - its own class
    return ()


def _restore_inbox(setup: Setup, entries: Sequence[Entry], *, paused: State | None = None) -> Setup:
    """Returns the setup with an inbox that has the messages which were added.

    Without a record this process knows them. Raises RunStopped if the run was stopped while ``paused``.
    """
    queued = queued_in(entries)
    if paused is None and not queued:
        return setup
    from rightcall.conversation.inbox import Inbox, inbox_of, is_stopped  # noqa: PLC0415 - light until used

    known = None
    said = 0
    if paused is not None:
        known = inbox_of(setup.run)
        if known is not None:
            queued = queued or tuple(known.queued)
        said = paused.said
        if is_stopped(queued, said):
            raise RunStopped(setup.run, "over", "it was stopped while it waited")
    inbox = setup.inbox or known
    if inbox is None:
        if not queued:
            return setup
        inbox = Inbox()
    inbox.restore(queued, said)
    return replace(setup, inbox=inbox)


def _load_turns() -> Any:
    from rightcall.conversation import turns  # noqa: PLC0415 - light until used

    return turns
