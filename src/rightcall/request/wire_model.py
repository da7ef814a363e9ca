"""A model from a dialect, a transport and an address: sends, retries, decodes and prices requests."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from copy import copy
from logging import DEBUG
from math import isfinite
from typing import Any, Self
from weakref import finalize

from msgspec import Struct, json
from msgspec.structs import asdict, replace

from rightcall.core.events import CallEnd, ModelEvent, ReplyEnd, RetryStart
from rightcall.core.jsontext import JsonValue
from rightcall.core.lazy import pattern
from rightcall.core.message import Reply, Results, holds_much, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Decoder, Dialect, Encode, StatefulDialect
from rightcall.core.request import Conversation, EncodedRequest, Profile, Request
from rightcall.core.tool import Spec
from rightcall.core.transport import MAX_REPLY_BYTES, StreamedResponse, Timeouts, Transport
from rightcall.errors import ErrorKind, ProtocolError, RightcallError, TransportError, VendorError
from rightcall.log import request_logger
from rightcall.request.authorship import ReadableHistory, may_render, writer_at
from rightcall.request.endpoint import (
    HEAD,
    Address,
    Errand,
    ErrandAnswer,
    EventGroups,
    ModelEndpoint,
    WholeReplyDecoder,
    all_bytes_of,
    body_of,
)
from rightcall.request.retry import Retry

_UNHEARD = ("rate_limit", "overloaded")
"""The kinds of refusals after which it is certain that nothing was done."""

_MANY = 1000
"""Messages that take so long to encode that the event loop would be blocked."""
_NOWHERE: Mapping[str, Usage] = {}
_ANYTHING = Request(messages=(user_text("?"),))

Price = Callable[[Reply], float | None]
Watch = Callable[[Request, Reply], None]


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
        self.dialect = dialect
        # Checked once: isinstance with a protocol takes long.
        self._keeping = dialect if isinstance(dialect, StatefulDialect) else None
        self._transport = transport
        self._address = address
        self._endpoint = ModelEndpoint(dialect, transport, address, timeouts or Timeouts(), time.time)
        self._writer = writer_at(dialect.name, self._endpoint.url)
        self._renders = may_render(dialect.name, self._endpoint.url)
        """Whether the host may render results with an open model's chat template."""
        self._refused_extras = RefusedExtras()
        self._blanks: dict[bool, EncodedRequest] = {}
        self.provider = self._endpoint.provider
        """The provider's name, or the host."""
        self.place = self._endpoint.place
        """The address without credentials."""
        self.vendor_name = address.model
        """The vendor's name for the model."""
        self.profile = profile or Profile()
        """Facts about the model."""
        self.streaming = streaming
        """Whether its replies are streamed."""
        self._retry = retry or Retry()
        self._price = price
        self._defaults = defaults or {}
        self._keep_raw = keep_raw
        self._watch = watch
        self._closes = 0
        self._waits: set[asyncio.Future[None]] = set()
        """The futures of streams that wait before a retry."""

    def __repr__(self) -> str:
        return f"WireModel({self.dialect.name}, {self._address!r})"

    def tools_as_sent(self, specs: Sequence[Spec]) -> Mapping[str, str]:
        """Returns each tool's definition as it is sent to the vendor, by name."""
        return definitions(self.dialect, self.vendor_name, specs)

    def cost_of(self, usage: Usage, elsewhere: Mapping[str, Usage] = _NOWHERE) -> float | None:
        """Returns the US dollars for a usage, parts of which may be other models'; None if unknown."""
        if self._price is None:
            return None
        return self._price(Reply((), usage=usage, elsewhere=elsewhere))

    @property
    def tells_sending(self) -> bool:
        """Whether its transport calls ``SENDING`` when a request is sent."""
        return getattr(self._transport, "tells_sending", False)

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

    def stream(self, request: Request) -> EventGroups:
        """Returns the events of one reply. Retried only while none of them has been yielded."""
        return EventGroups(self._stream_groups(request))

    async def _stream_groups(self, request: Request) -> AsyncGenerator[Sequence[ModelEvent], None]:
        host = self._endpoint
        tried = 0
        closes = self._closes
        while True:
            tried += 1
            delivered = False
            incoming = None
            head = b""
            is_over = False
            try:
                begun = host in request.conversation.caches
                is_many = not begun and len(request.messages) > _MANY
                if is_many or holds_much(request.messages, begun=begun):
                    # Large files take long, and so do many messages that were never encoded.
                    outgoing = await asyncio.to_thread(self._encode, request, stream=self.streaming)
                else:
                    outgoing = self._encode(request, stream=self.streaming)
                forced = outgoing.held.forced
                exchange = host.post(outgoing)
                # The request may be large, and the reply may take long.
                del outgoing
                async with exchange as incoming:
                    if host.is_refusal(incoming):
                        raise host.refusal(incoming, await body_of(incoming))
                    reader = self._decoder(incoming)
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
                            delivered = True
                            head = b""
                            yield self._complete_events(events, raw, request, forced)
                        del chunk, events  # not kept until there is more
                    is_over = True
                    if events := reader.finish():
                        delivered = True
                        yield self._complete_events(events, raw, request, forced)
            except RightcallError as caught:
                # The transport may fail before any bytes arrive; such a reply is not an empty one.
                is_told = delivered or not (head or is_over)
                if is_told or incoming is None:
                    error = caught
                else:
                    error = host.explain_response(caught, incoming, head)
                host.complete(error, incoming)
                if delivered:
                    wait = None
                else:
                    request, wait = self._plan_retry(request, error, tried)
                if wait is None or self._closes != closes:
                    raise error from error.__cause__
            else:
                return
            yield (self._again(error, tried, wait),)
            await self._wait(wait)
            if self._closes != closes:
                raise TransportError("the model was closed before it was asked again")

    def _decoder(self, incoming: StreamedResponse) -> Decoder:
        if self.streaming and "json" not in incoming.headers.get("content-type", ""):
            return self.dialect.decoder()
        # Some hosts answer a request for a stream with a whole reply, or with an error as JSON.
        return WholeReplyDecoder(self.dialect)

    def _plan_retry(
        self, request: Request, error: RightcallError, tried: int
    ) -> tuple[Request, float | None]:
        """Returns what to send after an error, and the seconds to wait; None to give up."""
        if self._keeping is not None:
            rebuilt = self._keeping.rebuild_request(request, error)
            if rebuilt:
                return rebuilt, 0.0
        if self._refused_extras.learn_from(request, error):
            return request, 0.0
        return request, self._retry.delay(error, tried, random.random())  # noqa: S311

    def forward(self, outgoing: EncodedRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send a request that a client encoded in this dialect, once, with this model's key."""
        return self._endpoint.post(outgoing)

    def blank(self, *, stream: bool) -> EncodedRequest:
        """Returns an encoded dummy request, for this model's path and headers."""
        known = self._blanks.get(stream)
        if known is None:
            known = self.dialect.encode(_ANYTHING, model=self.vendor_name, stream=stream)
            self._blanks[stream] = known
        return known

    def whole(self) -> "WireModel":
        """Returns the same model without streaming."""
        twin = copy(self)
        twin.streaming = False
        return twin

    def refusal(self, incoming: StreamedResponse, body: bytes) -> VendorError:
        """Decode a refusal, with the provider's name and without secrets."""
        error = self._endpoint.refusal(incoming, body)
        self._endpoint.complete(error, incoming)
        return error

    async def errand(self, errand: Errand) -> ErrandAnswer:
        """Send an errand and return the answer; retried like replies."""
        tried = 0
        while True:
            tried += 1
            incoming = None
            try:
                async with self._endpoint.carry(errand) as incoming:
                    if self._endpoint.is_refusal(incoming):
                        raise self._endpoint.refusal(incoming, await body_of(incoming))
                    body = await all_bytes_of(incoming, errand.most)
                    return ErrandAnswer(incoming.headers, body)
            except RightcallError as error:
                self._endpoint.complete(error, incoming)
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
        kind: ErrorKind = "server"
        if isinstance(error, VendorError | TransportError):
            kind = error.kind
        return RetryStart(tried + 1, wait, kind, str(error))

    async def _wait(self, seconds: float) -> None:
        """Wait for so many seconds, or until the model is closed."""
        wait = asyncio.get_running_loop().create_future()
        self._waits.add(wait)
        try:
            await asyncio.wait([wait], timeout=seconds)
        finally:
            self._waits.discard(wait)

    def encode_whole(self, request: Request) -> EncodedRequest:
        """Encode the request for a reply that is not streamed."""
        return self._encode(request, stream=False)

    def decode_reply(self, body: bytes, request: Request, forced: frozenset[str]) -> Reply:
        """Decode the reply in a body, with the calls of ``forced`` marked; VendorError for a refusal."""
        try:
            return mark_reply(self._complete_reply(self.dialect.decode(body), request), forced)
        except RightcallError as error:
            self._endpoint.complete(error, None)
            raise

    def _encode(self, request: Request, *, stream: bool) -> EncodedRequest:
        if self._defaults:
            request = replace(request, options={**self._defaults, **request.options})
        if self._refused_extras.any:
            request = self._refused_extras.leave_out(request)
        encoder = self._encoder(request.conversation)
        request = self._readable(encoder, request)
        model = self.vendor_name
        outgoing = encoder.encode(request, model=model, stream=stream)
        if request_logger.isEnabledFor(DEBUG):
            size = len(outgoing.body)
            count = len(request.messages)
            place = f"{self.place}{outgoing.path.partition('?')[0]}"
            request_logger.debug("POST %s: model %s, %d messages, %d bytes", place, model, count, size)
            for tool, reason in outgoing.held.reasons.items():
                request_logger.debug("the tool %s is not sent strict: %s", tool, reason)
        return outgoing

    def _encoder(self, conversation: Conversation) -> "_Encoder":
        """Returns the encoder that caches what it encoded of a conversation."""
        known = conversation.caches.get(self._endpoint)
        if not isinstance(known, _Encoder):
            known = _Encoder(self.dialect.encoder())
            conversation.caches[self._endpoint] = known
        return known

    def _readable(self, encoder: "_Encoder", request: Request) -> Request:
        """Returns the request, with what other hosts wrote as this one can read it."""
        writer = self._writer
        # A loop, as a generator takes twice as long: every request of a long history comes here.
        for message in request.messages:
            if type(message) is Reply:
                if message.written_by != writer:
                    break
            elif self._renders and type(message) is Results and _may_hold_token(message):
                break
        else:
            return request
        if encoder.readable is None:
            encoder.readable = ReadableHistory(self.dialect.name, writer, renders=self._renders)
        return encoder.readable.convert(request)

    def _complete_events(
        self,
        events: Sequence[ModelEvent],
        raw: list[bytes] | None,
        request: Request,
        forced: frozenset[str],
    ) -> Sequence[ModelEvent]:
        """Returns the events, with the cost and the raw bytes added to the reply at their end."""
        if forced:
            events = [_mark_event(event, forced) for event in events]
        last = events[-1]
        if not isinstance(last, ReplyEnd):
            return events
        reply = self._complete_reply(last.reply, request)
        if self._watch is not None:
            self._watch(request, reply)
        return (*events[:-1], ReplyEnd(reply, None if raw is None else b"".join(raw)))

    def _complete_reply(self, reply: Reply, request: Request) -> Reply:
        reply = replace(drop_impossible_usage(reply, self.provider), written_by=self._writer)
        if self._keeping is not None:
            # The reply's predecessor is the conversation as it was sent.
            sent = self._readable(self._encoder(request.conversation), request)
            reply = self._keeping.mark_stored(reply, sent)
        if self._price is None or reply.usage.cost is not None:
            # The vendor's own figure is better than any price table.
            return reply
        return replace(reply, usage=replace(reply.usage, cost=self._price(reply)))


class _Encoder(Struct, eq=False):
    """Encodes the requests of one conversation, each message once."""

    encode: Encode
    readable: ReadableHistory | None = None
    """Made when another host wrote a part of the conversation."""


def _may_hold_token(message: Results) -> bool:
    """Whether a special token may stand in a result: each has one of these brackets."""
    for result in message.results:
        for part in result.content:
            if isinstance(part, Text) and ("<" in part.text or "[" in part.text or "]" in part.text):
                return True
    return False


def _wake(wait: "asyncio.Future[None]") -> None:
    if not wait.done():
        wait.set_result(None)


def drop_impossible_usage(reply: Reply, provider: str) -> Reply:
    """Returns the reply without impossible numbers of tokens or dollars: they must not refund a budget.

    Nothing used can be negative or infinite. Such a count becomes 0, and such a price an unknown one.
    """
    usage = reply.usage
    counted = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_written_tokens,
        usage.reasoning_tokens,
    )
    cost = usage.cost
    if min(counted) >= 0 and (cost is None or (cost >= 0 and isfinite(cost))):
        return reply
    wrong = {
        name: value
        for name, value in asdict(usage).items()
        if value is not None and not (value >= 0 and isfinite(value))
    }
    told = ", ".join(f"{name} {value}" for name, value in wrong.items())
    request_logger.warning("%s: usage that cannot be is not counted: %s", provider, told)
    sound = {name: None if name == "cost" else 0 for name in wrong}
    return replace(reply, usage=replace(usage, **sound))


