"""A model from a dialect, a transport and an address: sends, retries, decodes and prices requests."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from copy import copy
from logging import DEBUG
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd, RetryStart
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply, holds_much, said
from rightcall.core.parts import Usage
from rightcall.core.ports import Decoder, Dialect, Encode, Keeping
from rightcall.core.request import Conversation, Outgoing, Profile, Request
from rightcall.core.tool import Spec
from rightcall.core.transport import MAX_REPLY_BYTES, Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, RightcallError, TransportError, VendorError
from rightcall.log import request_logger
from rightcall.request.address import Address
from rightcall.request.authorship import Readable, writer_at
from rightcall.request.batches import Batches
from rightcall.request.corrected import believable, marked, marked_reply
from rightcall.request.host import Host
from rightcall.request.retry import Retry
from rightcall.request.unasked import Unasked
from rightcall.request.whole import HEAD, Answered, Errand, Whole, body_of

_UNHEARD = ("rate_limit", "overloaded")
"""The kinds of refusals after which it is certain that nothing was done."""

_NOWHERE: Mapping[str, Usage] = {}
_ANYTHING = Request(messages=(said("?"),))

Price = Callable[[Reply], float | None]
Watch = Callable[[Request, Reply], None]


class _Encoder(Struct, frozen=True, eq=False):
    """Encodes the requests of one conversation, each message once."""

    encode: Encode
    readable: Readable


class WireModel:
    """A model behind HTTP.

    ``defaults`` are options for requests that do not set them. ``keep_raw`` keeps the vendor's own bytes
    of each reply, for the journal. ``watch`` is shown each whole reply. ``name`` is the name that the
    user gave for it.
    """

    def __init__(  # noqa: PLR0913 - each is one fact about the model
        self,
        dialect: Dialect,
        transport: Transport,
        address: Address,
        *,
        profile: Profile | None = None,
        streaming: bool = True,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        price: Price | None = None,
        defaults: Mapping[str, JsonValue] | None = None,
        keep_raw: bool = False,
        watch: Watch | None = None,
        name: str = "",
    ) -> None:
        self.name = name or address.model
        self._dialect = dialect
        # Checked once: isinstance with a protocol takes long.
        self._keeping = dialect if isinstance(dialect, Keeping) else None
        self._transport = transport
        self._address = address
        self._host = Host(dialect, transport, address, timeouts or Timeouts())
        self._writer = writer_at(dialect.name, self._host.url)
        self._unasked = Unasked()
        self._blanks: dict[bool, Outgoing] = {}
        self._profile = profile or Profile()
        self._streaming = streaming
        self._retry = retry or Retry()
        self._price = price
        self._defaults = defaults or {}
        self._keep_raw = keep_raw
        self._watch = watch
        self._closes = 0
        self._waits: set[asyncio.Future[None]] = set()
        """The futures of streams that wait before a retry."""

    def __repr__(self) -> str:
        return f"WireModel({self._dialect.name}, {self._address!r})"

    @property
    def dialect(self) -> Dialect:
        """The model's dialect."""
        return self._dialect

    @property
    def provider(self) -> str:
        """The provider's name, or the host."""
        return self._host.provider

    @property
    def place(self) -> str:
        """The address without credentials."""
        return self._host.place

    @property
    def vendor_name(self) -> str:
        """The vendor's name for the model."""
        return self._address.model

    @property
    def streaming(self) -> bool:
        """Whether its replies are streamed."""
        return self._streaming

    @property
    def profile(self) -> Profile:
        """Facts about the model."""
        return self._profile

    def tools_as_sent(self, specs: Sequence[Spec]) -> Mapping[str, str]:
        """Returns each tool's definition as it is sent to the vendor, by name."""
        from rightcall.request.definitions import definitions  # noqa: PLC0415 - light until used

        return definitions(self._dialect, self._address.model, specs)

    def cost_of(self, usage: Usage, elsewhere: Mapping[str, Usage] = _NOWHERE) -> float | None:
        """Returns the US dollars for a usage, parts of which may be other models'; None if unknown."""
        return None if self._price is None else self._price(Reply((), usage=usage, elsewhere=elsewhere))

    async def close(self) -> None:
        """Close the connections. An open stream ends with a TransportError."""
        self._closes += 1
        for wait in list(self._waits):
            # The future may belong to another thread; if its event loop is closed, nothing waits.
            with suppress(RuntimeError):
                wait.get_loop().call_soon_threadsafe(_wake, wait)
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stream(self, request: Request) -> Batches:
        """Returns the events of one reply. Retried only while none of them has been yielded."""
        return Batches(self._together(request))

    async def _together(self, request: Request) -> AsyncGenerator[Sequence[ModelEvent], None]:
        tried, closes = 0, self._closes
        while True:
            tried += 1
            delivered, incoming, head, is_over = False, None, b"", False
            try:
                outgoing = await self._written(request)
                forced, exchange = outgoing.held.forced, self._host.post(outgoing)
                # The request may be large, and the reply may take long.
                del outgoing
                async with exchange as incoming:
                    await self._host.admit(incoming)
                    reader = self._reader(incoming)
                    raw: list[bytes] | None = [] if self._keep_raw else None
                    size = 0
                    async for chunk in incoming.chunks:
                        size += len(chunk)
                        if size > MAX_REPLY_BYTES:
                            raise ProtocolError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
                        if raw is not None:
                            raw.append(chunk)
                        if not delivered and len(head) < HEAD:
                            head += chunk[:HEAD]
                        if events := reader.feed(chunk):
                            delivered, head = True, b""
                            yield self._finished(events, raw, request, forced)
                        del chunk, events  # not kept until there is more
                    is_over = True
                    if events := reader.finish():
                        delivered = True
                        yield self._finished(events, raw, request, forced)
            except RightcallError as caught:
                # The transport may fail before any bytes arrive; such a reply is not an empty one.
                is_told = delivered or not (head or is_over)
                error = (
                    caught
                    if is_told or incoming is None
                    else self._host.what_came(caught, incoming, head)
                )
                self._host.complete(error, incoming)
                request, wait = self._next_try(request, error, None if delivered else tried)
                if wait is None or self._closes != closes:
                    raise error from error.__cause__
            else:
                return
            yield (self._again(error, tried, wait),)
            await self._wait(wait)
            if self._closes != closes:
                raise TransportError("the model was closed before it was asked again")

    def forward(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Incoming]:
        """Send a request that a client encoded in this dialect, once, with this model's key."""
        return self._host.post(outgoing)

    def blank(self, *, stream: bool) -> Outgoing:
        """Returns an encoded dummy request, for this model's path and headers."""
        known = self._blanks.get(stream)
        if known is None:
            known = self._dialect.encode(_ANYTHING, model=self._address.model, stream=stream)
            self._blanks[stream] = known
        return known

    def whole(self) -> "WireModel":
        """Returns the same model without streaming."""
        twin = copy(self)
        twin._streaming = False  # noqa: SLF001 - its own
        return twin

    def refusal(self, incoming: Incoming, body: bytes) -> VendorError:
        """Decode a refusal, with the provider's name and without secrets."""
        error = self._host.refusal(incoming, body)
        self._host.complete(error, incoming)
        return error

    async def errand(self, errand: Errand) -> Answered:
        """Send an errand and return the answer; retried like replies."""
        tried = 0
        while True:
            tried += 1
            incoming = None
            try:
                async with self._host.carry(errand) as incoming:
                    await self._host.admit(incoming)
                    return Answered(incoming.headers, await body_of(incoming, errand.most))
            except RightcallError as error:
                self._host.complete(error, incoming)
                may = not errand.once or (isinstance(error, VendorError) and error.kind in _UNHEARD)
                wait = self._retry.delay(error, tried, random.random()) if may else None  # noqa: S311
                if wait is None:
                    raise
                self._again(error, tried, wait)
            await self._wait(wait)

    def _again(self, error: RightcallError, tried: int, wait: float) -> RetryStart:
        """Log a retry, and return its event."""
        most = self._retry.attempts
        request_logger.warning("%s; retrying in %.1f s (attempt %d of %d)", error, wait, tried + 1, most)
        kind = error.kind if isinstance(error, VendorError | TransportError) else "server"
        return RetryStart(tried + 1, wait, kind, str(error))

    async def _wait(self, seconds: float) -> None:
        """Wait for so many seconds, or until the model is closed."""
        wait = asyncio.get_running_loop().create_future()
        self._waits.add(wait)
        try:
            await asyncio.wait([wait], timeout=seconds)
        finally:
            self._waits.discard(wait)

    def encoded(self, request: Request) -> Outgoing:
        """Encode the request for a reply that is not streamed."""
        return self._encoded(request, stream=False)

    def decoded(self, body: bytes, request: Request, forced: frozenset[str]) -> Reply:
        """Decode the reply in a body, with the calls of ``forced`` marked; VendorError for a refusal."""
        try:
            return marked_reply(self._priced(self._dialect.decode(body), request), forced)
        except RightcallError as error:
            self._host.complete(error, None)
            raise

    async def _written(self, request: Request) -> Outgoing:
        """Encode the request; in a thread if it holds large files."""
        begun, stream = self._host in request.conversation.caches, self._streaming
        if holds_much(request.messages, begun=begun):
            return await asyncio.to_thread(self._encoded, request, stream=stream)
        return self._encoded(request, stream=stream)

    def _encoded(self, request: Request, *, stream: bool) -> Outgoing:
        if self._defaults:
            request = replace(request, options={**self._defaults, **request.options})
        request = self._unasked.left_out(request)
        encoder, model = self._encoder(request.conversation), self._address.model
        outgoing = encoder.encode(encoder.readable.request(request), model=model, stream=stream)
        if request_logger.isEnabledFor(DEBUG):
            size, count = len(outgoing.body), len(request.messages)
            place = f"{self._host.place}{outgoing.path.partition('?')[0]}"
            request_logger.debug("POST %s: model %s, %d messages, %d bytes", place, model, count, size)
            for tool, reason in outgoing.held.reasons.items():
                request_logger.debug("the tool %s is not sent strict: %s", tool, reason)
        return outgoing

    def _encoder(self, conversation: Conversation) -> _Encoder:
        """Returns the encoder that caches what it encoded of a conversation."""
        known = conversation.caches.get(self._host)
        if not isinstance(known, _Encoder):
            known = _Encoder(self._dialect.encoder(), Readable(self._dialect.name, self._writer))
            conversation.caches[self._host] = known
        return known

    def _reader(self, incoming: Incoming) -> Decoder:
        if not self._streaming or "json" in incoming.headers.get("content-type", ""):
            # Some hosts answer a request for a stream with a whole reply, or with an error as JSON.
            return Whole(self._dialect)
        return self._dialect.decoder()

    def _finished(
        self,
        events: Sequence[ModelEvent],
        raw: list[bytes] | None,
        request: Request,
        forced: frozenset[str],
    ) -> Sequence[ModelEvent]:
        """Returns the events, with the cost and the raw bytes added to the reply at their end."""
        if forced:
            events = marked(events, forced)
        if not events or not isinstance(events[-1], ReplyEnd):
            return events
        reply = self._priced(events[-1].reply, request)
        if self._watch is not None:
            self._watch(request, reply)
        return (*events[:-1], ReplyEnd(reply, None if raw is None else b"".join(raw)))

    def _next_try(
        self, request: Request, error: RightcallError, tried: int | None
    ) -> tuple[Request, float | None]:
        """Returns what to send after an error, and the wait; None once anything was yielded."""
        if tried is None:
            return request, None
        if self._keeping is not None and (whole := self._keeping.anew(request, error)):
            return whole, 0.0
        if self._unasked.learns(request, error):
            return request, 0.0
        return request, self._retry.delay(error, tried, random.random())  # noqa: S311

    def _priced(self, reply: Reply, request: Request) -> Reply:
        reply = replace(believable(reply, self._host.provider), written_by=self._writer)
        if self._keeping is not None:
            # The reply's predecessor is the conversation as it was sent.
            readable = self._encoder(request.conversation).readable
            reply = self._keeping.kept(reply, readable.request(request))
        if self._price is None or reply.usage.cost is not None:
            # The vendor's own figure is better than any price table.
            return reply
        return replace(reply, usage=replace(reply.usage, cost=self._price(reply)))


def _wake(wait: "asyncio.Future[None]") -> None:
    if not wait.done():
        wait.set_result(None)
