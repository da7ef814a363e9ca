"""Access tokens that expire: fetched on demand, cached, and refreshed before they expire.

Token endpoints are called through a separate transport, never the model's: what observes that one must
not see credentials.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias
from urllib.parse import urlencode, urlsplit
from weakref import WeakKeyDictionary

import msgspec

from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, TransportError, UsageError, VendorError
from rightcall.transport.loopback import is_loopback
from rightcall.wire.refusal import Refusals

EARLY = 300.0
"""A token is refreshed this many seconds before it expires."""
_TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, between_chunks=30.0)
_MOST = 64 * 1024
_OK = 200
_SERVERS_FAULT = 500
_RATE = 429
_REFUSALS = Refusals(code=("error", "error_code"))


class Token(msgspec.Struct, frozen=True):
    """A token. ``repr`` never shows it."""

    text: str
    expires: float | None = None
    """Seconds since the epoch; None if it does not expire."""

    def __repr__(self) -> str:
        return "Token(…)"


Source: TypeAlias = Callable[[Transport], Awaitable[Token]]
"""Fetches a token, through that transport unless the endpoint is local."""


class Tokens(Protocol):
    """A provider of tokens for requests."""

    async def current(self) -> str:
        """A valid token."""
        ...

    def refused(self, token: str) -> None:
        """Discard a token that the vendor refused."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class TokenStore:
    """Caches a source's token, and fetches a new one only once at a time."""

    def __init__(
        self, source: Source, transport: Transport, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._source = source
        self._transport = transport
        self._clock = clock
        self._held: Token | None = None
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
                self._held = fresh = await self._source(self._transport)
            except (TransportError, ProtocolError, VendorError):
                if held is None or not self._is_good(held, 0.0):
                    raise
                return held.text
            return fresh.text

    def refused(self, token: str) -> None:
        """Discard a refused token: the next request fetches another."""
        if self._held is not None and self._held.text == token:
            self._held = None

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def _is_good(self, token: Token, early: float) -> bool:
        return token.expires is None or self._clock() < token.expires - early


class GivenTokens:
    """Calls the developer's function for every request; caching is left to that function."""

    def __init__(self, give: Callable[[], str | Awaitable[str]]) -> None:
        self._give = give

    async def current(self) -> str:
        """A valid token."""
        # The function may itself make a call, and wait for the answer.
        given = await asyncio.to_thread(self._give)
        token: object = given if isinstance(given, str) else await given
        if not isinstance(token, str) or not token or not token.isprintable():
            raise UsageError("the function given as api_key= must give a key or token, as text")
        return token

    def refused(self, token: str) -> None:
        """Does nothing: no token is cached here."""

    async def close(self) -> None:
        """Does nothing: no connection is open here."""


async def exchange(transport: Transport, url: str, form: Mapping[str, str], whose: str) -> Token:
    """The token that an OAuth 2 endpoint returns for a form. ``whose`` names it in errors."""
    place = urlsplit(url)
    if place.scheme != "https" and not (place.scheme == "http" and is_loopback(place.hostname)):
        raise UsageError(f"{whose}: the address for tokens must begin with https://")
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    body = urlencode(form).encode()
    async with transport.post(url, headers=headers, body=body, timeouts=_TIMEOUTS) as incoming:
        answer = await _body(incoming, whose)
    if incoming.status != _OK:
        for secret in form.values():
            if len(secret) > 8:  # noqa: PLR2004 - a shorter one is no secret
                answer = answer.replace(secret.encode(), b"[secret]")
        raise _refused(incoming, answer, whose)
    return token_in(answer, whose)


def token_in(body: bytes, whose: str, clock: Callable[[], float] = time.time) -> Token:
    """The token in a response. Errors never show the response."""
    try:
        answer = msgspec.json.decode(body, type=_Answer, strict=False)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ProtocolError(f"{whose}: what answered for a token gave none") from None
    if answer.expires_on is not None:
        return Token(answer.access_token, answer.expires_on)
    lasts = answer.expires_in
    return Token(answer.access_token, None if lasts is None else clock() + lasts)


class _Answer(msgspec.Struct):
    access_token: str
    expires_in: float | None = None
    """Seconds; some endpoints send a string."""
    expires_on: float | None = None
    """Seconds since the epoch."""


async def _body(incoming: Incoming, whose: str) -> bytes:
    body = bytearray()
    async for chunk in incoming.chunks:
        body += chunk
        if len(body) > _MOST:
            raise ProtocolError(f"{whose}: what answered for a token is longer than {_MOST:,} bytes")
    return bytes(body)


def _refused(incoming: Incoming, answer: bytes, whose: str) -> VendorError:
    refusal = _REFUSALS.over_http(incoming.status, incoming.headers, answer)
    refusal.args = (f"{whose}: no token: {refusal.message}",)
    if incoming.status < _SERVERS_FAULT and incoming.status != _RATE:
        refusal.kind = "auth"
    return refusal
