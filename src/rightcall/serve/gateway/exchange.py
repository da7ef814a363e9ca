"""One exchange between a client and a model: what is known of it, and every way to answer it.

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
from rightcall.serve.gateway.doors import GEMINI, MESSAGES, RESPONSES, Door
from rightcall.serve.gateway.keys import Key
from rightcall.serve.gateway.peek import Peeked
from rightcall.serve.gateway.remembered import Items
from rightcall.serve.gateway.visit import Visit

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
"""Seconds that a client is told to wait where nobody said how long; without them Codex gives up."""
_OWN = ("auth", "quota")
"""Kinds of refusals that are between the gateway and its vendor."""


class _Refused(Struct, frozen=True):
    """What an upstream refused with."""

    error: VendorError
    incoming: Incoming
    said: bytes

    @property
    def is_of_an_api(self) -> bool:
        """Whether clients can read it as a refusal: no web page, and no 200."""
        return self.incoming.status >= _FAILED and self.said.lstrip()[:1] in (b"{", b"[")


class Exchange:
    """One request that asks a model, and its answer."""

    def __init__(
        self, visit: Visit, door: Door, server: ServerDialect, key: Key, body: bytes, peeked: Peeked
    ) -> None:
        self.visit = visit
        self.door = door
        self.key = key
        self.body = body
        self.peeked = peeked
        self.id = token_hex(12)
        self.left_out: list[str] = []
        self.expected = Expected()
        """What it is about to take."""
        self._server = server
        self._writes = False
        """Whether the stream is written here, and not only passed on."""
        self._refused: _Refused | None = None
        self.has_given = False
        """Something of an answer has been given, so that no other place can be asked."""
        self.is_repeated = False
        """It was answered with what the same request got before."""
        self.kept: list[bytes] | None = None
        """What was given, where somebody wants to keep it."""
        self.items: Items | None = None
        """Keeps what the client may refer to later."""
        self.model: Model | None = None
        """The model that is asked."""
        self._heard = 0

    @cached_property
    def asked(self) -> Asked:
        """The request, read; a VendorError where it makes no sense."""
        visit = self.visit
        try:
            asked = self._server.asked(
                self.body, path=visit.path, query=urlencode(visit.query), headers=visit.headers
            )
        except UsageError as error:
            raise VendorError(str(error), kind="bad_request", status=400) from error
        return asked

    @cached_property
    def writer(self) -> ReplyWriter:
        """What writes the stream."""
        return self._server.writer(self.asked, self._answer)

    @cached_property
    def _answer(self) -> Answer:
        tokens = self.input_tokens() if self.door.dialect == MESSAGES else 0
        return Answer(id=self.id, model=self.peeked.model, created=int(time.time()), input_tokens=tokens)

    def input_tokens(self) -> int:
        """About how many tokens the request is."""
        request = self.asked.request
        said = sum(map(estimate_tokens, request.messages))
        return said + text_tokens(request.system) + spec_tokens(request.specs)

    def begin(self, model: Model) -> None:
        """A model is asked now, in place of any before."""
        self.model, self._heard = model, 0

    def hear(self, events: Iterable[object]) -> None:
        """Note how much the model has said: whoever leaves, or is cut off, gets no count of it."""
        self._heard += sum([len(each.text) for each in events if isinstance(each, _SAID)])

    @property
    def heard_tokens(self) -> int:
        """About how many tokens the model has said up to now."""
        return -(-self._heard // BYTES_PER_TOKEN)

    async def give(self, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Give the next piece of a stream."""
        self.has_given = True
        if self.kept is not None:
            self.kept.append(data)
        if self.items is not None:
            self.items.see(self.key.id, data)
        await self._write(data, headers or {})

    @property
    def _is_array(self) -> bool:
        """Whether the stream is one JSON array, as Gemini's is unless events are asked for."""
        return self.door.dialect == GEMINI and self.visit.query.get("alt") != "sse"

    async def _write(self, data: bytes, headers: Mapping[str, str]) -> None:
        if not self.visit.begun:
            kind = JSON if self._is_array else STREAM
            await self.visit.begin(_OK, {**kind, **headers, **self._own_headers()})
        await self.visit.write(data)

    async def give_events(self, events: Sequence[ModelEvent]) -> None:
        """Give what the events add to a stream."""
        self._writes, writer = True, self.writer
        self.hear(events)
        data = b"".join([writer.write(event) for event in events])
        if data:
            await self.give(data)
        if events and isinstance(events[-1], ReplyEnd):
            self.note_left_out(writer.left_out)
            await self.visit.end()

    async def give_reply(self, reply: Reply) -> Reply:
        """Give a whole reply, as a stream where the client asked for one."""
        if self.peeked.stream:
            await self.give_events(tuple(unfolded(reply)))
        else:
            body = self._server.whole(reply, self.asked, self._answer)
            await self.give_whole(body, {}, _OK)
        return reply

    async def give_whole(self, body: bytes, headers: Mapping[str, str], status: int) -> None:
        """Give an answer that is not streamed."""
        self.has_given = True
        if self.kept is not None:
            self.kept.append(body)
        if self.items is not None:
            self.items.see(self.key.id, body)
        await self.visit.answer(status, {**JSON, **headers, **self._own_headers()}, body)

    async def give_count(self) -> None:
        """Give about how many tokens the request is."""
        await self.give_whole(self._server.counted(self.input_tokens()), {}, _OK)

    async def give_again(self, data: bytes) -> None:
        """Give what was given before to the same request."""
        self.is_repeated = True
        if self.peeked.stream:
            await self.give(data)
            await self.visit.end()
        else:
            await self.give_whole(data, {}, _OK)

    def remember_items(self, items: Items) -> None:
        """Put what the client refers to into its request, and keep what it may refer to later."""
        if self.door.dialect == RESPONSES and self.items is None:
            self.body = items.expanded(self.key.id, self.body)
            self.items = items if self.peeked.stores else None

    async def break_off(self, error: RightcallError) -> None:
        """End a stream that has begun with the client's own word for what went wrong."""
        gateway_logger.warning("request %s broke off: %s", self.id, error)
        self.kept = None
        if self.has_given and not self._writes:
            # The vendor's own bytes have begun the stream.
            self.writer.start()
        said = self.writer.fail(told_to_clients(error))
        # Gemini CLI passes over an error inside a stream, and takes half an answer for a whole one
        # unless the connection breaks, too.
        await (self.visit.cut(said) if self.door.dialect == GEMINI else self.visit.end(said))

    async def keep_alive(self) -> None:
        """Say that there is more to come, unless it has come meanwhile."""
        if not self.visit.over:
            await self._write(self.writer.keep_alive(), {})

    async def refuse(self, error: RightcallError) -> None:
        """Answer with an error, in the client's own shape; the vendor's bytes, where it speaks that."""
        if self.visit.begun:
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
            await self.visit.answer(status, headers, refused.said)
            return
        answer = self._server.refused(told_to_clients(error), asked)
        headers = {**JSON, **self._own_headers(), **answer.headers}
        await self.visit.answer(answer.status, headers, answer.body)

    def refused_with(self, error: VendorError, incoming: Incoming, said: bytes) -> None:
        """Remember the bytes in which an upstream refused."""
        self._refused = _Refused(error, incoming, said)

    def _asked_or_none(self) -> Asked | None:
        try:
            return self.asked
        except RightcallError:
            return None

    def note_left_out(self, left_out: Sequence[str]) -> None:
        """Remember what could not be told to the upstream, or to the client."""
        self.left_out += [each for each in left_out if each not in self.left_out]

    def _own_headers(self) -> dict[str, str]:
        headers = request_headers(self.door.dialect, self.id)
        if self.left_out:
            named = ", ".join(self.left_out).encode("ascii", "replace").decode()
            headers[LEFT_OUT] = " ".join(named.split())[:_LONGEST_HEADER]
        return headers


def request_headers(dialect: str, request_id: str) -> dict[str, str]:
    """The headers that name a request, as the clients of a dialect look for them."""
    named = f"req_{request_id}"
    return {"request-id": named} if dialect == MESSAGES else {"x-request-id": named}


def told_to_clients(error: RightcallError) -> RightcallError:
    """An error as clients may read it: what is between the gateway and its vendor is not theirs.

    A client that is told 401 takes its own key for wrong, and some try for a minute.
    """
    if isinstance(error, VendorError) and error.kind in _OWN and error.provider:
        words = "the model's vendor refused the gateway; its operator finds why in the log"
        return VendorError(words, kind="server", status=502)
    if isinstance(error, VendorError) and error.kind == "not_found" and (error.status or 0) < _FAILED:
        # A redirect, or somebody's web page: the gateway's wrong address is no client's to read.
        words = "what is at the model's address is no API; the gateway's operator finds why in the log"
        return VendorError(words, kind="server", status=502)
    return error


def _retry_after(status: int, headers: Mapping[str, str]) -> dict[str, str]:
    wait = headers.get("retry-after") or _WAIT.get(status)
    return {} if wait is None else {"retry-after": wait}
