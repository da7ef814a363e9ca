"""A request in its upstream's own dialect, passed through byte for byte, and observed on the way.

Only the model's name, the key and the address are changed, and a Chat stream is asked for its usage. Of
a stream, only whole events are passed on as they come: half an event of a broken connection is of no
use, and the dialect's own error follows in its place.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from rightcall.core.events import ReplyEnd
from rightcall.core.message import Reply
from rightcall.core.ports import Dialect
from rightcall.core.request import EncodedRequest
from rightcall.core.transport import MAX_REPLY_BYTES
from rightcall.errors import ProtocolError, RightcallError, TruncatedStream, VendorError
from rightcall.log import gateway_logger
from rightcall.request.endpoint import body_of
from rightcall.serve.gateway.exchange import LONG
from rightcall.serve.gateway.request_target import CHAT, GEMINI, rename_model
from rightcall.serve.gateway.upstreams import is_its_fault
from rightcall.wire.openai_chat.hosts import COMPATIBLE, host_of

if TYPE_CHECKING:
    from rightcall.request.wire_model import WireModel
    from rightcall.serve.gateway.exchange import GatewayExchange


# A Chat stream counts no tokens unless it is asked to, and spend would have to be estimated. Hosts that
# are known to support ``stream_options`` are asked for the counts; a client that did not ask does not
# get them.
_MEMBER = b'"stream_options"'
_ASKED = b'{"stream_options":{"include_usage":true},'
# Within a JSON string quotes are escaped, so text of a model cannot match these.
_NOTHING = re.compile(rb',\s*"usage"\s*:\s*null|"usage"\s*:\s*null\s*,\s*')
_COUNT = re.compile(rb'"usage"\s*:\s*\{')
_DATA = re.compile(rb"data:[ \t]*(.*)")
_NO_CHOICE = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)", re.DOTALL)

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def is_uncounted(exchange: "GatewayExchange", model: "WireModel") -> bool:
    """Whether the tokens would not be counted, and the host is known to count them if asked."""
    if exchange.endpoint.dialect != CHAT or not exchange.peeked.stream or _MEMBER in exchange.body:
        return False
    host = host_of(model.place)
    return host is not COMPATIBLE and host.stream_usage


def without_count(events: bytes) -> bytes:
    """Whole events of a stream, without the counts that we asked for."""
    if b'"usage"' not in events:
        return events
    events = _NOTHING.sub(b"", events)
    if _COUNT.search(events) is None:
        return events
    return b"".join(map(_event_without_count, _EVENT.findall(events)))


def _event_without_count(event: bytes) -> bytes:
    """An event without its count; empty if it held only the count."""
    if _COUNT.search(event) is None:
        return event
    if _NO_CHOICE.search(event) is not None:
        return b""
    try:
        count = _members(b"\n".join(_DATA.findall(event)))["usage"]
    except (msgspec.DecodeError, KeyError):
        # Another member, further inside, has that name.
        return event
    written = rb'"usage"\s*:\s*' + re.escape(bytes(count))
    return re.sub(rb",\s*" + written + rb"|" + written + rb"\s*,\s*", b"", event, count=1)


_OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "te"),
        *("trailer", "proxy-authorization", "proxy-connection", "expect", "cookie", "origin", "referer"),
        *("authorization", "x-api-key", "x-goog-api-key", "api-key", "accept-encoding", "forwarded"),
        *("content-encoding", "via", "x-request-id"),
        *("openai-organization", "openai-project", "x-goog-user-project"),
    }
)
"""Headers of a request that concern only the client and the gateway, are keys, or name who pays."""
_OF_A_BROWSER = ("sec-", "x-forwarded-", "cf-", "x-real-")
_TOLD = ("anthropic-", "x-ratelimit-", "openai-", "retry-after", "request-id", "x-request-id", "x-goog-")
"""Prefixes of the vendor's headers that are passed to the client."""
_REFUSED = 400
_STEP = 256 * 1024
"""Bytes that are parsed at once."""
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST_END = 3
"""Bytes of an event's end that may have come before the rest of it."""


def reply_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The vendor's headers that are passed to the client."""
    return {name: value for name, value in headers.items() if name.startswith(_TOLD)}


def outgoing(exchange: "GatewayExchange", model: "WireModel") -> EncodedRequest:
    """The client's request as it is sent to the vendor."""
    endpoint = exchange.endpoint
    peeked = exchange.peeked
    http = exchange.http
    blank = model.blank(stream=peeked.stream)
    path = blank.path
    known = path.partition("?")[2]
    query = []
    for name, value in http.query.items():
        is_ours = name in ("key", "alt") or f"{name}=" in known
        if not is_ours and (name + value).isalnum():
            query.append(f"{name}={value}")
    if query:
        path = f"{path}{'&' if known else '?'}{'&'.join(query)}"
    body = exchange.body
    if endpoint.dialect != GEMINI:
        body = rename_model(body, peeked.model, model.vendor_name)
    if is_uncounted(exchange, model):
        body = _ASKED + body.lstrip().removeprefix(b"{")
    headers = dict(blank.headers)
    for name, value in http.headers.items():
        if name not in _OURS and not name.startswith(_OF_A_BROWSER):
            headers[name] = value
    return EncodedRequest(path=path, body=body, headers=headers)


