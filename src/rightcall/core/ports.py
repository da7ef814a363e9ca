"""The interfaces that the core expects of other code, as Protocols.

Observers around a run are shown segments of it. A plain observer is called after something has
happened; one around it is called before it begins, so that the context that it sets, such as the
current span, applies to everything inside: a tool's own code, a thread, a request, an inner run.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from rightcall.core.budget import Stop
from rightcall.core.entry import Entry, MessageQueued
from rightcall.core.events import ModelEvent, StreamEvent
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.outcome import Outcome
from rightcall.core.parts import Call, Result, Usage
from rightcall.core.request import (
    ClientRequest,
    EncodedRequest,
    ErrorResponse,
    ListedModel,
    Profile,
    ReplyHeader,
    Request,
    Sign,
)
from rightcall.core.tool import Spec, Tool
from rightcall.errors import RightcallError, VendorError


class Tools(Protocol):
    """What the gate needs of a toolbox."""

    def get(self, name: str, /) -> Tool | None:
        """The tool of that name."""

    def names(self) -> Sequence[str]:
        """The names of all tools, in order."""


@runtime_checkable
class LiveTools(Protocol):
    """Tools that may change during a run. An agent checks them again before each turn."""

    @property
    def version(self) -> int:
        """A number that changes whenever the tools change."""

    def __iter__(self) -> Iterator[Tool]:
        """The tools as they are now."""


class Model(Protocol):
    """Answers requests."""

    @property
    def profile(self) -> Profile:
        """Facts about it."""

    def stream(self, request: Request, /) -> AsyncIterator[ModelEvent]:
        """The events of one reply, ending with ReplyEnd. Errors are RightcallErrors."""


class Decoder(Protocol):
    """Decodes a stream's bytes into a reply's events. No I/O; the bytes may be cut anywhere."""

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """Returns the events that these bytes complete. A refusal in the stream raises VendorError."""

    def finish(self) -> tuple[ModelEvent, ...]:
        """Returns the events that only the stream's end completes; TruncatedStream if that is early."""


class Encode(Protocol):
    """Encodes a request as bytes."""

    def __call__(self, request: Request, /, *, model: str, stream: bool) -> EncodedRequest:
        """Encode the request for the vendor. The same request gives the same bytes."""


class Dialect(Protocol):
    """One vendor's wire format. Each module of ``wire`` is one."""

    @property
    def name(self) -> str:
        """The key of this dialect in vendor data."""

    def encode(self, request: Request, /, *, model: str, stream: bool) -> EncodedRequest:
        """Encode the request for the vendor. The same request gives the same bytes."""

    def encoder(self) -> Encode:
        """Returns an ``encode`` for one conversation, which encodes each of its messages once."""

    def decoder(self) -> Decoder:
        """Returns a decoder for one streamed reply."""

    def decode(self, body: bytes, /) -> Reply:
        """Decode the reply in a body that was not streamed."""

    def error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """Decode the vendor's refusal."""

    def authorize(self, key: str, /) -> Mapping[str, str] | Sign:
        """Returns the headers that carry the key, the same for every request.

        If a vendor wants each request signed: a signer, called again for every attempt.
        """


class ReplyWriter(Protocol):
    """Encodes a reply's events as the bytes that a client reads, as they come. Does no I/O.

    The cost of an event depends only on what is open: nothing is encoded twice.
    """

    @property
    def left_out(self) -> Sequence[str]:
        """Which parts of the reply so far the client's dialect cannot express."""

    def start(self) -> bytes:
        """Returns the beginning of the stream; otherwise the first ``write`` includes it."""

    def write(self, event: ModelEvent, /) -> bytes:
        """Returns what the event adds to the stream; with ReplyEnd, its end.

        A reply that broke off ends with the dialect's error, and never as if it were whole.
        """

    def fail(self, error: RightcallError, /) -> bytes:
        """Returns the dialect's error inside a stream, and the stream's end."""

    def keep_alive(self) -> bytes:
        """Returns a keep-alive, which changes nothing."""


class ServerDialect(Protocol):
    """One vendor's wire format, from the vendor's side. The ``server`` of a dialect is one."""

    @property
    def name(self) -> str:
        """The dialect's name, the same as the client half's."""

    def parse_request(
        self, body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
    ) -> ClientRequest:
        """Parse the request. An invalid one raises a UsageError that says where."""

    def writer(self, asked: ClientRequest, answer: ReplyHeader, /) -> ReplyWriter:
        """Returns a writer for one streamed reply."""

    def encode_reply(self, reply: Reply, asked: ClientRequest, answer: ReplyHeader, /) -> bytes:
        """Encode the reply as one body. One that broke off raises VendorError."""

    def encode_error(
        self, error: RightcallError, asked: ClientRequest | None = None, /
    ) -> ErrorResponse:
        """Encode the error for the client. ``asked`` is given if the request could be parsed."""

    def encode_token_count(self, tokens: int, /) -> bytes:
        """Encode the number of tokens of a request."""

    def encode_model_list(self, models: Sequence[ListedModel], /) -> bytes:
        """Encode the list of models."""


