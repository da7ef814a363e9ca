"""What a developer declared of an agent, and how a run's setup is composed of it.

``AgentConfig`` is what was declared. A run may override some of it (``with_overrides``); ``compose``
makes the ``Setup`` that the run uses. What an agent does not use is not in it.
"""

import inspect
from asyncio import to_thread
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction
from typing import Any, TypeGuard, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import DEFAULT_COST, Budget
from rightcall.core.decision import PLAN_CALL, VENDOR_CALL
from rightcall.core.entry import Entry, RunEnded, RunStarted, StepDone, ToolsChanged
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply, Results, Transcript, User, estimate_tokens, spec_tokens
from rightcall.core.ports import AroundObserver, LiveTools, Model, Observer, Steps, Tools
from rightcall.core.proposal import Proposal
from rightcall.core.request import (
    Named,
    OutputMode,
    ToolChoice,
    check_model_options,
)
from rightcall.core.tool import ErrorWords, Tool
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.declare.output import AnswerForm, system_with_schema
from rightcall.declare.toolbox import (
    DEFAULTS,
    Then,
    Thresholds,
    Toolbox,
    ToolSource,
    checked_thresholds,
    too_many,
)
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.gate import check_approver
from rightcall.gate.hooks import NO_HOOKS, chain_hooks
from rightcall.log import logger
from rightcall.loop.handoffs import (
    HANDED_OVER,
    ReachableTools,
    handoff_tool,
    read_handed_over,
    read_handoffs,
)
from rightcall.loop.inner_runs import check_inner_tools
from rightcall.loop.output_checks import form_with_check
from rightcall.loop.result import RunResult, with_output
from rightcall.loop.settings import (
    AgentOptions,
    Conversation,
    Handoff,
    Instructions,
    ModelSource,
    RecoverOptions,
    ResultStoring,
    Runner,
    RunOptions,
    RunPrompt,
    Setup,
)
from rightcall.loop.tool_offer import Offered, ToolDisclosure
from rightcall.loop.window import UNKNOWN_CONTEXT, Window, default_window
from rightcall.record.steps import UnrecordedSteps
from rightcall.trust.rules import Rules, apply_rules
from rightcall.wire.history import ChatHistory, history_of

UNNAMED = "agent"
"""The name of an agent that was given none."""
_DEFAULT_BUDGET = Budget()


