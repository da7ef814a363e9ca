"""Requests as Anthropic wants them."""

import json
from base64 import b64encode
from importlib import import_module
from itertools import pairwise

import pytest
from pydantic import TypeAdapter

from later import Later
from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.ports import Dialect
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import anthropic

HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
MARK = {"cache_control": {"type": "ephemeral"}}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}, "unit": {"enum": ["c", "f"]}},
    "required": ["city"],
}
WEATHER = Spec(name="weather", description="The weather.", parameters=CITY, examples=({"city": "Rome"},))
CLOCK = Spec(name="clock", description="", parameters={"type": "object", "properties": {}})
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
HELLO = (user_text("Hello"),)
HELLO_SENT = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
BASE = {"model": "m", "max_tokens": 16_384}
PNG = Media(b"\x89PNG", "image/png")
WEATHER_SENT = {
    "name": "weather",
    "description": "The weather.",
    "input_schema": CITY,
    "input_examples": [{"city": "Rome"}],
}
CLOCK_SENT = {"name": "clock", "input_schema": {"type": "object", "properties": {}}}


def sent(request: Request, *, stream: bool = False) -> dict:
    return json.loads(anthropic.encode(request, model="m", stream=stream).body)


def ask(*messages, cache=False, **more) -> Request:
    options = {"cache": cache, **more.pop("options", {})}
    return Request(messages=messages or HELLO, options=options, **more)


def messages_of(*messages) -> list:
    return sent(ask(*messages))["messages"]


def call(call_id="toolu_1", name="weather", arguments='{"city": "Rome"}', **more) -> Call:
    return Call(id=call_id, name=name, arguments=arguments, **more)


def result(call_id="toolu_1", *content, outcome="returned", **more) -> Result:
    return Result(
        call_id=call_id, name="weather", outcome=outcome, content=content or (Text("sunny"),), **more
    )


def tool_use(call_id="toolu_1", given=None, **more):
    given = {"city": "Rome"} if given is None else given
    return {"type": "tool_use", "id": call_id, "name": "weather", "input": given, **more}


def tool_result(call_id="toolu_1", **more):
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": [{"type": "text", "text": "sunny"}],
        **more,
    }


def test_the_module_is_a_dialect():
    dialect: Dialect = anthropic
    assert dialect.name == "anthropic"
    assert dialect.authorize("k") == {"x-api-key": "k"}
    outgoing = dialect.encode(ask(), model="m", stream=True)
    assert outgoing.path == "/v1/messages"
    assert outgoing.headers == HEADERS


