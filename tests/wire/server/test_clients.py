"""Requests as real clients were seen to send them."""

import json
from typing import Any

import pytest

from rightcall.core.message import Reasoning, Reply, Results, User
from rightcall.core.parts import Media, Text
from rightcall.core.request import ANY_OBJECT, ClientRequest, Named
from rightcall.errors import UsageError
from rightcall.wire.dialects import load_server

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HI = {"role": "user", "content": "Hi"}


def asked(name: str, body: Any, **more: Any) -> ClientRequest:
    return load_server(name).parse_request(json.dumps(body).encode(), **{"headers": {}, **more})


def test_claude_code():
    mark = {"cache_control": {"type": "ephemeral"}}
    read = asked(
        "anthropic",
        {
            "model": "claude-opus-5",
            "max_tokens": 32000,
            "stream": True,
            "system": [
                {"type": "text", "text": "billing: cc_version=2.1"},
                {"type": "text", "text": "You are Claude Code.", **mark},
            ],
            "thinking": {"type": "adaptive", "display": "omitted"},
            "output_config": {"effort": "high"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "metadata": {"user_id": '{"device_id":"d"}'},
            "tools": [
                {
                    "name": "Bash",
                    "description": "Run.",
                    "input_schema": CITY,
                    "eager_input_streaming": True,
                },
                {"name": "Later", "description": "", "input_schema": CITY, "defer_loading": True},
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                {"role": "system", "content": "Today is Monday.", "output_config": {"effort": "low"}},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "", "signature": "Ep8B"},
                        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"city": "x"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_1",
                            "content": [{"type": "text", "text": "ok"}],
                            "is_error": True,
                            **mark,
                        },
                        {"type": "text", "text": "Go on.", **mark},
                    ],
                },
            ],
        },
        query="beta=true",
    )
    request = read.request
    assert request.system == "billing: cc_version=2.1\n\nYou are Claude Code."
    assert (read.model, read.stream, request.max_tokens) == ("claude-opus-5", True, 32000)
    assert {**request.options} == {"reasoning": "high", "user": '{"device_id":"d"}'}
    assert [(spec.name, spec.strict) for spec in request.specs] == [("Bash", False), ("Later", False)]
    _, told, reply, results, last = request.messages
    assert isinstance(told, User)
    assert (told.author, told.text) == ("developer", "Today is Monday.")
    assert isinstance(reply, Reply)
    assert reply.calls[0].arguments == '{"city":"x"}'
    assert isinstance(results, Results)
    assert (results.results[0].is_error, results.results[0].text) == (True, "ok")
    assert isinstance(last, User)
    assert last.text == "Go on."
    assert read.left_out == (
        "messages[1].output_config",
        "tools[2]: web_search_20250305",
        "context_management",
    )


def test_older_thinking_of_claude_code():
    body = {"model": "m", "max_tokens": 9, "messages": [HI]}
    read = asked("anthropic", {**body, "thinking": {"type": "enabled", "budget_tokens": 31999}})
    assert read.request.options["reasoning"] == 31999
    read = asked("anthropic", {**body, "thinking": {"type": "disabled"}, "tool_choice": {"type": "any"}})
    assert read.request.options["reasoning"] == "none"


def codex(**more: Any) -> dict[str, Any]:
    developer = [{"type": "input_text", "text": "You are Codex."}]
    return {
        "model": "gpt-5.5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "parallel_tool_calls": True,
        "prompt_cache_key": "k",
        "client_metadata": {"x": "y"},
        "reasoning": {"effort": "medium", "summary": "auto"},
        "text": {"verbosity": "low"},
        "tool_choice": "auto",
        "input": [
            {"type": "message", "role": "developer", "id": "msg_1", "content": developer},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ],
        **more,
    }


EXEC = {
    "type": "function",
    "name": "exec_command",
    "description": "Run.",
    "strict": False,
    "parameters": CITY,
}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Patch.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"},
}
GROUP = {
    "type": "namespace",
    "name": "mcp__files",
    "description": "Files.",
    "tools": [{**EXEC, "name": "read"}, {**EXEC, "name": "exec_command"}],
}
SEARCH = {"type": "tool_search", "execution": "client", "description": "Find.", "parameters": CITY}


