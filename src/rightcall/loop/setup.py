"""What can be said of an agent and of a run, and what a run is made with."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from msgspec import Struct

from rightcall.core.budget import Budget
from rightcall.core.call import CheckedCall
from rightcall.core.decision import Grant
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message
from rightcall.core.ports import (
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
from rightcall.core.request import ToolChoice
from rightcall.core.tool import Spec, Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError
from rightcall.gate.attempt import Setting, SystemClock
from rightcall.gate.gate import Approve, Execution, Hooks, Policy
from rightcall.log import logger
from rightcall.loop.window import Window, estimate_tokens
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.wire.history import Said

Summarise: TypeAlias = Callable[[tuple[Message, ...]], Awaitable[str]]
"""Words for the messages that no longer fit."""


class RunOptions(TypedDict, total=False):
    """What can be said of one run."""

    history: Sequence[Message] | Sequence[Mapping[str, Any]] | Said
    """An earlier transcript to go on from; mended where calls and results do not match. Messages in the
    shape of OpenAI, Anthropic or Gemini are taken too, and their system text is then the run's."""
    dependencies: Any
    """What tools reach through their Context."""
    choice: ToolChoice
    """Make the model call some tool, this tool, or none; on its first turn only, so that it ends."""
    sticky_choice: bool
    """The choice holds for every turn."""
    budget: Budget
    run: str
    """The run's name in the journal; made up unless given."""
    grant: Grant
    """What this run may do once outsiders have spoken, for an agent with rules of trust."""
    steps: Steps
    """Takes every effect of the run by its key, as a durable engine does, in place of a journal."""


class AgentSettings(TypedDict, total=False):
    """What can be said of an agent besides its model, tools and instructions."""

    policy: Policy | None
    """Says allow, deny, ask, rewrite or answer for each checked call."""
    trust: Rules | None
    """The rules that hold even when the model is hijacked. Without them a policy is all there is."""
    approve: Approve | None
    """Asks a person, here and now; without it a run that needs one pauses."""
    hooks: Hooks
    """Async functions that may veto what happens."""
    observers: Sequence[Observer]
    """Functions that are shown everything that happens: ``observer(run, entry_or_event)``. They change
    nothing, and what they raise is only logged."""
    window: Window | None
    """How much of the history is sent; what the model's profile says, unless given."""
    summarise: Summarise | None
    """Puts words in place of the history that is not sent."""
    count: TokenCounter
    options: Mapping[str, JsonValue]
    """The model's options, as ``ModelOptions`` names them."""
    max_tokens: int | None
    """Tokens that one reply may have."""
    speculate: bool
    """Start calls of pure and read tools while the reply still streams; True unless said."""


class AgentOptions(AgentSettings, total=False):
    """Everything that can be said of an agent by keyword, besides its output."""

    name: str
    budget: Budget | None
    journal: Journal | AsyncJournal | None
    concurrency: int
    retry_broken: bool


class Runner(Protocol):
    """What runs checked calls: an Executor, or something that stands in for one."""

    async def run(self, checked: CheckedCall, setting: Setting, /) -> Execution:
        """Run one call."""
        ...


class Offered(Struct, frozen=True, eq=False):
    """Tools, and what the model is told of them."""

    tools: Tools
    specs: tuple[Spec, ...]


class Setup(Struct, frozen=True, kw_only=True, eq=False):
    """Everything a run uses and does not change."""

    run: str
    model: Model
    tools: Tools
    steps: Steps
    executor: Runner
    specs: tuple[Spec, ...] = ()
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
    above: Guard | None = None
    """Watches the run that this one is part of."""
    approve: Approve | None = None
    hooks: Hooks = Hooks()
    observers: tuple[Observer, ...] = ()
    window: Window | None = None
    count: TokenCounter = estimate_tokens
    summarise: Summarise | None = None
    speculate: bool = True
    dependencies: Any = None
    clock: Clock = SystemClock()


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
