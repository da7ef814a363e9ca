"""One exchange between a client and a model: its state, and every way to answer it.

It speaks the client's dialect through that dialect's server half, and knows no upstream.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from secrets import token_hex, token_urlsafe
from typing import Any, Self
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from rightcall.core.events import (
    CallDelta,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
    reply_events,
)
from rightcall.core.message import (
    Message,
    Reply,
    Results,
    User,
    estimate_tokens,
    spec_tokens,
    text_tokens,
)
from rightcall.core.parts import Media
from rightcall.core.ports import Model, ReplyWriter, ServerDialect
from rightcall.core.request import ClientRequest, ReplyHeader
from rightcall.core.transport import StreamedResponse
from rightcall.errors import ErrorKind, RightcallError, UsageError, VendorError, kind_of_status
from rightcall.log import gateway_logger
from rightcall.serve.gateway.http_request import HttpRequest
from rightcall.serve.gateway.keys import GatewayKey
from rightcall.serve.gateway.request_target import (
    CHAT,
    GEMINI,
    MESSAGES,
    Endpoint,
    Peeked,
    check_depth,
)
from rightcall.serve.gateway.settings import Bounds
from rightcall.serve.gateway.spend import Charge, ExpectedUsage
from rightcall.wire.relay_tokens import HANDLE_MARK, HANDLES

_MOST_BYTES = 64 * 1024 * 1024
_DONE = re.compile(rb'^data: (\{.*"response\.output_item\.done".*)$', re.MULTILINE)
_REFERENCE = b'"item_reference"'


class _Item(Struct, gc=False):
    id: str = ""
    type: str = ""


class _Done(Struct, gc=False):
    item: Raw


class _WholeResponse(Struct, gc=False):
    output: list[Raw] = []


_item = msgspec.json.Decoder(_Item).decode
_done = msgspec.json.Decoder(_Done).decode
_whole = msgspec.json.Decoder(_WholeResponse).decode


class ResponseItems:
    """The items of answers that Responses clients may refer to later instead of sending them again.

    A client that does not say ``store: false`` may expect its vendor to store every answer, and refers
    to its items by their ids, as the AI SDK does. Answers that were passed through are stored by the
    vendor; items of translated ones are stored here, by key and id; the oldest are evicted.
    """

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0

    def see(self, holder: str, data: bytes) -> None:
        """Store the items of an answer, or of a piece of a stream."""
        if data.startswith(b"{"):
            items = _whole(data).output
        else:
            items = [_done(match[1]).item for match in _DONE.finditer(data)]
        for raw in items:
            item = bytes(raw)
            key = (holder, _item(item).id)
            if key[1] and key not in self._items:
                self._items[key] = item
                self._size += len(item)
        while self._size > _MOST_BYTES:
            self._size -= len(self._items.popitem(last=False)[1])

    def expand_references(self, holder: str, body: bytes) -> bytes:
        """A request with its references replaced by the items. Raises VendorError for an unknown one."""
        if _REFERENCE not in body:
            return body
        members: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Raw])
        given = bytes(members.get("input", b""))
        if not given.startswith(b"["):
            return body
        items = msgspec.json.decode(given, type=list[Raw])
        for index, raw in enumerate(items):
            item = _item(bytes(raw))
            if item.type == "item_reference":
                stored = self._items.get((holder, item.id))
                if stored is None:
                    words = f"Item with id '{item.id}' not found."
                    raise VendorError(words, kind="not_found", status=404)
                items[index] = Raw(stored)
        members["input"] = items
        return msgspec.json.encode(members)


class TokenHandles:
    """Long tokens of calls, by the handles that Chat's clients get and send back in their place.

    A signed thought takes thousands of characters, which every client would send back with each request,
    twice a call. Handles are a key's own; the tokens that were used least recently are evicted. A handle
    that is not known, after a restart or at another gateway, is an id without a thought.
    """

    def __init__(self) -> None:
        self._tokens: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._size = 0

    def add(self, holder: str, most: int, token: str) -> str:
        """The handle of a new token."""
        handle = f"rcHx{token_urlsafe(16)}"
        self._tokens[holder, handle] = token
        self._size += len(token)
        while self._size > most:
            self._size -= len(self._tokens.popitem(last=False)[1])
        return handle

    def expand(self, holder: str, body: bytes, most: int) -> bytes:
        """A request with its handles replaced by the tokens. Raises VendorError if it gets too large."""
        if HANDLE_MARK not in body:
            return body
        size = len(body)

        def replace_handle(found: re.Match[bytes]) -> bytes:
            nonlocal size
            key = (holder, found[1].decode())
            token = self._tokens.get(key)
            if token is None:
                return found[0]
            self._tokens.move_to_end(key)
            size += len(token)
            if size > most:
                words = f"the request is larger than {most:,} bytes, with the thoughts that it refers to"
                raise VendorError(words, kind="bad_request", status=413)
            return b"_" + token.encode()

        return HANDLES.sub(replace_handle, body)


JSON = {"content-type": "application/json"}
STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
LEFT_OUT = "x-rightcall-left-out"
BYTES_PER_TOKEN = 4
_BASE64 = 4 / 3
"""Characters for a byte of a file."""
LONG = 64 * 1024
"""Bytes of a request above which it is read in a thread, so that others are not kept waiting."""
_SAID = (TextDelta, ReasoningDelta, CallDelta)
_LONGEST_HEADER = 1000
_OK = 200
_FAILED = 400
_WAIT: Mapping[ErrorKind, str] = {"rate_limit": "5", "overloaded": "5"}
"""Seconds for ``retry-after`` where the vendor gave none; without the header Codex gives up."""
_OWN = ("auth", "quota")
"""Kinds of errors that concern only the gateway and its vendor."""


class _UpstreamRefusal(Struct, frozen=True):
    """An upstream's refusal."""

    error: VendorError
    incoming: StreamedResponse
    said: bytes