TOOLS = {"tools": [WEATHER_SENT, CLOCK_SENT]}
SPECS = {"specs": (WEATHER, CLOCK)}
BODIES = {
    "least": (ask(), {}),
    "a limit": (ask(max_tokens=5), {"max_tokens": 5}),
    "system": (ask(system="Be brief."), {"system": [{"type": "text", "text": "Be brief."}]}),
    "an empty system": (ask(system=" \n"), {}),
    "tools": (ask(**SPECS), TOOLS),
    "auto": (ask(**SPECS, choice="auto"), TOOLS),
    "required": (ask(**SPECS, choice="required"), {"tool_choice": {"type": "any"}, **TOOLS}),
    "none": (ask(**SPECS, choice="none"), {"tool_choice": {"type": "none"}, **TOOLS}),
    "named": (
        ask(**SPECS, choice=Named("clock")),
        {"tool_choice": {"type": "tool", "name": "clock"}, **TOOLS},
    ),
    "none, without tools": (ask(choice="none"), {}),
    "one at a time": (
        ask(**SPECS, options={"parallel": False}),
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, **TOOLS},
    ),
    "one at a time, required": (
        ask(**SPECS, choice="required", options={"parallel": False}),
        {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}, **TOOLS},
    ),
    "one at a time, named": (
        ask(**SPECS, choice=Named("clock"), options={"parallel": False}),
        {"tool_choice": {"type": "tool", "name": "clock", "disable_parallel_tool_use": True}, **TOOLS},
    ),
    "one at a time, none": (
        ask(**SPECS, choice="none", options={"parallel": False}),
        {"tool_choice": {"type": "none"}, **TOOLS},
    ),
    "one at a time, without tools": (ask(options={"parallel": False}), {}),
    "many at a time": (ask(**SPECS, options={"parallel": True}), TOOLS),
    "sampling": (
        ask(options={"temperature": 0.0, "top_p": 0.9, "seed": 7, "stop": ["END"], "user": "u1"}),
        {"temperature": 0.0, "top_p": 0.9, "stop_sequences": ["END"], "metadata": {"user_id": "u1"}},
    ),
    "reasoning none": (ask(options={"reasoning": "none"}), {"thinking": {"type": "disabled"}}),
    "reasoning 0": (ask(options={"reasoning": 0}), {"thinking": {"type": "disabled"}}),
    "reasoning minimal": (
        ask(options={"reasoning": "minimal"}),
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    ),
    "reasoning medium": (
        ask(options={"reasoning": "medium"}),
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
    ),
    "reasoning high": (
        ask(options={"reasoning": "high"}),
        {"max_tokens": 32_000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    ),
    "reasoning max within a limit": (
        ask(max_tokens=99, options={"reasoning": "max"}),
        {"max_tokens": 99, "thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
    ),
    "a budget": (
        ask(options={"reasoning": 2000}),
        {"max_tokens": 18_384, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
    "a small budget": (
        ask(options={"reasoning": 10}, max_tokens=1025),
        {"max_tokens": 1025, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    "a budget makes a forced choice free": (
        ask(**SPECS, choice=Named("clock"), options={"reasoning": 2000}),
        {"max_tokens": 18_384, "thinking": {"type": "enabled", "budget_tokens": 2000}, **TOOLS},
    ),
    "a budget, forced, one at a time": (
        ask(**SPECS, choice="required", options={"reasoning": 2000, "parallel": False}),
        {
            "max_tokens": 18_384,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            **TOOLS,
        },
    ),
    "effort leaves a forced choice alone": (
        ask(**SPECS, choice="required", options={"reasoning": "low"}),
        {
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "low"},
            "tool_choice": {"type": "any"},
            **TOOLS,
        },
    ),
    "an output and an effort": (
        ask(
            output={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            options={"reasoning": "low"},
        ),
        {
            "thinking": {"type": "adaptive"},
            "output_config": {
                "effort": "low",
                "format": {
                    "type": "json_schema",
                    "schema": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}},
                        "required": ["a"],
                        "additionalProperties": False,
                    },
                },
            },
        },
    ),
    "the vendor's own tools": (
        ask(specs=(CLOCK,), options={"vendor_tools": [SEARCH]}, choice=Named("web_search")),
        {"tool_choice": {"type": "tool", "name": "web_search"}, "tools": [SEARCH, CLOCK_SENT]},
    ),
    "extra members": (
        ask(options={"temperature": 1, "extra": {"temperature": 0.5, "service_tier": "auto"}}),
        {"temperature": 0.5, "service_tier": "auto"},
    ),
}


@pytest.mark.parametrize(("request_", "expected"), BODIES.values(), ids=BODIES)
def test_a_request_has_this_body(request_, expected):
    assert sent(request_) == {**BASE, "messages": HELLO_SENT, **expected}
    assert sent(request_, stream=True) == {**BASE, "stream": True, "messages": HELLO_SENT, **expected}


def test_betas_go_into_their_header():
    given = {"extra": {"betas": ["a-1", "b-2"], "x": 1}}
    outgoing = anthropic.encode(ask(options=given), model="m", stream=False)
    assert outgoing.headers == {**HEADERS, "anthropic-beta": "a-1,b-2"}
    assert json.loads(outgoing.body) == {**BASE, "x": 1, "messages": HELLO_SENT}


def test_strict_tools_have_closed_schemas_that_keep_their_optional_members():
    body = sent(ask(specs=(WEATHER,), options={"strict": True}))
    (tool,) = body["tools"]
    assert tool["strict"] is True
    schema = tool["input_schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["city"]
    assert "minLength" not in schema["properties"]["city"]
    assert "2" in schema["properties"]["city"]["description"]


def optional(count):
    return {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(count)}}


def unions(count):
    members = {f"p{n}": {"anyOf": [{"type": "string"}, {"type": "integer"}]} for n in range(count)}
    return {"type": "object", "properties": members, "required": list(members)}


def specs(*schemas):
    return tuple(
        Spec(name=f"t{at}", description="d", parameters=schema) for at, schema in enumerate(schemas)
    )


CEILINGS = {
    "strict tools": (specs(*[unions(0)] * 20), None, specs(*[unions(0)] * 21), None),
    "optional parameters": (
        specs(optional(12), optional(12)),
        None,
        specs(optional(12), optional(13)),
        None,
    ),
    "union": (specs(unions(16)), None, specs(unions(8), unions(9)), None),
    "optional parameters, with the output": (
        specs(optional(12)),
        optional(12),
        specs(optional(12)),
        optional(13),
    ),
}


@pytest.mark.parametrize(("fits", "output", "too_many", "too_much"), CEILINGS.values(), ids=CEILINGS)
def test_ceilings_of_strict_mode_are_checked_before_the_request(fits, output, too_many, too_much):
    sent(ask(specs=fits, output=output, options={"strict": True}))
    with pytest.raises(EncodeError, match="more than the"):
        sent(ask(specs=too_many, output=too_much, options={"strict": True}))
    sent(ask(specs=too_many, output=too_much))


REFUSED = {
    "a budget over the limit": (ask(max_tokens=2000, options={"reasoning": 2000}), "max_tokens"),
    "a word that is none": (ask(options={"reasoning": "much"}), "options.reasoning"),
    "a negative budget": (ask(options={"reasoning": -1}), "options.reasoning"),
    "required without tools": (ask(choice="required"), "choice"),
    "a tool that is not there": (ask(**SPECS, choice=Named("x")), "choice"),
    "nothing said": (ask(user_text("  ")), "messages"),
    "sound": (ask(User((Media(b"x", "audio/wav"),))), "messages[0]"),
    "half a surrogate pair": (ask(user_text("\ud800")), "text"),
}


@pytest.mark.parametrize(("request_", "where"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_is_an_encode_error(request_, where):
    with pytest.raises(EncodeError) as caught:
        sent(request_)
    assert (caught.value.dialect, caught.value.where) == ("anthropic", where)


THINKING = Reasoning("Hm.", {"anthropic": {"type": "thinking", "signature": "c2ln"}})
REDACTED = Reasoning("", {"anthropic": {"type": "redacted_thinking", "data": "abc"}})
FOREIGN = Reasoning("Secret.", {"openai-responses": {"encrypted_content": "x"}})
SERVER = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
CITED = {"anthropic": {"citations": [{"cited_text": "c"}]}}

HISTORIES = {
    "parts": (
        (User((Text("a"), PNG, Text(""), Text("b"))),),
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
                    },
                    {"type": "text", "text": "b"},
                ],
            }
        ],
    ),
    "documents": (
        (User((Media(b"%PDF", "application/pdf", "a.pdf"), Media(b"x,y", "text/csv; charset=utf-8"))),),
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "document",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": b64encode(b"%PDF").decode(),
                        },
                        "title": "a.pdf",
                    },
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "x,y"},
                    },
                ],
            }
        ],
    ),
    "the vendor's own blocks": (
        (User((Text("a"),), vendor={"anthropic": [{"type": "container_upload", "file_id": "f"}]}),),
        [
            {
                "role": "user",
                "content": [{"type": "container_upload", "file_id": "f"}, {"type": "text", "text": "a"}],
            }
        ],
    ),
    "whoever speaks is the user": (
        (user_text("a"), user_text("b", "developer"), user_text("c", "runtime")),
        [{"role": "user", "content": [{"type": "text", "text": letter} for letter in "abc"]}],
    ),
    "a call and its result": (
        (*HELLO, Reply((Text("I look."), call()), "calls"), Results((result(),))),
        [
            *HELLO_SENT,
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, tool_use()]},
            {"role": "user", "content": [tool_result()]},
        ],
    ),
    "results come first, in order": (
        (
            *HELLO,
            Reply((call("a"), call("b"))),
            user_text("By the way"),
            Results((result("a"), result("b"))),
            user_text("Go on"),
        ),
        [
            *HELLO_SENT,
            {"role": "assistant", "content": [tool_use("a"), tool_use("b")]},
            {
                "role": "user",
                "content": [
                    tool_result("a"),
                    tool_result("b"),
                    {"type": "text", "text": "By the way"},
                    {"type": "text", "text": "Go on"},
                ],
            },
        ],
    ),
    "a failure, media, and nothing": (
        (
            *HELLO,
            Reply((call("a"), call("b"), call("c"), call("d"))),
            Results(
                (
                    result("a", outcome="failed"),
                    result("b", PNG),
                    result("c", Text("")),
                    result("d", Text("no"), PNG, outcome="timed_out"),
                )
            ),
        ),
        [
            *HELLO_SENT,
            {
                "role": "assistant",
                "content": [tool_use("a"), tool_use("b"), tool_use("c"), tool_use("d")],
            },
            {
                "role": "user",
                "content": [
                    tool_result("a", is_error=True),
                    {
                        "type": "tool_result",
                        "tool_use_id": "b",
                        "content": [
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/png",
                                    "data": "iVBORw==",
                                },
                            }
                        ],
                    },
                    {"type": "tool_result", "tool_use_id": "c"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "d",
                        "content": [
                            {"type": "text", "text": "no"},
                            {"type": "text", "text": "[image/png, 4 bytes: not shown]"},
                        ],
                        "is_error": True,
                    },
                ],
            },
        ],
    ),
    "thinking goes back as it came, and before the calls": (
        (*HELLO, Reply((THINKING, REDACTED, call())), Results((result(),))),
        [
            *HELLO_SENT,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "abc"},
                    tool_use(),
                ],
            },
            {"role": "user", "content": [tool_result()]},
        ],
    ),
    "another vendor's thoughts and parts stay behind": (
        (*HELLO, Reply((FOREIGN, Unknown({"gemini": {"x": 1}}), Text("Yes"), PNG)), user_text("So")),
        [
            *HELLO_SENT,
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Yes"},
                    {"type": "text", "text": "[image/png, 4 bytes: not shown]"},
                ],
            },
            {"role": "user", "content": [{"type": "text", "text": "So"}]},
        ],
    ),
    "a reply without anything to send is left out": (
        (*HELLO, Reply((FOREIGN,)), user_text("Well?")),
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "Well?"}],
            }
        ],
    ),
    "no message ends with a thought": (
        (*HELLO, Reply((Text("Yes"), THINKING), "length"), user_text("So")),
        [
            *HELLO_SENT,
            {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
            {"role": "user", "content": [{"type": "text", "text": "So"}]},
        ],
    ),
    "the vendor's tools and citations go back untouched, into a pause": (
        (
            *HELLO,
            Reply(
                (Text("As it says", CITED), Unknown({"anthropic": SERVER})),
                "pause",
                vendor={"anthropic": {"id": "msg_1"}},
            ),
        ),
        [
            *HELLO_SENT,
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "As it says", "citations": [{"cited_text": "c"}]},
                    SERVER,
                ],
            },
        ],
    ),
    "what stands beside a text goes with it, wherever it stands, and to this vendor only": (
        (
            User((Text("a", {"anthropic": MARK, "gemini": {"x": 1}}), Text("b"))),
            Reply((Text("c"), Text(" ", {"anthropic": MARK}), Text("d", {"anthropic": MARK}), call())),
            Results((result("toolu_1", Text("e", {"anthropic": MARK})),)),
            user_text("f"),
        ),
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b"}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "c"},
                    {"type": "text", "text": "d", **MARK},
                    tool_use(),
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "text", "text": "e", **MARK}],
                    },
                    {"type": "text", "text": "f"},
                ],
            },
        ],
    ),
    "a server's call that was cut off stays behind": (
        (*HELLO, Reply((Text("I"), Unknown({"anthropic": SERVER})), "length"), user_text("Go on")),
        [
            *HELLO_SENT,
            {"role": "assistant", "content": [{"type": "text", "text": "I"}]},
            {"role": "user", "content": [{"type": "text", "text": "Go on"}]},
        ],
    ),
    "a beginning to be continued": (
        (*HELLO, Reply((Text("Dear \n"),))),
        [*HELLO_SENT, {"role": "assistant", "content": [{"type": "text", "text": "Dear"}]}],
    ),
    "what a call and a result carry": (
        (
            *HELLO,
            Reply((call(vendor={"anthropic": {"toolset_name": "browser"}}),)),
            Results(
                (
                    result(
                        vendor={"anthropic": {"content": [{"type": "tool_reference", "tool_name": "t"}]}}
                    ),
                )
            ),
        ),
        [
            *HELLO_SENT,
            {"role": "assistant", "content": [tool_use(toolset_name="browser")]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "tool_reference", "tool_name": "t"}],
                        "toolset_name": "browser",
                    }
                ],
            },
        ],
    ),
    "sound, long ago": (
        (User((Media(b"xyz", "audio/wav", "a.wav"),)), Reply((Text("Nice"),)), user_text("So")),
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "[audio/wav 'a.wav', 3 bytes: not shown]"}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Nice"}]},
            {"role": "user", "content": [{"type": "text", "text": "So"}]},
        ],
    ),
}


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_a_history_becomes_these_messages(history, expected):
    assert messages_of(*history) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ('{"city": "Ro', {"unparsed_arguments": '{"city": "Ro'}),
        ('{"a": 1, "a": 2}', {"unparsed_arguments": '{"a": 1, "a": 2}'}),
        ("[1]", {"unparsed_arguments": "[1]"}),
        ('"x"', {"unparsed_arguments": '"x"'}),
        ("null", {"unparsed_arguments": "null"}),
    ],
)
def test_arguments_are_an_object_even_when_they_are_not(arguments, expected):
    messages = messages_of(*HELLO, Reply((call(arguments=arguments),)), Results((result(),)))
    assert messages[1]["content"] == [tool_use(given=expected)]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["toolu_1", "call-2"], ["toolu_1", "call-2"]),
        (["a.b", "a:b", "a_b"], ["a_b", "a_b_2", "a_b_3"]),
        (["", ""], ["call", "call_2"]),
        (["x", "x", "x"], ["x", "x_2", "x_3"]),
        (["x" * 70, "x" * 80], ["x" * 64, "x" * 56 + "_2"]),
        (["functions.f:0", "été"], ["functions_f_0", "_t_"]),
    ],
)
def test_ids_are_legal_unique_and_the_same_on_call_and_result(ids, expected):
    history = (*HELLO, Reply(tuple(map(call, ids))), Results(tuple(map(result, ids))))
    messages = messages_of(*history)
    assert [block["id"] for block in messages[1]["content"]] == expected
    assert [block["tool_use_id"] for block in messages[2]["content"]] == expected


