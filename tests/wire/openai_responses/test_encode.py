"""Requests to the Responses API."""

import json
from base64 import b64encode
from importlib import import_module
from itertools import pairwise

import pytest
from pydantic import TypeAdapter
from typing_extensions import get_type_hints

from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.ports import Dialect
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import openai_responses as dialect
from rightcall.wire.strict_schema import OPENAI, strict_schema
from wire.recorded import rows

NAME = dialect.name
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SPEC = Spec(name="look", description="Look.", parameters=PARAMETERS)
FUNCTION = {
    "type": "function",
    "name": "look",
    "description": "Look.",
    "parameters": {**PARAMETERS, "additionalProperties": False},
    "strict": True,
}


def encoded(*messages, stream: bool = True, **more) -> dict:
    request = Request(messages=messages or (user_text("Hi"),), **more)
    return json.loads(dialect.encode(request, model="gpt-5", stream=stream).body)


def settings(**more) -> dict:
    """A body without what every body has."""
    body = encoded(**more)
    always = ("model", "store", "include", "stream", "input", "prompt_cache_key")
    return {key: value for key, value in body.items() if key not in always}


def items(*messages) -> list[dict]:
    return encoded(*messages)["input"]


def result(call_id: str, *content, outcome="returned", **more) -> Result:
    parts = tuple(Text(part) if isinstance(part, str) else part for part in content)
    return Result(call_id=call_id, name="look", outcome=outcome, content=parts, **more)


def test_the_module_is_a_dialect():
    port: Dialect = dialect
    assert port.name == "openai_responses"
    assert dialect.authorize("k") == {"Authorization": "Bearer k"}


def test_a_whole_body():
    outgoing = dialect.encode(
        Request(messages=(user_text("Hi"),), system="Be brief.", specs=(SPEC,), max_tokens=100),
        model="gpt-5",
        stream=True,
    )
    body = json.loads(outgoing.body)
    key = body.pop("prompt_cache_key")
    assert (outgoing.path, dict(outgoing.headers), key[:3], len(key)) == ("/responses", {}, "rc-", 35)
    assert body == {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "tools": [FUNCTION],
        "max_output_tokens": 100,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
        "input": [{"type": "message", "role": "user", "content": "Hi"}],
    }
    assert list(body)[-1] == "input"


CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
CUSTOM = {"type": "custom", "name": "sql"}

SETTINGS = {
    "nothing": ({}, {}),
    "required": (
        {"specs": (SPEC,), "choice": "required"},
        {"tools": [FUNCTION], "tool_choice": "required"},
    ),
    "none": ({"specs": (SPEC,), "choice": "none"}, {"tools": [FUNCTION], "tool_choice": "none"}),
    "named": (
        {"specs": (SPEC,), "choice": Named("look")},
        {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "look"}},
    ),
    "named custom tool": (
        {"options": {"vendor_tools": [CUSTOM]}, "choice": Named("sql")},
        {"tools": [CUSTOM], "tool_choice": {"type": "custom", "name": "sql"}},
    ),
    "named vendor tool": (
        {"specs": (SPEC,), "options": {"vendor_tools": [CODE]}, "choice": Named("code_interpreter")},
        {"tools": [FUNCTION, CODE], "tool_choice": {"type": "code_interpreter"}},
    ),
    "no tools to choose none of": ({"choice": "none", "options": {"parallel": False}}, {}),
    "one at a time": (
        {"specs": (SPEC,), "options": {"parallel": False}},
        {"tools": [FUNCTION], "parallel_tool_calls": False},
    ),
    "sampling": ({"options": {"temperature": 0, "top_p": 0.5}}, {"temperature": 0, "top_p": 0.5}),
    "effort": ({"options": {"reasoning": "max"}}, {"reasoning": {"effort": "max", "summary": "auto"}}),
    "few tokens": ({"options": {"reasoning": 500}}, {"reasoning": {"effort": "low", "summary": "auto"}}),
    "more tokens": (
        {"options": {"reasoning": 8192}},
        {"reasoning": {"effort": "medium", "summary": "auto"}},
    ),
    "many tokens": (
        {"options": {"reasoning": 30_000}},
        {"reasoning": {"effort": "high", "summary": "auto"}},
    ),
    "no summary": (
        {"options": {"reasoning": "high", "extra": {"reasoning": {"summary": None}}}},
        {"reasoning": {"effort": "high", "summary": None}},
    ),
    "no tokens": ({"options": {"reasoning": 0}}, {"reasoning": {"effort": "none"}}),
    "user": ({"options": {"user": "u1"}}, {"safety_identifier": "u1"}),
    "no stop sequences": ({"options": {"stop": [], "seed": None}}, {}),
    "extra joins": (
        {
            "options": {
                "reasoning": "low",
                "extra": {"reasoning": {"summary": "auto"}, "truncation": "auto"},
            }
        },
        {"reasoning": {"effort": "low", "summary": "auto"}, "truncation": "auto"},
    ),
}


