"""Converts an agent's prompts to requests, and replies to results of its runs.

Both use the loop itself: the request is the first one that a run would send, and a reply is handled as a
run would handle it, except that an invalid answer is not asked for again.
"""

from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.core.budget import Budget
from rightcall.core.entry import Entry, ReplyReceived
from rightcall.core.events import ModelEvent
from rightcall.core.message import Reply, User
from rightcall.core.ports import Model
from rightcall.core.request import Profile, Request
from rightcall.errors import RightcallError, UsageError
from rightcall.loop.basis import Basis, Defaults
from rightcall.loop.result import RunResult
from rightcall.loop.run import Run
from rightcall.loop.setup import Setup
from rightcall.loop.state import started
from rightcall.record.steps import Body, LiveSteps
from rightcall.request.wire_model import WireModel

_ONE_REPLY = Budget(turns=1, seconds=None, tokens=None, cost=None)
_NOT_THERE = ("bedrock", "vertex")
"""Providers that use a vendor's dialect but do not have its batch API."""


class _Enough(RightcallError):
    """Raised once the request is known."""


class _Listening:
    """Replaces a model, and records its request."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.request: Request | None = None

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.request = request
        raise _Enough


class _Answering(LiveSteps):
    """Steps of a run whose model reply is already known."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def step(self, key: str, body: Body) -> Entry:
        """The known reply for the model's step; other steps are executed."""
        if key == "t1.model":
            return ReplyReceived(key=key, reply=self._reply, seconds=0.0)
        return await body()


class Asking:
    """One agent whose prompts are sent in a batch."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        # An agent's parts are private; a batch is another way to run it.
        self._basis: Basis = agent._basis  # noqa: SLF001
        self._setup: Setup = agent._setup  # noqa: SLF001
        self.journal = agent._journal  # noqa: SLF001
        _check(agent, self._setup)
        self.model = _wire_model(self._basis.model)
        said = self._basis.instructions
        self.asked = f"{self.model.name}\n{said if isinstance(said, str) else ''}"
        """The model's name and the instructions, for the digest."""

    async def request(self, prompt: User) -> Request:
        """The first request that a run would send."""
        model = _Listening(self._setup.model.profile)
        try:
            await (await self._run("", prompt, LiveSteps(), model)).go()
        except _Enough:
            assert model.request is not None
            return model.request
        raise AssertionError("a run that has not begun asks its model")

    async def result(self, run: str, prompt: User, reply: Reply) -> RunResult[Any]:
        """The result of a run that gets this reply."""
        going = await self._run(run, prompt, _Answering(reply), self._setup.model)
        return self._basis.with_output(await going.go())

    async def _run(self, run: str, prompt: User, steps: LiveSteps, model: Model) -> Run:
        setup = replace(self._setup, run=run, steps=steps, model=model, observers=(), around=())
        start = await self._basis.started(setup, (prompt,), {}, Defaults(_ONE_REPLY, retry_broken=False))
        wanted = start.wanted and replace(start.wanted, retries=0)
        return Run(setup, started(replace(start, wanted=wanted)))


def _check(agent: Agent[Any, Any], setup: Setup) -> None:
    """Raise for an agent whose runs need more than one reply, or more than the model."""
    if names := agent.tools.names():
        raise UsageError(
            f"rc.batch: a batch is one reply to each prompt, and nobody is there to run tools; "
            f"{agent.name!r} has {', '.join(names)}. Give an agent without tools, or agent.run"
        )
    if any(map(setup.hooks.has, ("before_model", "after_model"))):
        raise UsageError(
            f"rc.batch: hooks around the model are not asked in a batch, and {agent.name!r} has some; "
            "give an agent without them"
        )


def _wire_model(model: Model) -> WireModel:
    if not isinstance(model, WireModel):
        raise UsageError(
            f"rc.batch: a batch goes to one vendor, and {type(model).__name__} is no connected model; "
            'give the agent one by name, as "openai:gpt-5.2"'
        )
    if model.provider.startswith(_NOT_THERE):
        raise UsageError(f"rc.batch: {model.provider} has no batch API of this form")
    return model
