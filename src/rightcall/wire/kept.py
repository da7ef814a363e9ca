"""Conversations that the vendor keeps: a request names the last reply, and says what is new since then.

A reply that was kept says so in its vendor bag: where, and after which messages. Only that place is
given its id, and only while the conversation before it is the one that was sent; a history that was
trimmed or changed, and a place that has forgotten, are sent everything.

A conversation that was made there before (``extra={"conversation": …}``) is named instead of a reply,
and grows with each request. Nothing can be taken out of it: a history that was cut is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.ports import Decoder, Dialect, Encode
from rightcall.core.request import Outgoing, Request, Sign
from rightcall.errors import EncodeError, RightcallError, VendorError
from rightcall.log import request_logger
from rightcall.wire.encoding import EncodeCache, mapping

_KEPT = "kept"
CONVERSATION = "conversation"
"""The member of a request that names a conversation which the vendor keeps."""


class Since(Struct, frozen=True):
    """What the vendor has of a conversation: up to which of its replies, and what comes after."""

    response: str = ""
    """Empty where it has nothing."""
    first: int = 0
    """The first message that it does not have."""


class Telling(Dialect, Protocol):
    """A dialect that can tell only what is new."""

    def encode(
        self,
        request: Request,
        /,
        *,
        model: str,
        stream: bool,
        cache: EncodeCache | None = None,
        since: Since | None = None,
    ) -> Outgoing:
        """The request, of which the vendor has what ``since`` says."""
        ...


class KeptDialect:
    """The dialect of a place that keeps what was said."""

    def __init__(self, dialect: Telling, place: str, forgot: Callable[[VendorError], bool]) -> None:
        self.name = dialect.name
        self._dialect, self._place, self._forgot = dialect, place, forgot
        self._gone: set[str] = set()
        """Conversations that the vendor has no more."""

    def authorize(self, key: str, /) -> Mapping[str, str] | Sign:
        """The headers that carry the key."""
        return self._dialect.authorize(key)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """The vendor's refusal."""
        return self._dialect.error(status, headers, body)

    def decode(self, body: bytes, /) -> Reply:
        """The reply in a body that was not streamed."""
        return self._dialect.decode(body)

    def decoder(self) -> Decoder:
        """A decoder for one streamed reply."""
        return self._dialect.decoder()

    def encoder(self) -> Encode:
        """An ``encode`` for one conversation, which writes each of its messages once."""
        return partial(self._encode, EncodeCache())

    def encode(self, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        """The request as the vendor wants it: what is new since the last reply that it has."""
        return self._encode(EncodeCache(), request, model=model, stream=stream)

    def _encode(self, cache: EncodeCache, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        if conversation_of(request) in self._gone:
            request = _outside(request)
        since = self._since(request)
        return self._dialect.encode(request, model=model, stream=stream, cache=cache, since=since)

    def kept(self, reply: Reply, request: Request) -> Reply:
        """The reply, with where it is kept and what stood before it."""
        bag = mapping(reply.vendor.get(self.name))
        if not bag.get("id"):
            return reply
        kept = {"at": self._at(request), "after": _digest(request.messages)}
        return replace(reply, vendor={**reply.vendor, self.name: {**bag, _KEPT: kept}})

    def anew(self, request: Request, refusal: RightcallError) -> Request | None:
        """The request with everything in it, where this refusal means that the vendor has forgotten."""
        if not isinstance(refusal, VendorError) or not self._forgot(refusal):
            return None
        conversation = conversation_of(request)
        if conversation and conversation not in self._gone:
            told = "%s has no conversation %s; going on without it"
            request_logger.warning(told, self._place, conversation)
            self._gone.add(conversation)
        elif not self._since(request).response:
            return None
        messages = tuple([_bare(message, self.name) for message in request.messages])
        return replace(_outside(request), messages=messages)

    def _at(self, request: Request) -> str:
        conversation = conversation_of(request)
        return f"{self._place}#{conversation}" if conversation not in ("", *self._gone) else self._place

    def _since(self, request: Request) -> Since:
        """The last reply that this place has, if it was given to just this conversation."""
        messages, place = request.messages, self._at(request)
        grows = place != self._place
        for at, reply in _replies(messages):
            bag = mapping(reply.vendor.get(self.name))
            kept = mapping(bag.get(_KEPT))
            if kept.get("at") != place:
                if grows:
                    continue
                # Another's words, which this place has never seen.
                return Since()
            if at + 1 < len(messages) and kept.get("after") == _digest(messages[:at]):
                return Since(str(bag.get("id")), at + 1)
            if grows:
                raise EncodeError(
                    self.name,
                    "the history was cut or changed, and a conversation that a vendor keeps cannot be. "
                    "Leave the history as it is, without a window, or name another conversation.",
                    where=CONVERSATION,
                )
            return Since()
        return Since()


def conversation_of(request: Request) -> str:
    """The vendor's conversation that a request belongs to; empty for none."""
    named = mapping(request.options.get("extra")).get(CONVERSATION)
    return str(mapping(named).get("id") or "") if isinstance(named, Mapping) else str(named or "")


def _outside(request: Request) -> Request:
    """The request, belonging to no conversation."""
    extra = mapping(request.options.get("extra"))
    if CONVERSATION not in extra:
        return request
    left = {key: value for key, value in extra.items() if key != CONVERSATION}
    return replace(request, options={**request.options, "extra": left})


def _replies(messages: Transcript) -> Iterator[tuple[int, Reply]]:
    """The replies, the last one first."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, Reply):
            yield at, message


def _bare(message: Message, name: str) -> Message:
    bag = mapping(message.vendor.get(name)) if isinstance(message, Reply) else {}
    if not isinstance(message, Reply) or _KEPT not in bag:
        return message
    left: Mapping[str, object] = {key: value for key, value in bag.items() if key != _KEPT}
    return replace(message, vendor={**message.vendor, name: left})


def _digest(messages: Transcript) -> str:
    """Tells one conversation from another; where a reply is kept is no part of it."""
    digest = blake2b(digest_size=16)
    for message in messages:
        said = message.content if isinstance(message, Reply) else message
        digest.update(msgspec.json.encode(said))
    return digest.hexdigest()