def test_an_id_used_again_in_a_later_turn_is_another():
    turn = (Reply((call("call_0"),)), Results((result("call_0"),)))
    messages = messages_of(*HELLO, *turn, *turn)
    assert [m["content"][0].get("id") or m["content"][0].get("tool_use_id") for m in messages[1:]] == [
        "call_0",
        "call_0",
        "call_0_2",
        "call_0_2",
    ]


def test_a_name_that_the_model_made_up_is_made_legal():
    messages = messages_of(*HELLO, Reply((call(name="a.b/" + "c" * 90),)), Results((result(),)))
    assert messages[1]["content"][0]["name"] == ("a_b_" + "c" * 90)[:64]


def test_a_result_for_running_code_names_the_container():
    code = {"caller": {"type": "code_execution_20260120", "tool_id": "srv_1"}}
    bag = {"anthropic": {"container": {"id": "container_1", "expires_at": "later"}}}
    by_code = Reply((call(vendor={"anthropic": code}),), "calls", vendor=bag)
    direct = Reply((call(vendor={"anthropic": {"caller": {"type": "direct"}}}),), "calls", vendor=bag)
    answered = Results((result(),))
    assert sent(ask(*HELLO, by_code, answered))["container"] == "container_1"
    assert "container" not in sent(ask(*HELLO, direct, answered))
    assert "container" not in sent(ask(*HELLO, by_code, answered, Reply((Text("x"),)), user_text("y")))