class AgentConfig(Struct, frozen=True, kw_only=True, eq=False):
    """What a developer declared of an agent; for one run, with what that run overrides."""

    model: Model
    name: str = UNNAMED
    tools: ToolSource = ()
    instructions: Instructions = ""
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    window: Window | None = None
    """None: what the model's context leaves."""
    form: AnswerForm | None = None
    """The form that the answer must have."""
    rules: Rules | None = None
    """The trust rules that apply."""
    skills: tuple[Tool, ...] = ()
    """The tools that read skills. They are never deferred."""
    errors: ErrorWords | None = None
    """What becomes of what a tool raises, for tools that do not set ``errors``."""
    disclosure: ToolDisclosure = ToolDisclosure()
    """How and when the model is told of its tools."""
    budget: Budget = Budget()
    handoffs: tuple[Handoff, ...] = ()
    """The agents that its runs can be handed over to."""
    retry_broken: bool | None = None
    """None: retry only if the model has another to fall back on."""
    large_results: ResultStoring | None = None
    """Where large results are stored, if they are."""
    fixed: Mapping[str, Any] = {}
    """Members of the Setup that no run overrides: policy, plan, approve, hooks, observers and so on."""

    @property
    def mode(self) -> OutputMode | None:
        """How the answer's form is enforced; None if there is none."""
        if self.form is None:
            return None
        return self.form.output.mode or self.model.profile.structured

    @property
    def is_live(self) -> bool:
        """Whether the tools may change during a run."""
        return any(True for _ in _live_in(self.tools))

    def with_overrides(
        self, options: RunOptions[Any] | RecoverOptions[Any], connect: Callable[[ModelSource], Model]
    ) -> "AgentConfig":
        """Returns a copy with a run's own settings in place of the agent's; ``connect`` opens models."""
        changes: dict[str, Any] = {}
        for name in ("tools", "instructions"):
            value = options.get(name)
            if value is not None:
                changes[name] = value
        if "max_tokens" in options:
            changes["max_tokens"] = options["max_tokens"]
        if (model := options.get("model")) is not None:
            changes["model"] = connect(model)
        if (model_options := options.get("options")) is not None:
            check_model_options(model_options)
            changes["options"] = {**self.options, **model_options}
        if changes:
            return replace(self, **changes)
        return self

    def toolbox(self, source: ToolSource | None = None, *, is_live: bool = False) -> Toolbox:
        """Returns the tools as a run needs them."""
        tools = self.tools if source is None else source
        whole = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        box = self.disclosure.toolbox(whole, self.model, is_live=is_live)
        if self.skills:
            box = Toolbox(box, *self.skills)
        errors = self.errors
        if errors is None and self.rules is not None:
            # An exception may quote what an outsider wrote, and its words have no label.
            errors = "neutral"
        if errors is not None:
            # A tool's own setting wins, such as that of a tool whose exceptions may hold untrusted text.
            box = Toolbox([each.replace(errors=each.errors or errors) for each in box])
        if self.rules is not None:
            from rightcall.trust.facts import label_untrusted  # noqa: PLC0415 - light until used

            # Text that the rules treat as untrusted must be labelled as such for the model.
            box = Toolbox([label_untrusted(apply_rules(each, self.rules)) for each in box])
        if self.large_results is not None:
            box = self.large_results.limit_tools(box)
        return box

    def compose(self, executor: Runner, mode: OutputMode | None) -> Setup:
        """Returns the setup of a run that has no name yet; ``mode`` is how its answer is enforced."""
        follow = None
        if self.is_live:
            live = LiveToolbox(self.tools, partial(self.toolbox, is_live=True))
            offered = self._offer_tools(live.toolbox, mode)
            follow = partial(self._offer_changes, live, mode)
        else:
            offered = self._offer_tools(self.toolbox(), mode)
        tokens = spec_tokens(offered.specs)
        window = self.window
        if window is None:
            # What the model's context leaves, with room for tools that it may find.
            found = self.disclosure.settings.tokens if offered.later else 0
            context = self.model.profile.context_window
            if context is None:
                name = getattr(self.model, "name", type(self.model).__name__)
                _inform_once(
                    f"the context window of {name} is not known: {UNKNOWN_CONTEXT:,} tokens are "
                    "assumed; rc.Agent(…, window=rc.conversation.Window(tokens=…)) says how much "
                    "history is sent"
                )
            window = default_window(context, self.max_tokens, tokens + found)
        setup = Setup(
            run="",
            agent=self.name,
            model=self.model,
            tools=offered.after({}).tools,
            steps=UnrecordedSteps(),
            executor=executor,
            specs=offered.specs,
            tool_tokens=tokens,
            offered=offered if offered.later else None,
            follow=follow,
            options=self.options,
            max_tokens=self.max_tokens,
            answer=None if self.form is None else self.form.tool,
            view=None if self.form is None else self.form.view,
            trust=self.rules,
            window=window,
            needs=_needed_by(offered.tools),
            large_results=self.large_results,
            handoffs={handoff_tool(each).name: each for each in self.handoffs},
            **self.fixed,
        )
        if setup.compact is not None:
            return setup.compact.compact_setup(setup)
        return setup

    def _offer_tools(self, tools: Toolbox, mode: OutputMode | None) -> Offered:
        """Returns the tools that are offered, with the answer tool if there is one."""
        if self.form is None or mode != "tool":
            offered = self.disclosure.offer(tools)
        else:
            answer = self.form.tool
            offered = self.disclosure.offer(Toolbox(tools, answer), answer.name)
        if self.large_results is not None:
            return self.large_results.offer_reader(offered)
        return offered

    def _offer_changes(self, live: "LiveToolbox", mode: OutputMode | None) -> Offered | None:
        changed = live.changed_toolbox()
        if changed is None:
            return None
        return self._offer_tools(changed, mode)

    def check_footprint(self, setup: Setup, footprint: Then | Thresholds) -> None:
        """Warn or raise if the tools are too many or too long."""
        if footprint == "off":
            return
        thresholds = DEFAULTS if footprint == "warn" else checked_thresholds(footprint)
        then = thresholds.get("then", "warn")
        context = self.model.profile.context_window or UNKNOWN_CONTEXT
        advice = too_many(len(setup.specs), setup.tool_tokens, context, thresholds)
        if advice and then == "refuse":
            raise UsageError(f"rc.Agent(…, footprint=…): {advice}")
        if advice and then == "warn":
            more = 'rc.tools.footprint(tools) says more, footprint="off" says no more'
            logger.warning("%s; %s", advice, more)

    async def make_start_entry(
        self,
        setup: Setup,
        messages: Transcript,
        options: RunOptions[Any],
        history: ChatHistory | None = None,
    ) -> RunStarted:
        """Validate the run's options, and return its first entry."""
        intents = options.get("intents")
        stated = None
        if intents is not None:
            from rightcall.loop.stated_intents import note_intents  # noqa: PLC0415 - only some runs need it

            whole = setup
            if self.handoffs:
                # They are stated for the task, whoever goes on with it.
                whole = replace(setup, tools=ReachableTools(setup))
            stated = note_intents(intents, whole)
        budget = options.get("budget") or self.budget
        # By identity: a developer who writes the default must be warned if it cannot be enforced.
        if budget.cost is not None and (budget.strict or budget.cost is not DEFAULT_COST):
            check_cost_limit(budget, setup.model, setup.tools)
        choice = options.get("choice")
        if choice is not None:
            check_choice(choice, setup)
        if "vendor_tools" in setup.options:
            check_vendor_tools(setup)
        system = self.instructions
        if history is not None or self.form is not None or not isinstance(system, str):
            system = await self.system(setup, options.get("steps"), history)
        mode = self.mode
        wanted = None
        if self.form is not None and mode is not None:
            wanted = self.form.required_output(mode)
        if choice is None:
            choice = "auto"
            if wanted is not None and wanted.mode == "tool" and len(setup.specs) == 1:
                # An agent whose only tool is its answer must call it.
                choice = Named(wanted.tool)
        retry_broken = self.retry_broken
        if retry_broken is None:
            retry_broken = setup.model.profile.has_another
        return RunStarted(
            messages=messages,
            budget=budget,
            system=system,
            specs=setup.specs,
            choice=choice,
            sticky_choice=options.get("sticky_choice", False),
            retry_broken=retry_broken,
            wanted=wanted,
            intents=stated,
            dry_run=options.get("dry_run", False),
            agent="" if self.name == UNNAMED else self.name,
        )

    async def system(self, setup: Setup, steps: Steps | None, history: ChatHistory | None = None) -> str:
        """Returns the run's instructions; as a recorded step if a function makes them.

        A history in a vendor's format may hold a system text of its own.
        """
        system = self.instructions
        if not isinstance(system, str):
            system = await _read_instructions(system, setup, steps)
        if history is not None and history.system:
            system = history.system_under(system)
        if self.form is None or self.mode not in {"text", "json"}:
            return system
        return system_with_schema(system, self.form.tool.parameters)

    def with_output(self, result: RunResult[Any]) -> RunResult[Any]:
        """Returns the result with the run's output, read from its transcript."""
        if self.form is None:
            return result
        return with_output(result, self.form)


