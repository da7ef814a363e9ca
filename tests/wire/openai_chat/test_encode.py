"""Requests into bodies: whole expected values, and what must hold for every request."""

import json
import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import TypeAdapter

from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.ports import Dialect
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import openai_chat as dialect
from rightcall.wire.openai_chat.messages import FOLLOWING
from rightcall.wire.strict_schema import OPENAI as RULES
from rightcall.wire.strict_schema import strict_schema, structure
from wire.recorded import rows

SPEC = Spec(
    name="w",
    description="Weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
TOOL = {
    "type": "function",
    "function": {"name": "w", "description": "Weather.", "parameters": SPEC.parameters},
}
STRICT = {
    "type": "function",
    "function": {
        "name": "w",
        "description": "Weather.",
        "parameters": {**SPEC.parameters, "additionalProperties": False},
        "strict": True,
    },
}
HI = {"role": "user", "content": "Hi"}


def ask(**members: Any) -> Request:
    return Request(**{"messages": (user_text("Hi"),), **members})


def body(request: Request, *, stream: bool = False, at: Any = dialect) -> dict[str, Any]:
    outgoing = at.encode(request, model="m", stream=stream)
    assert outgoing.path == "/chat/completions"
    return json.loads(outgoing.body)


def opts(**options: Any) -> Request:
    return ask(options=options)


def tools(choice: Any = "auto", **options: Any) -> Request:
    return ask(specs=(SPEC,), choice=choice, options=options)


EXAMPLES = '{"city":"Rome"}\n{"city":"Oslo"}'
OUTPUT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

BODIES: dict[str, tuple[Request, dict[str, Any]]] = {
    "nothing but a question": (ask(), {}),
    "system": (ask(system="Be."), {"messages": [{"role": "system", "content": "Be."}, HI]}),
    "limit": (ask(max_tokens=7), {"max_completion_tokens": 7}),
    "sampling": (
        opts(temperature=0.0, top_p=0.5, seed=1),
        {"temperature": 0.0, "top_p": 0.5, "seed": 1},
    ),
    "stop": (opts(stop=("a", "b")), {"stop": ["a", "b"]}),
    "user": (opts(user="u"), {"user": "u"}),
    "an effort": (opts(reasoning="high"), {"reasoning_effort": "high"}),
    "no effort": (opts(reasoning=0), {"reasoning_effort": "none"}),
    "a budget": (opts(reasoning=4000), {"reasoning_effort": "medium"}),
    "a large budget": (opts(reasoning=40_000), {"reasoning_effort": "high"}),
    "cache": (opts(cache=True), {}),
    "tools": (tools(), {"tools": [STRICT]}),
    "a tool must be called": (tools("required"), {"tools": [STRICT], "tool_choice": "required"}),
    "no tool may be called": (tools("none"), {"tools": [STRICT], "tool_choice": "none"}),
    "this tool": (
        tools(Named("w")),
        {"tools": [STRICT], "tool_choice": {"type": "function", "function": {"name": "w"}}},
    ),
    "one call at a time": (tools(parallel=False), {"tools": [STRICT], "parallel_tool_calls": False}),
    "one call at a time, without tools": (opts(parallel=False), {}),
    "no tool may be called, and there is none": (ask(choice="none"), {}),
    "strict": (tools(strict=True), {"tools": [STRICT]}),
    "not strict": (tools(strict=False), {"tools": [TOOL]}),
    "the vendor's own tools": (
        tools(vendor_tools=[{"type": "custom", "custom": {"name": "sql"}}]),
        {"tools": [STRICT, {"type": "custom", "custom": {"name": "sql"}}]},
    ),
    "extra": (opts(extra={"logprobs": True, "model": "n"}), {"logprobs": True, "model": "n"}),
    "examples": (
        ask(specs=(replace(SPEC, examples=({"city": "Rome"}, {"city": "Oslo"})),)),
        {
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "w",
                        "description": f"Weather.\n\nExamples of arguments:\n{EXAMPLES}",
                        "parameters": STRICT["function"]["parameters"],
                        "strict": True,
                    },
                }
            ]
        },
    ),
    "an output": (
        ask(output=OUTPUT),
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "output",
                    "schema": {**OUTPUT, "additionalProperties": False},
                    "strict": True,
                },
            }
        },
    ),
    "an output that cannot be strict": (
        ask(output={"type": "object", "additionalProperties": {"type": "string"}}),
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "output",
                    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
                    "strict": False,
                },
            }
        },
    ),
    "an output with optional members": (
        ask(output={**OUTPUT, "required": []}),
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "output",
                    "schema": strict_schema({**OUTPUT, "required": []}, RULES).schema,
                    "strict": True,
                },
            }
        },
    ),
}