@pytest.mark.parametrize(("given", "expected"), SETTINGS.values(), ids=SETTINGS)
def test_what_is_asked_for_in_the_vendors_words(given, expected):
    assert settings(**given) == expected


def test_extra_members_have_the_last_word_and_the_input_stays_last():
    body = encoded(
        options={"extra": {"store": True, "include": [], "model": "other", "metadata": {"a": "b"}}}
    )
    assert (body["store"], body["include"], body["model"], body["metadata"]) == (
        True,
        [],
        "other",
        {"a": "b"},
    )
    assert list(body)[-1] == "input"


REFUSED = {
    "a seed": ({"options": {"seed": 1}}, "seed"),
    "stop sequences": ({"options": {"stop": ["x"]}}, "stop"),
    "an effort nobody knows": ({"options": {"reasoning": "huge"}}, "reasoning"),
    "a call without tools": ({"choice": "required"}, "choice"),
    "a tool that is not there": ({"specs": (SPEC,), "choice": Named("lock")}, "choice"),
    "a video": ({"messages": (User((Media(b"x", "video/mp4"),)),)}, "messages[0]"),
    "a sound": ({"messages": (user_text("Hi"), User((Media(b"x", "audio/mpeg"),)))}, "messages[1]"),
}


@pytest.mark.parametrize(("given", "where"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_is_refused_with_its_place(given, where):
    request = Request(**{"messages": (user_text("Hi"),), **given})
    with pytest.raises(EncodeError) as caught:
        dialect.encode(request, model="gpt-5", stream=False)
    assert (caught.value.dialect, caught.value.where) == (NAME, where)


def test_the_cache_key_belongs_to_the_stable_beginning():
    def key(*messages, **more):
        return encoded(*messages, **more).get("prompt_cache_key")

    assert key(user_text("a"), system="s") == key(user_text("b"), user_text("c"), system="s")
    assert key(system="s") != key(system="t") != key(system="t", specs=(SPEC,))
    assert key(options={"cache": False}) is None
    assert key(options={"extra": {"prompt_cache_key": "mine"}}) == "mine"


def test_examples_stand_in_the_description():
    spec = Spec(
        name="look",
        description="Look.",
        parameters=PARAMETERS,
        examples=({"city": "Oslo"}, {"city": "Rom"}),
    )
    shown = 'Look.\n\nExamples of arguments:\n{"city":"Oslo"}\n{"city":"Rom"}'
    assert settings(specs=(spec,))["tools"] == [{**FUNCTION, "description": shown}]


def test_what_the_vendor_refuses_at_the_top_of_a_schema_is_said_in_words():
    choice = [{"required": ["city"]}, {"required": ["zip"]}]
    spec = Spec(name="look", description="Look.", parameters={"type": "object", "anyOf": choice})
    words = json.dumps({"anyOf": choice}, separators=(",", ":"))
    said_so = f"Look.\n\nThe arguments must also satisfy {words}"
    assert settings(specs=(spec,))["tools"] == [
        {
            **FUNCTION,
            "description": said_so,
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_strict_tools_are_told_in_the_vendors_strict_language():
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    spec = Spec(name="look", description="Look.", parameters=parameters)
    (tool,) = settings(specs=(spec,), options={"strict": True})["tools"]
    assert tool == {**FUNCTION, "parameters": strict_schema(parameters, OPENAI).schema, "strict": True}
    assert sorted(tool["parameters"]["required"]) == ["city", "days"]


OPEN = {"type": "object", "additionalProperties": {"type": "integer"}}
ANSWER = {
    "title": "My answer!",
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
}


def test_the_form_of_the_answer_is_strict_where_it_can_be():
    def form(schema, **options):
        return settings(output=schema, options=options)["text"]["format"]

    strict = strict_schema(ANSWER, OPENAI).schema
    assert form(ANSWER) == {
        "type": "json_schema",
        "name": "My_answer_",
        "strict": True,
        "schema": strict,
    }
    assert form(ANSWER, strict=False) == {
        "type": "json_schema",
        "name": "My_answer_",
        "strict": False,
        "schema": ANSWER,
    }
    assert form(OPEN) == {"type": "json_schema", "name": "answer", "strict": False, "schema": OPEN}
    with pytest.raises(EncodeError):
        form(OPEN, strict=True)


PNG, PDF = Media(b"png", "image/png"), Media(b"pdf", "application/pdf")
PNG_PART = {
    "type": "input_image",
    "detail": "auto",
    "image_url": f"data:image/png;base64,{b64encode(b'png').decode()}",
}
PDF_PART = {
    "type": "input_file",
    "filename": "file.pdf",
    "file_data": f"data:application/pdf;base64,{b64encode(b'pdf').decode()}",
}


def test_media_from_the_user_and_from_tools():
    named = Media(b"a,b", "text/csv", "data.csv")
    csv = {"type": "input_file", "filename": "data.csv", "file_data": "data:text/csv;base64,YSxi"}
    made = Reply((Call(id="c1", name="look", arguments="{}"),))
    sound = Media(b"123", "audio/mpeg", "song.mp3")
    assert items(
        User((Text("See"), Text(""), PNG, PDF, named)),
        made,
        Results((result("c1", "here", "", PNG, sound),)),
    ) == [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "See"}, PNG_PART, PDF_PART, csv],
        },
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "here"},
                PNG_PART,
                {"type": "input_text", "text": "[audio/mpeg 'song.mp3', 3 bytes: not shown]"},
            ],
        },
    ]


