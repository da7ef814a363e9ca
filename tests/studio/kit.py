"""A studio that is really served, and somebody who asks it things."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import uvicorn

from rightcall.serve.studio import studio_app


class Client:
    """Asks a studio what a page would."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self.http = session
        self.address = address

    async def get(self, path: str, **params: Any) -> Any:
        """An answer that must be there."""
        status, found = await self.ask(path, **params)
        assert status == 200, found
        return found

    async def ask(self, path: str, **params: Any) -> tuple[int, Any]:
        """The status and what came with it."""
        async with self.http.get(self.address + path, params=params) as response:
            return response.status, json.loads(await response.read())

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """Change something, with the token that a page has."""
        csrf = (await self.get("/api/session"))["csrf"]
        sent = {"x-studio-token": csrf, "origin": self.address, **headers}
        async with self.http.post(self.address + path, json=body, headers=sent) as response:
            return response.status, json.loads(await response.read())

    @asynccontextmanager
    async def events(self, path: str, **params: Any) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """Server-sent events, as they come."""
        async with self.http.get(self.address + path, params=params) as response:
            assert response.status == 200
            assert response.content_type == "text/event-stream"
            yield _events(response)

    async def until(self, run: str, *states: str) -> Any:
        """The run's row, once it stands so."""
        async with asyncio.timeout(10):
            while True:
                status, found = await self.ask("/api/run", run=run)
                if status == 200 and found["row"]["state"] in states:
                    return found["row"]
                await asyncio.sleep(0.02)


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text[7:]
        elif text.startswith("data: "):
            yield name, json.loads(text[6:])


@asynccontextmanager
async def serving(journal: Any, **options: Any) -> AsyncIterator[Client]:
    """A client of a studio over a journal, until the end of the block."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        app = studio_app(journal, **options)
        config = uvicorn.Config(
            app, lifespan="on", log_config=None, timeout_graceful_shutdown=1, ws="none"
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession() as session:
                yield Client(session, address)
        finally:
            server.should_exit = True
            await task
