import asyncio
import json
import signal

import pytest
from mcp_types import ElicitResult

from mcp import Client, StdioServerParameters


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_lists_and_calls_and_asks_a_person(command, shop, mode):
    asked = []

    async def answer(_, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    served = StdioServerParameters(command=command[0], args=[*command[1:], shop])
    async with Client(served, mode=mode, elicitation_callback=answer) as client:
        listed = await client.list_tools()
        added = await client.call_tool("add", {"a": 2, "b": 3})
        found = await client.call_tool("find", {"name": "tea"})
        wrong = await client.call_tool("add", {"a": "two"})
        bought = await client.call_tool("buy", {"name": "tea"})
    assert [tool.name for tool in listed.tools][:3] == ["add", "find", "buy"]
    assert (added.structured_content, added.is_error) == ({"result": 5}, False)
    assert found.structured_content == {"name": "tea", "price": 1.5}
    assert wrong.is_error
    assert wrong.content[0].text == (
        "add was not run; its arguments do not fit:\n"
        '- $.a: must be an integer, not a string ("two")\n'
        "- $.b: is required and missing"
    )
    assert [bought.content[0].text] == ["bought tea"]
    assert asked == ['The model wants to run buy with\n  | name: "tea"']


async def test_what_tools_print_does_not_get_between_messages_and_it_ends_with_its_client(start, shop):
    async with start(shop) as child:
        await child.greet()
        await child.call(1, "chatter")
        answer = await child.receive()
        child.process.stdin.close()
        assert await child.ended() == 0
    assert answer["result"]["content"][0]["text"] == "read '' and b''"
    for printed in ("printed by Python", "written to descriptor 1", "printed by a child"):
        assert printed in child.errors


async def test_a_call_under_way_is_cancelled_when_standard_input_closes(start, shop, tmp_path, until):
    mark = tmp_path / "mark"
    async with start(shop) as child:
        await child.greet()
        await child.call(1, "wait", mark=str(mark))
        await until(mark, "started")
        child.process.stdin.close()
        assert await child.ended() == 0
    assert mark.read_text() == "cleaned up"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
async def test_it_ends_when_told_to_and_calls_clean_up(start, shop, tmp_path, until, number):
    mark = tmp_path / "mark"
    async with start(shop) as child:
        await child.greet()
        await child.call(1, "wait", mark=str(mark))
        await until(mark, "started")
        child.process.send_signal(number)
        assert await child.ended() == 0
    assert mark.read_text() == "cleaned up"


@pytest.mark.parametrize("tool", ["stubborn", "block"])
async def test_a_tool_that_does_not_stop_does_not_keep_the_process(start, shop, tmp_path, until, tool):
    mark = tmp_path / "mark"
    async with start(shop) as child:
        await child.greet()
        await child.call(1, tool, mark=str(mark))
        await until(mark, "started")
        child.process.stdin.close()
        assert await child.ended() == 0


async def test_standard_input_may_be_a_file(command, shop, tmp_path):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    (tmp_path / "in").write_text(json.dumps(ping))
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as target:
        process = await asyncio.create_subprocess_exec(*command, shop, stdin=source, stdout=target)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    process._transport.close()
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
