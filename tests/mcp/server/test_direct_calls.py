"""Calls answered without the SDK's own HTTP entry, which is what they are held against."""

import asyncio
import json
from typing import Annotated

import pytest
from mcp_types import JSONRPCRequest
from pydantic import Field
from starlette.requests import Request

import rightcall as rc
from rightcall.mcp.server.http_server import DirectCalls, DirectExchange
from rightcall.mcp.server.serve_options import Bounds, Listen
from rightcall.mcp.server.tool_server import ToolServer

LISTEN = Listen(port=0)
BOUNDS = Bounds(message_bytes=2000)
PREFIX = "io.modelcontextprotocol/"
META = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {}}


@rc.tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@rc.tool(effect="pure")
def local(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Say where."""
    return region


@rc.tool
def fail() -> str:
    """Fail."""
    raise ValueError


@rc.tool
async def report(context: rc.Context[None]) -> str:
    """Report progress."""
    context.progress(1, 2, "half")
    return "done"


def call(name="add", arguments=None, *, meta=META, **changed):
    params = {"name": name, "arguments": {"a": 1, "b": 2} if arguments is None else arguments}
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {**params, "_meta": meta},
        **changed,
    }


def headers(name="add", **changed):
    given = {
        "host": "127.0.0.1:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }
    return [(key.encode(), value.encode()) for key, value in given.items() if value is not None]


async def ask(app, body, given, *, pieces=1, path="/mcp", root_path="", method="POST"):
    """What an application answers: status, content type and body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    cut = len(data) // pieces
    parts = [data[at * cut : (at + 1) * cut if at + 1 < pieces else None] for at in range(pieces)]
    messages = [
        {"type": "http.request", "body": part, "more_body": at + 1 < pieces}
        for at, part in enumerate(parts)
    ]
    sent = []

    async def receive():
        while not messages:
            await asyncio.Event().wait()
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "root_path": root_path,
        "query_string": b"",
        "headers": given,
    }
    async with asyncio.timeout(30):
        await app(scope, receive, send)
    kind = dict(sent[0]["headers"]).get(b"content-type")
    return sent[0]["status"], kind, b"".join([each.get("body", b"") for each in sent[1:]])


@pytest.fixture
def server():
    return ToolServer([add, local, fail, report], bounds=BOUNDS)


def by_sdk(server):
    """The SDK's own application."""
    return server.sdk.streamable_http_app(
        max_request_body_size=BOUNDS.message_bytes, transport_security=LISTEN.security
    )


REQUESTS = {
    "a call": (call(), headers()),
    "an id that is text": (call(id="x"), headers()),
    "no client info": (call(meta={**META, f"{PREFIX}clientInfo": None}), headers()),
    "text that is not ASCII": (call("local", {"region": "Ö"}), headers("local", mcp_param_region="x")),
    "arguments that do not fit": (call(arguments={"a": "x"}), headers()),
    "arguments that are no object": (call(arguments=[1]), headers()),
    "half of a surrogate pair": (call(arguments={"a": "\ud800"}), headers()),
    "a tool that raises": (call("fail", {}), headers("fail")),
    "an unknown tool": (call("nothing"), headers("nothing")),
    "a name that is a number": (call(3), headers("3")),
    "another name in the header": (call(), headers("other")),
    "another method in the header": (call(), headers(mcp_method="tools/list")),
    "no name in a header": (call(), headers(mcp_name=None)),
    "a header twice": (call(), [*headers(), (b"mcp-name", b"add")]),
    "an argument repeated in a header": (
        call("local", {"region": "north"}),
        headers("local", mcp_param_region="north"),
    ),
    "an argument not repeated in a header": (call("local", {"region": "north"}), headers("local")),
    "an unknown version": (call(), headers(mcp_protocol_version="2030-01-01")),
    "another version in the envelope": (
        call(meta={**META, f"{PREFIX}protocolVersion": "2025-11-25"}),
        headers(),
    ),
    "no envelope": (call(meta={}), headers()),
    "no state of ours": (call(params={**call()["params"], "requestState": "made up"}), headers()),
    "another host": (call(), headers(host="evil.example")),
    "a page of another origin": (call(), headers(origin="https://evil.example")),
    "no JSON accepted": (call(), headers(accept="text/event-stream")),
    "no events accepted": (call(), headers(accept="application/json")),
    "anything accepted": (call(), headers(accept="*/*")),
    "another content type": (call(), headers(content_type="text/plain")),
    "no JSON": (b"{", headers()),
    "nothing": (b"", headers()),
    "JSON of great depth": (b"[" * 1900, headers()),
    "a batch": ([call()], headers()),
    "a notification": ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, headers()),
    "an id that is a list": (call(id=[]), headers()),
    "another JSON-RPC": (call(jsonrpc="1.0"), headers()),
    "a list of tools": (
        call(method="tools/list", params={"_meta": META}),
        headers(mcp_method="tools/list", mcp_name=None),
    ),
    "too much": (call(arguments={"a": "x" * 2000}), headers()),
}


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize(("body", "given"), REQUESTS.values(), ids=REQUESTS)
async def test_every_answer_is_that_of_the_sdks_own_application(server, body, given, pieces):
    sdk = by_sdk(server)
    direct = DirectCalls(server.sdk, sdk, LISTEN, BOUNDS)
    async with sdk.router.lifespan_context(sdk):
        expected = await ask(sdk, body, given, pieces=pieces)
        assert await ask(direct, body, given, pieces=pieces) == expected
        # What is remembered of the first one changes nothing.
        assert await ask(direct, body, given, pieces=pieces) == expected