def test_a_budget_waits_for_the_next_turn_where_calls_were_made_without_thinking():
    def thinking(*messages, **more):
        return sent(ask(*messages, options={"reasoning": 2000}, **more)).get("thinking")

    budget = {"type": "enabled", "budget_tokens": 2000}
    answered = Results((result(),))
    foreign = (*HELLO, Reply((FOREIGN, call())), answered)
    assert thinking(*foreign) is None
    assert thinking(*foreign, user_text("hurry", "runtime")) is None
    assert thinking(*HELLO, Reply((THINKING, call())), answered) == budget
    assert thinking(*HELLO, Reply((REDACTED, call())), answered) == budget
    assert thinking(*foreign, Reply((Text("Sunny."),)), user_text("Thanks")) == budget
    forced = ask(*foreign, **SPECS, choice="required", options={"reasoning": 2000})
    assert sent(forced)["tool_choice"] == {"type": "any"}


def test_a_result_without_its_call_keeps_its_id():
    assert messages_of(*HELLO, Results((result("a.b"),)))[0]["content"][0]["tool_use_id"] == "a_b"


def test_an_empty_document_is_a_note():
    history = (User((Media(b" ", "text/plain"),)), Reply((Text("?"),)), user_text("So"))
    assert messages_of(*history)[0]["content"] == [
        {"type": "text", "text": "[text/plain, 1 bytes: not shown]"}
    ]