def _needed_by(tools: Tools) -> str:
    """Returns the first tool that needs dependencies, as it takes them; empty if none does."""
    for name in tools.names():
        tool = tools.get(name)
        assert tool is not None
        calling = tool.calling or tool.invocation
        if calling is not None and calling.needs:
            return f"{name}({calling.context}: Context[{calling.needs}])"
    return ""


_MOST_SHOWN = 60


def _check_composed(options: AgentOptions) -> None:
    """Refuse what is no plan, compaction or store of results, and what does not go together."""
    plan = options.get("plan")
    if plan is not None and not hasattr(plan, "connect_models"):
        raise UsageError(f"plan= is rc.Plan(reader=…), and not {plan!r}")
    compact = options.get("compact")
    if compact is not None and not hasattr(compact, "connect_models"):
        raise UsageError(f"compact= is rc.Compaction(…), and not {compact!r}")
    large_results = options.get("large_results")
    if large_results is not None and not hasattr(large_results, "store_for"):
        raise UsageError(f"large_results= is rc.conversation.LargeResults(…), and not {large_results!r}")
    if plan is not None and (compact is not None or large_results is not None):
        raise UsageError(
            "plan= goes with neither compact= nor large_results=: a plan reads every result whole"
        )


def read_options(
    model: Model,
    tools: ToolSource | None,
    instructions: Instructions | None,
    output: Any,
    options: AgentOptions,
    connect: Callable[[ModelSource], Model],
    skills: tuple[Tool, ...] = (),
) -> AgentConfig:
    """Check what was said of an agent by keyword, and return it as its runs need it."""
    model_options = options.get("options") or {}
    check_model_options(model_options)
    if tools is None:
        tools = ()
    _check_texts(tools, instructions)
    handoffs: tuple[Handoff, ...] = ()
    if given_handoffs := options.get("handoffs"):
        handoffs = read_handoffs(given_handoffs, output)
        tools = [tools, [handoff_tool(each) for each in handoffs]]
    if not any(True for _ in _live_in(tools)):
        # So that functions are declared once, and not for each use of the tools.
        tools = Toolbox(tools)
    check_approver(options.get("approve"))
    rules = options.get("trust")
    _check_composed(options)
    plan = options.get("plan")
    compact = options.get("compact")
    large_results = options.get("large_results")
    if large_results is not None:
        large_results = large_results.store_for(options.get("journal"))
    given = options.get("observers") or ()
    around = [each for each in given if isinstance(each, AroundObserver)]
    plain = [each for each in given if callable(each) or not isinstance(each, AroundObserver)]
    hooks = options.get("hooks")
    fixed: dict[str, Any] = {
        "policy": options.get("policy"),
        "approve": options.get("approve"),
        "plan": None if plan is None else plan.connect_models(connect, rules),
        "hooks": NO_HOOKS if hooks is None else chain_hooks(hooks),
        "observers": plain_observers(plain),
        "around": tuple(around),
        "count": options.get("count") or estimate_tokens,
        "compact": None if compact is None else compact.connect_models(connect),
        "speculate": options.get("speculate", True),
    }
    return AgentConfig(
        model=model,
        name=options.get("name", UNNAMED),
        tools=tools,
        instructions=instructions or "",
        options=cast("Mapping[str, Any]", model_options),
        max_tokens=options.get("max_tokens"),
        window=options.get("window"),
        form=None if output is None else form_with_check(output),
        rules=rules,
        skills=skills,
        errors=options.get("errors"),
        disclosure=ToolDisclosure(options.get("descriptions", "full"), options.get("defer", False)),
        budget=options.get("budget") or _DEFAULT_BUDGET,
        handoffs=handoffs,
        retry_broken=options.get("retry_broken"),
        large_results=large_results,
        fixed=fixed,
    )


