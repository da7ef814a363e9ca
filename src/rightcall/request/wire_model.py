"""A dialect, a transport and an address into a model: requests sent, retried, decoded and priced."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from logging import DEBUG
from typing import Self
from urllib.parse import urlsplit
from weakref import finalize

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd, RetryStart, unfolded
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply
from rightcall.core.options import Worded
from rightcall.core.parts import Usage
from rightcall.core.ports import Decoder, Dialect, Encode
from rightcall.core.request import Conversation, Prepared, Profile, Request, Sign
from rightcall.core.secret import redact_formats
from rightcall.core.tool import Spec
from rightcall.core.transport import MAX_REPLY_BYTES, Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, RightcallError, TransportError, VendorError
from rightcall.log import request_logger
from rightcall.request.batches import Batches

MAX_BODY = 64 * 1024 * 1024
"""A reply that is not streamed, or an error, longer than this is refused instead of held."""

_HEAD = 4096
"""So many bytes of a reply are kept until something could be made of it, to say what came instead."""
_EXCERPT = 200
_REFUSED = 400

_HEADERS = {"content-type": "application/json", "user-agent": "rightcall"}

Price = Callable[[Reply], float | None]


class Address(Struct, frozen=True, kw_only=True):
    """Where a model is, and what opens the door. The key is never shown."""

    url: str
    model: str
    query: str = ""
    """What follows a question mark in every address, such as a version."""
    key: str | None = None
    key_header: str = ""
    """The header that carries the key, where it is not the dialect's own."""
    headers: Mapping[str, str] = {}
    provider: str = ""
    """Who is there, for errors to name; its host unless given."""

    def __repr__(self) -> str:
        return f"Address(url={redact_formats(self.url)!r}, model={self.model!r})"


class Retry(Struct, frozen=True, kw_only=True, gc=False, metaclass=Worded):
    """How often and how patiently an exchange is tried again."""

    attempts: int = 4
    """Tries in all."""
    base: float = 0.5
    """Seconds before the first retry; doubled before each further one."""
    longest: float = 60.0
    """A vendor that asks for a longer wait is not waited for."""

    def delay(self, error: RightcallError, tried: int, luck: float) -> float | None:
        """Seconds to wait after so many tries, or None to give up.

        ``luck`` between 0 and 1 spreads retries of many clients; what a vendor asks for is the least.
        """
        if tried >= self.attempts or not _is_retryable(error):
            return None
        wait = min(self.base * 2.0 ** (tried - 1), self.longest) * (0.5 + luck / 2)
        asked = error.retry_after if isinstance(error, VendorError) else None
        if asked is not None:
            if not asked <= self.longest:
                # Neither is NaN, which no sleep comes back from.
                return None
            wait = max(asked, 0.0) + self.base * luck
        return wait


