"""What may be said of an agent and of a run by keyword, and the setup that a run is made with."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Generic, Protocol, Required, TypeAlias, TypedDict

from msgspec import Struct
from typing_extensions import TypeVar

from rightcall.core.budget import Budget
from rightcall.core.entry import HistoryCompacted
from rightcall.core.events import Emit
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Transcript, User, estimate_tokens
from rightcall.core.ports import (
    AroundObserver,
    AsyncJournal,
    Clock,
    Journal,
    Model,
    Observer,
    RunInbox,
    Steps,
    TokenCounter,
    Tools,
)
from rightcall.core.request import ModelOptions, RequiredOutput, ToolChoice
from rightcall.core.tool import CheckedCall, ErrorWords, Spec, Tool
from rightcall.declare.attachment import Piece
from rightcall.declare.partial_output import PartialView
from rightcall.declare.toolbox import Descriptions, Then, Thresholds, Toolbox, ToolSource
from rightcall.gate.attempt import Setting, SystemClock
from rightcall.gate.execution import Execution
from rightcall.gate.gate import Approve, Policy
from rightcall.gate.hooks import NO_HOOKS, HookChain, Hooks
from rightcall.loop.tool_offer import Deferred, Offered
from rightcall.loop.window import Window
from rightcall.trust.intents import Stated
from rightcall.trust.rules import Rules
from rightcall.trust.task_intents import TaskIntents
from rightcall.wire.history import ChatHistory

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

Deps = TypeVar("Deps", default=Any)
"""What an agent's tools share."""

Instructions: TypeAlias = str | Callable[..., str | Awaitable[str]]
"""What the model is told first: a text, or a function that gives one for each run. It may be async, and
may take the run's Context, or nothing."""

Conversation: TypeAlias = Sequence[Message] | Sequence[Mapping[str, Any]]
"""Messages, ours or a vendor's."""

RunPrompt: TypeAlias = Piece | User | Sequence[Piece | Message | Mapping[str, Any]]
"""What a run is asked: a text, parts of a message, a message, or messages that end with the user's."""

Intents: TypeAlias = Sequence[Stated] | Sequence[Mapping[str, Any]] | str
"""What a task may do: ``rc.Intent(…)``, or the same in JSON."""

ModelSource: TypeAlias = Model | str | Sequence[Model | str]
"""A model, the name of one, or several of those to fall back on in order."""


HistoryFilter: TypeAlias = Callable[[Transcript], Sequence[Message]]
"""Says what the next agent sees of the transcript; the transcript itself stays as it is."""


class HandoffAgent(Protocol):
    """An agent that a run can be handed over to."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def take_over(self, before: "Setup") -> "Setup":
        """Returns the setup with which it goes on in a run that another agent began."""
        ...

    @property
    def output(self) -> Any:
        """What it answers with."""
        ...

    async def begin_turn(self, setup: "Setup") -> tuple[str, RequiredOutput | None]:
        """Returns its instructions for this run, and the output that it is to give."""
        ...


class Handoff(Struct, frozen=True, kw_only=True, eq=False):
    """An agent that another may hand its run over to, and when. ``rc.handoff`` makes one."""

    agent: HandoffAgent
    when: str = ""
    filter: HistoryFilter | None = None
    name: str = ""


class RecoverOptions(TypedDict, Generic[Deps], total=False):
    """Settings for recovering a run after its process died. None: the agent's."""

    model: ModelSource | None
    """In place of the agent's."""
    tools: ToolSource | None
    """In place of the agent's; ``()`` for none."""
    options: ModelOptions | None
    """The model's options, each in place of the agent's of that name."""
    max_tokens: int | None
    """Tokens that one reply may have, in place of the agent's; None for the vendor's own limit."""
    dependencies: Deps | None
    """What tools reach through their Context."""
    wait: float
    """Seconds to wait if another process holds the run; 0 by default."""
    inbox: RunInbox | None
    """Where messages are added to the run while it goes on: an ``rc.conversation.Inbox``."""


class ResumeOptions(RecoverOptions[Deps], Generic[Deps], total=False):
    """Settings for resuming a run after a decision."""

    steps: Steps | None
    """Takes every effect of the run by its key, as a durable engine does, in place of a journal."""


class QuestionOptions(TypedDict, Generic[Deps], total=False):
    """Settings of one run, except its model and tools. None: not given."""

    options: ModelOptions | None
    """The model's options, each in place of the agent's of that name."""
    max_tokens: int | None
    """Tokens that one reply may have, in place of the agent's; None for the vendor's own limit."""
    instructions: Instructions | None
    """In place of the agent's; ``""`` for none."""
    history: Conversation | ChatHistory | None
    """An earlier transcript to continue; repaired if calls and results do not match. Messages in the
    format of OpenAI, Anthropic or Gemini work, too; their system text becomes the run's instructions."""
    dependencies: Deps
    """What tools reach through their Context."""
    choice: ToolChoice
    """Make the model call some tool, this tool, or none; on its first turn only, so that it ends."""
    sticky_choice: bool
    """Apply ``choice`` to every turn."""
    budget: Budget | None
    """What the run may use, in place of the agent's."""
    run: str | None
    """The run's name in the journal; generated by default."""
    intents: Intents | None
    """What this run may do, for an agent with trust rules: ``rc.Intent(…)``, or the same in JSON.
    Nothing else that has consequences runs without a question; ``[]`` lets it only read."""
    steps: Steps | None
    """Takes every effect of the run by its key, as a durable engine does, in place of a journal."""
    inbox: RunInbox | None
    """Where messages are added to the run while it goes on: an ``rc.conversation.Inbox``."""
    conversation: str | None
    """The id of the conversation that it continues, for an agent with ``conversations=``."""
    dry_run: bool
    """Nothing is changed: ``pure`` and ``read`` tools run, every other call is answered as not done."""