LONG = (
    *HELLO,
    Reply((THINKING, Text("I look."), call("a.1"), call("b")), "calls"),
    Results((result("a.1"), result("b", outcome="failed"))),
    user_text("hurry", "runtime"),
    Reply((call("b", arguments='{"ci'),), "length"),
    Results((result("b", outcome="truncated"),)),
    Reply((Text("It rains."),)),
    User((Text("And"), PNG)),
)


def test_the_same_request_gives_the_same_bytes():
    request = ask(*LONG, cache=True, system="s", **SPECS, options={"reasoning": "low", "strict": True})
    assert len({anthropic.encode(request, model="m", stream=True).body for _ in range(5)}) == 1


def test_a_longer_history_extends_the_bytes_of_a_shorter_one():
    ends = [at for at in range(1, len(LONG) + 1) if not isinstance(LONG[at - 1], Reply)]
    bodies = [
        anthropic.encode(ask(*LONG[:at], system="s", **SPECS), model="m", stream=True).body
        for at in ends
    ]
    for shorter, longer in pairwise(bodies):
        assert shorter.endswith(b"}]}]}")
        assert longer.startswith(shorter[: -len(b"]}]}")])


def marks(body):
    """Where the marks are, in the order of the request."""
    found = [f"tools {at}" for at, tool in enumerate(body.get("tools", [])) if "cache_control" in tool]
    found += ["system" for block in body.get("system", []) if "cache_control" in block]
    for at, message in enumerate(body["messages"]):
        found += [
            f"messages {at}.{n}"
            for n, block in enumerate(message["content"])
            if "cache_control" in block
        ]
    return found