def _is_retryable(error: RightcallError) -> bool:
    return isinstance(error, TransportError) or (isinstance(error, VendorError) and error.retryable)


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
        self._transport = transport
        self._address = address
        self._url = address.url.rstrip("/")
        carried = _authorized(dialect, address)
        self._sign = None if isinstance(carried, Mapping) else carried
        self._own_headers = {**(carried if isinstance(carried, Mapping) else {}), **address.headers}
        self._encoders: dict[int, Encode] = {}
        """By the identity of a conversation; each is gone when its conversation is."""
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
        self._place = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
        self._provider = address.provider or place.hostname or ""

    def __repr__(self) -> str:
        return f"WireModel({self._dialect.name}, {self._address!r})"

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
                async with self._sent(request) as incoming:
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
                        if not delivered and len(head) < _HEAD:
                            head += chunk[:_HEAD]
                        if events := reader.feed(chunk):
                            delivered = True
                            yield self._finished(events, raw)
                    is_over = True
                    if events := reader.finish():
                        delivered = True
                        yield self._finished(events, raw)
            except RightcallError as caught:
                # A transport may fail before any of the reply is through, which is then not empty.
                is_told = delivered or not (head or is_over)
                error = caught if is_told or incoming is None else self._read(caught, incoming, head)
                self._complete(error, incoming)
                wait = None if delivered else self._retry.delay(error, tried, random.random())  # noqa: S311
                if wait is None or self._closes != closes:
                    raise error from error.__cause__
            else:
                return
            yield (self._again(error, tried, wait),)
            await self._wait(wait)
            if self._closes != closes:
                raise TransportError("the model was closed before it was asked again")

    async def _admit(self, incoming: Incoming) -> None:
        """Let a reply pass that may be one; raise the refusal that came in its place."""
        if request_logger.isEnabledFor(DEBUG):
            named = self._request_id(incoming)
            request_logger.debug("%s: HTTP %d, request %s", self._place, incoming.status, named or "-")
        is_page = "text/html" in incoming.headers.get("content-type", "")
        if incoming.status >= _REFUSED or is_page:
            raise self._refusal(incoming, await _body(incoming))

    def _refusal(self, incoming: Incoming, body: bytes) -> VendorError:
        if key := self._address.key:
            # Before it is cut: of half a key, nobody could tell what it is.
            body = body.replace(key.encode(), b"[key]")
        return self._dialect.error(incoming.status, incoming.headers, body)

    def _read(self, error: RightcallError, incoming: Incoming, head: bytes) -> RightcallError:
        """Say what came in place of a reply of which nothing could be read."""
        began = head.lstrip()
        is_page = began.startswith(b"<")
        if not isinstance(error, ProtocolError) or not (is_page or _is_whole(head)):
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

    def _sent(self, request: Request) -> AbstractAsyncContextManager[Incoming]:
        if self._defaults:
            request = replace(request, options={**self._defaults, **request.options})
        encode = self._encoder(request.conversation)
        outgoing = encode(request, model=self._address.model, stream=self._streaming)
        headers = {**_HEADERS, **outgoing.headers, **self._own_headers}
        url = self._url + outgoing.path
        if query := self._address.query:
            url += f"{'&' if '?' in url else '?'}{query}"
        if self._sign is not None:
            now = time.time()
            sent = Prepared(method="POST", url=url, headers=headers, body=outgoing.body, time=now)
            headers |= self._sign(sent)
        if request_logger.isEnabledFor(DEBUG):
            place, size = f"{self._place}{outgoing.path.partition('?')[0]}", len(outgoing.body)
            model, messages = self._address.model, len(request.messages)
            request_logger.debug(
                "POST %s: model %s, %d messages, %d bytes", place, model, messages, size
            )
        return self._transport.post(url, headers=headers, body=outgoing.body, timeouts=self._timeouts)

    def _encoder(self, conversation: Conversation) -> Encode:
        """The encoder that remembers what was sent of a conversation."""
        key = id(conversation)
        encoder = self._encoders.get(key)
        if encoder is None:
            encoder = self._encoders[key] = self._dialect.encoder()
            finalize(conversation, self._encoders.pop, key, None).atexit = False
        return encoder

    def _reader(self, incoming: Incoming) -> Decoder:
        if not self._streaming or "json" in incoming.headers.get("content-type", ""):
            # Some hosts answer a request for a stream with a whole reply, or with an error in one.
            return _Whole(self._dialect)
        return self._dialect.decoder()

    def _finished(self, events: Sequence[ModelEvent], raw: list[bytes]) -> Sequence[ModelEvent]:
        """The events, the reply at their end with what it cost and the bytes it came in."""
        if not events or not isinstance(events[-1], ReplyEnd):
            return events
        reply = events[-1].reply
        if self._price is not None and reply.usage.cost is None:
            # A vendor that says what it charged knows better than any table.
            reply = replace(reply, usage=replace(reply.usage, cost=self._price(reply)))
        return (*events[:-1], ReplyEnd(reply, b"".join(raw) if self._keep_raw else None))

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


def _authorized(dialect: Dialect, address: Address) -> Mapping[str, str] | Sign:
    """The headers that carry the key, or what signs each request with it."""
    if address.key is None:
        return {}
    return {address.key_header: address.key} if address.key_header else dialect.authorize(address.key)


class _Whole:
    """A reply that is not streamed: there is nothing to tell of it before its end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._body = bytearray()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        _grow(self._body, data)
        return ()

    def finish(self) -> tuple[ModelEvent, ...]:
        return tuple(unfolded(self._dialect.decode(bytes(self._body))))


def _is_whole(head: bytes) -> bool:
    """Whether this is all there was, and no part of a reply: no events, and no JSON that was cut off."""
    if len(head) >= _HEAD or any(field in head for field in (b"data:", b"event:")):
        return False
    if head.startswith(b"\0"):
        # Amazon's events, which begin with their length.
        return False
    if not head.lstrip().startswith((b"{", b"[")):
        return True
    try:
        json.decode(head)
    except (DecodeError, RecursionError, UnicodeError):
        return False
    return True


def _wake(wait: "asyncio.Future[None]") -> None:
    if not wait.done():
        wait.set_result(None)


async def _body(incoming: Incoming) -> bytes:
    body = bytearray()
    async for chunk in incoming.chunks:
        _grow(body, chunk)
    return bytes(body)


def _grow(body: bytearray, piece: bytes) -> None:
    body += piece
    if len(body) > MAX_BODY:
        raise ProtocolError(f"the reply is longer than {MAX_BODY:,} bytes")
