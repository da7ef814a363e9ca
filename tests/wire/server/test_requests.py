"""What a client half sends, the server half of the same dialect reads as what was asked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from rightcall.core.message import Message, Reply, Results, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import ANY_OBJECT, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.wire.dialects import SERVED, load, load_server
from rightcall.wire.translation_losses import UNKEPT_PARTS

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LOOK = Spec(name="look", description="Look.", parameters=CITY, strict=False)
FIND = Spec(name="find", description="", parameters={"type": "object", "properties": {}}, strict=False)
PNG, PDF = Media(b"\x89PNG\r\n\x1a\n", "image/png"), Media(b"%PDF-1", "application/pdf", "a.pdf")
every_dialect = pytest.mark.parametrize("name", SERVED)

texts = st.sampled_from(["a", "Dear \n", 'é"\\ \u2028', "on"])
users = st.lists(texts.map(Text) | st.sampled_from([PNG, PDF]), min_size=1, max_size=3).map(
    lambda parts: User(tuple(parts))
)


called = st.tuples(st.sampled_from(["look", "find"]), st.sampled_from(["{}", '{"city":"é"}']))


@st.composite
def turns(draw: st.DrawFn) -> tuple[Message, ...]:
    """Questions, answers, calls and their results."""
    messages: list[Message] = [draw(users)]
    for turn in range(draw(st.integers(0, 2))):
        calls = [
            Call(id=f"c{turn}{at}", name=name, arguments=written)
            for at, (name, written) in enumerate(draw(st.lists(called, max_size=3)))
        ]
        words = [Text(text) for text in draw(st.lists(texts, min_size=not calls, max_size=1))]
        messages.append(Reply((*words, *calls), "calls" if calls else "end"))
        if calls:
            messages.append(
                Results(
                    tuple(
                        Result(
                            call_id=call.id,
                            name=call.name,
                            outcome=draw(st.sampled_from(["returned", "failed"])),
                            content=(Text(draw(texts)),),
                        )
                        for call in calls
                    )
                )
            )
        messages.append(draw(users))
    return tuple(messages)


EVERYWHERE: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9}
OPTIONS: dict[str, dict[str, Any]] = {
    "openai_chat": {
        **EVERYWHERE, "seed": 7, "stop": ["END"], "parallel": False, "user": "u", "cache_key": "k",
        "reasoning": "high", "logprobs": 2,
    },
    "openai_responses": {
        **EVERYWHERE, "parallel": False, "user": "u", "cache_key": "k", "reasoning": "low",
        "logprobs": 2,
    },
    "anthropic": {**EVERYWHERE, "stop": ["END"], "parallel": False, "user": "u", "reasoning": "medium"},
    "gemini": {**EVERYWHERE, "seed": 7, "stop": ["END"], "reasoning": 512, "logprobs": 2},
}  # fmt: skip
"""The settings that a dialect has a word for."""


def plain(messages: tuple[Message, ...]) -> list[Any]:
    """Messages without what only their dialect knows of them; neighbours of a user's are one."""
    found: list[Any] = []
    for message in messages:
        match message:
            case User(content, author):
                parts = [
                    part.text if isinstance(part, Text) else (part.data, part.media_type)
                    for part in content
                ]
                if found and found[-1][0] == author:
                    found[-1][1].extend(parts)
                else:
                    found.append([author, parts])
            case Reply():
                calls = [(call.id, call.name, json.loads(call.arguments)) for call in message.calls]
                found.append(["reply", message.text, calls])
            case Results(results):
                found.append(["results", [(r.call_id, r.name, r.is_error, r.text) for r in results]])
    return found


def worded(messages: list[Any], name: str) -> list[Any]:
    """Chat and Responses have no mark for an error: they say it in words."""
    if name not in ("openai_chat", "openai_responses"):
        return messages
    found = []
    for message in messages:
        if message[0] == "results":
            results = [
                (i, n, False, f"Error: {text}" if error else text) for i, n, error, text in message[1]
            ]
            found.append(["results", results])
        else:
            found.append(message)
    return found


