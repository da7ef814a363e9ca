"""Conversations that the vendor keeps: a request names the last reply, and says what is new since then.

A reply that was kept says so in its vendor bag: where, and after which messages. Only that place is
given its id, and only while the conversation before it is the one that was sent; a history that was
trimmed or changed, and a place that has forgotten, are sent everything.
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
from rightcall.errors import RightcallError, VendorError
from rightcall.wire.encoding import EncodeCache, mapping

_KEPT = "kept"


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
        since = self._since(request.messages)
        return self._dialect.encode(request, model=model, stream=stream, cache=cache, since=since)

    def kept(self, reply: Reply, request: Request) -> Reply:
        """The reply, with where it is kept and what stood before it."""
        bag = mapping(reply.vendor.get(self.name))
        if not bag.get("id"):
            return reply
        kept = {"at": self._place, "after": _digest(request.messages)}
        return replace(reply, vendor={**reply.vendor, self.name: {**bag, _KEPT: kept}})

    def anew(self, request: Request, refusal: RightcallError) -> Request | None:
        """The request with everything in it, where this refusal means that the vendor has forgotten."""
        forgot = isinstance(refusal, VendorError) and self._forgot(refusal)
        if not forgot or not self._since(request.messages).response:
            return None
        return replace(
            request, messages=tuple([_bare(message, self.name) for message in request.messages])
        )

    def _since(self, messages: Transcript) -> Since:
        """The last reply that this place has, if it was given to just this conversation."""
        for at, reply in _replies(messages):
            bag = mapping(reply.vendor.get(self.name))
            kept = mapping(bag.get(_KEPT))
            if kept.get("at") != self._place:
                # Another's words, which this place has never seen.
                return Since()
            if at + 1 < len(messages) and kept.get("after") == _digest(messages[:at]):
                return Since(str(bag.get("id")), at + 1)
            return Since()
        return Since()


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
