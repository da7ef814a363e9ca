"""What can be said of an agent and of a run, and what a run is made with."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any, Generic, Protocol, TypeAlias, TypedDict

from msgspec import Struct
from typing_extensions import TypeVar

from rightcall.core.budget import Budget
from rightcall.core.call import CheckedCall
from rightcall.core.decision import Grant
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Message
from rightcall.core.ports import (
    AroundObserver,
    AsyncJournal,
    Clock,
    Journal,
    LiveTools,
    Model,
    Observer,
    Steps,
    TokenCounter,
    Tools,
)
from rightcall.core.request import ANY_OBJECT, ModelOptions, Named, ToolChoice, Wanted
from rightcall.core.tokens import estimate_tokens
from rightcall.core.tool import ErrorWords, Spec, Tool
from rightcall.declare.defer import Descriptions
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.declare.verdicts import Then, Thresholds
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.attempt import Setting, SystemClock
from rightcall.gate.execution import Execution
from rightcall.gate.gate import Approve, Policy
from rightcall.gate.hooks import NO_HOOKS, HookChain, Hooks, gathered
from rightcall.log import logger
from rightcall.loop.offering import Deferred, Offered
from rightcall.loop.window import Window
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.wire.history import Said

Summarise: TypeAlias = Callable[[tuple[Message, ...]], Awaitable[str]]
"""Words for the messages that no longer fit."""


F = TypeVar("F", bound=Callable[..., Any])
Deps = TypeVar("Deps", default=Any)
"""What an agent's tools share."""

Instructions: TypeAlias = str | Callable[..., str | Awaitable[str]]
"""What the model is told first: a text, or a function that gives one for each run. It may be async, and
may take the run's Context, or nothing."""

ModelSource: TypeAlias = Model | str | Sequence[Model | str]
"""A model, the name of one, or several of those to fall back on in order."""


class Overrides(TypedDict, total=False):
    """What a run may have in place of its agent's, also when it is gone on with."""

    model: ModelSource
    """In place of the agent's."""
    tools: ToolSource
    """In place of the agent's."""
    options: ModelOptions
    """The model's options, each in place of the agent's of that name."""
    max_tokens: int | None
    """Tokens that one reply may have, in place of the agent's."""


class RecoverOptions(Overrides, Generic[Deps], total=False):
    """What can be said of a run that is gone on with after its process died."""

    dependencies: Deps | None
    """What tools reach through their Context."""
    wait: float
    """Seconds to wait for a run that somebody else holds; none, unless given."""


class ResumeOptions(RecoverOptions[Deps], Generic[Deps], total=False):
    """What can be said of a run that is gone on with after a person has decided."""

    steps: Steps | None
    """Takes every effect of the run by its key, as a durable engine does, in place of a journal."""


class QuestionOptions(TypedDict, Generic[Deps], total=False):
    """What can be said of one run besides its model and tools."""

    options: ModelOptions
    """The model's options, each in place of the agent's of that name."""
    max_tokens: int | None
    """Tokens that one reply may have, in place of the agent's."""
    instructions: Instructions
    """In place of the agent's."""
    history: Sequence[Message] | Sequence[Mapping[str, Any]] | Said
    """An earlier transcript to go on from; mended where calls and results do not match. Messages in the
    shape of OpenAI, Anthropic or Gemini are taken too, and their system text is then the run's."""
    dependencies: Deps
    """What tools reach through their Context."""
    choice: ToolChoice
    """Make the model call some tool, this tool, or none; on its first turn only, so that it ends."""
    sticky_choice: bool
    """The choice holds for every turn."""
    budget: Budget
    """What the run may use, in place of the agent's."""
    run: str
    """The run's name in the journal; made up unless given."""
    grant: Grant
    """What this run may do once outsiders have spoken, for an agent with rules of trust."""
    steps: Steps
    """Takes every effect of the run by its key, as a durable engine does, in place of a journal."""
    dry_run: bool
    """Nothing is changed: ``pure`` and ``read`` tools run, every other call is answered as not done."""


class RunOptions(QuestionOptions[Deps], Generic[Deps], total=False):
    """What can be said of one run."""

    model: ModelSource
    """In place of the agent's."""
    tools: ToolSource
    """In place of the agent's."""