OWN_MARK = {**SEARCH, **MARK}
MARKS = {
    "all four places": (
        ask(*LONG, cache=True, system="s", **SPECS),
        ["tools 1", "system", "messages 4.0", "messages 6.1"],
    ),
    "the first message": (ask(cache=True, system="s", **SPECS), ["tools 1", "system", "messages 0.0"]),
    "only messages": (ask(*LONG, cache=True), ["messages 4.0", "messages 6.1"]),
    "by default": (Request(messages=HELLO), ["messages 0.0"]),
    "switched off": (ask(*LONG, cache=False, system="s", **SPECS), []),
    "left to the vendor": (ask(cache=True, system="s", options={"extra": {"cache_control": {}}}), []),
    "the vendor's tools stay as they are": (
        ask(cache=True, options={"vendor_tools": [SEARCH]}),
        ["messages 0.0"],
    ),
    "marks that were there already count": (
        ask(*LONG, cache=True, system="s", **SPECS, options={"vendor_tools": [OWN_MARK, OWN_MARK]}),
        ["tools 0", "tools 1", "system", "messages 6.1"],
    ),
    "marks on texts count, in a reply and within a result": (
        ask(
            *HELLO,
            Reply((Text("a", {"anthropic": MARK}), call())),
            Results((result("toolu_1", Text("b", {"anthropic": MARK})),)),
            cache=True,
            system="s",
            **SPECS,
        ),
        ["system", "messages 1.0", "messages 2.0"],
    ),
    "a pause": (ask(*LONG[:2], cache=True), ["messages 0.0"]),
    "a place that is marked already": (
        ask(
            User((), vendor={"anthropic": [{"type": "container_upload", "file_id": "f", **MARK}]}),
            cache=True,
        ),
        ["messages 0.0"],
    ),
}


