import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import warm
from rightcall.mcp.server.stdio_server import serve_descriptors
from rightcall.mcp.server.tool_server import ToolServer

PATIENCE = 30


class Talk:
    """The client's end of a connection over pipes, message by message."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *messages: object) -> None:
        """Write messages as lines; bytes are written as they are."""
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def receive(self) -> Any:
        """The next message."""
        line = await asyncio.wait_for(self.reader.readline(), PATIENCE)
        assert line, "the server ended"
        return json.loads(line)

    async def greet(self, **capabilities: object) -> None:
        """Begin a session of the older protocol."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"},
        }
        await self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert (await self.receive())["id"] == 0
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, number: int, name: str, **arguments: object) -> None:
        """Ask for a call, and do not wait for it."""
        params = {"name": name, "arguments": arguments}
        await self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


class Child(Talk):
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__(process.stdout, process.stdin)
        self.process = process
        self.errors = ""
        self._reading = asyncio.ensure_future(self._read_errors())
        self._news = asyncio.Condition()

    async def ended(self) -> int:
        """The exit code, once it has ended by itself."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.wait_for(self._reading, PATIENCE)
        return code

    async def said(self, pattern: str) -> re.Match[str]:
        """What it says on standard error, once it does."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: re.search(pattern, self.errors))
        return re.search(pattern, self.errors)

    async def _read_errors(self) -> None:
        while data := await self.process.stderr.read(4096):
            self.errors += data.decode()
            async with self._news:
                self._news.notify_all()


Start = Callable[..., AbstractAsyncContextManager[Child]]


@pytest.fixture
def shop() -> str:
    """A file of tools."""
    return str(Path(__file__).with_name("shop.py"))


@pytest.fixture
def command() -> list[str]:
    """What starts ``rightcall serve-mcp``."""
    return [*warm.python(*warm.MCP), "-m", "rightcall.cli.main", "serve-mcp"]


@pytest.fixture
def start(command: list[str]) -> Start:
    @asynccontextmanager
    async def started(*arguments: str, env: dict[str, str] | None = None) -> AsyncIterator[Child]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=16 * 1024 * 1024
        )
        child = Child(process)
        try:
            yield child
        finally:
            if process.returncode is None:
                process.kill()
            await child.ended()
            process._transport.close()
            await asyncio.sleep(0)

    return started


@pytest.fixture
def talk() -> Callable[..., AbstractAsyncContextManager[Talk]]:
    """A server in this process, at the other end of real pipes."""

    @asynccontextmanager
    async def connected(server: ToolServer) -> AsyncIterator[Talk]:
        loop = asyncio.get_running_loop()
        (incoming, to_server), (from_server, outgoing) = os.pipe(), os.pipe()
        serving = asyncio.ensure_future(serve_descriptors(server.sdk, server.bounds, incoming, outgoing))
        reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
        receiving, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_server, "rb")
        )
        sending, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(to_server, "wb")
        )
        try:
            yield Talk(reader, asyncio.StreamWriter(sending, protocol, reader, loop))
        finally:
            receiving.close()
            sending.abort()
            await asyncio.wait_for(serving, PATIENCE)
            os.close(incoming)
            os.close(outgoing)

    return connected


@pytest.fixture
def until() -> Callable[[Path, str], Any]:
    """Waits until a file holds a text."""

    async def holds(path: Path, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not path.exists() or path.read_text() != text:
                await asyncio.sleep(0.01)

    return holds
