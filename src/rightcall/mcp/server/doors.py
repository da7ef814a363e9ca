"""What an HTTP request must pass before the protocol sees it: its token, and its own slowness."""

import asyncio
import hmac
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


class TokenDoor:
    """Lets in requests that carry the token, compared in constant time."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http" or self._may_pass(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "invalid_token"},
            status_code=401,
            headers={"www-authenticate": 'Bearer error="invalid_token"'},
        )
        await refusal(scope, receive, send)

    def _may_pass(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1", "replace")
        return hmac.compare_digest(given, self._token) and scheme.lower() == "bearer"


class PatientDoor:
    """Gives up on a request whose body does not come within so many seconds."""

    def __init__(self, app: ASGIApp, patience: float) -> None:
        self._app = app
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as long as its body comes in time."""
        is_whole = scope["type"] != "http"
        until = asyncio.get_running_loop().time() + self._patience

        async def receive_in_time() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}
            is_whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_time, send)


def patient_protocol(patience: float) -> type[H11Protocol]:
    """The HTTP of uvicorn, which hangs up on whoever asks for nothing for so many seconds."""

    class PatientProtocol(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._first = self.loop.call_later(patience, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._first.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            # It is None before the first request, though uvicorn's annotation says otherwise.
            if getattr(self, "cycle", None) is None:
                self.transport.close()

    return PatientProtocol
