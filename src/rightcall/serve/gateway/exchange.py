"""One exchange between a client and a model: its state, and every way to answer it.

It speaks the client's dialect through that dialect's server half, and knows no upstream.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from secrets import token_hex
from urllib.parse import urlencode

from msgspec import Struct

from rightcall.core.events import CallDelta, ModelEvent, ReasoningDelta, ReplyEnd, TextDelta, unfolded
from rightcall.core.message import Reply
from rightcall.core.ports import Model, ReplyWriter, ServerDialect
from rightcall.core.served import Answer, Asked
from rightcall.core.tokens import estimate_tokens, spec_tokens, text_tokens
from rightcall.core.transport import Incoming
from rightcall.errors import RightcallError, UsageError, VendorError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.allowance import Expected
from rightcall.serve.gateway.endpoints import GEMINI, MESSAGES, RESPONSES, Endpoint
from rightcall.serve.gateway.http_request import HttpRequest
from rightcall.serve.gateway.keys import Key
from rightcall.serve.gateway.peek import Peeked
from rightcall.serve.gateway.response_items import ResponseItems

JSON = {"content-type": "application/json"}
STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
LEFT_OUT = "x-rightcall-left-out"
BYTES_PER_TOKEN = 4
_SAID = (TextDelta, ReasoningDelta, CallDelta)
_LONGEST_HEADER = 1000
_OK, _FAILED = 200, 400
_WAIT = {429: "5", 503: "5", 529: "5"}
"""Seconds for ``retry-after`` where the vendor gave none; without the header Codex gives up."""
_OWN = ("auth", "quota")
"""Kinds of errors that concern only the gateway and its vendor."""


class _Refused(Struct, frozen=True):
    """An upstream's refusal."""

    error: VendorError
    incoming: Incoming
    said: bytes

    @property
    def is_of_an_api(self) -> bool:
        """Whether clients can read it as an error of an API: not a web page, and not a 200."""
        return self.incoming.status >= _FAILED and self.said.lstrip()[:1] in (b"{", b"[")


class Exchange:
    """One request to a model, and its answer."""

    def __init__(
        self,
        http: HttpRequest,
        endpoint: Endpoint,
        server: ServerDialect,
        key: Key,
        body: bytes,
        peeked: Peeked,
    ) -> None:
        self.http = http
        self.endpoint = endpoint
        self.key = key
        self.body = body
        self.peeked = peeked
        self.id = token_hex(12)
        self.left_out: list[str] = []
        self.expected = Expected()
        """What it is expected to use."""
        self._server = server
        self._writes = False
        """Whether the stream is written here, and not only passed on."""
        self._refused: _Refused | None = None
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
        self._heard = 0

    @cached_property
    def asked(self) -> Asked:
        """The parsed request. Raises VendorError if it is invalid."""
        http = self.http
        try:
            asked = self._server.asked(
                self.body, path=http.path, query=urlencode(http.query), headers=http.headers
            )
        except UsageError as error:
            raise VendorError(str(error), kind="bad_request", status=400) from error
        return asked

    @cached_property
    def writer(self) -> ReplyWriter:
        """The writer of the stream."""
        return self._server.writer(self.asked, self._answer)

    @cached_property
    def _answer(self) -> Answer:
        tokens = self.input_tokens() if self.endpoint.dialect == MESSAGES else 0
        return Answer(id=self.id, model=self.peeked.model, created=int(time.time()), input_tokens=tokens)

    def input_tokens(self) -> int:
        """The estimated number of the request's tokens."""
        request = self.asked.request
        said = sum(map(estimate_tokens, request.messages))
        return said + text_tokens(request.system) + spec_tokens(request.specs)

    def begin(self, model: Model) -> None:
        """Note that a model is asked now, in place of any earlier one."""
        self.model, self._heard = model, 0

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
        self._writes, writer = True, self.writer
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
            await self.give_events(tuple(unfolded(reply)))
        else:
            body = self._server.whole(reply, self.asked, self._answer)
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
        await self.give_whole(self._server.counted(self.input_tokens()), {}, _OK)

    async def give_again(self, data: bytes) -> None:
        """Send the cached answer to the same request."""
        self.is_repeated = True
        if self.peeked.stream:
            await self.give(data)
            await self.http.end()
        else:
            await self.give_whole(data, {}, _OK)

    def remember_items(self, items: ResponseItems) -> None:
        """Insert the items that the client refers to into its request, and store those of the answer."""
        if self.endpoint.dialect == RESPONSES and self.items is None:
            self.body = items.expanded(self.key.id, self.body)
            self.items = items if self.peeked.stores else None

    async def break_off(self, error: RightcallError) -> None:
        """End a stream that has begun with an error in the client's dialect."""
        gateway_logger.warning("request %s broke off: %s", self.id, error)
        self.kept = None
        if self.has_given and not self._writes:
            # The stream began with the vendor's own bytes.
            self.writer.start()
        said = self.writer.fail(told_to_clients(error))
        # Gemini CLI ignores an error inside a stream, and takes half an answer for a whole one unless
        # the connection breaks, too.
        await (self.http.cut(said) if self.endpoint.dialect == GEMINI else self.http.end(said))

    async def keep_alive(self) -> None:
        """Send a keep-alive, unless the answer is over."""
        if not self.http.over:
            await self._write(self.writer.keep_alive(), {})

    async def refuse(self, error: RightcallError) -> None:
        """Answer with an error, in the client's dialect; with the vendor's bytes, if that is its own."""
        if self.http.begun:
            await self.break_off(error)
            return
        asked = self._asked_or_none()
        refused = self._refused
        if (
            refused is not None
            and refused.error is error
            and error.kind not in (*_OWN, "context_overflow")
            and refused.is_of_an_api
        ):
            status = refused.incoming.status
            headers = {**JSON, **_retry_after(status, refused.incoming.headers), **self._own_headers()}
            await self.http.answer(status, headers, refused.said)
            return
        answer = self._server.refused(told_to_clients(error), asked)
        headers = {**JSON, **self._own_headers(), **answer.headers}
        await self.http.answer(answer.status, headers, answer.body)

    def refused_with(self, error: VendorError, incoming: Incoming, said: bytes) -> None:
        """Remember the bytes of an upstream's refusal."""
        self._refused = _Refused(error, incoming, said)

    def _asked_or_none(self) -> Asked | None:
        try:
            return self.asked
        except RightcallError:
            return None

    def note_left_out(self, left_out: Sequence[str]) -> None:
        """Remember what could not be passed on to the upstream, or to the client."""
        self.left_out += [each for each in left_out if each not in self.left_out]

    def _own_headers(self) -> dict[str, str]:
        headers = request_headers(self.endpoint.dialect, self.id)
        if self.left_out:
            named = ", ".join(self.left_out).encode("ascii", "replace").decode()
            headers[LEFT_OUT] = " ".join(named.split())[:_LONGEST_HEADER]
        return headers


def request_headers(dialect: str, request_id: str) -> dict[str, str]:
    """The headers with a request's id, as the clients of a dialect expect them."""
    named = f"req_{request_id}"
    return {"request-id": named} if dialect == MESSAGES else {"x-request-id": named}


def told_to_clients(error: RightcallError) -> RightcallError:
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


def _retry_after(status: int, headers: Mapping[str, str]) -> dict[str, str]:
    wait = headers.get("retry-after") or _WAIT.get(status)
    return {} if wait is None else {"retry-after": wait}
