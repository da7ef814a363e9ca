"""The connection over pipes, with what clients do wrong on it. Both ends are in this process."""

import asyncio
import contextlib
import importlib.util
import json

import pytest

import rightcall as rc
from rightcall.mcp.server.tool_server import ToolServer


@pytest.fixture
def tools(shop):
    spec = importlib.util.spec_from_file_location("shop", shop)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [each for each in vars(module).values() if isinstance(each, rc.Tool)]


async def test_a_cancelled_call_stops_and_has_no_answer(talk, tools, tmp_path, until):
    mark = tmp_path / "mark"
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        await client.call(1, "wait", mark=str(mark))
        await until(mark, "started")
        params = {"requestId": 1, "reason": "enough"}
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        await until(mark, "cleaned up")
        await client.call(2, "add", a=1, b=1)
        assert (await client.receive())["id"] == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{oops\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b'{"json": "but no message"}\n', -32600),
        (b"[]\n", -32600),
        (b"x" * 5_000_000 + b"\n", -32600),
    ],
    ids=["broken", "no text", "no message", "a batch", "too long"],
)
async def test_a_line_that_is_no_message_is_refused_and_the_next_one_served(talk, tools, line, code):
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        await client.send(line)
        refusal = await client.receive()
        await client.call(1, "add", a=1, b=1)
        answer = await client.receive()
    assert (refusal["id"], refusal["error"]["code"]) == (None, code)
    assert answer["result"]["structuredContent"] == {"result": 2}


async def test_blank_lines_are_nothing(talk, tools):
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        await client.send(b"\n\r\n  \n")
        await client.call(1, "add", a=1, b=1)
        assert (await client.receive())["id"] == 1


async def test_a_flood_of_calls_is_answered_whole(talk, tools):
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        calls = asyncio.ensure_future(
            asyncio.gather(*[client.call(number, "add", a=number, b=0) for number in range(1, 1001)])
        )
        answers = [await client.receive() for _ in range(1000)]
        await calls
    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert by_id.keys() == set(range(1, 1001))
    served = {n: each["structuredContent"]["result"] for n, each in by_id.items() if not each["isError"]}
    assert all(number == result for number, result in served.items())
    refused = [each["content"][0]["text"] for each in by_id.values() if each["isError"]]
    assert all("calls are under way already. Try again later." in words for words in refused)


async def test_calls_beyond_the_bound_are_refused_at_once(talk, tools, tmp_path, until):
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        for number in range(256):
            await client.call(number + 1, "wait", mark=str(tmp_path / f"{number % 16}"))
        await client.call(1000, "add", a=1, b=1)
        answer = await client.receive()
    assert (answer["id"], answer["result"]["isError"]) == (1000, True)
    assert answer["result"]["content"][0]["text"] == (
        "add was not run; permission was denied: 256 calls are under way already. Try again later."
    )


async def test_a_client_that_does_not_read_is_not_read_from(talk, tools):
    """Its answers pile up nowhere: sooner or later it cannot write any more."""
    params = {"name": "long", "arguments": {"size": 60_000}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    line = json.dumps(request).encode() + b"\n"
    sent = 0
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        with contextlib.suppress(TimeoutError):
            while sent < 100_000:
                client.writer.write(100 * line)
                await asyncio.wait_for(client.writer.drain(), 1)
                sent += 100
    assert sent < 100_000


async def test_progress_is_told_to_a_client_that_wants_it(talk, tools, tmp_path):
    async with talk(ToolServer(tools)) as client:
        await client.greet()
        params = {
            "name": "wait",
            "arguments": {"mark": str(tmp_path / "mark")},
            "_meta": {"progressToken": "p"},
        }
        await client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert await client.receive() == {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "p", "progress": 1, "total": 2, "message": "waiting"},
        }
