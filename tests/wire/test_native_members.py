"""Definitions of a vendor's in every dialect: sent where they are taken, refused in words where not."""

import json
from importlib import import_module

import pytest
from pydantic import TypeAdapter

from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import anthropic, bedrock, gemini, openai_chat, openai_responses

OPEN = {"type": "object", "properties": {}}
PLAIN = Spec(name="plain", description="Ours.", parameters=OPEN)
MARK = {"type": "ephemeral"}
HELLO = (user_text("Hi"),)


def spec(name: str, **native) -> Spec:
    return Spec(name=name, description="Ours.", parameters=OPEN, native=native)


def sent(dialect, *specs: Spec, messages=HELLO, **more) -> dict:
    request = Request(messages=messages, specs=specs, **more)
    return json.loads(dialect.encode(request, model="m", stream=False).body)


def test_chat_sends_a_hosts_own_tools():
    search = {"type": "browser_search"}
    custom = {"type": "custom", "custom": {"name": "sql"}}
    specs = (spec("browser_search", openai_chat=search), spec("sql", openai_chat=custom), PLAIN)
    body = sent(openai_chat, *specs, options={"strict": True}, choice=Named("sql"))
    assert body["tools"][:2] == [search, custom]
    assert body["tools"][2]["function"]["name"] == "plain"
    assert body["tool_choice"] == custom
    assert sent(openai_chat, *specs, choice=Named("browser_search"))["tool_choice"] == search


def test_gemini_sends_the_vendors_own_tools():
    search, code = {"googleSearch": {}}, {"codeExecution": {}}
    own = {"name": "plan", "description": "Theirs.", "behavior": "NON_BLOCKING"}
    specs = (spec("search", gemini=search), PLAIN, spec("code", gemini=code), spec("plan", gemini=own))
    body = sent(gemini, *specs)
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "plain", "description": "Ours.", "parametersJsonSchema": OPEN},
                own,
            ]
        },
        search,
        code,
    ]
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}
    types = import_module("google.genai.types")
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    assert sent(gemini, spec("search", gemini=search))["tools"] == [search]
    with pytest.raises(EncodeError, match="no tool 'search' to require"):
        sent(gemini, *specs, choice=Named("search"))


@pytest.mark.parametrize(
    ("dialect", "native", "words"),
    [
        (openai_chat, {"openai_chat": {"web_search_options": {}}}, "goes into options"),
        (openai_chat, {"openai_chat": {"type": "web"}}, "is for 'web'"),
        (gemini, {"gemini": {"name": "other"}}, "is for 'other'"),
        *[
            (each, {"openai": {"type": "tool"}}, "'openai', which is no dialect")
            for each in (openai_chat, openai_responses, gemini, anthropic, bedrock)
        ],
    ],
)
def test_a_definition_that_cannot_be_sent_is_refused(dialect, native, words):
    with pytest.raises(EncodeError, match=words):
        sent(dialect, spec("tool", **native))


def test_what_a_vendor_takes_besides_is_added_to_ours():
    more = {"defer_loading": True, "allowed_callers": ["code_execution_20250825"]}
    (tool,) = sent(anthropic, spec("tool", anthropic=more), options={"cache": False})["tools"]
    assert tool == {"name": "tool", "description": "Ours.", "input_schema": OPEN, **more}
    more = {"defer_loading": True, "allowed_callers": ["programmatic"]}
    (tool,) = sent(openai_responses, spec("tool", openai_responses=more), options={"strict": True})[
        "tools"
    ]
    assert (tool["name"], tool["strict"], {key: tool[key] for key in more}) == ("tool", True, more)
    types = import_module("openai.types.responses.function_tool_param")
    TypeAdapter(types.FunctionToolParam).validate_python(tool)


def test_the_cache_mark_is_on_the_last_tool_that_is_not_deferred():
    late = {"anthropic": {"defer_loading": True}}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    body = sent(
        anthropic, PLAIN, spec("a", **late), spec("b", **late), options={"vendor_tools": [search]}
    )
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK, None, None]
    assert [tool["name"] for tool in body["tools"][1:]] == ["plain", "a", "b"]
    types = import_module("anthropic.types.beta")
    TypeAdapter(list[types.BetaToolUnionParam]).validate_python(body["tools"])
    body = sent(anthropic, spec("a", **late), options={"vendor_tools": [search]})
    assert ["cache_control" in tool for tool in body["tools"]] == [False, False]


def test_who_called_is_carried_through_to_anthropic_and_back():
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "plain", "input": {}, "caller": caller}
    body = {"type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use"}
    reply = anthropic.decode(json.dumps({**body, "usage": {}}).encode())
    result = Result(call_id="toolu_1", name="plain", outcome="returned", content=(Text("1"),))
    given = sent(
        anthropic, PLAIN, messages=(user_text("Hi"), reply, Results((result,))), options={"cache": False}
    )
    assert given["messages"][1]["content"] == [call]


def test_a_caller_of_one_vendors_is_none_of_anothers():
    call = Call(
        id="c", name="plain", arguments="{}", vendor={"anthropic": {"caller": {"type": "direct"}}}
    )
    result = Result(call_id="c", name="plain", outcome="returned", content=(Text("1"),))
    items = sent(openai_responses, messages=(Reply((call,)), Results((result,))))["input"]
    assert all("caller" not in item for item in items)