@every_dialect
@settings(max_examples=often(40))
@given(data=st.data())
def test_a_request_is_read_as_it_was_asked(name, data):
    every = OPTIONS[name]
    chosen = data.draw(st.sets(st.sampled_from(sorted(every))))
    specs = data.draw(st.sampled_from([(), (LOOK,), (LOOK, FIND)]))
    choices = ["auto", "required", "none", Named("look")] if specs else ["auto"]
    request = Request(
        messages=data.draw(turns()),
        system=data.draw(st.sampled_from(["", "Be brief."])),
        specs=specs,
        choice=data.draw(st.sampled_from(choices)),
        output=data.draw(st.sampled_from([None, CITY])),
        max_tokens=data.draw(st.sampled_from([None, 4096])),
        options={
            **{option: every[option] for option in sorted(chosen)},
            "strict": False,
            "cache": False,
        },
    )
    stream = data.draw(st.booleans())
    sent = load(name).encode(request, model="model-1", stream=stream)
    asked = load_server(name).parse_request(sent.body, path=sent.path, query="", headers=sent.headers)
    read = asked.request
    assert (asked.model, asked.stream) == ("model-1" if name != "gemini" else asked.model, stream)
    assert asked.left_out == ()
    assert plain(read.messages) == worded(plain(request.messages), name)
    assert (read.system, read.specs, read.choice) == (request.system, request.specs, request.choice)
    assert read.output == request.output
    limit = request.max_tokens
    if name == "anthropic" and limit is None:
        limit = read.max_tokens
    assert read.max_tokens == limit
    wanted = {option: every[option] for option in chosen}
    # Without tools there is nothing that could be done side by side.
    is_idle = not request.specs or (name == "anthropic" and request.choice == "none")
    silent = {"parallel"} if is_idle else set()
    assert {**read.options} == {key: value for key, value in wanted.items() if key not in silent}


@pytest.mark.parametrize("name", [name for name in SERVED if name != "anthropic"])
def test_json_mode_is_read(name):
    request = Request(messages=(user_text("Hi in JSON"),), output=ANY_OBJECT)
    sent = load(name).encode(request, model="m", stream=False)
    asked = load_server(name).parse_request(sent.body, path=sent.path, headers={})
    assert asked.request.output == ANY_OBJECT


@every_dialect
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": "m"}', b'{"messages": 3}', b"\xff"])
def test_what_makes_no_sense_is_refused_in_the_clients_shape(name, body):
    server = load_server(name)
    with pytest.raises(UsageError) as caught:
        server.parse_request(body, path="/v1beta/models/m:generateContent", headers={})
    refused = server.encode_error(caught.value)
    assert refused.status == 400
    assert json.loads(refused.body)["error"]["message"]


def test_search_results_that_a_client_brings_are_told_as_text():
    found = {
        "type": "search_result",
        "source": "https://tea.example",
        "title": "Tea",
        "content": [{"type": "text", "text": "Green tea is steeped at 80 degrees."}],
        "citations": {"enabled": True},
    }
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [found]}
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [found, {"type": "text", "text": "How hot?"}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    asked = load_server("anthropic").parse_request(json.dumps(body).encode(), headers={})
    told = "Tea\nhttps://tea.example\nGreen tea is steeped at 80 degrees."
    user, _, results = asked.request.messages
    assert [part.text for part in user.content] == [told, "How hot?"]
    assert results.results[0].text == told
    assert asked.left_out == (
        "messages[0].content[0].citations: the search_result is told as text",
        "messages[2].content[0].content[0].citations: the search_result is told as text",
    )


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("openai_responses", {"input": [{"type": "web_search_call", "id": "ws"}]}),
        (
            "anthropic",
            {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}]}]},
        ),
    ],
)
def test_what_the_vendors_own_tools_did_is_named_as_the_table_says(dialect, said):
    asked = load_server(dialect).parse_request(json.dumps({"model": "m", **said}).encode(), headers={})
    kinds = [each.rpartition(": ")[2] for each in asked.left_out]
    assert kinds
    assert set(kinds) <= set(UNKEPT_PARTS[dialect])
