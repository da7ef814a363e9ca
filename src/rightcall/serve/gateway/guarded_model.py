"""Rules of trust applied to a client's traffic: a refused call becomes text in the reply.

The client runs its own tools, so the only way to stop a call is to not pass it on. A call is held back
until it is complete and judged, against the conversation as the client sent it; everything else is
passed on as it comes.
"""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Ask, Rewrite
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply
from rightcall.core.parts import Text
from rightcall.core.ports import Model
from rightcall.core.request import Profile, Request
from rightcall.core.tool import Spec, Tool
from rightcall.errors import RightcallError
from rightcall.gate.check import check
from rightcall.log import gateway_logger
from rightcall.loop.shown import is_long
from rightcall.record.waits import off_loop
from rightcall.request.batches import close_stream
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules

_MANY = 50
"""Messages above which a guard reads the conversation in a thread."""


class GuardedModel:
    """A model whose calls are judged before the client sees them."""

    def __init__(self, model: Model, rules: Rules) -> None:
        self._model = model
        self._rules = rules

    @property
    def profile(self) -> Profile:
        """The model's own profile."""
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one reply, without the refused calls."""
        judging = partial(_Judge, self._rules, request)
        # A client sends the whole conversation each time.
        is_much = len(request.messages) > _MANY or any(map(is_long, request.messages))
        judge = await off_loop(judging, "trust") if is_much else judging()
        stream = self._model.stream(request)
        try:
            async for event in stream:
                for each in judge.passed(event):
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

    def passed(self, event: ModelEvent) -> Sequence[ModelEvent]:
        """The events that are passed on in place of one."""
        match event:
            case CallStart():
                self._held[event.index] = event
                return ()
            case CallDelta():
                return ()
            case CallEnd(index, call):
                return self._judged(index, call)
            case ReplyEnd(reply):
                return (replace(event, reply=self._without_refused(reply)),)
            case _:
                return (event,)

    def _judged(self, index: int, call: Call) -> Sequence[ModelEvent]:
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
        parts = [self._part(part) if isinstance(part, Call) else part for part in reply.content]
        left = any(isinstance(part, Call) for part in parts)
        stop = "end" if reply.stop == "calls" and not left else reply.stop
        return replace(reply, content=tuple(parts), stop=stop)

    def _part(self, call: Call) -> Call | Text:
        words = self._refused.get(_key(call))
        return self._rewritten.get(_key(call), call) if words is None else Text(words)


def _key(call: Call) -> str:
    return f"{call.id} {call.name} {call.arguments}"