@pytest.mark.parametrize(("request_", "members"), BODIES.values(), ids=BODIES)
def test_bodies(request_, members):
    assert body(request_) == {"model": "m", "messages": [HI], **members}


def test_a_stream_asks_for_its_usage():
    assert body(ask(), stream=True) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [HI],
    }


def call(identity: str = "a", arguments: str = '{"x":1}', **more: Any) -> Call:
    return Call(**{"id": identity, "name": "w", "arguments": arguments, **more})


def result(identity: str = "a", *content: Any, outcome: Any = "returned") -> Result:
    return Result(call_id=identity, name="w", outcome=outcome, content=content or (Text("ok"),))


def function(
    identity: str = "a", arguments: str = '{"x":1}', name: str = "w", **more: Any
) -> dict[str, Any]:
    return {
        "id": identity,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def own(**bag: Any) -> dict[str, Any]:
    return {"openai_chat": bag}


PNG = Media(b"\0\0\0", "image/png")
MESSAGES: dict[str, tuple[tuple[Any, ...], list[dict[str, Any]]]] = {
    "several texts": (
        (User((Text("a"), Text(""), Text("b"))),),
        [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    ),
    "empty": ((User((Text(""),)),), [{"role": "user", "content": ""}]),
    "developer and runtime": (
        (user_text("a", "developer"), user_text("b", "runtime")),
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    ),
    "media": (
        (
            User(
                (
                    Text("See"),
                    PNG,
                    Media(b"\0\0\0", "audio/mpeg"),
                    Media(b"\0\0\0", "application/pdf", "a.pdf"),
                    Media(b"hi", "text/plain", "a.txt"),
                )
            ),
        ),
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "See"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
                    {
                        "type": "file",
                        "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                    },
                    {"type": "text", "text": "a.txt:\nhi"},
                ],
            }
        ],
    ),
    "calls and results": (
        (Reply((Text("So"), call(), call("b", ""))), Results((result(), result("b")))),
        [
            {"role": "assistant", "content": "So", "tool_calls": [function(), function("b", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
            {"role": "tool", "tool_call_id": "b", "content": "ok"},
        ],
    ),
    "results that are errors or media": (
        (
            Reply((call(), call("b"), call("c"))),
            Results(
                (
                    result("a", Text("no disk"), outcome="failed"),
                    result("b", Text("Error: no"), outcome="failed"),
                    result("c", Text("Here:"), PNG),
                )
            ),
        ),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [function(), function("b"), function("c")],
            },
            {"role": "tool", "tool_call_id": "a", "content": "Error: no disk"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: no"},
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": "Here:\n[image/png, 3 bytes: in the message after the results]",
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": FOLLOWING},
                    {"type": "text", "text": "From w (c):"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                ],
            },
        ],
    ),
    "arguments that are broken": (
        (
            Reply((call(arguments='{"x":'), call("b", "[1]"), call("c", '{"x":1,"x":2}'))),
            Results((result(), result("b"), result("c"))),
        ),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    function("a", '{"raw_arguments":"{\\"x\\":"}'),
                    function("b", '{"raw_arguments":"[1]"}'),
                    function("c", '{"raw_arguments":"{\\"x\\":1,\\"x\\":2}"}'),
                ],
            },
            *[{"role": "tool", "tool_call_id": i, "content": "ok"} for i in "abc"],
        ],
    ),
    "names that are illegal": (
        (Reply((call(name="ns.get weather"), call("b", name=""))), Results((result(), result("b")))),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [function(name="ns_get_weather"), function("b", name="unnamed")],
            },
            *[{"role": "tool", "tool_call_id": i, "content": "ok"} for i in "ab"],
        ],
    ),
    "what the vendor attached to a call": (
        (
            Reply((call(vendor=own(extra_content={"google": {"thought_signature": "s"}})),)),
            Results((result(),)),
        ),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [function(extra_content={"google": {"thought_signature": "s"}})],
            },
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
    ),
    "a custom tool's call": (
        (Reply((call(arguments="select 1", vendor=own(type="custom")),)), Results((result(),))),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "custom", "custom": {"name": "w", "input": "select 1"}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
    ),
    "reasoning of its own": (
        (
            Reply((Reasoning("hm", own(field="reasoning_content")), Text("a"))),
            Reply(
                (
                    Reasoning("hm", own(field="reasoning", details=[{"type": "x", "data": "y"}])),
                    Text("b"),
                )
            ),
            Reply(
                (
                    Reasoning("hm", own(field="inline", opening="<think>", closing="</think>\n")),
                    Text("c"),
                )
            ),
            Reply((Reasoning("hm", own(field="part")), Text("d"))),
        ),
        [
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
            {"role": "assistant", "content": "b", "reasoning_details": [{"type": "x", "data": "y"}]},
            {"role": "assistant", "content": "<think>hm</think>\nc"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "d"},
                ],
            },
        ],
    ),
    "what only another vendor understands": (
        (
            Reply(
                (
                    Reasoning("hm", {"anthropic": {"signature": "s"}}),
                    Text("a"),
                    Unknown({"gemini": {"x": 1}}),
                )
            ),
            Reply((Reasoning("hm"), call(vendor={"gemini": {"sig": 1}}))),
            Results((result(),)),
        ),
        [
            {"role": "assistant", "content": "a"},
            {"role": "assistant", "content": None, "tool_calls": [function()]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
    ),
    "a refusal, a sound, a picture": (
        (
            Reply((Unknown(own(refusal="No.")),)),
            Reply((Unknown(own(audio={"id": "au", "data": "AA"})),)),
            Reply((Unknown(own(images=[{"u": 1}])), PNG)),
            Reply((Text("a"), Unknown(own(part={"type": "reference"})))),
        ),
        [
            {"role": "assistant", "content": None, "refusal": "No."},
            {"role": "assistant", "content": None, "audio": {"id": "au"}},
            {
                "role": "assistant",
                "content": "[image/png, 3 bytes: not shown]",
                "images": [{"u": 1}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "reference"}]},
        ],
    ),
    "an empty reply": ((Reply(()),), [{"role": "assistant", "content": ""}]),
}