@pytest.mark.parametrize(("request_", "expected"), MARKS.values(), ids=MARKS)
def test_the_stable_beginning_is_marked_for_the_cache(request_, expected):
    assert marks(sent(request_)) == expected


def test_marks_do_not_touch_what_was_given():
    block = {"type": "container_upload", "file_id": "f"}
    message = User((), vendor={"anthropic": [block]})
    assert marks(sent(ask(message, cache=True))) == ["messages 0.0"]
    assert block == {"type": "container_upload", "file_id": "f"}


def exhausted(value):
    """A validated value with its lazily validated parts read, which validates them."""
    if isinstance(value, dict):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    return [exhausted(item) for item in value]


EVERYTHING = {
    **{f"body: {name}": request for name, (request, _) in BODIES.items()},
    **{f"history: {name}": ask(*history) for name, (history, _) in HISTORIES.items()},
    **{f"marks: {name}": request for name, (request, _) in MARKS.items() if "left" not in name},
    "strict": ask(*LONG, specs=(WEATHER, CLOCK), options={"strict": True}),
}
NOT_IN_THE_SDK = {"temperature", "top_p"}
"""The newest models refuse them, so the SDK's types dropped them; older models and hosts take them."""
INVENTED = {"history: the vendor's tools and citations go back untouched, into a pause"}
"""Whose blocks are too short to be true."""


@pytest.fixture(scope="module")
def accept():
    """Validates a body by the types of the vendor's SDK."""
    params = import_module("anthropic.types.message_create_params")
    whole = TypeAdapter(params.MessageCreateParamsNonStreaming)
    streamed = TypeAdapter(params.MessageCreateParamsStreaming)
    return lambda body: exhausted((streamed if "stream" in body else whole).validate_python(body))


@pytest.mark.parametrize("name", sorted(EVERYTHING.keys() - INVENTED))
def test_the_vendors_own_types_accept_the_body(accept, name):
    for stream in (False, True):
        body = {
            k: v for k, v in sent(EVERYTHING[name], stream=stream).items() if k not in NOT_IN_THE_SDK
        }
        # Members that the types do not know would be dropped.
        assert accept(body) == body


def test_the_developers_words_follow_the_users_turn_as_a_system_message_where_that_is_taken():
    call = Call(id="a", name="look", arguments="{}")
    result = Result(call_id="a", name="look", outcome="returned", content=(Text("seen"),))
    messages = (
        user_text("Hi"), user_text("Be brief.", "developer"), user_text("Now?"),
        Reply((call,)), Results((result,)), user_text("Go on.", "developer"),
        Reply((Text("Done."),)), user_text("Only the user speaks first.", "developer"),
    )  # fmt: skip

    def roles(**options: bool) -> list[tuple[str, int]]:
        request = Request(messages=messages, options={"cache": False, **options})
        body = json.loads(anthropic.encode(request, model="claude-opus-4-8", stream=False).body)
        for message in body["messages"]:
            TypeAdapter(Later("anthropic.types").MessageParam).validate_python(message)
        return [(message["role"], len(message["content"])) for message in body["messages"]]

    assert roles(system_turns=True) == [
        ("user", 2), ("system", 1), ("assistant", 1), ("user", 1), ("system", 1), ("assistant", 1),
        ("user", 1),
    ]  # fmt: skip
    assert [role for role, _ in roles()] == ["user", "assistant", "user", "assistant", "user"]
    # Thinking with a budget wants a thought before the calls that the last turn answers.
    thinking = Request(messages=messages[:6], options={"reasoning": 2000, "system_turns": True})
    assert "thinking" not in json.loads(anthropic.encode(thinking, model="m", stream=False).body)