def user(text: str) -> dict:
    return {"type": "message", "role": "user", "content": text}


def assistant(text: str) -> dict:
    return {"type": "message", "role": "assistant", "content": text}


def function_call(call_id: str, arguments: str = "{}", **more) -> dict:
    return {"type": "function_call", **more, "call_id": call_id, "name": "look", "arguments": arguments}


def output(call_id: str, text: str = "ok") -> dict:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


@pytest.mark.parametrize(
    ("content", "outcome", "sent"),
    [
        ((Text("no disk"),), "failed", "Error: no disk"),
        ((Text("Error: no disk"),), "failed", "Error: no disk"),
        ((Text("pay was not run"),), "denied", "Error: pay was not run"),
        ((Text("fine"),), "returned", "fine"),
        ((Text("would be done"),), "dry_run", "would be done"),
    ],
)
def test_a_result_that_is_an_error_says_so_in_front(content, outcome, sent):
    asked = Reply((Call(id="a", name="look"),), "calls")
    failed = Result(call_id="a", name="look", outcome=outcome, content=content)
    assert items(asked, Results((failed,)))[-1] == output("a", sent)


def test_a_picture_of_an_error_has_the_word_before_it():
    asked = Reply((Call(id="a", name="look"),), "calls")
    failed = Result(call_id="a", name="look", outcome="failed", content=(Text("no"), PNG))
    said = items(asked, Results((failed,)))[-1]["output"]
    assert [each.get("text") for each in said] == ["Error:", "no", None]


def test_the_developer_speaks_as_the_developer_and_everyone_else_as_the_user():
    assert items(
        user_text("a"), user_text("b", "developer"), user_text("c", "runtime"), user_text("")
    ) == [
        user("a"),
        {**user("b"), "role": "developer"},
        user("c"),
    ]


def test_several_texts_stay_several():
    assert items(User((Text("a"), Text("b")))) == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": t} for t in "ab"]}
    ]


def test_another_vendors_reply_keeps_what_can_cross():
    foreign = Reply(
        (
            Reasoning("secret", {"anthropic": {"signature": "s"}}),
            Text("Looking."),
            Text(""),
            Call(
                id="toolu_1", name="look", arguments='{"city": "Oslo"}', vendor={"gemini": {"sig": "x"}}
            ),
            Unknown({"anthropic": {"type": "server_tool_use"}}),
            PNG,
        ),
        vendor={"anthropic": {"id": "msg_1"}},
    )
    assert items(user_text("Hi"), foreign, Results((result("toolu_1", "ok", outcome="failed"),))) == [
        user("Hi"),
        assistant("Looking."),
        function_call("toolu_1", '{"city": "Oslo"}'),
        assistant("[image/png, 3 bytes: not shown]"),
        output("toolu_1", "Error: ok"),
    ]


THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
CALL_BAG = {"id": "fc_1", "type": "function_call", "status": "completed", "namespace": "n"}


def own_call(call_id: str, **more) -> Call:
    return Call(id=call_id, name="look", arguments="{}", vendor={NAME: {**CALL_BAG, **more}})


def test_encrypted_reasoning_goes_back_before_the_calls_it_led_to():
    made = Reply((Reasoning("", {NAME: THOUGHT}), own_call("c1")))
    assert items(made, Results((result("c1", "ok"),))) == [
        THOUGHT,
        function_call("c1", id="fc_1", status="completed", namespace="n"),
        output("c1"),
    ]


def test_reasoning_that_the_vendor_could_not_find_stays_behind_and_so_do_the_ids():
    bare = {**THOUGHT, "encrypted_content": None}
    made = Reply((Reasoning("", {NAME: bare}), own_call("c1")))
    assert items(made) == [function_call("c1", status="completed", namespace="n")]


def test_the_reasoning_of_open_models_goes_back_as_text():
    thought = {
        **THOUGHT,
        "encrypted_content": None,
        "content": [{"type": "reasoning_text", "text": "Hm"}],
    }
    assert items(Reply((Reasoning("Hm", {NAME: thought}), own_call("c1"))))[0] == thought


def test_reasoning_that_led_to_nothing_stays_behind():
    made = Reply((Text("a"), Reasoning("", {NAME: THOUGHT})), stop="length")
    assert items(user_text("Hi"), made, user_text("Go on")) == [
        user("Hi"),
        assistant("a"),
        user("Go on"),
    ]


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
}
BARE = {"at": 0, "item": {**MESSAGE, "content": [{"type": "output_text", "annotations": []}]}}


def test_messages_go_back_with_their_ids_and_phases():
    made = Reply((Text("Hm."),), vendor={NAME: {"id": "resp_1", "messages": [BARE]}})
    content = [{"type": "output_text", "annotations": [], "text": "Hm."}]
    assert items(made) == [{**MESSAGE, "content": content}]


def test_a_refusal_goes_back_as_a_refusal():
    refusal = {"type": "refusal", "refusal": "No."}
    kept = {"at": 0, "item": {**MESSAGE, "content": [{}]}}
    part = Unknown({NAME: {"part": refusal}})
    made = Reply((part,), stop="refusal", vendor={NAME: {"messages": [kept]}})
    assert items(made) == [{**MESSAGE, "content": [refusal]}]
    assert items(user_text("Hi"), Reply((part,))) == [user("Hi")]


def test_a_reply_that_was_changed_since_goes_back_as_it_is_now():
    made = Reply((own_call("c1"), Text("Hm.")), vendor={NAME: {"messages": [BARE]}})
    assert [item["type"] for item in items(made)] == ["function_call", "message"]
    assert items(made)[1] == assistant("Hm.")


def test_custom_tools_get_their_own_kind_of_output():
    bag = {NAME: {"id": "ct_1", "type": "custom_tool_call", "status": "completed"}}
    made = Reply((Call(id="c1", name="sql", arguments="SELECT 1", vendor=bag),))
    assert items(made, Results((result("c1", "1"),))) == [
        {
            "type": "custom_tool_call",
            "id": "ct_1",
            "status": "completed",
            "call_id": "c1",
            "name": "sql",
            "input": "SELECT 1",
        },
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    ]


def test_the_vendors_own_items_can_be_said_by_the_user():
    approval = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert items(User((), vendor={NAME: {"items": [approval]}})) == [approval]
    assert items(User((Text("Yes"),), vendor={NAME: {"items": [approval]}})) == [approval, user("Yes")]


BROKEN = {
    "nothing": ("", "{}"),
    "spaces": (" \n", "{}"),
    "cut off": ('{"city": "Os', '{"raw_arguments":"{\\"city\\": \\"Os"}'),
    "a list": ("[1]", '{"raw_arguments":"[1]"}'),
    "prose": ("Oslo", '{"raw_arguments":"Oslo"}'),
    "two objects": ("{}{}", '{"raw_arguments":"{}{}"}'),
    "an object as it was": (' {"city" : "Oslo"}', ' {"city" : "Oslo"}'),
}


@pytest.mark.parametrize(("given", "sent"), BROKEN.values(), ids=BROKEN)
def test_arguments_are_always_sent_as_an_object(given, sent):
    made = Reply((Call(id="c1", name="look", arguments=given, truncated=True),))
    assert items(made) == [function_call("c1", sent)]