class AgentSettings(TypedDict, total=False):
    """What can be said of an agent besides its model, tools and instructions."""

    policy: Policy | None
    """Says allow, deny, ask, rewrite or answer for each checked call."""
    trust: Rules | None
    """The rules that hold even when the model is hijacked. Without them a policy is all there is."""
    plan: "Planning | None"
    """An ``rc.Plan``: runs are planned before anything is read, and judged by where values come from."""
    approve: Approve | None
    """Asks a person, here and now; without it a run that needs one pauses."""
    hooks: Hooks | Sequence[Hooks]
    """Functions that may change or veto what happens."""
    observers: Sequence[Observer | AroundObserver]
    """Functions that are shown everything that happens: ``observer(run, entry_or_event)``; or objects
    that are around what lasts, as ``rc.observe.OpenTelemetry()``. They change nothing, and what they
    raise is only logged."""
    window: Window | None
    """How much of the history is sent; what the model's profile says, unless given."""
    summarise: Summarise | None
    """Puts words in place of the history that is not sent."""
    count: TokenCounter
    """Says how many tokens messages have, for ``window``; an estimate by their length, unless given."""
    options: ModelOptions
    """The model's options."""
    max_tokens: int | None
    """Tokens that one reply may have."""
    speculate: bool
    """Start calls of pure and read tools while the reply still streams; True unless said."""


class AgentOptions(AgentSettings, total=False):
    """Everything that can be said of an agent by keyword, besides its output."""

    name: str
    """What it is called in journals and traces, and as another agent's tool."""
    budget: Budget | None
    """What each run may use; ``rc.Budget()`` unless given."""
    journal: Journal | AsyncJournal | None
    """Where runs are recorded. Without one a run that dies cannot be recovered."""
    concurrency: int
    """How many calls of one run may run at once."""
    retry_broken: bool | None
    """Whether a reply that broke off is asked for again. None: where there is another model to ask."""
    errors: ErrorWords
    """What the model reads of an exception that a tool did not mean for it, where the tool does not say:
    ``"words"`` for its message, ``"neutral"``, unless given, for a sentence that says nothing of it."""
    descriptions: Descriptions
    """What the model is sent of its tools: ``"full"``, unless said; ``"short"`` for a line and the
    schema of each; ``"lines"`` for a line of each. Then ``tool_lookup`` gives it whole manuals."""
    defer: Deferred
    """The tools that are not sent until the model has found them by a search: True for all, names, a
    question asked of each tool, or a ``Defer``."""
    footprint: Then | Thresholds
    """What is done once, when the agent is made, about more than 20 tools, or about tools that take more
    than a tenth of the context: ``"warn"``, unless said, in the log; ``"refuse"``; ``"off"``. Or a dict
    with other thresholds: ``{"tools": (10, 30, 40), "share": (0.1, 0.2), "then": "refuse"}``."""


class Planning(Protocol):
    """What plans a run before anything is read: ``rc.Plan``."""

    def connected(self, model: Callable[[ModelSource], Model], trust: Rules | None, /) -> "Planning":
        """The same, with the models that it names connected."""
        ...

    def applied(self, setup: "Setup", /) -> "Setup":
        """What a planned run uses."""
        ...

    def guard(self, setup: "Setup", rules: Rules, grant: Grant | None, /) -> Guard:
        """What watches a planned run."""
        ...


class Runner(Protocol):
    """What runs checked calls: an Executor, or something that stands in for one."""

    async def run(self, checked: CheckedCall, setting: Setting, /) -> Execution:
        """Run one call."""
        ...


class Setup(Struct, frozen=True, kw_only=True, eq=False):
    """Everything a run uses and does not change."""

    run: str
    agent: str = ""
    """The agent's name, where it is an agent's run."""
    model: Model
    tools: Tools
    steps: Steps
    executor: Runner
    specs: tuple[Spec, ...] = ()
    """What the model is told of them at first."""
    tool_tokens: int = 0
    """About how many tokens that is."""
    offered: Offered | None = None
    """The same, with the tools that it has to find, where there are such."""
    follow: Callable[[], Offered | None] | None = None
    """Asked before each turn what is offered from now on; None when that is the same."""
    system: str = ""
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    answer: Tool | None = None
    """The tool that stands for the output asked for."""
    policy: Policy | None = None
    trust: Rules | None = None
    """The rules that hold once outsiders have spoken."""
    plan: Planning | None = None
    """Plans the run before anything is read."""
    above: Guard | None = None
    """Watches the run that this one is part of."""
    approve: Approve | None = None
    hooks: HookChain = NO_HOOKS
    observers: tuple[Observer, ...] = ()
    around: tuple[AroundObserver, ...] = ()
    """The observers that are around what lasts."""
    window: Window | None = None
    count: TokenCounter = estimate_tokens
    summarise: Summarise | None = None
    speculate: bool = True
    dependencies: Any = None
    clock: Clock = SystemClock()

    def guard(self, grant: Grant | None) -> Guard | None:
        """What watches a run, where there are rules."""
        if self.trust is None:
            return None
        if self.plan is not None:
            return self.plan.guard(self, self.trust, grant)
        return Guard(self.trust, self.tools, system=self.system, grant=grant, above=self.above)


