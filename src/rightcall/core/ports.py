"""What the centre asks of the rest, as Protocols."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from rightcall.core.around import End, Lasting
from rightcall.core.entry import Entry
from rightcall.core.events import ModelEvent, StreamEvent
from rightcall.core.message import Message, Reply
from rightcall.core.request import Outgoing, Profile, Request, Sign
from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.core.tool import Tool
from rightcall.errors import RightcallError, VendorError


class Tools(Protocol):
    """What the gate needs of a toolbox."""

    def get(self, name: str, /) -> Tool | None:
        """The tool of that name."""
        ...

    def names(self) -> Sequence[str]:
        """The names of all tools, in order."""
        ...


@runtime_checkable
class LiveTools(Protocol):
    """Tools that may change during a run. An agent checks them again before each turn."""

    @property
    def version(self) -> int:
        """A number that changes whenever the tools change."""
        ...

    def __iter__(self) -> Iterator[Tool]:
        """The tools as they are now."""
        ...


class Model(Protocol):
    """Answers requests."""

    @property
    def profile(self) -> Profile:
        """Facts about it."""
        ...

    def stream(self, request: Request, /) -> AsyncIterator[ModelEvent]:
        """The events of one reply, ending with ReplyEnd. Errors are RightcallErrors."""
        ...


class Decoder(Protocol):
    """A stream's bytes into a reply's events. Does no I/O; the same bytes cut anywhere give the same."""

    def feed(self, data: bytes, /) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete. A refusal inside the stream is a VendorError."""
        ...

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the stream completes; TruncatedStream if it came too soon."""
        ...


class Encode(Protocol):
    """Turns a request into bytes."""

    def __call__(self, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        """The request as the vendor wants it. The same request gives the same bytes."""
        ...


class Dialect(Protocol):
    """One vendor's wire format. A module of ``wire`` is one."""

    @property
    def name(self) -> str:
        """The key of this dialect in vendor bags."""
        ...

    def encode(self, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        """The request as the vendor wants it. The same request gives the same bytes."""
        ...

    def encoder(self) -> Encode:
        """An ``encode`` for one conversation, which writes each of its messages once."""
        ...

    def decoder(self) -> Decoder:
        """A decoder for one streamed reply."""
        ...

    def decode(self, body: bytes, /) -> Reply:
        """The reply in a body that was not streamed."""
        ...

    def error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """The vendor's refusal."""
        ...

    def authorize(self, key: str, /) -> Mapping[str, str] | Sign:
        """The headers that carry the key, the same for every request.

        Where a vendor wants each request signed: what signs one, asked again for every attempt.
        """
        ...


class ReplyWriter(Protocol):
    """A reply's events into the bytes that a client reads, as they come. Does no I/O.

    What an event adds depends on no more than what is open: nothing that went before is written again.
    """

    @property
    def left_out(self) -> Sequence[str]:
        """What of the reply the client's dialect has no place for, so far."""
        ...

    def start(self) -> bytes:
        """What a stream begins with; the first ``write`` begins it as well, where nobody has."""
        ...

    def write(self, event: ModelEvent, /) -> bytes:
        """What the event adds to the stream; with ReplyEnd, its end.

        A reply that broke off ends with the dialect's error, and never as if it were whole.
        """
        ...

    def fail(self, error: RightcallError, /) -> bytes:
        """The dialect's word for a failure within a stream, and the stream's end."""
        ...

    def keep_alive(self) -> bytes:
        """What tells the client that there is more to come, and changes nothing."""
        ...


class ServerDialect(Protocol):
    """One vendor's wire format, from the vendor's side. The ``server`` of a dialect is one."""

    @property
    def name(self) -> str:
        """The dialect's, as the client half has it."""
        ...

    def asked(
        self, body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
    ) -> Asked:
        """The request. What makes no sense is a UsageError that says where."""
        ...

    def writer(self, asked: Asked, answer: Answer, /) -> ReplyWriter:
        """A writer for one streamed reply."""
        ...

    def whole(self, reply: Reply, asked: Asked, answer: Answer, /) -> bytes:
        """The reply as one body. For one that broke off, a VendorError."""
        ...

    def refused(self, error: RightcallError, asked: Asked | None = None, /) -> Refused:
        """The error as the client reads it. ``asked``, where the request could be read."""
        ...

    def counted(self, tokens: int, /) -> bytes:
        """The body that tells how many tokens a request is."""
        ...

    def listed(self, models: Sequence[Listed], /) -> bytes:
        """The body that lists the models."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """A dialect whose vendor keeps what was said, so that requests need not say it again."""

    def kept(self, reply: Reply, request: Request, /) -> Reply:
        """The reply, with where it is kept and what stood before it."""
        ...

    def anew(self, request: Request, refusal: RightcallError, /) -> Request | None:
        """The request with everything in it, where the refusal means that the vendor has forgotten."""
        ...


class Journal(Protocol):
    """An append-only record of runs. The entry must be written when ``append`` returns."""

    def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        ...

    def entries(self, run: str, /) -> Iterable[Entry]:
        """All entries of a run, in order; empty for an unknown run."""
        ...

    def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        ...


class Hold(Protocol):
    """A run locked by one holder: nobody else can append to it until it is released."""

    def append(self, entry: Entry, /) -> None:
        """Write one entry at the end of the run's record; RunHeld if another holder took it over."""
        ...

    def release(self) -> None:
        """Let others hold the run."""
        ...


@runtime_checkable
class HoldingJournal(Protocol):
    """A journal that gives each run to one holder at a time. The journals of ``record`` do."""

    def hold(self, run: str, /) -> Hold:
        """Hold a run; RunHeld, with the holder, if another one holds it."""
        ...


class AsyncJournal(Protocol):
    """A journal whose methods are async, for a database for example."""

    async def append(self, run: str, entry: Entry, /) -> None:
        """Write one entry at the end of a run's record."""
        ...

    async def entries(self, run: str, /) -> Iterable[Entry]:
        """All entries of a run, in order; empty for an unknown run."""
        ...

    async def runs(self) -> Sequence[str]:
        """The runs that are recorded, oldest first."""
        ...


class Steps(Protocol):
    """Stores every effect of a run under its key, so that one that has happened is not repeated.

    An agent makes its own from its journal; a durable engine passes others (``run(steps=...)``).
    """

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]], /) -> Entry:
        """The recorded entry of that key, or what ``body`` returns, recorded."""
        ...

    async def note(self, key: str, entry: Entry, /) -> bool:
        """Record something on the way to a step, once; False if it was recorded already."""
        ...

    def was_started(self, key: str, /) -> bool:
        """Whether an earlier attempt at the run started this call, and its end is unknown."""
        ...


class Observer(Protocol):
    """A function that watches runs. It changes nothing, and its exceptions are only logged."""

    def __call__(self, run: str, happened: Entry | StreamEvent, /) -> None:
        """Take what happened in a run: an entry of its record, or an event of its stream."""
        ...


class Watch(Protocol):
    """An observer's view of one run, request or call."""

    @property
    def trace(self) -> str:
        """Its name outside this process, such as W3C's ``traceparent``; empty for none."""
        ...

    def end(self, end: End | None, error: BaseException | None, /) -> None:
        """Called at the end, with the result or the error."""
        ...


@runtime_checkable
class AroundObserver(Protocol):
    """An observer that is called before a run, a request or a call begins, and when it ends.

    It changes nothing. Context variables that it sets are visible inside; its exceptions are only
    logged.
    """

    def around(self, lasting: Lasting, /) -> Watch | None:
        """Called when something begins, in the same context; return None to ignore it."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens of a message for a model."""

    def __call__(self, message: Message, /) -> int:
        """The tokens of one message."""
        ...


class Clock(Protocol):
    """Time that passes, so that tests need not wait for it."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...