async def pass_through(exchange: "GatewayExchange", model: "WireModel") -> Reply | None:
    """Pass a request on and its answer back; returns the reply, as far as it could be parsed.

    An error is raised only while nothing of the answer has been sent.
    """
    if len(exchange.body) > LONG:
        sent = await asyncio.to_thread(outgoing, exchange, model)
    else:
        sent = outgoing(exchange, model)
    forwarding = model.forward(sent)
    # The request may be large, and the reply may take long.
    del sent
    async with forwarding as incoming:
        kind = incoming.headers.get("content-type", "")
        if incoming.status >= _REFUSED or "text/html" in kind:
            said = await body_of(incoming)
            error = model.refusal(incoming, said)
            exchange.note_refusal(error, incoming, said)
            raise error
        if not exchange.peeked.stream:
            body = await body_of(incoming)
            reply = _whole(model.dialect, body)
            await exchange.give_whole(body, reply_headers(incoming.headers), incoming.status)
            return reply
        if "json" in kind and exchange.endpoint.dialect != GEMINI:
            # The gateway asked for a stream and got a whole reply: the client still gets a stream.
            return await exchange.give_reply(model.dialect.decode(await body_of(incoming)))
        watch = StreamWatch(model.dialect, exchange.hear)
        is_ours = is_uncounted(exchange, model)
        headers = reply_headers(incoming.headers)
        events = Events()
        size = 0
        try:
            async for chunk in incoming.chunks:
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    raise ProtocolError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
                if ready := events.feed(chunk):
                    # If the first event is an error, another place may do better.
                    refusal = await watch.see(ready)
                    if refusal is not None and not exchange.has_given and is_its_fault(refusal):
                        raise refusal
                    if given := without_count(ready) if is_ours else ready:
                        await exchange.give(given, headers)
            if held := events.rest():
                if not await watch.can_see(held + b"\n\n"):
                    raise TruncatedStream("the stream ended in the middle of an event")
                held += b"\n\n"
                await exchange.give(without_count(held) if is_ours else held, headers)
            watch.end()
        except RightcallError as error:
            if not exchange.has_given:
                raise
            await exchange.break_off(error)
        else:
            await exchange.http.end()
        return watch.reply


def _whole(dialect: Dialect, body: bytes) -> Reply | None:
    """The parsed answer. Raises one that is an error, whatever its status, or that is no object."""
    try:
        return dialect.decode(body)
    except VendorError:
        raise
    except RightcallError as error:
        if not body.lstrip().startswith(b"{"):
            raise
        gateway_logger.warning("an answer was passed on that could not be read: %s", error)
        return None


class Events:
    """Cuts a stream where events end. Each byte is searched once, however long an event is."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; returns the events that are now complete."""
        # The last bytes that are held, as many as may be the start of an event's end.
        tail = b""
        for piece in reversed(self._held):
            tail = piece[-_LONGEST_END:] + tail
            if len(tail) >= _LONGEST_END:
                break
        before = tail[-_LONGEST_END:]
        cut = _end_of_events(before + chunk) - len(before)
        if cut <= 0:
            # An end within the tail alone would have been found when the tail came.
            self._held.append(chunk)
            return b""
        ready = b"".join([*self._held, chunk[:cut]])
        self._held = [chunk[cut:]] if cut < len(chunk) else []
        return ready

    def rest(self) -> bytes:
        """The bytes that are left when the stream has ended."""
        return b"".join(self._held)


def _end_of_events(data: bytes) -> int:
    """Where the last whole event in some bytes ends."""
    if data.endswith(b"\n\n"):
        return len(data)
    return max([at + len(end) for end in _ENDS if (at := data.rfind(end)) >= 0], default=0)


class StreamWatch:
    """Parses a stream that is passed on. What it cannot parse is passed on all the same."""

    def __init__(self, dialect: Dialect, hear: Callable[[tuple[object, ...]], None]) -> None:
        self._decoder = dialect.decoder()
        self._hear = hear
        self.reply: Reply | None = None
        self._is_lost = self._refused = False

    async def see(self, data: bytes) -> VendorError | None:
        """Parse what is about to be passed on; returns the error within it, if there is one."""
        if len(data) <= _STEP:
            return self._see(data)
        # An event may be long, and was held until its end: others get their turn.
        for at in range(0, len(data), _STEP):
            if refusal := self._see(data[at : at + _STEP]):
                return refusal
            await asyncio.sleep(0)
        return None

    def _see(self, data: bytes) -> VendorError | None:
        if not self._is_lost:
            try:
                self._take(self._decoder.feed(data))
            except VendorError as error:
                self._is_lost = self._refused = True
                return error
            except RightcallError as error:
                self._lose(error)
        return None

    async def can_see(self, data: bytes) -> bool:
        """Parse the last bytes; False if they are invalid and everything before them was valid."""
        was_lost = self._is_lost
        await self.see(data)
        return was_lost or self._refused or not self._is_lost

    def end(self) -> None:
        """Note the end of the stream. Raises TruncatedStream if it came too early."""
        if not self._is_lost:
            try:
                self._take(self._decoder.finish())
            except TruncatedStream:
                raise
            except RightcallError as error:
                self._lose(error)

    def _take(self, events: tuple[object, ...]) -> None:
        self._hear(events)
        if events and isinstance(last := events[-1], ReplyEnd):
            self.reply = last.reply

    def _lose(self, error: RightcallError) -> None:
        self._is_lost = True
        gateway_logger.warning("a stream was passed on that could not be read: %s", error)