def test_codex_with_functions_groups_and_text_tools():
    tools = [EXEC, PATCH, GROUP, SEARCH, {"type": "web_search", "external_web_access": False}]
    read = asked("openai_responses", codex(tools=tools), headers={"originator": "codex_exec"})
    names = [(spec.name, spec.input) for spec in read.request.specs]
    assert names == [
        ("exec_command", "json"),
        ("apply_patch", "text"),
        ("read", "json"),
        ("mcp__files_exec_command", "json"),
        ("tool_search", "json"),
    ]
    assert read.request.specs[1].grammar == {"lark": "start: x"}
    assert read.forms["mcp__files_exec_command"] == {
        "type": "function_call",
        "name": "exec_command",
        "namespace": "mcp__files",
    }
    assert read.client == "codex"
    assert read.request.system == "You are Codex."
    assert {**read.request.options} == {"parallel": True, "cache_key": "k", "reasoning": "medium"}
    assert read.left_out == ("tools[4]: web_search", "text.verbosity")


def test_codex_with_tools_among_the_input():
    added = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "functions", "tools": [{**PATCH, "name": "exec"}]}],
    }
    body = codex()
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "namespace": "functions"}
    body["input"] += [
        added,
        {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAA"},
        {**call, "input": "await tools.x()", "status": "completed"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    ]
    read = asked("openai_responses", body)
    assert [(spec.name, spec.input) for spec in read.request.specs] == [("exec", "text")]
    assert read.forms["exec"]["namespace"] == "functions"
    _, reply, results = read.request.messages
    assert isinstance(reply, Reply)
    assert isinstance(reply.content[0], Reasoning)
    assert (reply.calls[0].form, reply.calls[0].arguments) == ("text", "await tools.x()")
    assert isinstance(results, Results)
    assert read.client == ""


def test_what_a_search_of_codex_found_can_be_called():
    body = codex(tools=[SEARCH])
    body["input"] += [
        {
            "type": "tool_search_call",
            "call_id": "c1",
            "execution": "client",
            "arguments": {"city": "x"},
            "status": "completed",
        },
        {
            "type": "tool_search_output",
            "call_id": "c1",
            "execution": "client",
            "status": "completed",
            "tools": [GROUP],
        },
    ]
    read = asked("openai_responses", body)
    assert [spec.name for spec in read.request.specs] == ["tool_search", "read", "exec_command"]
    _, reply, results = read.request.messages
    assert isinstance(reply, Reply)
    assert [call.name for call in reply.calls] == ["tool_search"]
    assert isinstance(results, Results)


def test_nothing_is_kept_between_responses():
    with pytest.raises(UsageError, match="send the whole conversation"):
        asked("openai_responses", codex(previous_response_id="resp_1"))


def test_gemini_cli():
    declared = {"name": "run", "description": "Run.", "parametersJsonSchema": CITY}
    read = asked(
        "gemini",
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "systemInstruction": {"role": "user", "parts": [{"text": "You are Gemini CLI."}]},
            "tools": [{"functionDeclarations": [declared]}],
            "generationConfig": {
                "temperature": 1,
                "topP": 0.95,
                "topK": 64,
                "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 8192},
            },
        },
        path="/v1beta/models/gemini-2.5-pro:streamGenerateContent",
        query="alt=sse",
    )
    assert (read.model, read.stream, read.framing) == ("gemini-2.5-pro", True, "sse")
    assert read.request.system == "You are Gemini CLI."
    assert read.request.specs[0].parameters == CITY
    assert {**read.request.options} == {"temperature": 1, "top_p": 0.95, "reasoning": 8192}
    assert read.left_out == ("generationConfig.topK",)


@pytest.mark.parametrize("path", ["/v1/models/m:generateContent", "/models/m:generateContent"])
def test_snake_case_capitals_and_calls_without_ids(path):
    schema = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}}
    read = asked(
        "gemini",
        {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "safetySettings": [],
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"text": "Hi"},
                        {"inline_data": {"mime_type": "image/png", "data": "iVBO"}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {"function_call": {"name": "look", "args": {"city": "a"}}},
                        {"function_call": {"name": "look", "args": {"city": "b"}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"function_response": {"name": "look", "response": {"output": "1"}}},
                        {"function_response": {"name": "look", "response": {"output": "2"}}},
                        {"function_response": {"name": "look", "response": {"output": "2"}}},
                    ],
                },
            ],
            "tools": [
                {"function_declarations": [{"name": "look", "parameters": schema}]},
                {"google_search": {}},
            ],
            "tool_config": {
                "function_calling_config": {"mode": "ANY", "allowed_function_names": ["look"]}
            },
            "generation_config": {
                "response_mime_type": "application/json",
                "response_schema": {**schema, "property_ordering": ["city"]},
                "max_output_tokens": 99,
                "stop_sequences": ["END"],
                "thinking_config": {"thinking_level": "HIGH"},
            },
        },
        path=path,
    )
    plain = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}}
    request = read.request
    assert (request.system, request.output, request.max_tokens) == ("Be brief.", plain, 99)
    assert request.specs[0].parameters == plain
    assert request.choice == Named("look")
    assert {**request.options} == {"stop": ["END"], "reasoning": "high"}
    user, reply, results = request.messages
    assert isinstance(user, User)
    assert isinstance(user.content[1], Media)
    assert isinstance(reply, Reply)
    assert [call.id for call in reply.calls] == ["call_1", "call_2"]
    assert isinstance(results, Results)
    assert [(each.call_id, each.text) for each in results.results] == [("call_1", "1"), ("call_2", "2")]
    assert read.left_out == (
        "contents[2]: an answer to no call that waits for one",
        "tools[1]: googleSearch",
    )