def test_ids_that_the_vendor_would_refuse_are_mapped_the_same_on_both_sides():
    ids = ["x" * 65, "x" * 66, "a b", "", "ž", "ok-1"]
    made = Reply(tuple(Call(id=i, name="look", arguments="{}") for i in ids))
    sent = items(made, Results(tuple(result(i, "ok") for i in ids)))
    calls, outputs = [i["call_id"] for i in sent[:6]], [i["call_id"] for i in sent[6:]]
    assert calls == outputs
    assert len(set(calls)) == 6
    assert all(0 < len(i) <= 64 and i.isascii() and " " not in i for i in calls)
    assert calls[-1] == "ok-1"


def test_repeated_ids_are_told_apart_and_answered_in_order():
    pair = Reply(
        (Call(id="c", name="look", arguments='{"n":1}'), Call(id="c", name="look", arguments='{"n":2}'))
    )
    again = Reply((Call(id="c", name="look", arguments='{"n":3}'),))
    assert items(
        pair, Results((result("c", "1"), result("c", "2"))), again, Results((result("c", "3"),))
    ) == [
        function_call("c", '{"n":1}'),
        function_call("c_2", '{"n":2}'),
        output("c", "1"),
        output("c_2", "2"),
        function_call("c_3", '{"n":3}'),
        output("c_3", "3"),
    ]


def test_ids_that_this_vendor_gave_go_back_as_they_are():
    given = f"resp_{'y' * 70}:call_0"
    turn = items(Reply((own_call(given),)), Results((result(given, "ok"),)))
    assert [item["call_id"] for item in turn] == [given, given]


def test_ids_that_this_vendor_repeats_from_turn_to_turn_are_its_own_affair():
    turn = (Reply((own_call("c"),)), Results((result("c", "ok"),)))
    assert [item["call_id"] for item in items(*turn, *turn)] == ["c"] * 4


SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q", "queries": ["q"]},
}
CONVERSATION = (
    user_text("Hi"),
    Reply((Reasoning("", {NAME: THOUGHT}), own_call("c1"), own_call("x" * 70, id="fc_2"))),
    Results((result("c1", "ok"), result("x" * 70, "here", PNG))),
    Reply((Text("Done."), Unknown({NAME: SEARCH}))),
    User((Text("And"), PDF)),
    Reply((Call(id="c1", name="look", arguments="{"),)),
    Results((result("c1", "no", outcome="truncated"),)),
)


def test_a_longer_history_extends_the_bytes_of_a_shorter_one():
    def body(length: int) -> bytes:
        request = Request(
            messages=CONVERSATION[:length], system="s", specs=(SPEC,), options={"user": "u"}
        )
        return dialect.encode(request, model="m", stream=True).body

    bodies = [body(length) for length in range(1, len(CONVERSATION) + 1)]
    for shorter, longer in pairwise(bodies):
        assert shorter.endswith(b"]}")
        assert longer.startswith(shorter[:-2])
    assert bodies == [body(length) for length in range(1, len(CONVERSATION) + 1)]


def recorded_requests(shared_data) -> list[tuple[str, dict]]:
    found = []
    for stream in (True, False):
        for row in rows(shared_data, "openai.responses", stream=stream):
            if row["request"] and row["status"] == 200:
                path = row["path"].parent / row["request"]
                found.append((row["id"], json.loads(path.read_text())))
    return found


def rebuilt(body: dict) -> Request | None:
    """Our request for a recorded body, or None where it needs what we do not model."""
    if {"previous_response_id", "conversation"} & set(body):
        return None
    given = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"role": "user", "content": body["input"]}]
    )
    messages: list = []
    for item in given:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] == "user" and isinstance(item["content"], str):
            messages.append(user_text(item["content"]))
        elif kind == "message" and item["role"] == "assistant" and isinstance(item["content"], str):
            messages.append(Reply((Text(item["content"]),)))
        elif kind == "function_call":
            bag = {k: v for k, v in item.items() if k not in ("call_id", "name", "arguments")}
            part = Call(
                id=item["call_id"], name=item["name"], arguments=item["arguments"], vendor={NAME: bag}
            )
            messages.append(Reply((part,)))
        elif kind == "function_call_output" and isinstance(item["output"], str):
            messages.append(Results((result(item["call_id"], item["output"]),)))
        elif kind == "reasoning":
            messages.append(Reply((Reasoning("", {NAME: item}), Unknown({NAME: {"type": "none"}}))))
        elif kind != "message":
            messages.append(User((), vendor={NAME: {"items": [item]}}))
        else:
            return None
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        if choice["type"] != "function":
            return None
        choice = Named(choice["name"])
    plain = ("type", "name", "description", "parameters", "strict")
    tools = body.get("tools") or []
    ours = [t for t in tools if t["type"] == "function" and set(t) <= set(plain) and not t.get("strict")]
    covered = ("input", "model", "stream", "instructions", "tools", "tool_choice", "store", "include")
    return Request(
        messages=tuple(messages),
        system=body.get("instructions") or "",
        specs=tuple(
            Spec(name=t["name"], description=t["description"], parameters=t["parameters"]) for t in ours
        ),
        choice=choice,
        options={
            "vendor_tools": [t for t in tools if t not in ours],
            "strict": False,
            "cache": False,
            "extra": {key: value for key, value in body.items() if key not in covered},
        },
    )


