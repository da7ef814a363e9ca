"""What an operator adds to a model: rules of trust, or tools that are run here."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.core.decision import Allow, Ask, Rewrite
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    OutputDelta,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply, StopReason, User, user_text
from rightcall.core.parts import Call, Text
from rightcall.core.ports import AroundObserver, Journal, Model, Observer
from rightcall.core.request import Profile, Request
from rightcall.core.tool import CheckedCall, Spec, Tool
from rightcall.declare.toolbox import ToolSource
from rightcall.errors import RightcallError, UsageError, VendorError
from rightcall.gate.call_check import check
from rightcall.log import gateway_logger
from rightcall.loop.result import RunEnd, RunResult
from rightcall.loop.run_guard import is_long
from rightcall.record.waits import off_loop
from rightcall.request.endpoint import close_stream
from rightcall.serve.gateway.settings import Served, Settings
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.trust.rules_file import read_rules

Load: TypeAlias = Callable[[], Awaitable[ToolSource]]
"""Loads the tools; called once, at the first request."""

_STOPS: dict[str, StopReason] = {
    "stop_sequence": "stop_sequence",
    "length": "length",
    "refusal": "refusal",
    "filtered": "filtered",
}


class AgentModel:
    """An agent as a model: its tools are run here, and the client reads the outcome.

    A stream gives the agent's text as it comes; a whole reply gives the last of it. A call that waits
    for a person's approval is named in the text, with the id of the run in the journal, to resume it.
    """

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
        self._agent: Agent[Any, Any] | None = None

    @property
    def profile(self) -> Profile:
        """The model's own profile."""
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The agent's text, and at the end its reply."""
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
        agent = self._agent
        messages = list(request.messages)
        if request.system:
            # The client's system text becomes a developer's message, beside the operator's.
            messages.insert(0, user_text(request.system, "developer"))
        *history, prompt = messages
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
                case OutputDelta(text, index=None):
                    words.append(text)
                    yield TextDelta(text)
                case ReasoningDelta():
                    yield event
                case ReplyEnd(reply) if reply.calls and words:
                    # The text after the calls begins on a line of its own.
                    words.append("\n\n")
                    yield TextDelta("\n\n")
                case RunEnd(result):
                    for each in _end_events(result, "".join(words)):
                        yield each
                case _:
                    pass


def _end_events(result: RunResult[Any], told: str) -> Sequence[ModelEvent]:
    """The end of a run as a reply: with a text if it ended without an answer."""
    stop = result.stop
    text = result.text
    if stop.reason in ("error", "veto"):
        raise VendorError(f"the agent stopped: {stop}", kind="server", status=500)
    more: tuple[ModelEvent, ...] = ()
    if stop.reason == "pending":
        names = ", ".join(each.name for each in result.pending)
        words = f"[Waiting for a person's yes to {names}: run {result.run}.]"
        more = (TextDelta(words),)
        text = words
    elif stop.reason == "limit":
        words = f"[The agent stopped at a limit: {stop}.]"
        more = (TextDelta(words),)
        text = f"{text}\n\n{words}".strip()
    elif text and not told:
        more = (TextDelta(text),)
    reply = Reply((Text(text),), _STOPS.get(stop.reason, "end"), usage=result.usage)
    return (*more, ReplyEnd(reply))


_MANY = 50
"""Messages above which a guard reads the conversation in a thread."""


class GuardedModel:
    """A model whose calls are judged before the client sees them: a refused one becomes text.

    The client runs its own tools, so the only way to stop a call is to not pass it on. A call is held
    back until it is complete and judged, against the conversation as the client sent it; everything else
    is passed on as it comes.
    """

    def __init__(self, model: Model, rules: Rules) -> None:
        self._model = model
        self._rules = rules

    @property
    def profile(self) -> Profile:
        """The model's own profile."""
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one reply, without the refused calls."""
        # A client sends the whole conversation each time.
        if len(request.messages) > _MANY or any(map(is_long, request.messages)):
            judge = await off_loop(partial(_Judge, self._rules, request), "trust")
        else:
            judge = _Judge(self._rules, request)
        stream = self._model.stream(request)
        try:
            async for event in stream:
                for each in judge.filter_event(event):
                    yield each
        finally:
            await close_stream(stream)


class _ClientTools:
    """The client's tools, as far as a guard needs them."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._tools: dict[str, Tool] = {}

    def names(self) -> Sequence[str]:
        return tuple(self._specs)

    def get(self, name: str) -> Tool | None:
        spec = self._specs.get(name)
        if spec is None:
            return None
        if name not in self._tools:
            self._tools[name] = _tool(spec)
        return self._tools[name]


