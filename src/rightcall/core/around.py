"""Runs, model requests and tool calls, with their ends, for observers around them, such as a tracer.

A plain observer is called after something has happened. One that is around something is called before it
begins, so that context it sets, such as the current span, applies to everything inside: a tool's own
code, a thread, a request, an inner run.
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
    """A run, from its start or its resumption to its end, a pause or an error."""

    run: str
    agent: str
    """The agent's name; empty if it is not an agent's run."""
    model: Any
    """The Model that is asked first."""
    messages: Transcript
    """All messages so far."""
    system: str = ""
    specs: tuple[Spec, ...] = ()
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    wants_output: bool = False
    """Whether it must end with a structured output."""
    traces: tuple[str, ...] = ()
    """The observers' trace ids of the run's earlier segments, in this process or another."""


class SegmentEnd(Struct, frozen=True, kw_only=True, eq=False):
    """How a segment ended."""

    stop: Stop
    usage: Usage
    """What the segment itself spent, inner runs included."""
    replies: tuple[Reply, ...] = ()
    """The model's replies in this segment."""
    calls: int = 0
    """How many of its calls were run."""


class ModelExchange(Struct, frozen=True, eq=False):
    """A request to a model: all attempts at it, and all models that were asked."""

    key: str
    """The key of the run's step; empty for a request outside a run, such as a gateway's."""
    model: Any
    request: Request


class ExchangeEnd(Struct, frozen=True, eq=False):
    """A model's reply, whole or partial."""

    reply: Reply
    first: float | None = None
    """Seconds until the first piece of the reply; None if that was not measured."""


class ToolCall(Struct, frozen=True, eq=False):
    """A call, from its start to its outcome; or one that is not run, which ends at once."""

    key: str
    call: Call
    tool: Tool | None = None
    """None if there is no tool of that name, or the call was not parsed."""
    early: bool = False
    """Started while the reply still streamed; perhaps in vain."""


class CallEnd(Struct, frozen=True, eq=False):
    """How a call ended."""

    outcome: Outcome
    result: Result
    seconds: float = 0.0
    attempts: int = 0
    """How often the tool was started; 0 for a call that was not run."""


Lasting: TypeAlias = RunSegment | ModelExchange | ToolCall
End: TypeAlias = SegmentEnd | ExchangeEnd | CallEnd

Headers: TypeAlias = Callable[[str], Mapping[str, str]]
"""Returns the extra headers for a request to an address. Never raises."""

HEADERS: ContextVar[Headers | None] = ContextVar("rightcall_headers", default=None)
"""Set by an observer around a request, so that the server can continue its trace."""

TRACE = ("traceparent", "tracestate")
"""The headers that carry a trace to another process (W3C Trace Context)."""
CALLER: ContextVar[Mapping[str, str] | None] = ContextVar("rightcall_caller", default=None)
"""Set by a server: the TRACE headers of the request that it is handling."""
