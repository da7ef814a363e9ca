"""A transport that adds a valid token to each request."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.models.tokens import Tokens

_REFUSED = 400
_UNAUTHORIZED = 401
_MOST = 1024 * 1024


def bearer(token: str) -> Mapping[str, str]:
    """The header that carries a token."""
    return {"authorization": f"Bearer {token}"}


class TokenTransport:
    """Adds a token, and ``more`` headers, to every attempt; closes the transport that it wraps."""

    def __init__(
        self,
        inner: Transport,
        tokens: Tokens,
        *,
        carry: Callable[[str], Mapping[str, str]] = bearer,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._inner = inner
        self._tokens = tokens
        self._carry = carry
        self._more = more or {}

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        """Send a body, and stream the reply."""
        token = await self._tokens.current()
        carried = {**self._more, **self._carry(token)}
        kept = {name: text for name, text in headers.items() if name.lower() not in carried}
        async with self._inner.post(
            url, headers={**kept, **carried}, body=body, timeouts=timeouts
        ) as incoming:
            if incoming.status == _UNAUTHORIZED:
                self._tokens.refused(token)
            if incoming.status >= _REFUSED:
                chunks = _without(token, incoming.chunks)
                yield Incoming(incoming.status, incoming.headers, chunks)
            else:
                yield incoming

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Pass the request on without a token: GET is not used to call a model."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()
        await self._tokens.close()


async def _without(token: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body of a refusal without the token, as vendors quote what they refuse."""
    body = bytearray()
    async for chunk in chunks:
        if len(body) < _MOST:
            body += chunk
    yield bytes(body).replace(token.encode(), b"[token]")