class RunOptions(QuestionOptions[Deps], Generic[Deps], total=False):
    """Settings of one run."""

    model: ModelSource | None
    """In place of the agent's."""
    tools: ToolSource | None
    """In place of the agent's; ``()`` for none."""


class NeedyRunOptions(RunOptions[Deps], Generic[Deps], total=False):
    """The same, of an agent whose tools need dependencies."""

    dependencies: Required[Deps]  # type: ignore[misc]  # it may be left out otherwise


class NeedyResumeOptions(ResumeOptions[Deps], Generic[Deps], total=False):
    """Settings for resuming a run whose tools need dependencies."""

    dependencies: Required[Deps]  # type: ignore[misc]  # it may be left out otherwise


class AgentOptions(TypedDict, total=False):
    """All keyword settings of an agent, except its output."""

    name: str
    """What it is called in journals and traces, and as another agent's tool."""
    budget: Budget | None
    """What each run may use; ``rc.Budget()`` unless given."""
    journal: Journal | AsyncJournal | None
    """Where runs are recorded. Without one a run that dies cannot be recovered."""
    conversations: "ConversationStore | None"
    """Where conversations are stored by id: an ``rc.Conversations``."""
    concurrency: int
    """How many calls of one run may run at once."""
    retry_broken: bool | None
    """Whether a reply that broke off is asked for again. None: where there is another model to ask."""
    errors: ErrorWords | None
    """What becomes of what a tool raises, for tools that do not set it: the model reads ``"words"``, the
    exception's message, or ``"neutral"``, a fixed sentence; or the run ends, and ``"raise"`` raises it.
    None: the exception's type and first line, for tools that are your own."""
    descriptions: Descriptions
    """How much of each tool is sent: ``"full"``, the default; ``"short"``, a line and the schema;
    ``"lines"``, only a line. The model then reads the full description with ``tool_lookup``."""
    defer: Deferred
    """The tools that are sent only after the model has found them by a search: True for all, names, a
    function of a tool, or a ``Defer``."""
    footprint: Then | Thresholds
    """What happens, when the agent is created, if it has more than 20 tools or they take more than a
    tenth of the context: ``"warn"`` in the log, the default; ``"refuse"``; ``"off"``. Or a dict with
    other thresholds: ``{"tools": (10, 30, 40), "share": (0.1, 0.2), "then": "refuse"}``."""
    skills: Any
    """Skills that the model may read: a folder, an ``rc.conversation.Skills``, or several of those."""
    handoffs: Sequence[HandoffAgent | Handoff] | None
    """Agents that the model may hand the run over to: they go on in it, with their own instructions,
    tools, model and rules. ``rc.handoff(agent, when="…")`` says when."""
    policy: Policy | None
    """A function that decides about each checked call: allow, deny, ask, rewrite or answer."""
    trust: Rules | None
    """Trust rules, which still apply when the model is hijacked. None: only ``policy`` decides."""
    plan: "Planning | None"
    """An ``rc.Plan``: the model writes a plan before anything is read; calls are judged by where their
    values come from."""
    approve: Approve | None
    """An async function that answers approval requests. None: a run that needs approval pauses."""
    hooks: Hooks | Sequence[Hooks] | None
    """Functions that may change or veto what happens."""
    observers: Sequence[Observer | AroundObserver] | None
    """Functions that see everything that happens: ``observer(run, entry_or_event)``; or objects with an
    ``around`` method, such as ``rc.observe.OpenTelemetry()``. They change nothing, and their exceptions
    are only logged."""
    window: Window | None
    """How much of the history is sent; the default comes from the model's profile."""
    compact: "Compacting | None"
    """An ``rc.Compaction``: what no longer fits is summarised once, and the summary stays in the
    conversation. None: what no longer fits is left out."""
    large_results: "ResultStoring | None"
    """An ``rc.conversation.LargeResults``: a large result is stored whole, and the model reads what it
    needs of it. None: it is cut to the tool's limit."""
    count: TokenCounter | None
    """Says how many tokens messages have, for ``window``; an estimate by their length, unless given."""
    options: ModelOptions | None
    """The model's options."""
    max_tokens: int | None
    """Tokens that one reply may have."""
    speculate: bool
    """Start calls of pure and read tools while the reply still streams; True by default."""


