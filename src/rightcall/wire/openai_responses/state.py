"""Responses that the vendor keeps: a request names the last one, and says only what is new since then.

A reply that was kept says so in its vendor bag: where, and after which messages. Only that place is
given its id, and only while the conversation before it is the one that was sent; a history that was
trimmed or changed, and a place that has forgotten, are sent everything.
https://platform.openai.com/docs/guides/conversation-state
"""

from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.ports import Encode
from rightcall.core.request import Outgoing, Request
from rightcall.errors import RightcallError, VendorError
from rightcall.wire.encoding import EncodeCache, mapping
from rightcall.wire.openai_responses.decode import decode, decoder
from rightcall.wire.openai_responses.encode import Since, authorize, encode
from rightcall.wire.openai_responses.errors import error
from rightcall.wire.openai_responses.tables import NAME

_KEPT = "kept"
_FORGOTTEN = "previous_response_not_found"


class KeptDialect:
    """The dialect of a place that keeps what was said."""

    name = NAME
    error = staticmethod(error)
    authorize = staticmethod(authorize)
    decode = staticmethod(decode)
    decoder = staticmethod(decoder)

    def __init__(self, place: str) -> None:
        self._place = place

    def encoder(self) -> Encode:
        """An ``encode`` for one conversation, which writes each of its messages once."""
        return partial(self._encode, EncodeCache())

    def encode(self, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        """The request as the vendor wants it: what is new since the last reply that it has."""
        return self._encode(EncodeCache(), request, model=model, stream=stream)

    def _encode(self, cache: EncodeCache, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        since = self._since(request.messages)
        return encode(request, model=model, stream=stream, cache=cache, since=since)

    def kept(self, reply: Reply, request: Request) -> Reply:
        """The reply, with where it is kept and what stood before it."""
        bag = mapping(reply.vendor.get(NAME))
        if not bag.get("id"):
            return reply
        kept = {"at": self._place, "after": _digest(request.messages)}
        return replace(reply, vendor={**reply.vendor, NAME: {**bag, _KEPT: kept}})

    def anew(self, request: Request, refusal: RightcallError) -> Request | None:
        """The request with everything in it, where this refusal means that the vendor has forgotten."""
        forgot = isinstance(refusal, VendorError) and (
            refusal.vendor_code == _FORGOTTEN or "previous_response_id" in refusal.body
        )
        if not forgot or not self._since(request.messages).response:
            return None
        return replace(request, messages=tuple([_bare(message) for message in request.messages]))

    def _since(self, messages: Transcript) -> Since:
        """The last reply that this place has, if it was given to just this conversation."""
        for at, reply in _replies(messages):
            bag = mapping(reply.vendor.get(NAME))
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


def _bare(message: Message) -> Message:
    bag = mapping(message.vendor.get(NAME)) if isinstance(message, Reply) else {}
    if not isinstance(message, Reply) or _KEPT not in bag:
        return message
    left: Mapping[str, object] = {name: value for name, value in bag.items() if name != _KEPT}
    return replace(message, vendor={**message.vendor, NAME: left})


def _digest(messages: Transcript) -> str:
    """Tells one conversation from another; where a reply is kept is no part of it."""
    digest = blake2b(digest_size=16)
    for message in messages:
        said = message.content if isinstance(message, Reply) else message
        digest.update(msgspec.json.encode(said))
    return digest.hexdigest()
