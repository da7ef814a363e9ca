"""Answers that are held whole: replies that are not streamed, and what errands beside them bring."""

from collections.abc import Mapping
from typing import Literal

from msgspec import DecodeError, Struct, json

from rightcall.core.events import ModelEvent, unfolded
from rightcall.core.ports import Dialect
from rightcall.core.transport import Incoming
from rightcall.errors import ProtocolError

MAX_BODY = 64 * 1024 * 1024
"""A reply that is not streamed, or an error, longer than this is refused instead of held."""

HEAD = 4096
"""So many bytes of a reply are kept until something could be made of it, to say what came instead."""


class Errand(Struct, frozen=True, kw_only=True, gc=False):
    """A request to a vendor that asks its model nothing: of files, of batches, of a stored response."""

    path: str
    """What follows the base URL; or a whole address of the same origin, as a vendor gave it."""
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = {}
    most: int = MAX_BODY
    """An answer of more bytes is refused."""
    once: bool = False
    """Not to be sent again where nobody knows whether it has arrived."""


class Answered(Struct, frozen=True, gc=False):
    """What came back of an errand."""

    headers: Mapping[str, str]
    body: bytes


class Whole:
    """A reply that is not streamed: there is nothing to tell of it before its end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._body = bytearray()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """Keep the bytes."""
        grow(self._body, data)
        return ()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events of the whole reply."""
        return tuple(unfolded(self._dialect.decode(bytes(self._body))))


async def body_of(incoming: Incoming, most: int = MAX_BODY) -> bytes:
    """All of an answer's bytes; ProtocolError where there are more."""
    body = bytearray()
    async for chunk in incoming.chunks:
        grow(body, chunk, most)
    return bytes(body)


def grow(body: bytearray, piece: bytes, most: int = MAX_BODY) -> None:
    """Add a piece to a body; ProtocolError where that makes it too long."""
    body += piece
    if len(body) > most:
        raise ProtocolError(f"the reply is longer than {most:,} bytes")


def is_whole(head: bytes) -> bool:
    """Whether this is all there was, and no part of a reply: no events, and no JSON that was cut off."""
    if len(head) >= HEAD or any(field in head for field in (b"data:", b"event:")):
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
