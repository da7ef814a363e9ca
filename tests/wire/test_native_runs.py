"""Whole runs with a vendor's own tools, against a vendor on loopback, down to the JSON on the wire."""

import json

import pytest

import rightcall as rc
from request.server import Server, serving, streamed, whole
from rightcall import builtin
from rightcall.builtin.files.patch_tool import apply_patch
from rightcall.transport.http import HttpTransport
from wire.openai_responses.test_decode import (
    CREATED,
    added,
    completed,
    done,
    message_item,
    response,
    sse,
)

KEY = "sk-test"


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "app.py").write_text("def main():\n    return 1\n")
    return tmp_path


def bodies(server: Server) -> list[dict]:
    return [json.loads(body) for _, _, body in server.requests]


def untrusted(name: str, text: str) -> str:
    """What a model reads of a tool that outsiders can write to."""
    return json.dumps({"untrusted_source": name, "content": text}, separators=(",", ":"))


def tool_use(call_id: str, name: str, given: dict) -> dict:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def message(*content: dict, stop: str) -> dict:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def spoken(reply: dict) -> bytes:
    """The message as Anthropic streams it."""
    frames = [{"type": "message_start", "message": {**reply, "content": [], "stop_reason": None}}]
    for index, block in enumerate(reply["content"]):
        if block["type"] == "text":
            empty = {**block, "text": ""}
            piece = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        frames.append({"type": "content_block_start", "index": index, "content_block": empty})
        frames.append({"type": "content_block_delta", "index": index, "delta": piece})
        frames.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    frames.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}})
    frames.append({"type": "message_stop"})
    return sse(*frames)


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_an_agent_uses_the_bash_the_editor_and_the_memory_that_claude_knows(
    streaming, root, transport
):
    notes = root / "notes"
    notes.mkdir()
    calls = [
        tool_use("toolu_1", "bash", {"command": "cd / && echo here"}),
        tool_use(
            "toolu_2",
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "app.py", "old_str": "return 1", "new_str": "return 2"},
        ),
        tool_use(
            "toolu_3", "memory", {"command": "create", "path": "/memories/a.md", "file_text": "Two.\n"}
        ),
    ]
    replies = [
        message(*calls, stop="tool_use"),
        message({"type": "text", "text": "Done."}, stop="end_turn"),
    ]
    tools = [
        builtin.shell(cwd=root, signature="anthropic", approval=False),
        builtin.text_editor(root),
        builtin.memory(notes),
    ]
    answers = [
        streamed(spoken(reply)) if streaming else whole(json.dumps(reply).encode()) for reply in replies
    ]
    async with serving(*answers) as server:
        model = rc.connect(
            "anthropic:m", base_url=server.url, api_key=KEY, transport=transport, streaming=streaming
        )
        result = await rc.Agent(model, tools, options={"cache": False}).run("Go.")
    assert (result.text, [call.outcome for call in result.calls]) == ("Done.", ["returned"] * 3)
    assert (root / "app.py").read_text() == "def main():\n    return 2\n"
    assert (notes / "a.md").read_text() == "Two.\n"
    first, second = bodies(server)
    assert [headers["anthropic-beta"] for _, headers, _ in server.requests] == [
        "context-management-2025-06-27"
    ] * 2
    go = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    assert first == {
        "model": "m",
        "max_tokens": 16_384,
        **({"stream": True} if streaming else {}),
        "tools": [
            {"type": "bash_20250124", "name": "bash"},
            {
                "type": "text_editor_20250728",
                "name": "str_replace_based_edit_tool",
                "max_characters": 40_000,
            },
            {"type": "memory_20250818", "name": "memory"},
        ],
        "messages": [go],
    }
    texts = [
        untrusted("bash", "Exit code: 0\n\nhere"),
        untrusted("str_replace_based_edit_tool", said_by(result, 1, "Edited app.py at line 2")),
        untrusted("memory", said_by(result, 2, "Created /memories/a.md (5 bytes")),
    ]
    answered = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": text}]}
        for call, text in zip(calls, texts, strict=True)
    ]
    messages = [go, {"role": "assistant", "content": calls}, {"role": "user", "content": answered}]
    assert second == {**first, "messages": messages}


def said_by(result, at: int, beginning: str) -> str:
    """What a tool for files said; only how it begins matters here."""
    said = json.loads(result.calls[at].result.text)["content"]
    assert said.startswith(beginning)
    return said


