"""Claude's computer in each of its forms: one tool in a transcript, whatever a model has for it."""

import json

import pytest
from anthropic.types import ComputerToolset20260801Param, Message, MessageParam
from anthropic.types.beta import BetaToolComputerUse20250124Param, BetaToolComputerUse20251124Param
from pydantic import TypeAdapter

import rightcall as rc
from builtin.screen.test_computer_tool import Recorder
from request.server import serving, streamed
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.transport.http import HttpTransport
from rightcall.wire import anthropic, openai_chat
from wire.recorded import assert_events_tell_the_reply, reply_of, same_at_every_cut

COMPUTER = rc.builtin.computer(Recorder()).spec
SET = {"type": "computer_toolset_20260801"}
NEW, OLD = "claude-opus-5-5", "claude-opus-4-8"
ACTIONS = [
    ("left_click", ['{"coordi', 'nate": [40, 50]}'], '{"action":"left_click","coordinate": [40, 50]}'),
    ("type", ['{"text": "a}"', "}"], '{"action":"type","text": "a}"}'),
    ("screenshot", [], '{"action":"screenshot"}'),
    ("screenshot", ["{", " }"], '{"action":"screenshot"}'),
    ("key", [' {"text":"ctrl+s"}'], '{"action":"key","text":"ctrl+s"}'),
]


def sse(*events: dict) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events
    )


def block(at: int, name: str, **more) -> dict:
    return {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": {}, **more}


def streams(*actions, stop: str = "tool_use") -> bytes:
    events: list[dict] = [{"type": "message_start", "message": {"content": [], "model": NEW}}]
    for at, (name, pieces, *_) in enumerate(actions):
        begun = block(at, name, toolset_name="computer", caller={"type": "direct"})
        events.append({"type": "content_block_start", "index": at, "content_block": begun})
        for piece in pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}})
    return sse(*events, {"type": "message_stop"})


def said_by_the_model() -> bytes:
    text = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "Done."}
    return sse(
        {"type": "message_start", "message": {"content": [], "model": NEW}},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    )


def sent(model: str, *messages, specs=(COMPUTER,), **more) -> tuple[dict, str]:
    request = Request(messages=messages or (user_text("Hi"),), specs=specs, **more)
    outgoing = anthropic.encode(request, model=model, stream=True)
    return json.loads(outgoing.body), outgoing.headers.get("anthropic-beta", "")


def answered(reply: Reply) -> Results:
    results = [
        Result(call_id=call.id, name=call.name, outcome="returned", content=(Text("Seen."),))
        for call in reply.calls
    ]
    return Results(tuple(results))


@pytest.mark.parametrize(
    ("models", "kind", "beta", "declared"),
    [
        (
            (
                "claude-opus-5-5",
                "claude-sonnet-5-5",
                "claude-haiku-5-5",
                "claude-fable-5-2",
                "claude-opus-6",
            ),
            "computer_toolset_20260801",
            "",
            ComputerToolset20260801Param,
        ),
        (("claude-opus-5-5@20260915",), "computer_toolset_20260801", "", ComputerToolset20260801Param),
        (
            (
                "claude-opus-4-8",
                "claude-sonnet-5",
                "claude-fable-5-1",
                "claude-opus-4-5-20251101",
                "someone",
            ),
            "computer_20251124",
            "computer-use-2025-11-24",
            BetaToolComputerUse20251124Param,
        ),
        (
            ("us.anthropic.claude-opus-5-5-v1:0",),
            "computer_20251124",
            "computer-use-2025-11-24",
            BetaToolComputerUse20251124Param,
        ),
        (
            (
                "claude-haiku-4-5-20251001",
                "claude-sonnet-4-5",
                "claude-opus-4-1",
                "claude-3-7-sonnet-latest",
            ),
            "computer_20250124",
            "computer-use-2025-01-24",
            BetaToolComputerUse20250124Param,
        ),
    ],
)
def test_each_model_gets_the_computer_that_it_takes(models, kind, beta, declared):
    for model in models:
        body, betas = sent(model, options={"cache": False})
        (tool,) = body["tools"]
        assert (tool["type"], betas) == (kind, beta), model
        TypeAdapter(declared).validate_python(tool)
        assert tool.keys() <= declared.__annotations__.keys(), model


def test_the_set_takes_a_cache_mark_and_is_forced_on_nobody():
    body, _ = sent("claude-haiku-5-5", choice=Named("computer"))
    assert body["tools"] == [{**SET, "cache_control": {"type": "ephemeral"}}]
    assert "tool_choice" not in body


def test_an_action_is_a_call_of_the_computer_at_every_cut():
    events = same_at_every_cut(anthropic, streams(*ACTIONS))
    assert_events_tell_the_reply(events)
    calls = reply_of(events).calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("computer", arguments) for *_, arguments in ACTIONS
    ]
    assert [call.vendor for call in calls] == [{"anthropic": {"caller": {"type": "direct"}}}] * len(
        ACTIONS
    )