def _check_texts(tools: object, instructions: object) -> None:
    """Raise UsageError for a text in place of tools, and for instructions that are none."""
    if isinstance(tools, str | bytes):
        shown = repr(tools if len(tools) <= _MOST_SHOWN else f"{tools[:_MOST_SHOWN]!s}…")
        raise UsageError(
            f"rc.Agent: tools are functions and tools, and not the text {shown}; what the model is "
            f"told is instructions={shown}"
        )
    if not (instructions is None or isinstance(instructions, str) or callable(instructions)):
        raise UsageError(
            "rc.Agent: instructions must be text or a function or None, not of the type "
            f"{type(instructions).__name__}"
        )


async def _read_instructions(instructions: Any, setup: Setup, steps: Steps | None) -> str:
    async def body() -> Entry:
        context: Context[Any] = Context(
            call_id="", tool="", key=setup.run, run=setup.run, dependencies=setup.dependencies
        )
        if _takes_one(instructions):
            said = instructions(context)
        else:
            said = instructions()
        text = await said if isawaitable(said) else said
        if not isinstance(text, str):
            raise UsageError(f"instructions are a text, and not {type(text).__name__}")
        return StepDone(key="run.instructions", value=text)

    entry = await (body() if steps is None else steps.step("run.instructions", body))
    assert isinstance(entry, StepDone)
    return entry.value


def _takes_one(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.kind is not p.VAR_KEYWORD and p.kind is not p.KEYWORD_ONLY for p in parameters)