def unpriced(model: Model, tools: Tools) -> str:
    """The first of the models that a run may ask, agents inside included, whose prices are not known."""
    if not model.profile.priced:
        return repr(model) if type(model).__repr__ is not object.__repr__ else type(model).__name__
    handed_on = (tools.get(name) for name in tools.names())
    found = (tool for tool in handed_on if tool is not None and tool.unpriced)
    return next((f"{tool.unpriced} (asked by {tool.name})" for tool in found), "")


def check_cost_limit(budget: Budget, model: Model, tools: Tools) -> None:
    """Say that a limit in dollars cannot be held, where it cannot; refuse to run if so asked."""
    name = unpriced(model, tools) if budget.names_cost else ""
    if not name:
        return
    words = (
        f"Budget(cost={budget.cost:g}) cannot be held: it is not known what {name} costs. Prices come "
        "with genai-prices (pip install 'rightcall[prices]'); a model whose replies tell their cost "
        "says so with Profile(priced=True); cost=None lifts the limit"
    )
    if budget.strict:
        raise UsageError(words)
    _warn_once(words)


@lru_cache(maxsize=256)
def _warn_once(words: str) -> None:
    logger.warning(words)


def check_choice(choice: ToolChoice | None, setup: Setup) -> None:
    """Refuse a tool to be called that is not there. A vendor's own tools may have any name."""
    names = [spec.name for spec in setup.specs]
    if not isinstance(choice, Named) or choice.name in names or setup.options.get("vendor_tools"):
        return
    near = get_close_matches(choice.name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    there = f"there is {', '.join(names)}" if names else "there are none at all"
    raise UsageError(f"choice: there is no tool {choice.name!r}; {hint}{there}")


def possible_choice(choice: ToolChoice, setup: Setup) -> ToolChoice:
    """The choice, as far as the model can be made to follow it."""
    can = setup.specs and (choice == "none" or setup.model.profile.forced_choice)
    return choice if can else "auto"


def output_schema(setup: Setup, wanted: Wanted | None) -> JsonObject | None:
    """The schema that the model itself holds its answer to, where it can."""
    if wanted is None or setup.answer is None:
        return None
    if wanted.mode == "json":
        return ANY_OBJECT
    return setup.answer.parameters if wanted.mode == "native" else None


def prepared(settings: AgentSettings, model: Callable[[ModelSource], Model]) -> AgentSettings:
    """An agent's observers, hooks and plan as its runs need them; ``model`` connects what is named."""
    plan = settings.get("plan")
    if plan is not None and not hasattr(plan, "connected"):
        raise UsageError(f"plan= is rc.Plan(reader=…), and not {plan!r}")
    given = settings.get("observers", ())
    around = [each for each in given if isinstance(each, AroundObserver)]
    plain = [each for each in given if callable(each) or not isinstance(each, AroundObserver)]
    return {
        "observers": plain_observers(plain),
        "around": tuple(around),  # type: ignore[typeddict-unknown-key]
        "hooks": gathered(settings.get("hooks")),  # type: ignore[typeddict-item]
        "plan": None if plan is None else plan.connected(model, settings.get("trust")),
    }


def plain_observers(given: Sequence[Observer]) -> tuple[Observer, ...]:
    """The observers as they were given; one that would have to be awaited is refused."""
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


class Following:
    """Tools that change while they are used, as those of an MCP server: a toolbox that follows them."""

    def __init__(self, source: ToolSource, make: Callable[[ToolSource], Toolbox]) -> None:
        self._source = source
        self._make = make
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self.toolbox = make(source)
        """The tools when this began to follow them."""

    def changed(self) -> Toolbox | None:
        """The tools as they are now, if they changed since the last look.

        What would make no toolbox, as two tools of one name, leaves things as they were: a server must
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


def is_live(source: ToolSource) -> bool:
    """Whether anything in the source may change."""
    return any(True for _ in _live_in(source))


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, LiveTools):
        yield source
    elif isinstance(source, list | tuple):
        for each in source:
            yield from _live_in(each)