@pytest.mark.parametrize("root", ["", "/tools"])
async def test_a_call_does_not_reach_the_sdks_application(server, root):
    async def rest(*_):
        raise AssertionError("it was handed on")

    direct = DirectCalls(server.sdk, rest, LISTEN, BOUNDS)
    status, kind, body = await ask(direct, call(), headers(), path=f"{root}/mcp", root_path=root)
    assert (status, kind) == (200, b"application/json")
    assert json.loads(body)["result"]["structuredContent"] == {"result": 3}


@pytest.mark.parametrize("change", [{"path": "/other"}, {"method": "GET"}])
async def test_other_paths_and_methods_are_handed_on(server, change):
    async def rest(scope, receive, send):
        await send({"type": "http.response.start", "status": 418, "headers": []})

    direct = DirectCalls(server.sdk, rest, LISTEN, BOUNDS)
    assert (await ask(direct, call(), headers(), **change))[0] == 418


async def test_hosts_are_not_remembered_without_end(server):
    sdk = by_sdk(server)
    direct = DirectCalls(server.sdk, sdk, LISTEN, BOUNDS)
    for port in range(600):
        assert (await ask(direct, call(), headers(host=f"localhost:{port}")))[0] == 200
    assert len(direct._welcome) <= 256


async def test_progress_makes_the_response_a_stream(server):
    sdk = by_sdk(server)
    direct = DirectCalls(server.sdk, sdk, LISTEN, BOUNDS)
    body = call("report", {}, meta={**META, "progressToken": "p"})
    async with sdk.router.lifespan_context(sdk):
        expected = await ask(sdk, body, headers("report"))
    found = await ask(direct, body, headers("report"))
    assert found == expected
    assert b'"notifications/progress"' in found[2]


class Impatient(DirectExchange):
    """Takes everything for long."""

    short = 0.001
    silence = 0.01


def exchange(receive):
    sent = []

    async def send(message):
        sent.append(message)

    request = Request({"type": "http", "method": "POST", "headers": []})
    return Impatient(request, JSONRPCRequest(**call()), receive, send), sent


async def test_a_long_silence_is_broken_by_a_comment():
    async def silent():
        await asyncio.Event().wait()

    async def answer():
        while len(sent) < 3:
            await asyncio.sleep(0.01)
        return {"content": []}

    talk, sent = exchange(silent)
    async with asyncio.timeout(10):
        await talk.run(answer())
    start, *events, last = sent
    assert (start["status"], start["headers"][0]) == (200, (b"content-type", b"text/event-stream"))
    assert {each["body"] for each in events} == {b": ping\r\n\r\n"}
    assert b'"result":{"content":[]}' in last["body"]
    assert not last.get("more_body", False)


async def test_who_hangs_up_is_sent_nothing_and_the_request_ends_well():
    cleaned = asyncio.Event()

    async def gone():
        return {"type": "http.disconnect"}

    async def answer():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    talk, sent = exchange(gone)
    async with asyncio.timeout(10):
        await talk.run(answer())
    assert cleaned.is_set()
    assert sent == []
    assert asyncio.current_task().cancelling() == 0


async def test_a_server_that_stops_cancels_the_request_itself():
    async def silent():
        await asyncio.Event().wait()

    talk, sent = exchange(silent)
    running = asyncio.ensure_future(talk.run(asyncio.Event().wait()))
    await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert all(each.get("body", b": ping").startswith(b": ping") for each in sent)


async def test_a_notification_after_the_answer_is_dropped():
    async def silent():
        await asyncio.Event().wait()

    async def answer():
        return {}

    talk, sent = exchange(silent)
    await talk.run(answer())
    await talk.notify("notifications/message", {"level": "info", "data": "late"})
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]