class ConversationStore(Protocol):
    """Stores conversations by id: ``rc.Conversations``."""

    def in_turn(self, conversation: str, /) -> AbstractAsyncContextManager[None]:
        """Have a conversation to oneself."""
        ...

    async def conversation_of(self, run: str, /) -> str | None:
        """The conversation that a run is of; None if it is of none."""
        ...

    async def abandon(self, conversation: str, /) -> bool:
        """Give up a run that waits for a person."""
        ...


class Planning(Protocol):
    """Plans a run before it reads anything: ``rc.Plan``."""

    def connect_models(
        self, model: Callable[[ModelSource], Model], trust: Rules | None, /
    ) -> "Planning":
        """Returns a copy with the models that it names connected."""
        ...

    def plan_setup(self, setup: "Setup", /) -> "Setup":
        """Returns the setup of a planned run."""
        ...

    def guard(self, setup: "Setup", rules: Rules, intents: TaskIntents | None, /) -> "Guard":
        """Returns the guard of a planned run."""
        ...


class Compacting(Protocol):
    """Summarises what no longer fits of a history: ``rc.Compaction``."""

    def connect_models(self, model: Callable[[ModelSource], Model], /) -> "Compacting":
        """Returns a copy with the model that it names connected."""
        ...

    def compact_setup(self, setup: "Setup", /) -> "Setup":
        """Returns the setup of a run whose history is compacted; raises UsageError if it cannot be."""
        ...

    def compactor(self, setup: "Setup", /) -> "Compactor":
        """Returns what compacts the history of one run."""
        ...


class Compactor(Protocol):
    """Compacts the history of one run."""

    async def compact(
        self,
        messages: Transcript,
        turn: int,
        emit: Emit | None,
        /,
        *,
        tainted: bool | None,
        seconds: float | None,
        overflowed: bool = False,
    ) -> Sequence[HistoryCompacted]:
        """Returns what was compacted before a turn, recorded; empty if nothing needed to be.

        ``overflowed``: the vendor has refused the request as too long, so something must go.
        """
        ...

    def messages_to_send(self, messages: Transcript, /) -> Transcript:
        """Returns what is sent of the messages."""
        ...


class ResultStoring(Protocol):
    """Stores large results whole: ``rc.conversation.LargeResults``."""

    def store_for(self, journal: Journal | AsyncJournal | None, /) -> "ResultStoring":
        """Returns a copy with its store, which may be beside the journal."""
        ...

    def check_tools(self, names: Collection[str], /) -> None:
        """Raise UsageError if it has settings of a tool that the agent does not have."""
        ...

    def limit_tools(self, box: Toolbox, /) -> Toolbox:
        """Returns the tools, of which those whose results are stored may return more."""
        ...

    def offer_reader(self, offered: Offered, /) -> Offered:
        """Returns what is offered, with the tool that reads stored results."""
        ...

    def store_setup(self, setup: "Setup", /) -> "Setup":
        """Returns the setup of a run whose large results are stored."""
        ...


class Runner(Protocol):
    """Runs checked calls: an Executor, or something in its place."""

    async def run(self, checked: CheckedCall, setting: Setting, /) -> Execution:
        """Run one call."""
        ...


class Setup(Struct, frozen=True, kw_only=True, eq=False):
    """Everything a run uses and does not change."""

    run: str
    agent: str = ""
    """The agent's name, if it is an agent's run."""
    model: Model
    tools: Tools
    steps: Steps
    executor: Runner
    specs: tuple[Spec, ...] = ()
    """The tools' specs that the model is sent at first."""
    tool_tokens: int = 0
    """The estimated tokens of ``specs``."""
    offered: Offered | None = None
    """The tools and their specs, with the deferred ones, if there are any."""
    follow: Callable[[], Offered | None] | None = None
    """Called before each turn for what is offered from now on; None if nothing changed."""
    system: str = ""
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    answer: Tool | None = None
    """The tool that stands for the output."""
    view: PartialView | None = None
    """How the output is shown while it is written; None if there is none."""
    policy: Policy | None = None
    trust: Rules | None = None
    """The trust rules, which apply once the run has read untrusted text."""
    plan: Planning | None = None
    """Plans the run before it reads anything."""
    above: "Guard | None" = None
    """The guard of the outer run that this one is part of."""
    approve: Approve | None = None
    hooks: HookChain = NO_HOOKS
    observers: tuple[Observer, ...] = ()
    around: tuple[AroundObserver, ...] = ()
    """The observers with an ``around`` method."""
    window: Window | None = None
    count: TokenCounter = estimate_tokens
    compact: "Compacting | None" = None
    large_results: "ResultStoring | None" = None
    speculate: bool = True
    inbox: RunInbox | None = None
    """Where messages to the run under way come from."""
    dependencies: Any = None
    handoffs: Mapping[str, Handoff] = {}
    """The agents that the run can be handed over to, by the name of the tool that does it."""
    earlier_rules: tuple[Rules, ...] = ()
    """The trust rules of the agents that handed the run over, which still apply."""
    needs: str = ""
    """What the dependencies are for, if a tool needs some: ``look(context: Context[Database])``."""
    clock: Clock = SystemClock()