def normal(body: dict) -> dict:
    """A body without the ways of saying the same."""
    given = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"role": "user", "content": body["input"]}]
    )
    tools = [
        {"strict": False, **t, "parameters": {"properties": {}, **t["parameters"]}}
        if t["type"] == "function"
        else t
        for t in body.get("tools") or []
    ]
    rest = {k: v for k, v in body.items() if k not in ("include", "store", "stream", "tool_choice")}
    return {
        **rest,
        "instructions": body.get("instructions") or "",
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": sorted(tools, key=lambda tool: json.dumps(tool, sort_keys=True)),
        "input": [
            {"type": "message", **item}
            for item in given
            if item.get("type") != "none" and item.get("content") != ""
        ],
    }


def test_recorded_requests_come_out_as_the_vendor_accepted_them(shared_data):
    compared = 0
    for name, body in recorded_requests(shared_data):
        request = rebuilt(body)
        if request is not None:
            ours = json.loads(dialect.encode(request, model=body["model"], stream=True).body)
            assert normal(ours) == normal(body), name
            compared += 1
    assert compared >= 75


def every_body() -> list[dict]:
    """Bodies with everything in them."""
    bodies = [encoded(**given) for given, _ in SETTINGS.values()]
    bodies += [
        encoded(*CONVERSATION[:length], specs=(SPEC,)) for length in range(1, len(CONVERSATION) + 1)
    ]
    bodies += [encoded(output=schema) for schema in (ANSWER, OPEN)]
    bodies += [encoded(specs=(SPEC,), options={"strict": True}, stream=False)]
    message = Reply((Text("Hm."),), vendor={NAME: {"messages": [BARE]}})
    bag = {NAME: {"id": "ct_1", "type": "custom_tool_call", "status": "completed"}}
    custom = Reply((Call(id="c1", name="sql", arguments="SELECT 1", vendor=bag),))
    bodies += [encoded(message), encoded(custom, Results((result("c1", "1", PNG),)))]
    return bodies


def test_the_official_sdk_accepts_what_we_send():
    types = import_module("openai.types.responses")
    params, input_params = types.response_create_params, types.response_input_item_param
    by_type = {
        "function_call": input_params.ResponseFunctionToolCallParam,
        "function_call_output": input_params.FunctionCallOutput,
        "custom_tool_call": input_params.ResponseCustomToolCallParam,
        "custom_tool_call_output": input_params.ResponseCustomToolCallOutputParam,
        "reasoning": input_params.ResponseReasoningItemParam,
    }
    adapters = {kind: TypeAdapter(model) for kind, model in by_type.items()}
    easy = TypeAdapter(input_params.EasyInputMessageParam)
    spoken = TypeAdapter(input_params.ResponseOutputMessageParam)
    whole = {
        True: TypeAdapter(params.ResponseCreateParamsStreaming),
        False: TypeAdapter(params.ResponseCreateParamsNonStreaming),
    }
    tools = TypeAdapter(list[types.ToolParam])
    known = set(get_type_hints(params.ResponseCreateParamsStreaming))
    for body in every_body():
        whole[body["stream"]].validate_python(body)
        assert set(body) <= known
        tools.validate_python(body.get("tools", []))
        for item in body["input"]:
            kind = item["type"]
            if kind == "message":
                (spoken if "id" in item else easy).validate_python(item)
            elif kind in adapters:
                adapters[kind].validate_python(item)
                assert set(item) <= {"status", *get_type_hints(by_type[kind])}