def _tool(spec: Spec) -> Tool:
    try:
        return Tool(spec.name, spec.description, spec.parameters, input=spec.input)
    except RightcallError:
        # A schema that cannot be used here is left to the client; the rules need the name.
        return Tool("unnamed", spec.description).replace(name=spec.name)


class _Judge:
    """Judges the calls of one reply."""

    def __init__(self, rules: Rules, request: Request) -> None:
        self._tools = _ClientTools(request.specs)
        self._guard = Guard(rules, self._tools, system=request.system)
        for message in request.messages:
            self._guard.see(message)
        self._held: dict[int, CallStart] = {}
        self._refused: dict[str, str] = {}
        """By the call's key: the text that replaces it."""
        self._rewritten: dict[str, Call] = {}

    def filter_event(self, event: ModelEvent) -> Sequence[ModelEvent]:
        """The events that are passed on in place of one."""
        match event:
            case CallStart():
                self._held[event.index] = event
                return ()
            case CallDelta():
                return ()
            case CallEnd(index, call):
                return self._judge_call(index, call)
            case ReplyEnd(reply):
                return (replace(event, reply=self._without_refused(reply)),)
            case _:
                return (event,)

    def _judge_call(self, index: int, call: Call) -> Sequence[ModelEvent]:
        start = self._held.pop(index, CallStart(index, call.name, call.id))
        found = check(call, self._tools)
        why = "its arguments do not fit"
        if isinstance(found, CheckedCall):
            finding = self._guard.judge(found)
            match finding.decision:
                case None | Allow():
                    return (start, CallDelta(index, call.arguments), CallEnd(index, call))
                case Rewrite(arguments):
                    call = self._rewritten[_key(call)] = replace(call, arguments=dump(arguments))
                    return (start, CallDelta(index, call.arguments), CallEnd(index, call))
                case Ask():
                    why = f"a person would have to allow it: {finding.reason}"
                case _:
                    why = finding.reason
        gateway_logger.warning("a call of %s was refused: %s", call.name, why)
        words = self._refused[_key(call)] = f"[The call of {call.name} was refused: {why}.]"
        return (TextDelta(words),)

    def _without_refused(self, reply: Reply) -> Reply:
        if not self._refused and not self._rewritten:
            return reply
        parts: list[Any] = []
        has_calls = False
        for part in reply.content:
            if not isinstance(part, Call):
                parts.append(part)
            elif (words := self._refused.get(_key(part))) is not None:
                parts.append(Text(words))
            else:
                has_calls = True
                parts.append(self._rewritten.get(_key(part), part))
        if reply.stop == "calls" and not has_calls:
            reply = replace(reply, stop="end")
        return replace(reply, content=tuple(parts))


def _key(call: Call) -> str:
    return f"{call.id} {call.name} {call.arguments}"


LoadTools: TypeAlias = Callable[[Served], Awaitable[ToolSource]]
"""Loads the tools that a served model runs here."""


async def no_tools(served: Served) -> ToolSource:
    """For gateways that run no tools."""
    raise UsageError(f"nobody can load the tools {', '.join(served.tools)}")


class Wrapping:
    """Adds to each model what its settings say."""

    def __init__(
        self,
        settings: Settings,
        load_tools: LoadTools = no_tools,
        journal: Journal | None = None,
        observers: Sequence[Observer | AroundObserver] = (),
    ) -> None:
        self._load_tools = load_tools
        self._journal = journal
        self._observers = observers
        files = {served.rules for served in settings.models.values() if served.rules}
        self._rules: dict[str, Rules] = {file: read_rules(file) for file in files}
        self._agents: dict[tuple[int, int], AgentModel] = {}

    def wrap_model(self, served: Served, model: Model) -> Model:
        """The model as clients see it; unchanged if its settings add nothing."""
        rules = self._rules.get(served.rules)
        if not served.is_agent:
            return model if rules is None else GuardedModel(model, rules)
        key = (id(served), id(model))
        if key not in self._agents:
            self._agents[key] = AgentModel(
                model,
                lambda: self._load_tools(served),
                served.instructions,
                journal=self._journal,
                rules=rules,
                observers=self._observers,
            )
        return self._agents[key]