def test_an_action_that_was_cut_off_is_truncated():
    cut = [("type", ['{"text": "rm -'])]
    (call,) = reply_of(same_at_every_cut(anthropic, streams(*cut, stop="max_tokens"))).calls
    assert (call.name, call.arguments, call.truncated) == (
        "computer",
        '{"action":"type","text": "rm -',
        True,
    )


def test_what_is_no_object_is_left_to_the_gate():
    (call,) = reply_of(same_at_every_cut(anthropic, streams(("key", ['["ctrl"]'])))).calls
    assert (call.name, call.arguments) == ("computer", '["ctrl"]')


def test_a_tool_of_that_name_and_other_sets_are_left_alone():
    content = [block(0, "left_click"), block(1, "navigate", toolset_name="browser")]
    reply = anthropic.decode(json.dumps({"content": content, "stop_reason": "tool_use"}).encode())
    assert [call.name for call in reply.calls] == ["left_click", "navigate"]
    assert reply.calls[1].vendor == {"anthropic": {"toolset_name": "browser"}}


def test_calls_go_back_as_the_model_knows_them():
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": NEW,
        "content": [
            {**block(0, "left_click", toolset_name="computer"), "input": {"coordinate": [40, 50]}},
            block(1, "screenshot", toolset_name="computer"),
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    Message.model_validate(whole)
    reply = anthropic.decode(json.dumps(whole).encode())
    turns = (user_text("Hi"), reply, answered(reply))
    body, _ = sent(NEW, *turns, options={"cache": False})
    assert body["messages"][1]["content"] == whole["content"]
    assert [each["toolset_name"] for each in body["messages"][2]["content"]] == ["computer", "computer"]
    for message in body["messages"]:
        TypeAdapter(MessageParam).validate_python(message)

    body, _ = sent(OLD, *turns, options={"cache": False})
    assert [(each["name"], each["input"]) for each in body["messages"][1]["content"]] == [
        ("computer", {"action": "left_click", "coordinate": [40, 50]}),
        ("computer", {"action": "screenshot"}),
    ]
    assert "toolset_name" not in json.dumps(body)
    elsewhere = openai_chat.encode(Request(messages=turns, specs=(COMPUTER,)), model="m", stream=False)
    assert '\\"action\\":\\"left_click\\"' in elsewhere.body.decode()
    read = rc.wire.from_messages([whole], dialect="anthropic").messages[0].calls
    assert [(call.name, json.loads(call.arguments)) for call in read] == [
        (call.name, json.loads(call.arguments)) for call in reply.calls
    ]


def test_calls_of_an_older_model_go_to_a_newer_one_as_actions():
    earlier = Call(id="toolu_1", name="computer", arguments='{"action": "wait", "duration": 2}')
    other = Call(id="toolu_2", name="clock", arguments='{"action": "now"}')
    broken = Call(id="toolu_3", name="computer", arguments='{"action": "wa', truncated=True)
    reply = Reply((earlier, other, broken), "calls")
    clock = Spec(name="clock", description="", parameters={"type": "object"})
    body, _ = sent(NEW, user_text("Hi"), reply, answered(reply), specs=(COMPUTER, clock))
    first, second, third = body["messages"][1]["content"]
    assert (first["name"], first["input"], first["toolset_name"]) == (
        "wait",
        {"duration": 2},
        "computer",
    )
    assert (second["name"], second["input"]) == ("clock", {"action": "now"})
    assert third["name"] == "computer"
    assert [each.get("toolset_name") for each in body["messages"][2]["content"]] == [
        "computer",
        None,
        None,
    ]


async def test_a_run_moves_what_the_model_asks_for():
    driver, transport = Recorder(), HttpTransport()
    tool = rc.builtin.computer(driver, approval=False, settle=0)
    answers = [streamed(streams(*ACTIONS[:2])), streamed(said_by_the_model())]
    async with serving(*answers) as server:
        model = rc.connect(f"anthropic:{NEW}", base_url=server.url, api_key="k", transport=transport)
        result = await rc.Agent(model, [tool]).run("Go.")
        first, second = [json.loads(body) for _, _, body in server.requests]
    await transport.close()
    assert result.text == "Done."
    assert [step for step in driver.done if step[0] != "screenshot"] == [
        ("move", 40, 50),
        ("down", "left", 1),
        ("up", "left", 1),
        ("type", "a}"),
    ]
    assert first["tools"][0]["type"] == SET["type"]
    assert [each["name"] for each in second["messages"][1]["content"]] == ["left_click", "type"]
    assert [each["toolset_name"] for each in second["messages"][2]["content"]] == ["computer"] * 2


def test_a_set_that_nobody_here_runs_is_refused_before_anything_is_sent():
    agent = rc.Agent(rc.testing.ScriptedModel(["Hi"]), options={"vendor_tools": [SET]})
    with pytest.raises(UsageError, match=r"rc.builtin.computer\(driver\)"):
        agent.run_sync("Go.")
