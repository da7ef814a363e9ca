"""An agent as a model: its tools are run here, and the client reads the outcome.

A stream gives the agent's text as it comes; a whole reply gives the last of it. A call that waits for a
person's approval is named in the text, with the id of the run in the journal, to resume it there.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from rightcall.agent import Agent
from rightcall.core.events import ModelEvent, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Message, Reply, StopReason, User, said
from rightcall.core.parts import Text
from rightcall.core.ports import AroundObserver, Journal, Model, Observer
from rightcall.core.request import Profile, Request
from rightcall.declare.toolbox import ToolSource
from rightcall.errors import VendorError
from rightcall.loop.result import RunEnd, RunResult
from rightcall.trust.rules import Rules

Load: TypeAlias = Callable[[], Awaitable[ToolSource]]
"""Loads the tools; called once, at the first request."""

_STOPS: dict[str, StopReason] = {
    "stop_sequence": "stop_sequence",
    "length": "length",
    "refusal": "refusal",
    "filtered": "filtered",
}


class AgentModel:
    """A model with tools that it calls by itself."""

    def __init__(
        self,
        model: Model,
        load: Load,
        instructions: str = "",
        *,
        journal: Journal | None = None,
        rules: Rules | None = None,
        observers: Sequence[Observer | AroundObserver] = (),
    ) -> None:
        self._model = model
        self._load = load
        self._instructions = instructions
        self._journal = journal
        self._rules = rules
        self._observers = observers
        self._agent: Agent[Any] | None = None

    @property
    def profile(self) -> Profile:
        """The model's own profile."""
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The agent's text, and at the end its reply."""
        agent = await self._opened()
        *history, prompt = _conversation(request)
        if not isinstance(prompt, User):
            why = "the last message must be the user's: tools are run by this model itself"
            raise VendorError(why, kind="bad_request", status=400)
        words: list[str] = []
        options: dict[str, Any] = {"history": history, "options": dict(request.options)}
        if request.max_tokens is not None:
            options["max_tokens"] = request.max_tokens
        async for event in agent.stream(prompt, **options):
            match event:
                case TextDelta(text):
                    words.append(text)
                    yield event
                case ReasoningDelta():
                    yield event
                case ReplyEnd(reply) if reply.calls and words:
                    # The text after the calls begins on a line of its own.
                    words.append("\n\n")
                    yield TextDelta("\n\n")
                case RunEnd(result):
                    for each in _ended(result, "".join(words)):
                        yield each
                case _:
                    pass

    async def _opened(self) -> "Agent[Any]":
        if self._agent is None:
            tools = await self._load()
            self._agent = Agent(
                self._model,
                tools,
                self._instructions,
                name="gateway",
                journal=self._journal,
                trust=self._rules,
                observers=self._observers,
            )
        return self._agent


def _conversation(request: Request) -> tuple[Message, ...]:
    """The messages; the client's system text becomes a developer's message, beside the operator's."""
    first = (said(request.system, "developer"),) if request.system else ()
    return (*first, *request.messages)


def _ended(result: RunResult[Any], told: str) -> Sequence[ModelEvent]:
    """The end of a run as a reply: with a text if it ended without an answer."""
    stop, text = result.stop, result.text
    if stop.reason in ("error", "veto"):
        raise VendorError(f"the agent stopped: {stop}", kind="server", status=500)
    more: tuple[ModelEvent, ...] = ()
    if stop.reason == "pending":
        names = ", ".join(each.name for each in result.pending)
        words = f"[Waiting for a person's yes to {names}: run {result.run}.]"
        more, text = (TextDelta(words),), words
    elif stop.reason == "limit":
        words = f"[The agent stopped at a limit: {stop}.]"
        more, text = (TextDelta(words),), f"{text}\n\n{words}".strip()
    elif text and not told:
        more = (TextDelta(text),)
    reply = Reply((Text(text),), _STOPS.get(stop.reason, "end"), usage=result.usage)
    return (*more, ReplyEnd(reply))