ACTION = {"commands": ["cat app.py"], "timeout_ms": None, "max_output_length": 1000}
OPERATION = {
    "type": "update_file",
    "diff": "@@ def main():\n-    return 1\n+    return 2\n",
    "path": "app.py",
}
SHELL_ITEM = {
    "id": "sh_1",
    "type": "shell_call",
    "status": "completed",
    "action": ACTION,
    "call_id": "call_1",
    "environment": {"type": "local"},
}
PATCH_ITEM = {
    "id": "apc_1",
    "type": "apply_patch_call",
    "status": "completed",
    "call_id": "call_2",
    "operation": OPERATION,
}
WRONG_ITEM = {
    **PATCH_ITEM,
    "id": "apc_2",
    "call_id": "call_3",
    "operation": {"type": "delete_file", "path": "gone.py"},
}
ANSWER = message_item("Done.")


def answer_with(*items: dict, streaming: bool):
    if not streaming:
        return whole(json.dumps(response(*items)).encode())
    frames = [frame for at, item in enumerate(items) for frame in (added(at, item), done(at, item))]
    return streamed(sse(CREATED, *frames, completed(*items)))


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_an_agent_uses_the_shell_and_the_patches_that_gpt_knows(streaming, root, transport):
    items = (SHELL_ITEM, PATCH_ITEM, WRONG_ITEM)
    answers = [answer_with(*items, streaming=streaming), answer_with(ANSWER, streaming=streaming)]
    tools = [builtin.shell(cwd=root, signature="openai", approval=False), apply_patch(root)]
    async with serving(*answers) as server:
        model = rc.connect(
            "openai-responses:m",
            base_url=server.url,
            api_key=KEY,
            transport=transport,
            streaming=streaming,
        )
        result = await rc.Agent(model, tools, options={"cache": False}).run("Go.")
    assert (result.text, [call.outcome for call in result.calls]) == (
        "Done.",
        ["returned", "returned", "failed"],
    )
    assert (root / "app.py").read_text() == "def main():\n    return 2\n"
    first, second = bodies(server)
    go = {"type": "message", "role": "user", "content": "Go."}
    assert first == {
        "model": "m",
        "tools": [{"type": "shell", "environment": {"type": "local"}}, {"type": "apply_patch"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": streaming,
        "input": [go],
    }
    said = untrusted("shell", "Exit code: 0\n\ndef main():\n    return 1")
    outputs = [
        {
            "type": "shell_call_output",
            "call_id": "call_1",
            "output": [{"stdout": said, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            "max_output_length": 1000,
        },
        {
            "type": "apply_patch_call_output",
            "call_id": "call_2",
            "status": "completed",
            "output": untrusted("apply_patch", "Updated app.py at line 2."),
        },
        {
            "type": "apply_patch_call_output",
            "call_id": "call_3",
            "status": "failed",
            "output": "There is no gone.py.",
        },
    ]
    assert second == {**first, "input": [go, *items, *outputs]}


async def test_the_conversation_goes_on_with_another_vendor_and_with_an_agent_without_the_tools(
    root, transport
):
    items = (SHELL_ITEM, PATCH_ITEM)
    tools = [builtin.shell(cwd=root, signature="openai", approval=False), apply_patch(root)]
    answers = [answer_with(*items, streaming=True), answer_with(ANSWER, streaming=True)]
    async with serving(*answers) as server:
        model = rc.connect("openai-responses:m", base_url=server.url, api_key=KEY, transport=transport)
        before = await rc.Agent(model, tools).run("Go.")
        await rc.Agent(model).run("On.", history=before.transcript)
    reply = message({"type": "text", "text": "Done."}, stop="end_turn")
    async with serving(streamed(spoken(reply))) as other:
        model = rc.connect("anthropic:m", base_url=other.url, api_key=KEY, transport=transport)
        await rc.Agent(model, tools).run("On.", history=before.transcript)
    bare = bodies(server)[-1]
    assert "tools" not in bare
    assert [item["type"] for item in bare["input"]] == [
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
        "message",
    ]
    (elsewhere,) = bodies(other)
    assert [tool["name"] for tool in elsewhere["tools"]] == ["shell", "apply_patch"]
    assert all("input_schema" in tool for tool in elsewhere["tools"])
    assert elsewhere["messages"][1]["content"] == [
        tool_use("call_1", "shell", ACTION),
        tool_use("call_2", "apply_patch", OPERATION),
    ]
