"""What a run is made with: the model, the tools, and what may be asked, watched and vetoed."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Decision, FinalDecision, Proposal
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reply
from rightcall.core.ports import Clock, Model, Steps, TokenCounter, Tools
from rightcall.core.request import Request
from rightcall.core.tool import Spec, Tool
from rightcall.execute.executor import Execution
from rightcall.execute.run import Setting, SystemClock
from rightcall.loop.tokens import estimate_tokens
from rightcall.loop.window import Window
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules

Policy: TypeAlias = Callable[[CheckedCall], Decision | None]
"""Says what is to become of a call; None leaves it to whoever is next, and in the end allows it."""

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool]]
"""Asks a person about a proposal, here and now."""

Summarise: TypeAlias = Callable[[tuple[Message, ...]], Awaitable[str]]
"""Words for the messages that no longer fit."""


class Veto(Struct, frozen=True):
    """A hook's no.

    Around a model call it ends the run. Before a tool call it denies the call; after one it withholds
    the result, and the model is told that the tool ran.
    """

    reason: str = ""


class Hooks(Struct, frozen=True, kw_only=True):
    """Plain async functions that see what happens and may say no. None of them need be given."""

    before_model: Callable[[Request], Awaitable[Veto | None]] | None = None
    after_model: Callable[[Reply], Awaitable[Veto | None]] | None = None
    before_tool: Callable[[CheckedCall], Awaitable[Veto | None]] | None = None
    after_tool: Callable[[Execution], Awaitable[Veto | None]] | None = None


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
    """Who watches the run that this one is part of."""
    approve: Approve | None = None
    hooks: Hooks = Hooks()
    window: Window | None = None
    count: TokenCounter = estimate_tokens
    summarise: Summarise | None = None
    speculate: bool = True
    dependencies: Any = None
    clock: Clock = SystemClock()
