"""Gateways on loopback, in the test's own process, in front of scripted models and scripted hosts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import aiohttp
import uvicorn

from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Keys
from rightcall.serve.gateway.server import bounded_protocol
from rightcall.serve.gateway.settings import Bounds, Place, Served, Settings, Trying
from rightcall.serve.gateway.upstreams import open_model
from rightcall.testing.scripted_model import ScriptedModel

PROVIDERS = {
    "openai_chat": ("openai", "/v1"),
    "openai_responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", ""),
}
"""By dialect: the provider that speaks it, and what its base URL ends with."""


class _Quick(uvicorn.Server):
    """Ends when it is told to, and not with the next tenth of a second; leaves signals alone."""

    def capture_signals(self):
        return nullcontext()

    async def main_loop(self):
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.002)


@asynccontextmanager
async def listening(app: Any, bounds: Bounds | None = None) -> AsyncIterator[str]:
    """The address of an ASGI application."""
    config = uvicorn.Config(
        app,
        port=0,
        http=bounded_protocol(bounds or Bounds()),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = _Quick(config)
    running = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.001)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


def served(*places: Place, **more: Any) -> Served:
    return Served(places=places, **more)


def place(dialect: str, base: str, **more: Any) -> Place:
    provider, end = PROVIDERS[dialect]
    return Place(use=f"{provider}:up-model", base_url=base + end, **more)


@asynccontextmanager
async def gateway(
    models: Mapping[str, Served | ScriptedModel],
    *,
    keys: Keys | None = None,
    bounds: Bounds | None = None,
    trying: Trying | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Gateway, str]]:
    """A gateway in front of places, or of models that are given."""
    given = {
        f"scripted-{at}": each for at, each in enumerate(models.values()) if not isinstance(each, Served)
    }

    def open_(use, place, trying):
        return given[use] if use in given else open_model(use, place, trying)

    settings = Settings(
        models={
            name: each if isinstance(each, Served) else Served(places=(Place(use=f"scripted-{at}"),))
            for at, (name, each) in enumerate(models.items())
        },
        bounds=bounds or Bounds(),
        trying=trying or Trying(rounds=1),
        **(options or {}),
    )
    made = Gateway(settings, keys, open_=open_, **more)
    async with listening(made, settings.bounds) as base:
        try:
            yield made, base
        finally:
            await made.close()


@asynccontextmanager
async def chain(dialect: str, model: ScriptedModel, **more: Any) -> AsyncIterator[tuple[Gateway, str]]:
    """A gateway in front of a host that speaks a dialect: another gateway before a scripted model."""
    async with (
        gateway({"*": model}) as (_, up),
        gateway({"*": served(place(dialect, up), **more)}) as made,
    ):
        yield made


class Host:
    """A scripted host: it keeps what it was sent, and answers with bytes.

    ``answer`` is given the path and the body, and gives the status, the headers and pieces of a body:
    a float among the pieces is a wait, None cuts the connection.
    """

    def __init__(
        self, answer: Callable[[str, bytes], tuple[int, Mapping[str, str], Sequence[Any]]]
    ) -> None:
        self._answer = answer
        self.asked: list[tuple[str, Mapping[str, str], bytes]] = []

    async def __call__(self, scope, receive, send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path = scope["path"] + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append((path, headers, body))
        status, told, pieces = self._answer(path, body)
        raw = [(name.encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        for piece in pieces:
            if piece is None:
                raise ConnectionResetError("as the script says")
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


async def post(url: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any, bytes]:
    """The status, the headers and the body of an answer."""
    data = body if isinstance(body, bytes) else None
    async with aiohttp.ClientSession() as session:
        given = {"json": body} if data is None else {"data": data}
        async with session.post(url, headers=headers or {}, **given) as response:
            return response.status, response.headers, await response.read()


async def get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers or {}) as response,
    ):
        return response.status, response.headers, await response.read()
