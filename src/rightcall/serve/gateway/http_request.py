"""One request of a client, and its answer, over ASGI.

Nothing is buffered for a client that does not read: every write waits until the connection accepts it,
and a client that reads nothing for too long is disconnected. A disconnect cancels the work for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl

from rightcall.errors import VendorError

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


CONNECTION = "rightcall.connection"
"""The key in the scope of a request's connection, if the server is ours."""


_MOST_DROPPED = 256 * 1024 * 1024
"""The most bytes that are read of a body that is refused."""
_PAUSE = 0.5
"""Seconds without a byte after which a client is no longer sending, and is answered."""


class ClientConnection(Protocol):
    """A client's connection. Without one, a separate task has to wait for the disconnect."""

    def abort(self) -> None:
        """Close at once, whatever was not sent yet."""

    def watch(self, left: Callable[[], None], /) -> None:
        """Have this called if the client disconnects."""

    def unwatch(self, left: Callable[[], None], /) -> None:
        """Stop calling it."""


class ClientLeft(Exception):
    """The client has disconnected: there is nobody to answer."""


class HttpRequest:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: Mapping[str, str] = {}
        if scope["query_string"]:
            self.query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        # Headers by their lower-case names; repeated ones are joined.
        found: dict[str, str] = {}
        for name_, value_ in scope["headers"]:
            name = name_.decode("latin-1")
            value = value_.decode("latin-1")
            if name in found:
                found[name] = f"{found[name]}, {value}"
            else:
                found[name] = value
        self.headers: Mapping[str, str] = found
        self.came = time.monotonic()
        self.begun = False
        self.over = False
        self.wrote = self.came
        """When something was last written."""
        self.waits_since: float | None = None
        """Since when a write waits for the client."""
        self.first_byte: float | None = None
        self.status = 0
        self.held = 0
        """Bytes of the body that were read."""
        self._receive = receive
        self._connection: ClientConnection | None = scope.get(CONNECTION)
        self._send = send
        self._task = asyncio.current_task()
        self._watch: asyncio.Task[None] | None = None
        self._may_drop = True
        """Whether more of the body is to come, and to be read before a refusal of it."""
        self.left = False
        """Whether the client has disconnected."""
        self.always: Mapping[str, str] = {}
        """Headers that every answer has."""

    async def body(self, most: int, seconds: float, take: Callable[[int], None]) -> bytes:
        """The whole body of the request. Raises VendorError if it is too long or too slow.

        ``take`` is called with the size of every piece before it is kept, and may raise.
        """
        try:
            declared = self.headers.get("content-length", "")
            if declared.isdecimal() and int(declared) > most:
                # A client that asks first is told before it sends anything.
                self._may_drop = "expect" not in self.headers and int(declared) <= _MOST_DROPPED
                raise _too_large(most)
            return await self._read_body(most, seconds, take)
        except VendorError as error:
            if self._may_drop and error.kind != "timeout":
                await self._drop_body(seconds)
            raise

    async def _read_body(self, most: int, seconds: float, take: Callable[[int], None]) -> bytes:
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientLeft
                    piece = message.get("body", b"")
                    size += len(piece)
                    self._may_drop = message.get("more_body", False)
                    if size > most:
                        raise _too_large(most)
                    take(len(piece))
                    self.held = size
                    pieces.append(piece)
                    if not self._may_drop:
                        if len(pieces) == 1:
                            return pieces[0]
                        return b"".join(pieces)
        except TimeoutError:
            words = f"the body of the request did not come within {seconds:g} s"
            raise VendorError(words, kind="timeout", status=408) from None

    async def _drop_body(self, seconds: float) -> None:
        """Read what is left of the body and keep nothing of it, as long as it comes, and within bounds.

        A client that is cut off while it sends does not read why.
        """
        dropped = 0
        until = time.monotonic() + seconds
        with suppress(TimeoutError):
            while self._may_drop and dropped <= _MOST_DROPPED and time.monotonic() < until:
                async with asyncio.timeout(_PAUSE):
                    message = await self._receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                dropped += len(message.get("body", b""))
                self._may_drop = message.get("more_body", False)

    def watch(self) -> None:
        """From here on, cancel the task when the client disconnects."""
        if self._connection is not None:
            self._connection.watch(self._note_disconnect)
        else:
            self._watch = asyncio.ensure_future(self._until_left())

    async def _until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._note_disconnect()

    def _note_disconnect(self) -> None:
        if not self.over:
            self.left = True
            self.abort()

    def abort(self) -> None:
        """Cancel the task that answers."""
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        """Disconnect a client that does not read, and drop what was to be sent."""
        self.left = True
        if self._connection is not None:
            self._connection.abort()
        self.abort()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and the headers."""
        if self.begun:
            return
        self.begun = True
        self.status = status
        self.wrote = time.monotonic()
        self.first_byte = self.wrote - self.came
        if self.always:
            headers = {**headers, **self.always}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send a piece of the answer, as soon as the client accepts it."""
        self.waits_since = time.monotonic()
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
        self.waits_since = None
        self.wrote = time.monotonic()

    async def end(self, data: bytes = b"") -> None:
        """Send the last piece."""
        if not self.over:
            self.over = True
            await self.write(data, more=False)

    async def cut(self, data: bytes) -> None:
        """Send a last piece, and close the connection in the middle of the answer."""
        if self._connection is None:
            await self.end(data)
        elif not self.over:
            await self.write(data)
            self.over = True
            self._connection.abort()
            # Let the server notice the abort before it misses the rest of the answer.
            await asyncio.sleep(0)

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole answer."""
        await self.begin(status, {**headers, "content-length": str(len(body))})
        await self.end(b"" if self.method == "HEAD" else body)

    async def close(self) -> None:
        """Stop watching the connection."""
        self.over = True
        if self._connection is not None:
            self._connection.unwatch(self._note_disconnect)
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch


def _too_large(most: int) -> VendorError:
    words = f"the request is larger than {most:,} bytes"
    return VendorError(words, kind="bad_request", status=413)
