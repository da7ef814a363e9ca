"""Conversations stored by the vendor: a request names the last reply and sends only what is new.

A stored reply records in its vendor bag where it is stored and after which messages. Only that place is
sent its id, and only while the messages before it are unchanged. If the history was trimmed or changed,
or the place has lost the reply, everything is sent.

A conversation that was created there before (``extra={"conversation": …}``) is named instead of a reply,
and grows with each request. Nothing can be removed from it: a trimmed history is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from importlib import import_module
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.ports import Decoder, Dialect, Encode
from rightcall.core.request import EncodedRequest, Request, Sign
from rightcall.errors import EncodeError, RightcallError, VendorError
from rightcall.log import request_logger
from rightcall.wire.dialects import load
from rightcall.wire.payload import EncodeCache, mapping, without

_KEPT = "kept"
CONVERSATION = "conversation"
"""The request member that names a conversation stored by the vendor."""


class Since(Struct, frozen=True):
    """How much of a conversation the vendor has: up to which reply, and where the new messages begin."""

    response: str = ""
    """The id of the last stored reply; empty if nothing is stored."""
    first: int = 0
    """The index of the first message that the vendor does not have."""


class IncrementalDialect(Dialect, Protocol):
    """A dialect that can send only the new messages."""

    def encode(
        self,
        request: Request,
        /,
        *,
        model: str,
        stream: bool,
        cache: EncodeCache | None = None,
        since: Since | None = None,
    ) -> EncodedRequest:
        """Encode the request without the messages that the vendor has, according to ``since``."""


class VendorStateDialect:
    """The dialect of a place that stores conversations."""

    def __init__(
        self, dialect: IncrementalDialect, place: str, forgot: Callable[[VendorError], bool]
    ) -> None:
        self.name = dialect.name
        self._dialect = dialect
        self._place = place
        self._forgot = forgot
        self._gone: set[str] = set()
        """Conversations that the vendor no longer has."""

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
        """An ``encode`` for one conversation, which encodes each message once."""
        return partial(self._encode, EncodeCache())

    def encode(self, request: Request, /, *, model: str, stream: bool) -> EncodedRequest:
        """Encode the request: only what is new since the last reply that the vendor has."""
        return self._encode(EncodeCache(), request, model=model, stream=stream)

    def _encode(
        self, cache: EncodeCache, request: Request, /, *, model: str, stream: bool
    ) -> EncodedRequest:
        if conversation_of(request) in self._gone:
            request = _outside(request)
        since = self._since(request)
        return self._dialect.encode(request, model=model, stream=stream, cache=cache, since=since)

    def mark_stored(self, reply: Reply, request: Request) -> Reply:
        """The reply, with a record of where it is stored and after which messages."""
        bag = mapping(reply.vendor.get(self.name))
        if not bag.get("id"):
            return reply
        kept = {"at": self._at(request), "after": _digest(request.messages)}
        return replace(reply, vendor={**reply.vendor, self.name: {**bag, _KEPT: kept}})

    def rebuild_request(self, request: Request, refusal: RightcallError) -> Request | None:
        """The full request, if this refusal means that the vendor has lost what it stored; else None."""
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
        """The last reply that this place stores, if the messages before it are unchanged."""
        messages = request.messages
        place = self._at(request)
        grows = place != self._place
        for at, reply in _replies(messages):
            bag = mapping(reply.vendor.get(self.name))
            kept = mapping(bag.get(_KEPT))
            if kept.get("at") != place:
                if grows:
                    continue
                # A reply from elsewhere, which this place does not have.
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


def kept_at(name: str, place: str) -> VendorStateDialect:
    """The named dialect for a place that stores conversations."""
    dialect: Any = load(name)
    return VendorStateDialect(dialect, place, import_module(f"{dialect.__name__}.tables").is_forgotten)


def conversation_of(request: Request) -> str:
    """The id of the vendor's conversation that a request names; empty for none."""
    named = mapping(request.options.get("extra")).get(CONVERSATION)
    if isinstance(named, Mapping):
        return str(mapping(named).get("id") or "")
    return str(named or "")


def _outside(request: Request) -> Request:
    extra = mapping(request.options.get("extra"))
    if CONVERSATION not in extra:
        return request
    left = without(extra, CONVERSATION)
    return replace(request, options={**request.options, "extra": left})


def _replies(messages: Transcript) -> Iterator[tuple[int, Reply]]:
    """The replies and their indexes, last reply first."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, Reply):
            yield at, message


def _bare(message: Message, name: str) -> Message:
    if isinstance(message, Reply):
        bag = mapping(message.vendor.get(name))
    else:
        bag = {}
    if not isinstance(message, Reply) or _KEPT not in bag:
        return message
    left: dict[str, object] = without(bag, _KEPT)
    return replace(message, vendor={**message.vendor, name: left})


def _digest(messages: Transcript) -> str:
    """A hash that identifies a conversation; where a reply is stored does not affect it."""
    digest = blake2b(digest_size=16)
    for message in messages:
        said = message.content if isinstance(message, Reply) else message
        digest.update(msgspec.json.encode(said))
    return digest.hexdigest()
