"""The interface of an HTTP transport."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from rightcall.core.options import TypeCheckedMeta

MAX_REPLY_BYTES = 128 * 1024 * 1024
"""Bytes. A longer streamed reply, all events together, is an attack or a fault: 128,000 tokens, each in
an event of 350 bytes, are a third of it."""


SENDING: ContextVar[Callable[[], None] | None] = ContextVar("rightcall_sending", default=None)
"""Set by who has to know when a request is really sent: a transport whose ``tells_sending`` is True
calls it when there is a connection, before it writes the request."""


class Timeouts(Struct, frozen=True, kw_only=True, gc=False, metaclass=TypeCheckedMeta):
    """How long each part of an exchange may take, in seconds. None lifts a limit."""

    connect: float | None = 10.0
    """To open the connection."""
    first_byte: float | None = 120.0
    """From the request being sent to the head of the reply; while a large one is sent, between two
    pieces of it."""
    between_chunks: float | None = 120.0
    """Between two pieces of the reply."""
    whole: float | None = None
    """The exchange from beginning to end."""


class StreamedResponse(Struct, frozen=True, eq=False):
    """A reply whose head is here and whose body is still streaming."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    chunks: AsyncIterator[bytes]


class Transport(Protocol):
    """Sends requests. Its errors are TransportErrors.

    It follows no redirect, which would send the key and the conversation to another address: a redirect
    is a VendorError that says where it pointed.
    """

    def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """POST a body, and return the reply while it streams."""

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """GET a URL, and return the reply while it streams."""

    async def close(self) -> None:
        """Close every connection."""
