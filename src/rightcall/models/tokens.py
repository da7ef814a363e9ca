"""Access tokens that expire: fetched in a thread, kept, refreshed in time, and added to requests."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from rightcall.core.secret_formats import SHORTEST_KEY
from rightcall.core.transport import StreamedResponse, Timeouts, Transport
from rightcall.errors import TransportError, UsageError, VendorError

EARLY = 300.0
"""A token is refreshed this many seconds before it expires."""
_REFUSED = 400
_UNAUTHORIZED = 401
_MOST_QUOTED = 1024 * 1024


class AccessToken(msgspec.Struct, frozen=True):
    """A token. ``repr`` never shows it."""

    text: str
    expires: float | None = None
    """Seconds since the epoch; None if it does not expire."""

    def __repr__(self) -> str:
        return "Token(…)"


Source: TypeAlias = Callable[[], AccessToken]
"""Fetches a token; it may block, and is called in a thread."""


class TokenProvider(Protocol):
    """A provider of tokens for requests."""

    async def current(self) -> str:
        """A valid token."""

    def discard(self, token: str) -> None:
        """Discard a token that the vendor refused."""


class TokenStore:
    """Caches a source's token, and fetches a new one only once at a time."""

    def __init__(self, source: Source, *, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._held: AccessToken | None = None
        # A lock belongs to one event loop, and a model may be used on several.
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def current(self) -> str:
        """A valid token."""
        held = self._held
        if held is not None and self._is_good(held, EARLY):
            return held.text
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            held = self._held
            if held is not None and self._is_good(held, EARLY):
                return held.text  # another task has fetched it meanwhile
            try:
                self._held = fresh = await asyncio.to_thread(self._source)
            except (TransportError, VendorError):
                if held is None or not self._is_good(held, 0.0):
                    raise
                return held.text
            return fresh.text

    def discard(self, token: str) -> None:
        """Discard a refused token: the next request fetches another."""
        if self._held is not None and self._held.text == token:
            self._held = None

    def _is_good(self, token: AccessToken, early: float) -> bool:
        return token.expires is None or self._clock() < token.expires - early


class GivenTokens:
    """Calls the developer's function for every request; caching is left to that function."""

    def __init__(self, give: Callable[[], str | Awaitable[str]]) -> None:
        self._give = give

    async def current(self) -> str:
        """A valid token."""
        # The function may itself make a call, and wait for the answer.
        given = await asyncio.to_thread(self._give)
        if isinstance(given, str):
            token: object = given
        else:
            token = await given
        if not isinstance(token, str) or not token or not token.isprintable():
            raise UsageError("the function given as api_key= must give a key or token, as text")
        return token

    def discard(self, token: str) -> None:
        """Does nothing: no token is cached here."""


class WrappedTransport:
    """A transport around another, which it closes. Its subclasses change what is posted."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """Pass the request on unchanged: GET is not used to call a model."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()


def bearer(token: str) -> Mapping[str, str]:
    """The header that carries a token."""
    return {"authorization": f"Bearer {token}"}


class TokenTransport(WrappedTransport):
    """Adds a token, and ``more`` headers, to every attempt."""

    def __init__(
        self,
        inner: Transport,
        tokens: TokenProvider,
        *,
        carry: Callable[[str], Mapping[str, str]] = bearer,
        more: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(inner)
        self._tokens = tokens
        self._carry = carry
        self._more = more or {}

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        """Send a body, and stream the reply."""
        token = await self._tokens.current()
        sent = {**self._more, **self._carry(token)}
        for name, text in headers.items():
            if name.lower() not in sent:
                sent[name] = text
        async with self._inner.post(url, headers=sent, body=body, timeouts=timeouts) as incoming:
            if incoming.status == _UNAUTHORIZED:
                self._tokens.discard(token)
            if incoming.status >= _REFUSED:
                chunks = _redact_token(token, incoming.chunks)
                yield StreamedResponse(incoming.status, incoming.headers, chunks)
            else:
                yield incoming


async def _redact_token(token: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body of a refusal without the token, as vendors quote what they refuse."""
    body = bytearray()
    async for chunk in chunks:
        if len(body) < _MOST_QUOTED:
            body += chunk
    # A short one is a dummy, and may be a part of what the body says.
    if len(token) >= SHORTEST_KEY:
        body = body.replace(token.encode(), b"[token]")
    yield bytes(body)
