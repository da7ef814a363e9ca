"""A matrix: rightcall with the official SDK and with fastmcp on the other side.

Every server is spoken to by both of its transports in both protocols; ours by everybody's clients, and
theirs by ours. A cell is what worked. It ends with 1 if that is less than the table below says.
"""

import asyncio
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp_types import ElicitResult

from mcp import Client, StdioServerParameters
from rightcall.core.decision import FinalDecision, Rewrite
from rightcall.core.proposal import Proposal
from rightcall.mcp import Login, connect

SERVERS = str(Path(__file__).with_name("peer_servers.py"))
CHECKS = ("add", "ask", "ask_either", "ask_by_result", "resource", "template", "prompt")
WHOLE = {
    "rightcall": {"add", "ask", "resource", "template", "prompt"},
    "sdk": {"add", "ask", "ask_either", "resource", "template", "prompt"},
    "fastmcp": {"add", "ask", "ask_by_result", "resource", "template", "prompt"},
}
"""By the library of the server: what there is."""
MISSING = {
    ("rightcall", "sdk", "newest"): {"ask"},
    ("rightcall", "fastmcp", "newest"): {"ask"},
    ("rightcall", "fastmcp", "legacy"): {"ask_by_result"},
}
"""By client, server and protocol: what the protocol cannot carry (docs/mcp-reference.md)."""

Ask = Callable[[str], Awaitable[Any]]


async def bob(_: Proposal) -> FinalDecision:
    return Rewrite({"name": "bob"})


async def bob_of_the_sdk(_: Any, __: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "bob"})


async def bob_of_fastmcp(*_: Any) -> dict[str, str]:
    return {"name": "bob"}


@asynccontextmanager
async def ours(place: Any, protocol: str) -> AsyncIterator[Ask]:
    async with connect(place, name="peer", approve=bob, protocol=protocol, trust=True) as server:  # type: ignore[arg-type]

        async def ask(what: str) -> Any:
            match what:
                case "add":
                    return await server.call("add", {"a": 1, "b": 2}) == 3
                case "resource":
                    return b"One." in (await server.read("data://one"))[0].data
                case "template":
                    found = [each for each in await server.resources() if each.arguments]
                    return b"x of y" in (await server.read(found[0].address(name="y")))[0].data
                case "prompt":
                    return "Review: Hm." in (await server.prompt("review", text="Hm."))[0].text  # type: ignore[union-attr]
                case _:
                    return await server.call(what) == "bob"

        yield ask


async def by_their_client(client: Any, what: str) -> Any:
    """What the clients of the SDK and of fastmcp have in common."""
    match what:
        case "add":
            return "3" in str(await client.call_tool("add", {"a": 1, "b": 2}))
        case "resource":
            return "One." in str(await client.read_resource("data://one"))
        case "template":
            return "x of y" in str(await client.read_resource("data://y/x"))
        case "prompt":
            return "Review: Hm." in str(await client.get_prompt("review", {"text": "Hm."}))
        case _:
            return "bob" in str(await client.call_tool(what, {}))


@asynccontextmanager
async def sdks(place: Any, protocol: str) -> AsyncIterator[Ask]:
    target = place if isinstance(place, str) else StdioServerParameters(command=place[0], args=place[1:])
    mode = {"newest": "auto"}.get(protocol, protocol)
    async with Client(target, mode=mode, elicitation_callback=bob_of_the_sdk) as client:
        yield lambda what: by_their_client(client, what)


@asynccontextmanager
async def fasts(place: Any, protocol: str) -> AsyncIterator[Ask]:
    target = place if isinstance(place, str) else StdioTransport(place[0], place[1:])
    mode: Any = {"newest": "auto"}.get(protocol, protocol)
    async with FastClient(target, mode=mode, elicitation_handler=bob_of_fastmcp) as client:
        yield lambda what: by_their_client(client, what)


CLIENTS: dict[str, Callable[[Any, str], AbstractAsyncContextManager[Ask]]] = {
    "rightcall": ours,
    "sdk": sdks,
    "fastmcp": fasts,
}


@asynccontextmanager
async def serving(library: str, transport: str, *more: str) -> AsyncIterator[Any]:
    command = [sys.executable, SERVERS, library]
    if transport == "stdio":
        yield [*command, "stdio"]
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    quiet = subprocess.DEVNULL
    started = subprocess.Popen([*command, str(port), *more], stdout=quiet, stderr=quiet)  # noqa: ASYNC220
    with started as process:
        try:
            for _ in range(300):
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


async def try_all(client: str, server: str, transport: str, protocol: str) -> set[str]:
    """What works between a client and a server."""
    done = set()
    async with serving(server, transport) as place, CLIENTS[client](place, protocol) as ask:
        for what in CHECKS:
            if what in WHOLE[server]:
                try:
                    if await ask(what):
                        done.add(what)
                except Exception as error:  # noqa: BLE001 - whatever a library comes up with
                    print(
                        f"    {client} {server} {transport} {protocol} {what}: {error}", file=sys.stderr
                    )
    return done


def visit(url: str) -> bool:
    with urlopen(url) as page:
        page.read()
    return True


async def try_login() -> bool:
    """Whether one logs in at fastmcp's own OAuth server, once for two connections."""
    with tempfile.TemporaryDirectory() as folder:
        async with serving("fastmcp", "http", "oauth") as url:
            for browser in (visit, None):
                login = Login(folder=folder, browser=browser, interactive=browser is not None)
                async with connect(url, auth=login) as server:
                    assert await server.call("add", {"a": 1, "b": 2}) == 3
    return True


async def main() -> int:
    faults = 0
    pairs = [("rightcall", each) for each in WHOLE] + [("sdk", "rightcall"), ("fastmcp", "rightcall")]
    print("| client | server | transport | protocol | works | does not |\n|---|---|---|---|---|---|")
    for client, server in pairs:
        for transport in ("stdio", "http"):
            for protocol in ("auto", "legacy", "newest"):
                if protocol == "auto" and client != "rightcall":
                    continue
                done = await try_all(client, server, transport, protocol)
                lacking = WHOLE[server] - done
                expected = MISSING.get((client, server, protocol), set())
                faults += lacking != expected
                mark = "" if lacking == expected else " (!)"
                told = ", ".join(sorted(lacking)) or "nothing"
                print(f"| {client} | {server} | {transport} | {protocol} | {len(done)} | {told}{mark} |")
    print(f"login at fastmcp's OAuth server: {await try_login()}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
