"""Conversations as chat templates know them, with everything that templates treat differently."""

from typing import Any

USER = {"role": "user", "content": "Hi <there> & é 'x'"}
SYSTEM = {"role": "system", "content": "Be brief."}
REPLY = {"role": "assistant", "content": 'Hello "you"\n'}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'The weather <now>, in "words"',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Où?"},
                "unit": {"type": "string", "enum": ["c", "f"]},
            },
            "required": ["city"],
        },
    },
}


def call(number: int, arguments: Any) -> dict[str, Any]:
    return {
        "id": f"call0000{number}",
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }


def calling(*calls: dict[str, Any], content: Any = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def result(number: int, content: str) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": f"call0000{number}",
        "name": "get_weather",
        "content": content,
    }


PARIS, ROME = {"city": "Paris"}, {"city": "Rome", "unit": "c"}

CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "nothing": ([], {}),
    "user": ([USER], {}),
    "system": ([SYSTEM, USER], {}),
    "turns": ([SYSTEM, USER, REPLY, USER], {}),
    "developer": ([{"role": "developer", "content": "Be kind."}, USER], {}),
    "user twice": ([USER, USER], {}),
    "parts": ([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}], {}),
    "tools": ([SYSTEM, USER], {"tools": [TOOL]}),
    "tools, no system": ([USER], {"tools": [TOOL, TOOL]}),
    "call": ([USER, calling(call(1, PARIS)), result(1, '{"t": 1}')], {"tools": [TOOL]}),
    "call, no tools": ([USER, calling(call(1, PARIS)), result(1, "1"), REPLY, USER], {}),
    "parallel": (
        [
            SYSTEM,
            USER,
            calling(call(1, PARIS), call(2, ROME), content="Let me see"),
            result(1, "1"),
            result(2, "2"),
        ],
        {"tools": [TOOL]},
    ),
    "arguments as text": (
        [USER, calling(call(1, '{"city": "Paris"}'), content=None), result(1, "x"), REPLY, USER],
        {"tools": [TOOL]},
    ),
    "reasoning": ([USER, {**REPLY, "reasoning_content": "Hmm"}, USER], {}),
    "reasoning under another name": (
        [USER, calling(call(1, PARIS), thinking="Hmm"), result(1, "x")],
        {"tools": [TOOL]},
    ),
    "reasoning under a third name": ([USER, {**REPLY, "reasoning": "Hmm"}], {}),
    "documents": (
        [USER],
        {"documents": [{"title": "One", "text": "a\nb"}, {"title": "Two", "text": "c"}]},
    ),
    "thinking on": ([USER], {"enable_thinking": True, "thinking": True}),
    "thinking off": ([USER], {"enable_thinking": False, "thinking": False}),
    "effort": ([SYSTEM, USER], {"reasoning_effort": "high", "thinking": True}),
}
