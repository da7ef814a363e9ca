"""What lasts in a run, and what it came to, for observers that are around it as a tracer is.

An observer that is only shown what happens is called when it has happened. One that is around something
is there before it begins, so that what it sets for the time being, as the current span, holds for
everything inside: a tool's own code, a thread, a request, a run inside a call.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.budget import Stop
from rightcall.core.call import Call
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply, Transcript
from rightcall.core.outcome import Outcome
from rightcall.core.parts import Result, Usage
from rightcall.core.request import Request
from rightcall.core.tool import Spec, Tool


class RunSegment(Struct, frozen=True, kw_only=True, eq=False):
    """A run, from where it begins or goes on to its end, a pause or an error."""

    run: str
    agent: str
    """The agent's name; empty where it is no agent's run."""
    model: Any
    """The Model that it asks first."""
    messages: Transcript
    """Everything said up to now."""
    system: str = ""
    specs: tuple[Spec, ...] = ()
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    wants_output: bool = False
    """Whether it must end with an output of a certain form."""
    traces: tuple[str, ...] = ()
    """What observers called the earlier segments of the run, in this process or another."""


class SegmentEnd(Struct, frozen=True, kw_only=True, eq=False):
    """What a segment came to."""

    stop: Stop
    usage: Usage
    """What the segment itself spent, the runs inside its calls included."""
    replies: tuple[Reply, ...] = ()
    """What its model said in it."""
    calls: int = 0
    """How many of its calls were run."""


class ModelExchange(Struct, frozen=True, eq=False):
    """A question to a model: all attempts at it, of all models that were asked."""

    key: str
    """The step of the run; empty for a question that is in no run, as a gateway's."""
    model: Any
    request: Request


class ExchangeEnd(Struct, frozen=True, eq=False):
    """What a model answered, whole or as far as it came."""

    reply: Reply
    first: float | None = None
    """Seconds until the first piece of it; None where none was waited for."""


class ToolCall(Struct, frozen=True, eq=False):
    """A call, from its start to its outcome; or one that is not run, which is over at once."""

    key: str
    call: Call
    tool: Tool | None = None
    """None where there is none of that name, or the call was not read."""
    early: bool = False
    """Started while the reply still streamed; perhaps for nothing."""


class CallEnd(Struct, frozen=True, eq=False):
    """What became of a call."""

    outcome: Outcome
    result: Result
    seconds: float = 0.0
    attempts: int = 0
    """How often the tool was started; 0 for a call that was not run."""


Lasting: TypeAlias = RunSegment | ModelExchange | ToolCall
End: TypeAlias = SegmentEnd | ExchangeEnd | CallEnd

Headers: TypeAlias = Callable[[str], Mapping[str, str]]
"""What a request to a host carries besides: its address into headers. It raises nothing."""

HEADERS: ContextVar[Headers | None] = ContextVar("rightcall_headers", default=None)
"""Set by an observer around a question, so that who answers can go on with its trace."""

TRACE = ("traceparent", "tracestate")
"""The headers by which a trace goes on elsewhere (W3C Trace Context)."""
CALLER: ContextVar[Mapping[str, str] | None] = ContextVar("rightcall_caller", default=None)
"""Set by a server: the headers of TRACE that a request came with, for what is done because of it."""