def _mark_event(event: ModelEvent, forced: Container[str]) -> ModelEvent:
    match event:
        case CallEnd(call=call) if call.name in forced:
            return replace(event, call=replace(call, nulls=True))
        case ReplyEnd(reply=reply):
            return replace(event, reply=mark_reply(reply, forced))
        case _:
            return event


def mark_reply(reply: Reply, forced: Container[str]) -> Reply:
    """Returns the reply, with the calls of these tools marked."""
    if not any(call.name in forced for call in reply.calls):
        return reply
    content = [
        replace(part, nulls=True) if isinstance(part, Call) and part.name in forced else part
        for part in reply.content
    ]
    return replace(reply, content=tuple(content))


_REFUSED = 400
_TOO_MUCH = pattern(r"(?i)\b(?:schemas?|grammar)\b[^.]*\b(?:too (?:complex|large)|compil)")
_NO_SUMMARY = pattern(r"(?i)reasoning[._ ]summar")


class RefusedExtras:
    """What a model's vendor has refused so far.

    What the library requests on its own account is left out from then on: the user did not ask for it,
    so a request must not fail because of it. Vendors say only when they get them which schemas are too
    complex together: Anthropic answers 400, "Schema is too complex for compilation" or "The compiled
    grammar is too large". OpenAI refuses a summary of the reasoning to organizations that are not
    verified: https://github.com/continuedev/continue/issues/9854
    """

    def __init__(self) -> None:
        self.any = False
        """Whether there is anything."""
        self._loose: set[int] = set()
        """The ids of conversations that continue without strict tools; by id, as all of them compare
        equal. Removed when the conversation is garbage-collected."""
        self._unsummarised = False
        """Whether the account gets no summaries; that applies to all its conversations."""

    def leave_out(self, request: Request) -> Request:
        """Returns the request without what the vendor refuses."""
        if id(request.conversation) in self._loose:
            request = replace(request, options={**request.options, "strict": False})
        if self._unsummarised and "reasoning" in request.options:
            extra = _members(request.options.get("extra"))
            reasoning = {"summary": None, **_members(extra.get("reasoning"))}
            options = {**request.options, "extra": {**extra, "reasoning": reasoning}}
            request = replace(request, options=options)
        return request

    def learn_from(self, request: Request, error: RightcallError) -> bool:
        """Whether the vendor refused something that the user did not ask for, so a retry may succeed."""
        if not isinstance(error, VendorError) or error.status != _REFUSED:
            return False
        conversation = request.conversation
        is_strict_own_wish = request.options.get("strict", "auto") in ("auto", None)
        is_loose = id(conversation) in self._loose
        if is_strict_own_wish and not is_loose and _TOO_MUCH.search(error.message):
            self.any = True
            self._loose.add(id(conversation))
            finalize(conversation, self._loose.discard, id(conversation)).atexit = False
            request_logger.warning(
                "%s; from here on only tools with strict=True are sent strict in this conversation",
                error,
            )
            return True
        own = _members(_members(request.options.get("extra")).get("reasoning"))
        is_sent = "reasoning" in request.options and not own.get("summary")
        if is_sent and not self._unsummarised and _NO_SUMMARY.search(error.message + error.body):
            self.any = True
            self._unsummarised = True
            request_logger.warning("%s; from here on no summary of the reasoning is asked for", error)
            return True
        return False