def unpriced_model(model: Model, tools: Tools) -> str:
    """Returns the first model without known prices that a run may ask, inner agents included."""
    if not model.profile.priced:
        if type(model).__repr__ is not object.__repr__:
            return repr(model)
        return type(model).__name__
    handed_on = (tools.get(name) for name in tools.names())
    found = (tool for tool in handed_on if tool is not None and tool.unpriced)
    return next((f"{tool.unpriced} (asked by {tool.name})" for tool in found), "")


def check_cost_limit(budget: Budget, model: Model, tools: Tools) -> None:
    """Warn if a limit in dollars cannot be enforced, or refuse to run if ``strict``."""
    name = unpriced_model(model, tools)
    if not name:
        return
    words = (
        f"Budget(cost={budget.cost:g}) cannot be enforced: the price of {name} is not known. Prices "
        "come with genai-prices (pip install 'rightcall[prices]'); a model whose replies contain their "
        "cost has Profile(priced=True); cost=None lifts the limit"
    )
    if budget.strict:
        raise UsageError(words)
    _warn_once(words)


@lru_cache(maxsize=256)
def _warn_once(words: str) -> None:
    logger.warning(words)


@lru_cache(maxsize=256)
def _inform_once(words: str) -> None:
    logger.info(words)


def check_choice(choice: ToolChoice, setup: Setup) -> None:
    """Raise UsageError for a choice of a missing tool. A vendor's own tools may have any name."""
    if not isinstance(choice, Named) or setup.options.get("vendor_tools"):
        return
    names = [spec.name for spec in setup.specs]
    if choice.name in names:
        return
    near = get_close_matches(choice.name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    if names:
        there = f"there is {', '.join(names)}"
    else:
        there = "there are none at all"
    raise UsageError(f"choice: there is no tool {choice.name!r}; {hint}{there}")


def plain_observers(given: Sequence[Observer]) -> tuple[Observer, ...]:
    """Validate the observers: one that would have to be awaited is refused."""
    for observer in given:
        called: object = observer
        while isinstance(called, partial):
            called = called.func
        if not callable(called):
            raise UsageError(f"an observer is a function, not {type(called).__name__}")
        if any(map(_is_awaited, (called, type(called).__call__))):
            name = getattr(called, "__qualname__", type(called).__qualname__)
            raise UsageError(
                f"the observer {name} is async, and observers are not awaited: "
                "give a plain function, which may put what it is shown into a queue or start a task"
            )
    return tuple(given)


def _is_awaited(function: object) -> bool:
    return iscoroutinefunction(function) or isasyncgenfunction(function)


class LiveToolbox:
    """A toolbox of tools that change while they are used, such as an MCP server's."""

    def __init__(self, source: ToolSource, make: Callable[[ToolSource], Toolbox]) -> None:
        self._source = source
        self._make = make
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self.toolbox = make(source)
        """The tools at the start."""

    def changed_toolbox(self) -> Toolbox | None:
        """Returns the current tools, if they changed since the last call.

        A change that makes no valid toolbox, such as two tools of one name, is ignored: a server must
        not be able to end a run.
        """
        versions = self._versions()
        if versions == self._seen:
            return None
        self._seen = versions
        try:
            return self._make(self._source)
        except DeclarationError as error:
            logger.warning("the tools changed and cannot be used as they are now: %s", error)
            return None

    def _versions(self) -> tuple[int, ...]:
        return tuple([each.version for each in self._live])


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, list | tuple):
        for each in source:
            yield from _live_in(each)
    elif hasattr(source, "version") and isinstance(source, LiveTools):
        # A protocol takes Python 3.11 longer to judge than a tool takes to add.
        yield source


_DECLARE: Mapping[str, str] = {
    "bash": 'rc.builtin.shell(signature="anthropic")',
    "text_editor": "rc.builtin.text_editor(root)",
    "memory": "rc.builtin.memory(root)",
    "shell": 'rc.builtin.shell(signature="openai")',
    "apply_patch": "rc.builtin.apply_patch(root)",
    "computer": "rc.builtin.computer(driver)",
    "local_shell": 'rc.builtin.shell(signature="openai_local")',
    "tool_search": 'rc.Tool("tool_search", …, native={"openai_responses": {"type": "tool_search", …}})',
}
"""What to use instead, by the kind of the tool."""


