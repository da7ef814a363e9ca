"""Responses that are read as a whole: replies that are not streamed, and answers to errands."""

from collections.abc import Mapping
from typing import Literal

from msgspec import DecodeError, Struct, json

from rightcall.core.events import ModelEvent, unfolded
from rightcall.core.ports import Dialect
from rightcall.core.transport import Incoming
from rightcall.errors import ProtocolError

MAX_BODY = 64 * 1024 * 1024
"""The most bytes of an unstreamed reply or an error; a longer one is refused."""

HEAD = 4096
"""Bytes of a reply that are kept until it could be decoded, to show in an error what was received."""


class Errand(Struct, frozen=True, kw_only=True, gc=False):
    """A request to a vendor that is not for its model: for files, batches, or a stored response."""

    path: str
    """The path after the base URL; or a whole URL of the same origin, as a vendor gave it."""
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = {}
    most: int = MAX_BODY
    """The most bytes of an answer; a longer one is refused."""
    once: bool = False
    """Do not retry if it may have arrived."""


class Answered(Struct, frozen=True, gc=False):
    """The answer to an errand."""

    headers: Mapping[str, str]
    body: bytes


class Whole:
    """Decodes a reply that is not streamed: it yields nothing before the end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._body = bytearray()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """Keep the bytes."""
        grow(self._body, data)
        return ()

    def finish(self) -> tuple[ModelEvent, ...]:
        """Returns the events of the whole reply."""
        return tuple(unfolded(self._dialect.decode(bytes(self._body))))


async def body_of(incoming: Incoming, most: int = MAX_BODY) -> bytes:
    """Returns all bytes of an answer; ProtocolError if there are more than ``most``."""
    body = bytearray()
    async for chunk in incoming.chunks:
        grow(body, chunk, most)
    return bytes(body)


def grow(body: bytearray, piece: bytes, most: int = MAX_BODY) -> None:
    """Add a piece to a body; ProtocolError if it becomes too long."""
    body += piece
    if len(body) > most:
        raise ProtocolError(f"the reply is longer than {most:,} bytes")


def is_whole(head: bytes) -> bool:
    """Whether this is a whole response and not part of a reply: no events, no JSON that was cut off."""
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