def _members(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {}


def definitions(dialect: Dialect, model: str, specs: Sequence[Spec]) -> dict[str, str]:
    """Returns the definitions as text, by the tools' names. One without a clear name is left out.

    They are found in a request that the dialect's encoder makes.
    """
    request = Request(messages=(user_text("x", "user"),), specs=tuple(specs), options={"cache": False})
    body = json.decode(dialect.encoder()(request, model=model, stream=True).body)
    found: dict[str, str] = {}
    _look({key: value for key, value in body.items() if key.startswith("tool")}, found)
    names = {spec.name for spec in specs}
    return {name: text for name, text in found.items() if name in names}


def _look(node: Any, found: dict[str, str]) -> None:
    if isinstance(node, list):
        for each in node:
            name = _name_in(each)
            if name:
                found.setdefault(name, json.encode(each).decode())
            else:
                _look(each, found)
    elif isinstance(node, Mapping):
        for each in node.values():
            _look(each, found)


def _name_in(definition: Any) -> str:
    """Returns the name of the tool that this defines: its own, or that of its one member with a name."""
    if not isinstance(definition, Mapping):
        return ""
    inner = []
    for value in definition.values():
        if isinstance(value, Mapping) and "name" in value:
            inner.append(value)
    named = definition
    if "name" not in definition and len(inner) == 1:
        named = inner[0]
    name = named.get("name", named.get("type", ""))
    if isinstance(name, str):
        return name
    return ""