@pytest.mark.parametrize(("messages", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_messages(messages, expected):
    assert body(ask(messages=messages))["messages"] == expected


HOSTED = {
    "a server that imitates OpenAI": (
        "http://localhost:8080/v1",
        {"max_tokens": 7, "seed": 1, "reasoning_effort": "low", "tool_choice": "required"},
        True,
    ),
    "OpenAI": (
        "https://api.openai.com/v1",
        {"max_completion_tokens": 7, "seed": 1, "reasoning_effort": "low", "tool_choice": "required"},
        True,
    ),
    "Azure": (
        "https://me.openai.azure.com/openai/v1",
        {"max_completion_tokens": 7, "seed": 1, "reasoning_effort": "low", "tool_choice": "required"},
        True,
    ),
    "Mistral": (
        "https://api.mistral.ai/v1",
        {"max_tokens": 7, "random_seed": 1, "reasoning_effort": "low", "tool_choice": "any"},
        False,
    ),
    "OpenRouter": (
        "https://openrouter.ai/api/v1",
        {"max_tokens": 7, "seed": 1, "reasoning": {"effort": "low"}, "tool_choice": "required"},
        True,
    ),
    "Moonshot": (
        "https://api.moonshot.ai/v1",
        {
            "max_completion_tokens": 7,
            "seed": 1,
            "thinking": {"type": "enabled"},
            "reasoning_effort": "low",
            "tool_choice": "required",
        },
        True,
    ),
    "MiniMax": (
        "https://api.minimax.io/v1",
        {
            "max_completion_tokens": 7,
            "seed": 1,
            "thinking": {"type": "adaptive"},
            "tool_choice": "required",
            "reasoning_split": True,
        },
        True,
    ),
    "Alibaba": (
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        {"max_tokens": 7, "seed": 1, "enable_thinking": True, "tool_choice": "required"},
        True,
    ),
    "Snowflake": (
        "https://me.snowflakecomputing.com/api/v2/cortex/v1",
        {"max_completion_tokens": 7, "seed": 1, "reasoning_effort": "low", "tool_choice": "required"},
        True,
    ),
}


def test_a_host_that_only_chooses_by_itself():
    at = dialect.dialect_at("https://api.z.ai/api/paas/v4")
    options = {"seed": 1, "reasoning": "none", "user": "u", "parallel": False}
    sent = body(ask(specs=(SPEC,), options=options), at=at)
    off = {"thinking": {"type": "disabled"}}
    assert sent == {"model": "m", "tools": [TOOL], "messages": [HI], **off}
    assert "tools" not in body(ask(specs=(SPEC,), choice="none"), at=at)
    with pytest.raises(EncodeError, match="cannot be forced to call a tool"):
        body(ask(specs=(SPEC,), choice="required"), at=at)


def test_minimax_thinks_as_it_sees_fit_or_not_at_all():
    at = dialect.dialect_at("https://api.minimax.io/v1")
    for wanted, kind in {"none": "disabled", 0: "disabled", "max": "adaptive", 2000: "adaptive"}.items():
        sent = body(ask(options={"reasoning": wanted}), at=at)
        assert sent["thinking"] == {"type": kind}
        assert "reasoning_effort" not in sent


MOONSHOT, ZAI, MINIMAX = (
    "https://api.moonshot.ai/v1",
    "https://api.z.ai/api/paas/v4",
    "https://api.minimax.io/v1",
)
OFF = {"thinking": {"type": "disabled"}}
LEAST = {"reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("url", "model", "least", "medium"),
    [
        (MOONSHOT, "kimi-k2.6", OFF, {"thinking": {"type": "enabled"}, "reasoning_effort": "medium"}),
        (MOONSHOT, "kimi-k2.7-code", {}, {}),
        (MOONSHOT, "kimi-k2-thinking-turbo", {}, {}),
        (MOONSHOT, "kimi-k3", LEAST, {"reasoning_effort": "high"}),
        (ZAI, "glm-5.2", OFF, {"thinking": {"type": "enabled"}, "reasoning_effort": "medium"}),
        (ZAI, "glm-5.3-flash", LEAST, {"reasoning_effort": "high"}),
        (MINIMAX, "MiniMax-M3", OFF, {"thinking": {"type": "adaptive"}}),
        (MINIMAX, "MiniMax-M3.1-Flash", LEAST, {"reasoning_effort": "medium"}),
        (MINIMAX, "MiniMax-M2.7", {}, {}),
    ],
)
def test_a_model_that_always_thinks_is_not_told_not_to(url, model, least, medium):
    at = dialect.dialect_at(url)

    def said_of(wanted) -> dict:
        request = ask(options={"reasoning": wanted})
        sent = json.loads(at.encode(request, model=model, stream=False).body)
        return {name: sent[name] for name in ("thinking", "reasoning_effort") if name in sent}

    assert said_of("none") == said_of(0) == least
    assert said_of("medium") == said_of(5000) == medium
    assert said_of(None) == {}


def test_deepseek_thinks_unless_it_is_told_not_to():
    at = dialect.dialect_at("https://api.deepseek.com")
    sent = body(ask(options={"reasoning": "none"}), at=at)
    assert sent["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in sent
    sent = body(ask(options={"reasoning": "max"}), at=at)
    assert (sent["thinking"], sent["reasoning_effort"]) == ({"type": "enabled"}, "max")


def test_a_number_of_tokens_to_think_with_at_alibaba():
    at = dialect.dialect_at("https://dashscope.aliyuncs.com/compatible-mode/v1")
    for wanted, members in {
        900: {"enable_thinking": True, "thinking_budget": 900},
        0: {"enable_thinking": False},
    }.items():
        sent = body(ask(options={"reasoning": wanted}), at=at)
        assert sent == {"model": "m", "messages": [HI], **members}


@pytest.mark.parametrize(("url", "members", "usage"), HOSTED.values(), ids=HOSTED)
def test_what_hosts_want_said_differently(url, members, usage):
    at = dialect.dialect_at(url)
    request = ask(
        specs=(SPEC,), choice="required", max_tokens=7, options={"seed": 1, "reasoning": "low"}
    )
    sent = body(request, stream=True, at=at)
    assert sent.pop("stream_options", None) == ({"include_usage": True} if usage else None)
    tool = STRICT if at.host.strict else TOOL
    assert sent == {"model": "m", "stream": True, "tools": [tool], "messages": [HI], **members}


def test_the_developer_speaks_as_the_system_where_that_may_speak_anywhere():
    transcript = (user_text("a"), user_text("b", "developer"), user_text("c", "runtime"))
    for url, role in (("https://api.openai.com/v1", "system"), ("http://localhost:8080/v1", "user")):
        sent = body(ask(messages=transcript), at=dialect.dialect_at(url))["messages"]
        assert [(each["role"], each["content"]) for each in sent] == [
            ("user", "a"),
            (role, "b"),
            ("user", "c"),
        ]


def test_deepseek_gets_reasoning_with_every_turn_of_calls_even_if_there_was_none():
    thought = Reply((Reasoning("hm", own(field="reasoning_content")), call("b")))
    messages = (*exchange("a"), thought, Results((result("b"),)), Reply((Text("So"),)))
    sent = body(ask(messages=messages), at=dialect.dialect_at("https://api.deepseek.com"))["messages"]
    assert [entry.get("reasoning_content") for entry in sent if entry["role"] == "assistant"] == [
        "",
        "hm",
        None,
    ]


def test_mistral_gets_no_member_that_it_does_not_know():
    request = ask(max_tokens=1, options={"user": "u", "seed": 1})
    sent = body(request, stream=True, at=dialect.dialect_at("https://api.mistral.ai/v1"))
    assert list(sent) == ["model", "stream", "max_tokens", "random_seed", "messages"]


def test_a_budget_of_tokens_where_the_host_takes_one():
    at = dialect.HostDialect(dialect.OPENROUTER)
    assert body(opts(reasoning=500), at=at)["reasoning"] == {"max_tokens": 500}


def test_the_module_and_a_host_are_dialects():
    ports: list[Dialect] = [dialect, dialect.dialect_at("http://localhost")]
    assert {port.name for port in ports} == {"openai_chat"}
    for port in ports:
        assert port.decode(b'{"choices":[{"message":{"content":"a"}}]}') == Reply((Text("a"),))
        assert isinstance(port.decoder(), dialect.Decoder)
        assert port.authorize("k") == {"authorization": "Bearer k"}
        assert port.error(400, {}, b"no").status == 400


def exchange(*ids: str) -> tuple[Any, ...]:
    return (Reply(tuple(call(i) for i in ids)), Results(tuple(result(i) for i in ids)))


def paired(messages: list[dict[str, Any]]) -> list[tuple[list[str], list[str]]]:
    pairs: list[tuple[list[str], list[str]]] = []
    for message in messages:
        if "tool_calls" in message:
            pairs.append(([entry["id"] for entry in message["tool_calls"]], []))
        elif message["role"] == "tool":
            pairs[-1][1].append(message["tool_call_id"])
    return pairs


@pytest.mark.parametrize(
    ("at", "legal"),
    [(dialect.OPENAI, r"[!-~]{1,40}"), (dialect.MISTRAL, r"[A-Za-z0-9]{9}")],
    ids=["openai", "mistral"],
)
def test_ids_are_legal_distinct_and_the_same_on_call_and_result(at, legal):
    ids = ["call_1", "x" * 41, "x" * 42, "é", "a b", "abcdefgh9", "toolu_01", "", "call_2"]
    messages = body(ask(messages=exchange(*ids)), at=dialect.HostDialect(at))["messages"]
    ((calls, results),) = paired(messages)
    assert calls == results
    assert len(set(calls)) == len(ids)
    assert all(re.fullmatch(legal, identity) for identity in calls)
    assert "abcdefgh9" in calls


@given(st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=3, unique=True), max_size=4))
def test_any_ids_pair_up(turns):
    messages = tuple(m for ids in turns for m in exchange(*ids))
    for host in (dialect.OPENAI, dialect.MISTRAL):
        for calls, results in paired(
            body(ask(messages=messages), at=dialect.HostDialect(host))["messages"]
        ):
            assert calls == results
            assert len(set(calls)) == len(calls)


def test_results_without_ids_are_matched_by_their_order():
    ((calls, results),) = paired(body(ask(messages=exchange("", "")))["messages"])
    assert calls == results
    assert len(set(calls)) == 2


def test_the_same_request_gives_the_same_bytes_and_a_longer_history_extends_them():
    history = (
        user_text("Hi"),
        *exchange("a", "x" * 50),
        Reply((Text("So"),)),
        user_text("And?"),
        *exchange("", "b"),
    )
    specs = (SPEC,)
    before = b""
    for length in range(1, len(history) + 1):
        request = ask(messages=history[:length], specs=specs, system="Be.", output=OUTPUT, max_tokens=5)
        for host in (dialect.OPENAI, dialect.MISTRAL):
            encode = dialect.HostDialect(host).encode
            assert encode(request, model="m", stream=True) == encode(request, model="m", stream=True)
        sent = dialect.encode(request, model="m", stream=True).body
        assert sent.startswith(before)
        assert sent.endswith(b"]}")
        before = sent[:-2]


REFUSED = {
    "a tool that must be called and is not there": (ask(choice="required"), "choice", "there is none"),
    "a tool that cannot be strict": (
        ask(
            specs=(replace(SPEC, parameters={"type": "object", "additionalProperties": True}),),
            options={"strict": True},
        ),
        "tool 'w' at $",
        "strict objects are closed",
    ),
    "an output that must be strict and cannot": (
        ask(output={"type": "object", "additionalProperties": True}, options={"strict": True}),
        "output at $",
        "strict objects are closed",
    ),
}


@pytest.mark.parametrize(("request_", "where", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_is_refused(request_, where, reason):
    with pytest.raises(EncodeError, match=reason) as caught:
        dialect.encode(request_, model="m", stream=False)
    assert caught.value.where == where


def plain(value: Any) -> Any:
    """Iterables of the SDK's lazily checked types, read out."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [plain(item) for item in value]


def test_the_official_sdk_accepts_what_is_sent():
    params = import_module("openai.types.chat.completion_create_params")
    kinds = {
        False: TypeAdapter(params.CompletionCreateParamsNonStreaming),
        True: TypeAdapter(params.CompletionCreateParamsStreaming),
    }
    imitators = ("extra_content", "reasoning", "thinking", "images", "video_url", "reference")
    requests = [request for request, _ in BODIES.values()]
    requests += [ask(messages=messages, specs=(SPEC,)) for messages, _ in MESSAGES.values()]
    checked = 0
    for request in requests:
        for stream in (False, True):
            sent = body(request, stream=stream)
            if any(f'"{word}' in json.dumps(sent["messages"]) for word in imitators):
                continue
            read = plain(kinds[stream].validate_python(sent))
            for name in ("messages", "tools", "tool_choice", "response_format"):
                assert read.get(name) == sent.get(name)
            checked += 1
    assert checked > 50


def request_from(sent: dict[str, Any]) -> Request | None:
    """Our request for a recorded body; None where it holds what the core does not have."""
    known = {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "stream_options",
        "n",
        "temperature",
        "top_p",
    }
    known |= {"max_completion_tokens"}
    if set(sent) - known or any(entry["role"] not in ROLES for entry in sent["messages"]):
        return None
    if [entry["role"] for entry in sent["messages"]].count("system") > 1:
        return None
    system, messages, waiting, results = "", [], [], []
    for entry in sent["messages"]:
        if entry["role"] != "tool" and results:
            messages.append(Results(tuple(results)))
            results = []
        if entry["role"] == "system":
            system = entry["content"]
        elif entry["role"] == "tool":
            name = next(c.name for c in waiting if c.id == entry["tool_call_id"])
            results.append(
                Result(
                    call_id=entry["tool_call_id"],
                    name=name,
                    outcome="returned",
                    content=(Text(entry["content"]),),
                )
            )
        elif entry["role"] == "assistant":
            waiting = [
                Call(id=c["id"], name=c["function"]["name"], arguments=c["function"]["arguments"])
                for c in entry.get("tool_calls", [])
            ]
            text = (Text(entry["content"]),) if entry.get("content") else ()
            messages.append(Reply((*text, *waiting)))
        else:
            content = entry["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            messages.append(User(tuple(map(Text, parts))))
    if results:
        messages.append(Results(tuple(results)))
    specs = tuple(
        Spec(
            name=tool["function"]["name"],
            description=tool["function"].get("description") or "",
            parameters=tool["function"]["parameters"],
        )
        for tool in sent.get("tools", [])
    )
    choice = sent.get("tool_choice") or "auto"
    if isinstance(choice, dict):
        choice = Named(choice["function"]["name"])
    return Request(
        messages=tuple(messages),
        system=system,
        specs=specs,
        choice={"any": "required"}.get(choice, choice) if isinstance(choice, str) else choice,
        max_tokens=sent.get("max_completion_tokens"),
        options={name: sent[name] for name in ("temperature", "top_p") if name in sent}
        | {"strict": False},
    )


ROLES = ("system", "user", "assistant", "tool")


def meaning(sent: dict[str, Any]) -> dict[str, Any]:
    """A body without what is said only because it is the default."""
    members = {key: value for key, value in sent.items() if key not in ("stream", "stream_options", "n")}
    if members.get("tool_choice") in ("auto", None):
        members.pop("tool_choice", None)
    if members.get("tool_choice") == "any":
        members["tool_choice"] = "required"
    if isinstance(members.get("tool_choice"), dict):
        members["tool_choice"] = {"type": "function", **members["tool_choice"]}
    members["messages"] = [_message(entry) for entry in members["messages"]]
    if "tools" in members:
        members["tools"] = [_tool(tool) for tool in members["tools"]]
    return {key: value for key, value in members.items() if value not in (None, [])}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = {key: value for key, value in tool["function"].items() if key != "strict"}
    return {"type": "function", "function": {"description": "", **function}}


def _message(entry: dict[str, Any]) -> dict[str, Any]:
    content = entry.get("content") or None
    if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
        content = content[0]["text"]
    return {
        **{key: value for key, value in entry.items() if key in ("role", "tool_calls", "tool_call_id")},
        "content": content,
    }


def test_recorded_requests_come_out_as_they_were(shared_data):
    same = 0
    for row in rows(shared_data, "openai.chat", stream=False) + rows(
        shared_data, "openai.chat", stream=True
    ):
        if not row["request"] or row["status"] != 200:
            continue
        sent = json.loads((shared_data / "wire" / row["request"]).read_bytes())
        request = request_from(sent)
        if request is None:
            continue
        outgoing = dialect.encode(request, model=sent["model"], stream=bool(sent.get("stream")))
        ours = meaning(json.loads(outgoing.body))
        theirs = meaning(sent)
        for entry in theirs["messages"]:
            for made in entry.get("tool_calls") or []:
                made.setdefault("type", "function")
            if entry["role"] != "assistant":
                entry.pop("tool_calls", None)
        assert ours == theirs, row["id"]
        same += 1
    assert same >= 50


def test_schemas_that_openai_took_as_strict_are_strict_already(shared_data):
    seen = 0
    for api in ("openai.chat", "openai.responses"):
        for stream in (False, True):
            for row in rows(shared_data, api, stream=stream):
                if not row["request"] or row["status"] != 200:
                    continue
                sent = json.loads((shared_data / "wire" / row["request"]).read_bytes())
                for tool in sent.get("tools") or []:
                    held = tool.get("function", tool)
                    if (
                        held.get("strict") is True
                        and held["parameters"].get("additionalProperties") is False
                    ):
                        strict = strict_schema(held["parameters"], RULES)
                        assert without_words(structure(strict.schema)) == without_words(
                            structure(held["parameters"])
                        )
                        assert strict.is_exact
                        assert strict.nulled == ()
                        seen += 1
    assert seen > 10


def without_words(schema: Any) -> Any:
    """A schema without what nothing depends on, and with its required members in one order."""
    if isinstance(schema, dict):
        if isinstance(schema.get("required"), list):
            schema = {**schema, "required": sorted(schema["required"])}
        return {
            key: without_words(value)
            for key, value in schema.items()
            if key not in ("$schema", "default")
        }
    return [without_words(item) for item in schema] if isinstance(schema, list) else schema