def check_vendor_tools(setup: Setup) -> None:
    """Raise UsageError for a vendor's tool whose calls no tool here would answer.

    The vendor defines such a tool, its model calls it, and then the run waits for a result. So
    ``vendor_tools`` may hold one only if the agent has a tool of that name.
    """
    given = setup.options.get("vendor_tools")
    if given is None:
        return
    for tool in given if isinstance(given, Sequence) and not isinstance(given, str) else ():
        if isinstance(tool, Mapping) and (kind := _kind(tool)) and not _is_there(tool, kind, setup):
            raise UsageError(
                f"vendor_tools has {tool['type']!r}, whose calls are this program's to run, with "
                f"no tool for them: give the agent {_DECLARE[kind]}, which is sent as the vendor's own, "
                "and leave it out of vendor_tools"
            )


def _kind(tool: Mapping[str, Any]) -> str:
    """Returns the kind of a tool that the caller must run; empty for any other."""
    word = tool.get("type")
    if not isinstance(word, str):
        return ""
    if word.startswith(("computer_use_preview", "computer-preview", "computer_toolset_")):
        return "computer"
    stem, _, dated = word.rpartition("_")
    kind = stem if dated.isdigit() else word
    if kind == "shell":
        place = tool.get("environment")
        is_hosted = isinstance(place, Mapping) and str(place.get("type")).startswith("container")
        if is_hosted:
            return ""
        return kind
    if kind == "tool_search" and tool.get("execution") != "client":
        return ""
    if kind in _DECLARE:
        return kind
    return ""


def _is_there(tool: Mapping[str, Any], kind: str, setup: Setup) -> bool:
    name = tool.get("name")
    return setup.tools.get(name if isinstance(name, str) else kind) is not None


def look_for_tools(entries: Iterable[Entry], pending: Sequence[Proposal], setup: Setup) -> None:
    """Raise UsageError if a run that continues has tools in its record that the agent lacks now.

    For live tools, such as a server's, nothing is raised: the model finds out that they are gone.
    """
    names = {proposal.agent.partition("/")[0] or proposal.name for proposal in pending}
    for entry in entries:
        match entry:
            case RunStarted(specs=specs) | ToolsChanged(specs=specs):
                names = {spec.name for spec in specs}
            case StepDone(key=key) if key.endswith(HANDED_OVER):
                names = {spec.name for spec in read_handed_over(entry).specs}
            case RunEnded():
                return
            case _:
                pass
    names -= {VENDOR_CALL, PLAN_CALL}
    missing = sorted(name for name in names if setup.tools.get(name) is None)
    if missing and setup.follow is None:
        raise UsageError(
            f"the run {setup.run!r} was begun with the tools {', '.join(missing)}, which the agent does "
            "not have; say tools=[…] with the ones that the run was given"
        )
    if pending:
        check_inner_tools(pending, setup.tools)


EMPTY_PROMPT = (
    "the prompt is empty: it is what the user says, a text, files and texts in a list, or a list of "
    "messages; it may be empty only with history= or conversation="
)


def is_conversation(prompt: RunPrompt) -> TypeGuard[Conversation]:
    """Whether a prompt is a list of messages, and not of the parts of one."""
    if not isinstance(prompt, Sequence) or isinstance(prompt, str | bytes) or not prompt:
        return False
    return isinstance(prompt[0], User | Reply | Results | Mapping)


def split_conversation(messages: Conversation, history: ChatHistory | None) -> tuple[ChatHistory, User]:
    """Returns the history before the last of the messages, and that, which must be the user's."""
    if history is not None:
        raise UsageError("agent.run takes messages or history=…, and not both: put them into one list")
    chat = history_of(messages)
    last = chat.messages[-1] if chat.messages else None
    if not isinstance(last, User):
        raise UsageError("the last of the messages that agent.run takes must be the user's")
    return replace(chat, messages=chat.messages[:-1]), last


async def user_message(prompt: RunPrompt) -> User:
    """Returns the prompt, which is no list of messages, as one; files are read in a thread."""
    prompt = cast("Prompt", prompt)
    if reads_files(prompt):
        return await to_thread(message_of, prompt)
    return message_of(prompt)