class GatewayExchange:
    """One request to a model, and its answer."""

    def __init__(
        self,
        http: HttpRequest,
        endpoint: Endpoint,
        server: ServerDialect,
        key: GatewayKey,
        body: bytes,
        peeked: Peeked,
    ) -> None:
        self.http = http
        self.endpoint = endpoint
        self.key = key
        self.body = body
        self.peeked = peeked
        self.id = token_hex(12)
        self.most_depth = Bounds.request_depth
        """How deep the request may nest, if it is parsed here."""
        self.left_out: list[str] = []
        self.expected = ExpectedUsage()
        """What it is expected to use."""
        self.shorten: Callable[[str], str] | None = None
        """Returns a handle for a long token."""
        self._server = server
        self._writes = False
        """Whether the stream is written here, and not only passed on."""
        self._parsed: ClientRequest | VendorError | None = None
        """The request, or why it is none."""
        self._tokens: int | None = None
        self._refused: _UpstreamRefusal | None = None
        self.has_given = False
        """Whether part of an answer has been sent, so that no other place can be asked."""
        self.is_repeated = False
        """Whether it was answered from the cache."""
        self.kept: list[bytes] | None = None
        """The bytes that were sent, if they are to be cached."""
        self.items: ResponseItems | None = None
        """Stores items that the client may refer to later."""
        self.model: Model | None = None
        """The model that is asked."""
        self.charge: Charge | None = None
        """What is counted for it; None while no model was asked."""
        self._heard = 0

    @property
    def client_request(self) -> ClientRequest:
        """The parsed request. Raises VendorError if it is invalid."""
        # No cached_property: its lock is that of all exchanges, and a thread may hold it for long.
        if self._parsed is None:
            self._parsed = self._parse()
        if isinstance(self._parsed, VendorError):
            raise self._parsed
        return self._parsed

    async def prepare(self) -> ClientRequest:
        """The parsed request, read in a thread if it is long. Raises VendorError if it is invalid."""
        if self._parsed is None and len(self.body) > LONG:
            await asyncio.to_thread(self._read)
        return self.client_request

    def _read(self) -> None:
        """Parse the request, and estimate its tokens if an answer begins with them."""
        self._parsed = parsed = self._parse()
        if self.endpoint.dialect == MESSAGES and not isinstance(parsed, VendorError):
            self.input_tokens()

    def _parse(self) -> ClientRequest | VendorError:
        http = self.http
        try:
            check_depth(self.body, self.most_depth)
            return self._server.parse_request(
                self.body, path=http.path, query=urlencode(http.query), headers=http.headers
            )
        except UsageError as error:
            refused = VendorError(str(error), kind="bad_request", status=400)
            refused.__cause__ = error
            return refused
        except VendorError as error:
            return error

    @cached_property
    def writer(self) -> ReplyWriter:
        """The writer of the stream."""
        return self._server.writer(self.client_request, self._answer)

    @cached_property
    def _answer(self) -> ReplyHeader:
        tokens = 0
        if self.endpoint.dialect == MESSAGES:
            tokens = self.input_tokens()
        return ReplyHeader(
            id=self.id,
            model=self.peeked.model,
            created=int(time.time()),
            input_tokens=tokens,
            shorten=self.shorten,
        )

    def input_tokens(self) -> int:
        """The estimated number of the request's tokens."""
        if self._tokens is None:
            request = self.client_request.request
            said = sum(map(estimate_tokens, request.messages))
            self._tokens = said + text_tokens(request.system) + spec_tokens(request.specs)
        return self._tokens

    async def estimate_input(self) -> int:
        """The estimated number of the request's tokens, from its length and the files in it.

        A file takes far fewer tokens than its bytes would as text. Only what is known to be a file is
        counted as one: the rest is text, whatever it is called.
        """
        tokens = len(self.body) // BYTES_PER_TOKEN
        if len(self.body) <= LONG:
            return tokens
        try:
            asked = await self.prepare()
            return tokens + sum(map(_less_for_files, asked.request.messages))
        except RightcallError:
            return tokens

    def begin(self, model: Model) -> None:
        """Note that a model is asked now, in place of any earlier one."""
        self.model = model
        self._heard = 0

    def hear(self, events: Iterable[object]) -> None:
        """Count the model's output: a client that leaves, or a stream that breaks off, gets no usage."""
        self._heard += sum([len(each.text) for each in events if isinstance(each, _SAID)])

    @property
    def heard_tokens(self) -> int:
        """The estimated number of tokens that the model has sent so far."""
        return -(-self._heard // BYTES_PER_TOKEN)

    async def give(self, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send the next piece of a stream."""
        self.has_given = True
        if self.kept is not None:
            self.kept.append(data)
        if self.items is not None:
            self.items.see(self.key.id, data)
        await self._write(data, headers or {})

    @property
    def _is_array(self) -> bool:
        """Whether the stream is one JSON array, as Gemini's is unless events are asked for."""
        return self.endpoint.dialect == GEMINI and self.http.query.get("alt") != "sse"

    async def _write(self, data: bytes, headers: Mapping[str, str]) -> None:
        if not self.http.begun:
            kind = JSON if self._is_array else STREAM
            await self.http.begin(_OK, {**kind, **headers, **self._own_headers()})
        await self.http.write(data)

    async def give_events(self, events: Sequence[ModelEvent]) -> None:
        """Send the bytes that some events add to a stream."""
        self._writes = True
        writer = self.writer
        self.hear(events)
        data = b"".join([writer.write(event) for event in events])
        if data:
            await self.give(data)
        if events and isinstance(events[-1], ReplyEnd):
            self.note_left_out(writer.left_out)
            await self.http.end()

    async def give_reply(self, reply: Reply) -> Reply:
        """Send a whole reply, as a stream if the client asked for one."""
        if self.peeked.stream:
            await self.give_events(tuple(reply_events(reply)))
        else:
            body = self._server.encode_reply(reply, self.client_request, self._answer)
            await self.give_whole(body, {}, _OK)
        return reply

    async def give_whole(self, body: bytes, headers: Mapping[str, str], status: int) -> None:
        """Send an answer that is not streamed."""
        self.has_given = True
        if self.kept is not None:
            self.kept.append(body)
        if self.items is not None:
            self.items.see(self.key.id, body)
        await self.http.answer(status, {**JSON, **headers, **self._own_headers()}, body)

    async def give_count(self) -> None:
        """Send the estimated number of the request's tokens."""
        await self.prepare()
        await self.give_whole(self._server.encode_token_count(self.input_tokens()), {}, _OK)

    async def give_again(self, data: bytes) -> None:
        """Send the cached answer to the same request."""
        self.is_repeated = True
        if self.peeked.stream:
            await self.give(data)
            await self.http.end()
        else:
            await self.give_whole(data, {}, _OK)

    def use_handles(self, handles: TokenHandles, bounds: Bounds) -> None:
        """Put thoughts in place of their handles, and give handles of those to come."""
        if self.endpoint.dialect != CHAT:
            return
        self.body = handles.expand(self.key.id, self.body, bounds.request_bytes)
        if bounds.handle_bytes:
            self.shorten = partial(handles.add, self.key.id, bounds.handle_bytes)
        if HANDLE_MARK in self.body and HANDLES.search(self.body) is not None:
            self.note_left_out(("thoughts of an earlier turn, whose handles are not known here",))

    def remember_items(self, items: ResponseItems) -> None:
        """Insert the items that the client refers to into its request, and store those of the answer."""
        if self.items is None:
            expanded = items.expand_references(self.key.id, self.body)
            if expanded is not self.body:
                # It may have been parsed for those who watch.
                self.body = expanded
                self._parsed = self._tokens = None
            self.items = items if self.peeked.stores else None

    async def break_off(self, error: RightcallError) -> None:
        """End a stream that has begun with an error in the client's dialect."""
        gateway_logger.warning("request %s broke off: %s", self.id, error)
        self.kept = None
        if self.has_given and not self._writes:
            # The stream began with the vendor's own bytes.
            await self.prepare()
            self.writer.start()
        said = self.writer.fail(public_error(error))
        # Gemini CLI ignores an error inside a stream, and takes half an answer for a whole one unless
        # the connection breaks, too.
        await (self.http.cut(said) if self.endpoint.dialect == GEMINI else self.http.end(said))

    async def keep_alive(self) -> None:
        """Send a keep-alive, unless the answer is over."""
        if not self.http.over:
            await self.prepare()
            await self._write(self.writer.keep_alive(), {})

    async def refuse(self, error: RightcallError) -> None:
        """Answer with an error, in the client's dialect; with the vendor's bytes, if that is its own."""
        if self.http.begun:
            await self.break_off(error)
            return
        try:
            asked = await self.prepare()
        except RightcallError:
            asked = None
        refused = self._refused
        if (
            refused is not None
            and refused.error is error
            and error.kind not in (*_OWN, "context_overflow")
            # Clients can read it as an error of an API: not a web page, and not a 200.
            and refused.incoming.status >= _FAILED
            and refused.said.lstrip()[:1] in (b"{", b"[")
        ):
            status = refused.incoming.status
            headers = JSON | self._own_headers()
            if wait := refused.incoming.headers.get("retry-after") or _WAIT.get(kind_of_status(status)):
                headers["retry-after"] = wait
            await self.http.answer(status, headers, refused.said)
            return
        answer = self._server.encode_error(public_error(error), asked)
        headers = {**JSON, **self._own_headers(), **answer.headers}
        await self.http.answer(answer.status, headers, answer.body)

    def note_refusal(self, error: VendorError, incoming: StreamedResponse, said: bytes) -> None:
        """Remember the bytes of an upstream's refusal."""
        self._refused = _UpstreamRefusal(error, incoming, said)

    def note_left_out(self, left_out: Sequence[str]) -> None:
        """Remember what could not be passed on to the upstream, or to the client."""
        self.left_out += [each for each in left_out if each not in self.left_out]

    def _own_headers(self) -> dict[str, str]:
        """The request's id, under the name that the dialect's clients expect, and what was left out."""
        id_header = "request-id" if self.endpoint.dialect == MESSAGES else "x-request-id"
        headers = {id_header: f"req_{self.id}"}
        if self.left_out:
            listed = ", ".join(self.left_out).encode("ascii", "replace").decode()
            headers[LEFT_OUT] = " ".join(listed.split())[:_LONGEST_HEADER]
        return headers


def _less_for_files(message: Message) -> int:
    """How many tokens fewer a message has, as its files are no text; a negative number."""
    tokens = 0
    holders = message.results if isinstance(message, Results) else (message,)
    for holder in holders:
        for part in holder.content:
            if isinstance(part, Media):
                as_text = len(part.data) * _BASE64 // BYTES_PER_TOKEN
                as_file = estimate_tokens(User((part,)))
                tokens += min(as_file - int(as_text), 0)
    return tokens


def public_error(error: RightcallError) -> RightcallError:
    """An error as clients may read it: without what concerns only the gateway and its vendor.

    A client that gets a 401 takes its own key to be wrong, and some retry for a minute.
    """
    if isinstance(error, VendorError) and error.kind in _OWN and error.provider:
        words = "the model's vendor refused the gateway; its operator finds why in the log"
        return VendorError(words, kind="server", status=502)
    if isinstance(error, VendorError) and error.kind == "not_found" and (error.status or 0) < _FAILED:
        # A redirect, or a web page: the gateway's wrong address is not for the client.
        words = "what is at the model's address is no API; the gateway's operator finds why in the log"
        return VendorError(words, kind="server", status=502)
    return error


class KeepAlive:
    """A timer beside an exchange: it keeps a quiet stream alive, and ends one that nobody reads."""

    def __init__(self, exchange: GatewayExchange, bounds: Bounds) -> None:
        self._exchange = exchange
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._every = min(bounds.quiet_seconds, bounds.stalled_seconds)
        self._timer = self._loop.call_later(self._every, self._beat)
        self._saying: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._saying is not None:
            self._saying.cancel()

    def _beat(self) -> None:
        exchange = self._exchange
        http = self._exchange.http
        now = time.monotonic()
        wait = self._every
        if http.waits_since is not None:
            if now - http.waits_since >= self._bounds.stalled_seconds:
                gateway_logger.warning("request %s: the client reads nothing", exchange.id)
                http.drop()
                return
        elif exchange.peeked.stream and not http.over:
            quiet = now - http.wrote
            if quiet >= self._bounds.quiet_seconds:
                self._saying = self._loop.create_task(self._say())
            else:
                wait = min(wait, self._bounds.quiet_seconds - quiet)
        self._timer = self._loop.call_later(wait, self._beat)

    async def _say(self) -> None:
        try:
            await self._exchange.keep_alive()
        except RightcallError as error:
            # The code that parses the request reports what is wrong with it.
            gateway_logger.debug("request %s is not kept alive: %s", self._exchange.id, error)
