"""Blocks that come in another order than the vendor numbers them in."""

import json
from typing import Any

import pytest

from rightcall.wire import anthropic
from rightcall.wire.bedrock.reply import ReplyBuilder
from rightcall.wire.blocks import by_index
from wire.recorded import reply_of, same_at_every_cut


@pytest.mark.parametrize(
    ("indexes", "order"),
    [((0, 1, 2), "abc"), ((2, 0, 1), "bca"), ((0, 0, 1), "abc"), ((1, None, 0), "abc")],
)
def test_indexes_count_where_they_tell_the_blocks_apart(indexes, order):
    assert "".join(by_index("abc", indexes)) == order


def call(index: int, name: str) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": f"id_{name}", "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "content_block_stop", "index": index},
    ]


def test_parallel_calls_of_anthropic_stand_in_the_order_of_their_indexes():
    events = [
        {"type": "message_start", "message": {"model": "m", "content": [], "usage": {}}},
        *call(1, "second"),
        *call(0, "first"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    reply = reply_of(same_at_every_cut(anthropic, body))
    assert [each.name for each in reply.calls] == ["first", "second"]


def test_parallel_calls_of_bedrock_stand_in_the_order_of_their_indexes():
    builder = ReplyBuilder()
    for index, name in ((1, "second"), (0, "first")):
        builder.start(index, {"toolUse": {"toolUseId": name, "name": name}})
        builder.json(index, "{}")
        builder.close(index)
    builder.stop({"stopReason": "tool_use"})
    builder.end()
    assert [each.name for each in reply_of(builder.events).calls] == ["first", "second"]
