"""A dialect, a transport and an address into a model: requests sent, retried, decoded and priced."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from logging import DEBUG
from typing import Self
from urllib.parse import urlsplit
from weakref import finalize

from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd, RetryStart
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.core.ports import Decoder, Dialect, Encode, Keeping
from rightcall.core.request import Conversation, Outgoing, Prepared, Profile, Request
from rightcall.core.secret import redact_formats
from rightcall.core.tool import Spec
from rightcall.core.transport import MAX_REPLY_BYTES, Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, RightcallError, TransportError, UsageError, VendorError
from rightcall.log import request_logger
from rightcall.request.address import Address, authorized
from rightcall.request.authorship import Readable, writer_at
from rightcall.request.batches import Batches
from rightcall.request.believable import believable
from rightcall.request.large import holds_much
from rightcall.request.nulls import marked, marked_reply
from rightcall.request.retry import Retry
from rightcall.request.unstrict import Unstrict
from rightcall.request.whole import HEAD, Answered, Errand, Whole, body_of, is_whole

_EXCERPT, _REFUSED = 200, 400
_UNHEARD = ("rate_limit", "overloaded")
"""The kinds of refusals after which it is certain that nothing was done."""

_HEADERS = {"content-type": "application/json", "user-agent": "rightcall"}

Price = Callable[[Reply], float | None]


class WireModel:
    """A model behind HTTP.

    ``defaults`` are options it needs unless a request says otherwise. ``keep_raw`` has the vendor's own
    bytes of each reply kept, for the journal. ``name`` is what it was asked for by.
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
        name: str = "",
    ) -> None:
        self.name = name or address.model
        self._dialect = dialect
        # Once: to look whether something is of a protocol takes long.
        self._keeping = dialect if isinstance(dialect, Keeping) else None
        self._transport = transport
        self._address = address
        self._url = address.url.rstrip("/")
        carried = authorized(dialect, address)
        self._sign = None if isinstance(carried, Mapping) else carried
        self._own_headers = {**(carried if isinstance(carried, Mapping) else {}), **address.headers}
        self._writer = writer_at(dialect.name, self._url)
        self._encoders: dict[int, tuple[Encode, Readable]] = {}
        """By the identity of a conversation; each is gone when its conversation is."""
        self._unstrict = Unstrict()
        self._profile = profile or Profile()
        self._streaming = streaming
        self._retry = retry or Retry()
        self._timeouts = timeouts or Timeouts()
        self._price = price
        self._defaults = defaults or {}
        self._keep_raw = keep_raw
        self._closes = 0
        self._waits: set[asyncio.Future[None]] = set()
        """Where a stream waits before it asks again."""
        place = urlsplit(self._url)
        names = {name.lower() for name in self._own_headers}
        if "@" in place.netloc and "authorization" in names:
            raise UsageError(
                f"{place.hostname}: the address holds a user and a password, and there is a key, too; a "
                "request carries one of them. Leave the key out, or take the user out of the address"
            )
        self._place = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
        self._provider = address.provider or place.hostname or ""

    def __repr__(self) -> str:
        return f"WireModel({self._dialect.name}, {self._address!r})"

    @property
    def dialect(self) -> Dialect:
        """What is spoken to it."""
        return self._dialect

    @property
    def provider(self) -> str:
        """Who is asked: a provider's name, or a host."""
        return self._provider

    @property
    def profile(self) -> Profile:
        """What is known about the model."""
        return self._profile

    def tools_as_sent(self, specs: Sequence[Spec]) -> Mapping[str, str]:
        """What the vendor is sent of each tool, by its name."""
        from rightcall.request.definitions import definitions  # noqa: PLC0415 - light until used

        return definitions(self._dialect, self._address.model, specs)

    def cost_of(self, usage: Usage) -> float | None:
        """US dollars for so many tokens; None where the price is not known."""
        return None if self._price is None else self._price(Reply((), usage=usage))

    async def close(self) -> None:
        """Let go of the connections. A stream that goes on ends with a TransportError."""
        self._closes += 1
        for wait in list(self._waits):
            # It may be another thread's; one whose event loop is closed waits no more.
            with suppress(RuntimeError):
                wait.get_loop().call_soon_threadsafe(_wake, wait)
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stream(self, request: Request) -> Batches:
        """The events of one reply. Tried again only while nothing of it has been given out."""
        return Batches(self._together(request))

    async def _together(self, request: Request) -> AsyncGenerator[Sequence[ModelEvent], None]:
        tried, closes = 0, self._closes
        while True:
            tried += 1
            delivered, incoming, head, is_over = False, None, b"", False
            try:
                outgoing = await self._written(request)
                forced = outgoing.held.forced
                async with self._sent(outgoing) as incoming:
                    await self._admit(incoming)
                    reader = self._reader(incoming)
                    raw: list[bytes] = []
                    size = 0
                    async for chunk in incoming.chunks:
                        size += len(chunk)
                        if size > MAX_REPLY_BYTES:
                            raise ProtocolError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
                        if self._keep_raw:
                            raw.append(chunk)
                        if not delivered and len(head) < HEAD:
                            head += chunk[:HEAD]
                        if events := reader.feed(chunk):
                            delivered = True
                            yield self._finished(events, raw, request, forced)
                    is_over = True
                    if events := reader.finish():
                        delivered = True
                        yield self._finished(events, raw, request, forced)
            except RightcallError as caught:
                # A transport may fail before any of the reply is through, which is then not empty.
                is_told = delivered or not (head or is_over)
                error = caught if is_told or incoming is None else self._read(caught, incoming, head)
                self._complete(error, incoming)
                request, wait = self._next_try(request, error, None if delivered else tried)
                if wait is None or self._closes != closes:
                    raise error from error.__cause__
            else:
                return
            yield (self._again(error, tried, wait),)
            await self._wait(wait)
            if self._closes != closes:
                raise TransportError("the model was closed before it was asked again")

    async def errand(self, errand: Errand) -> Answered:
        """Send what asks the model nothing, and give back what came; tried again as replies are."""
        tried = 0
        while True:
            tried += 1
            incoming = None
            try:
                async with self._carried(errand) as incoming:
                    await self._admit(incoming)
                    return Answered(incoming.headers, await body_of(incoming, errand.most))
            except RightcallError as error:
                self._complete(error, incoming)
                may = not errand.once or (isinstance(error, VendorError) and error.kind in _UNHEARD)
                wait = self._retry.delay(error, tried, random.random()) if may else None  # noqa: S311
                if wait is None:
                    raise
                self._again(error, tried, wait)
            await self._wait(wait)

    def _carried(self, errand: Errand) -> AbstractAsyncContextManager[Incoming]:
        url = errand.path if "://" in errand.path else self._address.at(errand.path)
        if urlsplit(url)[:2] != urlsplit(self._url)[:2]:
            # The key was meant for the address that was asked.
            raise ProtocolError(f"the vendor points to another host, {redact_formats(url)[:_EXCERPT]}")
        headers = self._headers(errand.method, url, errand.headers, errand.body)
        if errand.method == "GET":
            return self._transport.get(url, headers=headers, timeouts=self._timeouts)
        return self._transport.post(url, headers=headers, body=errand.body, timeouts=self._timeouts)

    async def _admit(self, incoming: Incoming) -> None:
        """Let a reply pass that may be one; raise the refusal that came in its place."""
        if request_logger.isEnabledFor(DEBUG):
            named = self._request_id(incoming)
            request_logger.debug("%s: HTTP %d, request %s", self._place, incoming.status, named or "-")
        is_page = "text/html" in incoming.headers.get("content-type", "")
        if incoming.status >= _REFUSED or is_page:
            raise self._refusal(incoming, await body_of(incoming))

    def _refusal(self, incoming: Incoming, body: bytes) -> VendorError:
        if key := self._address.key:
            # Before it is cut: of half a key, nobody could tell what it is.
            body = body.replace(key.encode(), b"[key]")
        return self._dialect.error(incoming.status, incoming.headers, body)

    def _read(self, error: RightcallError, incoming: Incoming, head: bytes) -> RightcallError:
        """Say what came in place of a reply of which nothing could be read."""
        began = head.lstrip()
        is_page = began.startswith(b"<")
        if not isinstance(error, ProtocolError) or not (is_page or is_whole(head)):
            return error
        found: RightcallError
        if is_page:
            found = self._refusal(incoming, head)
        elif began:
            came = " ".join(self._without_secrets(began.decode(errors="replace")).split())
            came = came if len(came) <= _EXCERPT else f"{came[:_EXCERPT]}…"
            api = f"the {self._dialect.name} API"
            found = type(error)(f"what came is no answer of {api}, but: {came}; check the address")
        else:
            found = type(error)("the reply is empty")
        found.__cause__ = error
        return found

    def _again(self, error: RightcallError, tried: int, wait: float) -> RetryStart:
        """Tell whoever listens that the request will be sent again."""
        most = self._retry.attempts
        request_logger.warning("%s; retrying in %.1f s (attempt %d of %d)", error, wait, tried + 1, most)
        kind = error.kind if isinstance(error, VendorError | TransportError) else "server"
        return RetryStart(tried + 1, wait, kind, str(error))

    async def _wait(self, seconds: float) -> None:
        """Wait, or until the model is closed."""
        wait = asyncio.get_running_loop().create_future()
        self._waits.add(wait)
        try:
            await asyncio.wait([wait], timeout=seconds)
        finally:
            self._waits.discard(wait)

    def encoded(self, request: Request) -> Outgoing:
        """The request as it is sent where the reply is not streamed."""
        return self._encoded(request, stream=False)

    def decoded(self, body: bytes, request: Request, forced: frozenset[str]) -> Reply:
        """The reply in a whole body, the calls of ``forced`` marked; a VendorError for a refusal."""
        try:
            return marked_reply(self._priced(self._dialect.decode(body), request), forced)
        except RightcallError as error:
            self._complete(error, None)
            raise

    async def _written(self, request: Request) -> Outgoing:
        """The request as it is sent; large files are written where they hold nobody up."""
        write = partial(self._encoded, request, stream=self._streaming)
        begun = id(request.conversation) in self._encoders
        much = holds_much(request.messages, begun=begun)
        return await asyncio.to_thread(write) if much else write()

    def _encoded(self, request: Request, *, stream: bool) -> Outgoing:
        if self._defaults:
            request = replace(request, options={**self._defaults, **request.options})
        request = self._unstrict.of(request)
        encode, readable = self._encoder(request.conversation)
        outgoing = encode(readable.request(request), model=self._address.model, stream=stream)
        if request_logger.isEnabledFor(DEBUG):
            size, model, count = len(outgoing.body), self._address.model, len(request.messages)
            place = f"{self._place}{outgoing.path.partition('?')[0]}"
            request_logger.debug("POST %s: model %s, %d messages, %d bytes", place, model, count, size)
            for tool, reason in outgoing.held.reasons.items():
                request_logger.debug("the tool %s is not sent strict: %s", tool, reason)
        return outgoing

    def _sent(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Incoming]:
        url = self._address.at(outgoing.path)
        headers = self._headers("POST", url, outgoing.headers, outgoing.body)
        return self._transport.post(url, headers=headers, body=outgoing.body, timeouts=self._timeouts)

    def _headers(self, method: str, url: str, own: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        headers = {**_HEADERS, **own, **self._own_headers}
        if self._sign is not None:
            sent = Prepared(method=method, url=url, headers=headers, body=body, time=time.time())
            headers |= self._sign(sent)
        return headers

    def _encoder(self, conversation: Conversation) -> tuple[Encode, Readable]:
        """The encoder that remembers what was sent of a conversation, and what can be read here."""
        key = id(conversation)
        encoder = self._encoders.get(key)
        if encoder is None:
            readable = Readable(self._dialect.name, self._writer)
            encoder = self._encoders[key] = (self._dialect.encoder(), readable)
            finalize(conversation, self._encoders.pop, key, None).atexit = False
        return encoder

    def _reader(self, incoming: Incoming) -> Decoder:
        if not self._streaming or "json" in incoming.headers.get("content-type", ""):
            # Some hosts answer a request for a stream with a whole reply, or with an error in one.
            return Whole(self._dialect)
        return self._dialect.decoder()

    def _finished(
        self,
        events: Sequence[ModelEvent],
        raw: list[bytes],
        request: Request,
        forced: frozenset[str],
    ) -> Sequence[ModelEvent]:
        """The events, the reply at their end with what it cost and the bytes it came in."""
        if forced:
            events = marked(events, forced)
        if not events or not isinstance(events[-1], ReplyEnd):
            return events
        reply = self._priced(events[-1].reply, request)
        return (*events[:-1], ReplyEnd(reply, b"".join(raw) if self._keep_raw else None))

    def _next_try(
        self, request: Request, error: RightcallError, tried: int | None
    ) -> tuple[Request, float | None]:
        """What is sent after an error, and after how long; never, once anything was given out."""
        if tried is None:
            return request, None
        if self._keeping is not None and (whole := self._keeping.anew(request, error)):
            return whole, 0.0
        if self._unstrict.learns(request, error):
            return request, 0.0
        return request, self._retry.delay(error, tried, random.random())  # noqa: S311

    def _priced(self, reply: Reply, request: Request) -> Reply:
        reply = replace(believable(reply, self._provider), written_by=self._writer)
        if self._keeping is not None:
            # What it was asked after is the conversation as it was sent.
            _, readable = self._encoder(request.conversation)
            reply = self._keeping.kept(reply, readable.request(request))
        if self._price is None or reply.usage.cost is not None:
            # A vendor that says what it charged knows better than any table.
            return reply
        return replace(reply, usage=replace(reply.usage, cost=self._price(reply)))

    def _complete(self, error: RightcallError, incoming: Incoming | None) -> None:
        """Put into an error who was asked and which request it was, and take secrets out of it.

        Vendors quote the key that they refuse, and what else they were sent; nobody else may.
        """
        words = [self._without_secrets(str(part)) for part in error.args]
        named = "" if incoming is None else self._request_id(incoming)
        if isinstance(error, VendorError):
            error.provider = self._provider
            error.vendor_code = self._without_secrets(error.vendor_code)
            error.request_id = self._without_secrets(error.request_id or named)
            error.body = self._without_secrets(error.body)
        elif words and isinstance(error, ProtocolError | TransportError):
            request = f" (request {self._without_secrets(named)})" if named else ""
            told = words[0].removeprefix(f"{self._dialect.name}: ")
            words[0] = f"{self._provider}: {told}{request}"
        error.args = tuple(words)

    def _request_id(self, incoming: Incoming) -> str:
        # Which headers name a request, the dialect knows.
        return self._dialect.error(incoming.status, incoming.headers, b"").request_id

    def _without_secrets(self, text: str) -> str:
        key = self._address.key
        return redact_formats(text.replace(key, "[key]") if key else text)


def _wake(wait: "asyncio.Future[None]") -> None:
    if not wait.done():
        wait.set_result(None)