def test_how_many_tokens_is_asked_in_two_ways():
    contents = [{"parts": [{"text": "Hi"}]}]
    for body in ({"contents": contents}, {"generateContentRequest": {"contents": contents}}):
        read = asked("gemini", body, path="/v1beta/models/m:countTokens")
        assert read.request.messages == (User((Text("Hi"),)),)


def test_chat_as_opencode_and_langchain_send_it():
    read = asked(
        "openai_chat",
        {
            "model": "m",
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 8192,
            "n": 2,
            "store": True,
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Hi"},
                        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": "",
                    "reasoning_content": "Hm",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]},
            ],
            "tools": [
                {"type": "function", "function": {"name": "look", "strict": True, "parameters": CITY}},
                {"type": "function", "function": {"name": "now"}},
            ],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "response_format": {"type": "json_object"},
            "stop": "END",
            "reasoning_effort": "low",
        },
    )
    request = read.request
    assert (read.usage, read.stream, request.max_tokens) == (True, True, 8192)
    assert (request.system, request.output, request.choice) == ("Be brief.", ANY_OBJECT, Named("look"))
    assert [(spec.name, spec.strict) for spec in request.specs] == [("look", None), ("now", False)]
    assert {**request.options} == {"stop": ["END"], "reasoning": "low"}
    assert isinstance(request.messages[2], Results)
    assert read.left_out == ("n: one answer is given", "store")


def test_a_call_without_its_result_is_answered_and_told():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [HI, {"role": "assistant", "content": None, "tool_calls": [call]}, HI]
    read = asked("openai_chat", {"model": "m", "messages": messages})
    results = read.request.messages[2]
    assert isinstance(results, Results)
    assert results.results[0].outcome == "interrupted"
    assert "the call has no result" in read.left_out[0]


def test_only_some_tools_are_allowed():
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "find")]
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "find"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    read = asked("openai_chat", {"model": "m", "messages": [HI], "tools": tools, "tool_choice": choice})
    assert ([spec.name for spec in read.request.specs], read.request.choice) == (["find"], "required")


def test_what_only_anthropic_knows_is_named_and_told_in_words_where_it_can_be():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    use = {"type": "tool_use", "name": "look", "input": {}}
    found = {"type": "tool_reference", "tool_name": "Later"}
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": [found]},
        {"type": "tool_result", "tool_use_id": "b"},
    ]
    upload = {"type": "container_upload", "file_id": "f"}
    messages = [
        {"role": "user", "content": [upload, {"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": [search, {**use, "id": "a"}]},
        {"role": "assistant", "content": [{**use, "id": "b"}]},
        {"role": "user", "content": results},
    ]
    read = asked("anthropic", {"model": "m", "max_tokens": 9, "messages": messages})
    _, reply, answers = read.request.messages
    assert isinstance(reply, Reply)
    assert [call.id for call in reply.calls] == ["a", "b"]
    assert isinstance(answers, Results)
    assert answers.results[0].text == '{"type":"tool_reference","tool_name":"Later"}'
    assert read.left_out == (
        "messages[3].content[0].content[0]: tool_reference",
        "messages[0]: container_upload",
        "messages[1]: server_tool_use",
    )


def test_neighbours_of_the_models_are_one_turn_for_gemini():
    call = {"functionCall": {"name": "look", "args": {}}}
    answer = {"functionResponse": {"name": "look", "response": {"output": "1"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer, answer]},
    ]
    read = asked("gemini", {"contents": contents}, path="/models/m:generateContent")
    assert len(read.request.messages) == 3
    assert read.left_out == ()