@runtime_checkable
class StatefulDialect(Protocol):
    """A dialect whose vendor stores the conversation, so that requests need not repeat it."""

    def mark_stored(self, reply: Reply, request: Request, /) -> Reply:
        """Returns the reply with the id it is stored under, and what came before it."""

    def rebuild_request(self, request: Request, refusal: RightcallError, /) -> Request | None:
        """Returns the whole request, if the refusal means that the vendor lost the conversation."""


class Journal(Protocol):
    """An append-only record of runs. The entry must be written when ``append`` returns."""

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""

    def entries(self, run: str, /) -> Iterable[Entry]:
        """All entries of a run, in order; empty for an unknown run."""

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""


class Hold(Protocol):
    """A run locked by one holder: nobody else can append to it until it is released."""

    def append(self, entry: Entry, /) -> None:
        """Write one entry at the end of the run's record; RunHeld if another holder took it over."""

    def release(self) -> None:
        """Let others hold the run."""


@runtime_checkable
class HoldingJournal(Protocol):
    """A journal that gives each run to one holder at a time. The journals of ``record`` do."""

    def hold(self, run: str, /) -> Hold:
        """Hold a run; RunHeld, with the holder, if another one holds it."""


class AsyncJournal(Protocol):
    """A journal whose methods are async, for a database for example."""

    async def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""

    async def entries(self, run: str, /) -> Iterable[Entry]:
        """All entries of a run, in order; empty for an unknown run."""

    async def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""


class Steps(Protocol):
    """Stores every effect of a run under its key, so that one that has happened is not repeated.

    An agent makes its own from its journal; a durable engine passes others (``run(steps=...)``).
    """

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]], /) -> Entry:
        """The recorded entry of that key, or what ``body`` returns, recorded."""

    async def note(self, key: str, entry: Entry, /) -> bool:
        """Record something on the way to a step, once; False if it was recorded already."""

    def was_started(self, key: str, /) -> bool:
        """Whether an earlier attempt at the run started this call, and its end is unknown."""


class Signal(Protocol):
    """Something that may be waited for, as an asyncio.Event is."""

    def is_set(self) -> bool:
        """Whether it has happened."""

    async def wait(self) -> object:
        """Return once it has happened."""


@runtime_checkable
class RunInbox(Protocol):
    """The messages that are added to a run while it goes on, each numbered from 1 in its order."""

    @property
    def urgent(self) -> Signal:
        """Set while a message waits that what is under way is cancelled for."""

    def restore(self, queued: Sequence[MessageQueued], after: int, /) -> None:
        """Take what is known of a run that goes on; ``after`` is the last that was delivered."""

    async def attach(self, run: str, steps: Steps, /) -> None:
        """Begin to take messages for a run that has these steps."""

    async def waiting(self, after: int, /) -> Sequence[MessageQueued]:
        """The messages with a greater number, in order; ``urgent`` is no longer set."""

    async def close(self, after: int, /) -> bool:
        """Take no more messages, unless one with a greater number waits; returns whether it closed."""

    def end(self) -> None:
        """Take no more messages: the run is over."""


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


class Observer(Protocol):
    """A function that watches runs. It changes nothing, and its exceptions are only logged."""

    def __call__(self, run: str, happened: Entry | StreamEvent, /) -> None:
        """Take what happened in a run: an entry of its record, or an event of its stream."""


class Watch(Protocol):
    """An observer's view of one run, request or call."""

    @property
    def trace(self) -> str:
        """Its name outside this process, such as W3C's ``traceparent``; empty for none."""

    def end(self, end: End | None, error: BaseException | None, /) -> None:
        """Called at the end, with the result or the error."""


@runtime_checkable
class AroundObserver(Protocol):
    """An observer that is called before a run, a request or a call begins, and when it ends.

    It changes nothing. Context variables that it sets are visible inside; its exceptions are only
    logged.
    """

    def around(self, lasting: Lasting, /) -> Watch | None:
        """Called when something begins, in the same context; return None to ignore it."""


class TokenCounter(Protocol):
    """Counts the tokens of a message for a model."""

    def __call__(self, message: Message, /) -> int:
        """The tokens of one message."""


class Clock(Protocol):
    """A clock, so that tests need not wait."""

    def now(self) -> float:
        """Returns seconds on a monotonic clock."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""


class BackgroundReplies(Protocol):
    """Stores what was begun for one request.

    A model that answers in the background reports what it began at its vendor. The run records it, and
    a later attempt at the run continues with it instead of asking again.
    """

    def last_id(self, model: str, /) -> str:
        """Returns the id of what this model began last in an earlier attempt; empty if nothing."""

    async def record_start(self, model: str, identity: str, /) -> None:
        """Store the id of what this model has begun."""


BACKGROUND_REPLIES: ContextVar[BackgroundReplies | None] = ContextVar("rightcall_pending", default=None)
"""The store for the request that is being sent."""
