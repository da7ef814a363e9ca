"""Streams as hosts send them, well and badly."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core.events import CallDelta, CallEnd, CallStart, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, RightcallError, TruncatedStream, VendorError
from rightcall.wire import openai_chat as dialect
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

DONE = "[DONE]"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def sse(*items: Any) -> bytes:
    texts = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def tool(index: Any = 0, id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> Any:  # noqa: A002
    entry = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}, **more}
    entry["function"] = {key: value for key, value in entry["function"].items() if value is not None}
    return {key: value for key, value in entry.items() if value is not None}


def calls(*entries: Any) -> dict[str, Any]:
    return chunk({"tool_calls": list(entries)})


END = (chunk({}, "tool_calls"), DONE)


def read(*items: Any) -> Reply:
    body = sse(*items)
    events = same_at_every_cut(dialect, body) if len(body) < 1500 else fed(dialect.decoder(), body)
    assert_events_tell_the_reply(events)
    return reply_of(events)


W = {"id": "a", "name": "w", "arguments": '{"x":1}'}
V = {"id": "b", "name": "v", "arguments": '{"y":2}'}
BAG = {"openai_chat": {"id": "c1"}}

CALLS: dict[str, tuple[list[Any], list[Any]]] = {
    "in fragments": (
        [calls(tool(0, "a", "w", "")), calls(tool(arguments='{"x"')), calls(tool(arguments=":1}"))],
        [W],
    ),
    "whole in one delta": ([calls(tool(0, "a", "w", '{"x":1}'))], [W]),
    "parallel": (
        [
            calls(tool(0, "a", "w", "")),
            calls(tool(0, arguments='{"x":1}')),
            calls(tool(1, "b", "v", '{"y":2}')),
        ],
        [W, V],
    ),
    "parallel in one delta": (
        [calls(tool(0, "a", "w", '{"x":1}'), tool(1, "b", "v", '{"y":2}'))],
        [W, V],
    ),
    "interleaved": (
        [
            calls(tool(0, "a", "w", '{"x"'), tool(1, "b", "v", '{"y"')),
            calls(tool(1, arguments=":2}")),
            calls(tool(0, arguments=":1}")),
        ],
        [W, V],
    ),
    "out of order": ([calls(tool(1, "b", "v", '{"y":2}')), calls(tool(0, "a", "w", '{"x":1}'))], [W, V]),
    "an empty call of a tool that takes text beside each": (
        [
            calls(tool(0, "a", "w", '{"x"', type="function", custom={"name": "", "input": ""})),
            calls(tool(0, None, None, ":1}", custom={"name": "", "input": ""})),
        ],
        [W],
    ),
    "an empty call of the older form beside each": (
        [
            chunk({"content": "", "function_call": {"name": "", "arguments": ""}}),
            calls(tool(0, "a", "w", '{"x":1}')),
            chunk({"content": "", "function_call": {"name": "", "arguments": ""}}),
        ],
        [W],
    ),
    "an empty entry among them": (
        [calls(tool(1, "", "", ""), tool(0, "a", "w", '{"x":1}'), tool(2, "b", "v", '{"y":2}'))],
        [W, V],
    ),
    "ids repeated on every chunk": (
        [calls(tool(0, "a", "w", '{"x"')), calls(tool(0, "a", None, ":1}"))],
        [W],
    ),
    "ids and names repeated on every chunk": (
        [
            calls(tool(0, "a", "w", '{"x"')),
            calls(tool(0, "a", "w", ":1}")),
            calls(tool(0, "a", "w", "")),
        ],
        [W],
    ),
    "names repeated without ids": (
        [calls(tool(0, None, "w", '{"x"')), calls(tool(0, None, "w", ":1}"))],
        [{**W, "id": ""}],
    ),
    "another id for every chunk": (
        [
            calls(tool(0, "a", "w", "")),
            calls(tool(0, "z1", None, '{"x"')),
            calls(tool(0, "z2", None, ":1}")),
        ],
        [W],
    ),
    "a name in pieces": (
        [calls(tool(0, "a", "get_", "")), calls(tool(0, None, "w", "")), calls(tool(0, arguments="{}"))],
        [{"id": "a", "name": "get_w", "arguments": "{}"}],
    ),
    "a name that grows": (
        [
            calls(tool(0, "a", "get", "")),
            calls(tool(0, "a", "get_w", "")),
            calls(tool(0, arguments="{}")),
        ],
        [{"id": "a", "name": "get_w", "arguments": "{}"}],
    ),
    "an id that comes late": (
        [calls(tool(0, None, "w", "")), calls(tool(0, "a", None, '{"x":1}'))],
        [W],
    ),
    "a name that comes after the id": (
        [calls(tool(0, "a")), calls(tool(0, None, "w", '{"x":1}'))],
        [W],
    ),
    "all under index 0, new ids": (
        [
            calls(tool(0, "a", "w", '{"x"')),
            calls(tool(0, arguments=":1}")),
            calls(tool(0, "b", "v", '{"y":2}')),
        ],
        [W, V],
    ),
    "all under index 0, one delta": (
        [calls(tool(0, "a", "w", '{"x":1}'), tool(0, "b", "v", '{"y":2}'))],
        [W, V],
    ),
    "all under index 0, no ids, new names": (
        [calls(tool(0, None, "w", '{"x":1}')), calls(tool(0, None, "v", '{"y":2}'))],
        [{**W, "id": ""}, {**V, "id": ""}],
    ),
    "all under index 0, no ids, the same name": (
        [
            calls(tool(0, None, "w", '{"x":')),
            calls(tool(0, None, "w", "1}")),
            calls(tool(0, None, "w", '{"x":1}')),
        ],
        [{**W, "id": ""}, {**W, "id": ""}],
    ),
    "all under index 0, interleaved by id": (
        [
            calls(tool(0, "a", "w", '{"x"')),
            calls(tool(0, "b", "v", '{"y"')),
            calls(tool(0, "a", None, ":1}")),
            calls(tool(0, "b", None, ":2}")),
        ],
        [W, V],
    ),
    "no index": (
        [
            calls(tool(None, "a", "w", '{"x"')),
            calls(tool(None, arguments=":1}")),
            calls(tool(None, "b", "v", '{"y":2}')),
        ],
        [W, V],
    ),
    "no index, no ids, one delta": (
        [calls(tool(None, None, "w", ""), tool(None, None, "w", ""))],
        [{"id": "", "name": "w", "arguments": ""}, {"id": "", "name": "w", "arguments": ""}],
    ),
    "index null": ([calls({**tool(None, "a", "w", '{"x":1}'), "index": None})], [W]),
    "an index that runs on": (
        [calls(tool(0, "a", "w", '{"x"')), calls(tool(1, arguments=":1}"))],
        [W],
    ),
    "the same id for two": (
        [calls(tool(0, "a", "w", '{"x":1}')), calls(tool(1, "a", "v", '{"y":2}'))],
        [W, {**V, "id": "a"}],
    ),
    "the same id and index for two": (
        [calls(tool(0, "a", "w", '{"x":1}')), calls(tool(0, "a", "v", '{"y":2}'))],
        [W, {**V, "id": "a"}],
    ),
    "sent again in full": (
        [
            calls(tool(0, "a", "w", '{"x"')),
            calls(tool(0, "a", None, ":1}")),
            calls(tool(0, "a", "w", '{"x":1}')),
        ],
        [W],
    ),
    "an id before its name, after a finished call": (
        [calls(tool(0, "a", "w", '{"x":1}')), calls(tool(0, "b")), calls(tool(0, None, "v", '{"y":2}'))],
        [W, V],
    ),
    "no arguments": ([calls(tool(0, "a", "w"))], [{"id": "a", "name": "w", "arguments": ""}]),
    "empty-string arguments": (
        [calls(tool(0, "a", "w", ""))],
        [{"id": "a", "name": "w", "arguments": ""}],
    ),
    "arguments null": (
        [calls({"index": 0, "id": "a", "function": {"name": "w", "arguments": None}})],
        [{"id": "a", "name": "w", "arguments": ""}],
    ),
    "arguments as JSON": ([calls(tool(0, "a", "w", {"x": 1}))], [W]),
    "strings with braces and quotes": (
        [
            calls(tool(0, None, "w", '{"x":"}\\')),
            calls(tool(0, None, "w", '"{"')),
            calls(tool(0, None, "w", "}")),
            calls(tool(0, None, "w", "{}")),
        ],
        [
            {"id": "", "name": "w", "arguments": '{"x":"}\\"{"}'},
            {"id": "", "name": "w", "arguments": "{}"},
        ],
    ),
    "two objects in one call stay as they are": (
        [calls(tool(0, "a", "w", "{}")), calls(tool(0, arguments="{ }"))],
        [{"id": "a", "name": "w", "arguments": "{}{ }"}],
    ),
    "unicode": (
        [calls(tool(0, "a", "w", '{"x":"é\u2028')), calls(tool(0, arguments='😀"}'))],
        [{"id": "a", "name": "w", "arguments": '{"x":"é\u2028😀"}'}],
    ),
    "the old function_call": (
        [
            chunk({"function_call": {"name": "w", "arguments": ""}}),
            chunk({"function_call": {"arguments": '{"x":1}'}}),
        ],
        [{**W, "id": ""}],
    ),
}


@pytest.mark.parametrize(("items", "expected"), CALLS.values(), ids=CALLS)
def test_calls_come_out_whole_however_they_come_in(items, expected):
    reply = read(*items, *END)
    assert reply.calls == tuple(Call(**call) for call in expected)
    assert (reply.stop, reply.stop_word) == ("calls", "tool_calls")


def test_a_call_begins_when_its_name_is_certain_and_ends_with_the_reply():
    events = fed(
        dialect.decoder(),
        sse(
            chunk({"content": "So"}), calls(tool(0, "a", "w", "")), calls(tool(0, arguments="{}")), *END
        ),
    )
    call = Call(id="a", name="w", arguments="{}")
    delta = events.pop(2)
    assert isinstance(delta, CallDelta)
    assert (delta.index, delta.text) == (0, "{}")
    assert events == [
        TextDelta("So"),
        CallStart(0, "w", "a"),
        CallEnd(0, call),
        ReplyEnd(Reply((Text("So"), call), "calls", "tool_calls", model="m", vendor=BAG)),
    ]


ENDS: dict[str, tuple[list[Any], str, str]] = {
    "stop": ([chunk({"content": "a"}, "stop"), DONE], "end", "stop"),
    "no [DONE] after a reason": ([chunk({"content": "a"}, "stop")], "end", "stop"),
    "[DONE] without a reason": ([chunk({"content": "a"}), DONE], "end", ""),
    "a reason that is empty": ([chunk({"content": "a"}, ""), DONE], "end", ""),
    "length": ([chunk({"content": "a"}, "length"), DONE], "length", "length"),
    "filtered": ([chunk({"content": "a"}, "content_filter"), DONE], "filtered", "content_filter"),
    "an error without words": ([chunk({"content": "a"}, "error"), DONE], "error", "error"),
    "in capitals": ([chunk({"content": "a"}, "STOP"), DONE], "end", "STOP"),
    "a word nobody knows": ([chunk({"content": "a"}, "bored"), DONE], "end", "bored"),
    "the reason in a chunk of its own": (
        [chunk({"content": "a"}), chunk({}, "stop"), DONE],
        "end",
        "stop",
    ),
    "a delta that is null": ([chunk({"content": "a"}), chunk(None, "stop"), DONE], "end", "stop"),
    "the reason given twice": (
        [chunk({"content": "a"}, "stop"), chunk({}, "stop"), DONE],
        "end",
        "stop",
    ),
    "more after the end": (
        [chunk({"content": "a"}, "stop"), DONE, chunk({"content": "b"})],
        "end",
        "stop",
    ),
}


@pytest.mark.parametrize(("items", "stop", "word"), ENDS.values(), ids=ENDS)
def test_how_a_reply_ends(items, stop, word):
    assert read(*items) == Reply((Text("a"),), stop, word, model="m", vendor=BAG)


def test_calls_after_which_a_host_says_stop_are_calls():
    reply = read(chunk({"tool_calls": [tool(0, "a", "w", '{"x":1}')]}, "stop"), DONE)
    assert (reply.stop, reply.stop_word, reply.calls) == ("calls", "stop", (Call(**W),))


def test_a_stop_string_is_told_from_an_end():
    item = chunk({"content": "a"}, "stop")
    item["choices"][0]["stop_reason"] = "###"
    assert read(item, DONE).stop == "stop_sequence"


@pytest.mark.parametrize("word", ["length", "content_filter", "error"])
def test_a_call_that_is_cut_off_is_truncated_and_the_one_before_it_is_not(word):
    reply = read(
        calls(tool(0, "a", "w", '{"x":1}')), calls(tool(1, "b", "v", '{"y"')), chunk({}, word), DONE
    )
    assert reply.calls == (Call(**W), Call(id="b", name="v", arguments='{"y"', truncated=True))


def test_even_a_call_that_parses_is_truncated_when_the_tokens_ran_out():
    reply = read(calls(tool(0, "a", "w", '{"x":1}')), chunk({}, "length"), DONE)
    assert reply.calls == (Call(**W, truncated=True),)


def test_interleaved_calls_are_all_truncated_when_the_tokens_ran_out():
    reply = read(
        calls(tool(0, "a", "w", '{"x"'), tool(1, "b", "v", '{"y"')),
        calls(tool(0, arguments=":1}")),
        calls(tool(1, arguments=":2}")),
        chunk({}, "length"),
        DONE,
    )
    assert [call.truncated for call in reply.calls] == [True, True]


def test_a_call_without_arguments_from_a_host_that_gives_no_reason_may_only_have_begun():
    assert read(calls(tool(0, "a", "w", "")), DONE).calls == (Call(id="a", name="w", truncated=True),)
    assert read(calls(tool(0, "a", "w", "{}")), DONE).calls == (Call(id="a", name="w", arguments="{}"),)


def test_a_stream_cut_at_any_byte_gives_no_reply_before_its_reason():
    body = sse(
        chunk({"content": "é"}), calls(tool(0, "a", "w", '{"x"')), calls(tool(0, arguments=":1}")), *END
    )
    certain = body.index(b'"finish_reason": "tool_calls"')
    for at in range(len(body)):
        try:
            reply = reply_of(fed(dialect.decoder(), body[:at]))
        except (TruncatedStream, ProtocolError):
            assert at < len(body) - len(sse(DONE))
        else:
            assert at > certain
            assert reply.calls == (Call(**W),)


EMPTY = {"name": "", "arguments": ""}


@pytest.mark.parametrize("beside", [{"function_call": EMPTY}, {"tool_calls": [{"function": EMPTY}]}])
def test_an_answer_with_an_empty_call_beside_it_is_an_answer(beside):
    reply = read(chunk({"content": "Hi", **beside}), chunk({}, "stop"), DONE)
    assert (reply.content, reply.stop) == ((Text("Hi"),), "end")
    message = {"role": "assistant", "content": "Hi", **beside}
    body = {"id": "c1", "model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    whole = dialect.decode(json.dumps(body).encode())
    assert (whole.content, whole.stop) == ((Text("Hi"),), "end")


def inline(text: str, opening: str = "<think>", closing: str = "</think>") -> Reasoning:
    return Reasoning(text, {"openai_chat": {"field": "inline", "opening": opening, "closing": closing}})


LATER_THOUGHTS = {
    "a second block": (
        ["<think>a</think>", "b<th", "ink>c</think>d"],
        (inline("a"), Text("b"), inline("c"), Text("d")),
    ),
    "after text": (["so\n<think>hm</think>\n", "yes"],
                   (Text("so\n"), inline("hm", closing="</think>\n"), Text("yes"))),
    "in code": (["Write `<think>` or\n```\n<think>a</think>\n", "```\nso."],
                (Text("Write `<think>` or\n```\n<think>a</think>\n```\nso."),)),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "content"), LATER_THOUGHTS.values(), ids=LATER_THOUGHTS)
def test_thoughts_are_found_anywhere_and_go_back_as_they_came(texts, content):
    reply = read(*[chunk({"content": text}) for text in texts], chunk({}, "stop"), DONE)
    assert reply.content == content
    own = {"role": "assistant", "content": "".join(texts)}
    request = Request(messages=(reply,))
    body = json.loads(dialect.encode(request, model="m", stream=False).body)
    assert body["messages"] == [own]


def test_a_thought_between_markers_after_reasoning_of_its_own_is_one():
    said = chunk({"content": "<think>a</think>b"})
    reply = read(chunk({"reasoning_content": "hm"}), said, chunk({}, "stop"), DONE)
    first = Reasoning("hm", {"openai_chat": {"field": "reasoning_content"}})
    assert reply.content == (first, inline("a"), Text("b"))


REASONING: dict[str, tuple[list[Any], tuple[Any, ...]]] = {
    "reasoning_content": (
        [
            chunk({"reasoning_content": "h", "content": None}),
            chunk({"reasoning_content": "m"}),
            chunk({"content": "a"}),
        ],
        (Reasoning("hm", {"openai_chat": {"field": "reasoning_content"}}), Text("a")),
    ),
    "reasoning": (
        [chunk({"reasoning": "hm"}), chunk({"content": "a"})],
        (Reasoning("hm", {"openai_chat": {"field": "reasoning"}}), Text("a")),
    ),
    "under two names": (
        [chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "a"})],
        (Reasoning("hm", {"openai_chat": {"field": "reasoning_content"}}), Text("a")),
    ),
    "in the same delta as text": (
        [chunk({"content": "a", "reasoning": "hm"})],
        (Reasoning("hm", {"openai_chat": {"field": "reasoning"}}), Text("a")),
    ),
    "with details": (
        [
            chunk(
                {
                    "reasoning": "h",
                    "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0}],
                }
            ),
            chunk(
                {
                    "reasoning": "m",
                    "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}],
                }
            ),
            chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]}),
            chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}),
            chunk({"content": "a"}),
        ],
        (
            Reasoning(
                "hm",
                {
                    "openai_chat": {
                        "field": "reasoning",
                        "details": [
                            {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"},
                            {"type": "reasoning.encrypted", "data": "x", "index": 1},
                        ],
                    }
                },
            ),
            Text("a"),
        ),
    ),
    "details alone": (
        [
            chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
            chunk({"content": "a"}),
        ],
        (
            Reasoning(
                "hm",
                {
                    "openai_chat": {
                        "field": "reasoning_details",
                        "details": [{"type": "reasoning.summary", "summary": "hm"}],
                    }
                },
            ),
            Text("a"),
        ),
    ),
    "encrypted alone": (
        [
            chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
            chunk({"content": "a"}),
        ],
        (
            Text("a"),
            Reasoning(
                "",
                {
                    "openai_chat": {
                        "field": "reasoning_details",
                        "details": [{"type": "reasoning.encrypted", "data": "x"}],
                    }
                },
            ),
        ),
    ),
    "inline": (
        [chunk({"content": "<th"}), chunk({"content": "ink>\nhm</thi"}), chunk({"content": "nk>\n\na"})],
        (
            Reasoning(
                "\nhm",
                {"openai_chat": {"field": "inline", "opening": "<think>", "closing": "</think>\n\n"}},
            ),
            Text("a"),
        ),
    ),
    "a marker in the text beside reasoning of its own": (
        [chunk({"reasoning": "hm"}), chunk({"content": "<think>a"})],
        (Reasoning("hm", {"openai_chat": {"field": "reasoning"}}), Text("<think>a")),
    ),
    "Mistral's parts": (
        [
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]}),
            chunk(
                {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "m"}], "closed": True}
                    ]
                }
            ),
            chunk(
                {"content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}]}
            ),
        ],
        (
            Reasoning("hm", {"openai_chat": {"field": "part"}}),
            Text("a"),
            Unknown({"openai_chat": {"part": {"type": "reference", "reference_ids": [1]}}}),
        ),
    ),
}


@pytest.mark.parametrize(("items", "content"), REASONING.values(), ids=REASONING)
def test_reasoning_is_kept_apart_from_text(items, content):
    assert read(*items, chunk({}, "stop"), DONE) == Reply(content, "end", "stop", model="m", vendor=BAG)


def test_text_before_a_call_that_looked_like_a_thought_is_not_lost():
    reply = read(chunk({"content": "<thi"}), calls(tool(0, "a", "w", '{"x":1}')), *END)
    assert reply.content == (Text("<thi"), Call(**W))


def test_a_refusal_is_one():
    reply = read(chunk({"refusal": "I "}), chunk({"refusal": "can't."}), chunk({}, "stop"), DONE)
    assert reply == Reply(
        (Unknown({"openai_chat": {"refusal": "I can't."}}),), "refusal", "stop", model="m", vendor=BAG
    )


def test_what_is_not_known_is_kept():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    far = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    reply = read(
        chunk({"content": "a", "annotations": [{"n": 1}], "novel": {"x": 1}}),
        chunk({"annotations": [{"n": 2}]}, citations=["u"], surprise=1),
        chunk({"images": [image, far]}),
        chunk({"audio": {"id": "au", "data": "AA"}}),
        chunk({"audio": {"data": "BB", "transcript": "t"}}),
        calls(tool(0, "a", "w", '{"x":1}', extra_content={"google": {"thought_signature": "s"}})),
        *END,
    )
    assert reply.content == (
        Text("a"),
        Media(b"\0\0\0", "image/png", vendor={"openai_chat": {"field": "images"}}),
        Media(b"", "image/*", vendor={"openai_chat": {"field": "images"}}, url="https://x/y.png"),
        Text("t", {"openai_chat": {"transcript": True}}),
        Media(b"\0\x00A", "audio/pcm", vendor={"openai_chat": {"audio": {"id": "au"}}}),
        Call(**W, vendor={"openai_chat": {"extra_content": {"google": {"thought_signature": "s"}}}}),
    )
    assert reply.vendor == {
        "openai_chat": {
            "id": "c1",
            "annotations": [{"n": 1}, {"n": 2}],
            "novel": {"x": 1},
            "citations": ["u"],
        }
    }


def test_a_custom_tools_call_keeps_its_kind():
    entry = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    assert read(calls(entry), *END).calls == (
        Call(
            id="a",
            name="sql",
            arguments="select 1",
            form="text",
            vendor={"openai_chat": {"type": "custom"}},
        ),
    )


USAGE = {
    "OpenAI": (
        {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
        Usage(input_tokens=9, output_tokens=5, cached_tokens=3, reasoning_tokens=2),
    ),
    "DeepSeek": (
        {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4},
        Usage(input_tokens=9, output_tokens=5, cached_tokens=4),
    ),
    "Mistral": (
        {"prompt_tokens": 9, "completion_tokens": 5, "num_cached_tokens": 4},
        Usage(input_tokens=9, output_tokens=5, cached_tokens=4),
    ),
    "xAI counts reasoning beside the completion": (
        {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 21,
            "completion_tokens_details": {"reasoning_tokens": 7},
            "cost_in_usd_ticks": 20_000_000,
        },
        Usage(input_tokens=9, output_tokens=12, reasoning_tokens=7, cost=0.002),
    ),
    "OpenRouter": (
        {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "cost": 0.5,
            "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 8},
        },
        Usage(input_tokens=9, output_tokens=5, cached_tokens=1, cache_written_tokens=8, cost=0.5),
    ),
    "nonsense": ({"prompt_tokens": None, "completion_tokens": "many"}, Usage()),
}


@pytest.mark.parametrize(("sent", "expected"), USAGE.values(), ids=USAGE)
def test_usage_comes_in_a_chunk_without_choices(sent, expected):
    last = {"id": "c1", "model": "m", "choices": [], "usage": sent}
    assert read(chunk({"content": "a"}, "stop"), last, DONE).usage == expected


def test_groqs_usage_is_found_where_it_hides():
    last = chunk({}, "stop", x_groq={"usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    assert read(chunk({"content": "a"}), last, DONE).usage == Usage(input_tokens=9, output_tokens=5)


A = b'"delta":{"content":"a"},"finish_reason":"stop"'
FRAMING = {
    "no space after the colon": b'data:{"choices":[{%s}]}\n\ndata:[DONE]\n\n' % A,
    "comments": b': OPENROUTER PROCESSING\n\ndata: {"choices":[{%s}]}\n\n: ping\n\n' % A,
    "carriage returns": b'data: {"choices":[{%s}]}\r\n\r\ndata: [DONE]\r\n\r\n' % A,
    "empty data": b'data:\n\ndata: {"choices":[{%s}]}\n\n' % A,
    "a filter's report": (
        b'data: {"choices":[],"prompt_filter_results":[{}]}\n\n'
        b'data: {"choices":[{%s,"content_filter_results":{}}]}\n\n' % A
    ),
    "empty deltas": (
        b'data: {"choices":[{"delta":{}}]}\n\ndata: {"choices":[{"delta":{"content":""}}]}\n\n'
        b'data: {"choices":[{"delta":{"tool_calls":[]}}]}\n\ndata: {"choices":[{%s}]}\n\n' % A
    ),
    "no blank line at the end": b'data: {"choices":[{%s}]}' % A,
    "an index that is a string": b'data: {"choices":[{"index":"0",%s}]}\n\n' % A,
    "a message in place of a delta": (
        b'data: {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    ),
    "usage alone, without choices": b'data: {"choices":[{%s}]}\n\ndata: {"usage":{}}\n\n' % A,
}


@pytest.mark.parametrize("body", FRAMING.values(), ids=FRAMING)
def test_odd_framing_is_read(body):
    assert reply_of(same_at_every_cut(dialect, body)) == Reply((Text("a"),), "end", "stop")


ERRORS: dict[str, tuple[Any, tuple[str, int | None, str, bool]]] = {
    "an object": (
        {"error": {"message": "busy", "type": "server_error", "code": None}},
        ("busy", None, "server_error", True),
    ),
    "a number as code": ({"error": {"message": "gone", "code": 502}}, ("gone", 502, "502", True)),
    "a string": ({"error": "no"}, ("no", None, "", False)),
    "beside choices": (
        chunk({"content": ""}, error={"message": "x", "code": 400}),
        ("x", 400, "400", False),
    ),
    "inside a choice": (
        {"choices": [{"index": 0, "error": {"message": "x", "code": 503}, "finish_reason": "error"}]},
        ("x", 503, "503", True),
    ),
    "vLLM's": (
        {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400},
        ("too long", 400, "400", False),
    ),
    "FastAPI's": ({"detail": "Not Found"}, ("Not Found", None, "", False)),
    "Groq's": (
        {
            "error": {
                "message": "bad",
                "type": "invalid_request_error",
                "code": "tool_use_failed",
                "status_code": 400,
            }
        },
        ("bad", 400, "tool_use_failed", False),
    ),
}


@pytest.mark.parametrize(("item", "expected"), ERRORS.values(), ids=ERRORS)
def test_an_error_inside_of_a_stream_or_a_body_is_raised(item, expected):
    for attempt in (
        lambda: fed(dialect.decoder(), sse(chunk({"content": "a"}), item)),
        lambda: dialect.decode(json.dumps(item).encode()),
        lambda: fed(dialect.decoder(), json.dumps(item).encode()),
    ):
        with pytest.raises(VendorError) as caught:
            attempt()
        error = caught.value
        assert (error.message, error.status, error.vendor_code, error.retryable) == expected


@pytest.mark.parametrize(
    "data", ["{", "nonsense", "[1]", '{"choices":[{"delta":3}]}', '{"choices":{}}', "\udcff"]
)
def test_garbage_is_a_protocol_error_with_an_excerpt(data):
    body = b"data: " + data.encode(errors="surrogateescape") + b"\n\ndata: [DONE]\n\n"
    with pytest.raises(ProtocolError, match="openai_chat: not"):
        fed(dialect.decoder(), body)


@pytest.mark.parametrize(
    "body", [b"", b"data: ", b"<html></html>", b": hi\n\n", sse(chunk({"content": "a"}))]
)
def test_a_stream_without_an_end_is_truncated(body):
    with pytest.raises(TruncatedStream):
        fed(dialect.decoder(), body)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b'{"choices":[]}', b'{"choices":[1]}'])
def test_a_body_that_is_no_reply_is_a_protocol_error(body):
    with pytest.raises(ProtocolError):
        dialect.decode(body)


HTTP: dict[str, tuple[int, dict[str, str], bytes, dict[str, Any]]] = {
    "empty": (500, {}, b"", {"m": "HTTP 500, and the vendor did not say why", "retryable": True}),
    "HTML": (
        502,
        {},
        b"<html>Bad gateway</html>",
        {"m": 'a web page that says "Bad gateway"', "retryable": True},
    ),
    "rate limit": (
        429,
        {"Retry-After": "2", "x-request-id": "r"},
        b'{"error":{"message":"slow","type":"tokens","code":"rate_limit_exceeded"}}',
        {
            "m": "slow",
            "vendor_code": "rate_limit_exceeded",
            "retryable": True,
            "retry_after": 2.0,
            "request_id": "r",
        },
    ),
    "milliseconds": (
        429,
        {"retry-after-ms": "1500", "retry-after": "2"},
        b"{}",
        {"m": "HTTP 429, and the vendor did not say why", "retryable": True, "retry_after": 1.5},
    ),
    "a date": (
        503,
        {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        b'"soon"',
        {"m": "soon", "retryable": True, "retry_after": 30.0},
    ),
    "a date that is none": (503, {"retry-after": "later"}, b"x", {"m": "x", "retryable": True}),
    "quota": (
        429,
        {},
        b'{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}',
        {"m": "pay", "vendor_code": "insufficient_quota"},
    ),
    "Mistral's": (
        422,
        {},
        b'{"object":"error","message":{"detail":[{"msg":"bad"}]},"type":"invalid_request_error","code":null}',
        {"m": '{"detail":[{"msg":"bad"}]}', "vendor_code": "invalid_request_error"},
    ),
    "Google's array": (
        400,
        {},
        b'[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]',
        {"m": "no", "vendor_code": "400"},
    ),
    "a list": (400, {}, b"[1,2]", {"m": "[1,2]"}),
}


@pytest.mark.parametrize(("status", "headers", "body", "expected"), HTTP.values(), ids=HTTP)
def test_refusals_by_http(status, headers, body, expected):
    error = dialect.error(status, headers, body)
    fields = {
        "m": error.message,
        "vendor_code": error.vendor_code,
        "retryable": error.retryable,
        "retry_after": error.retry_after,
        "request_id": error.request_id,
    }
    nothing = {"vendor_code": "", "retryable": False, "retry_after": None, "request_id": ""}
    assert fields == {**nothing, **expected}
    assert error.status == status


def test_the_key_is_a_bearer_token():
    assert dialect.authorize("k") == {"authorization": "Bearer k"}
    assert dialect.authorize("") == {}


def test_the_cost_of_a_delta_does_not_grow():
    piece = sse(calls(tool(0, "other", None, "1,")))
    decoder = dialect.decoder()
    decoder.feed(sse(calls(tool(0, "a", "w", "["))))
    for _ in range(20_000):
        decoder.feed(piece)
    decoder.feed(sse(calls(tool(0, arguments="1]")), *END))
    assert decoder.finish() == ()


NAMES = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "custom",
        "type",
        "text",
        "thinking",
        "reasoning",
        "reasoning_details",
        "refusal",
        "audio",
        "images",
        "image_url",
        "url",
        "data",
        "error",
        "code",
        "usage",
        "prompt_tokens_details",
        "finish_reason",
        "x_groq",
        "function_call",
        "detail",
        "object",
    ]
)
LEAVES = st.sampled_from(
    [None, True, 0, 1, 1.5, "", "text", "thinking", "error", "stop", "data:x,y", "{}"]
)
ANY = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)
DELTAS = st.dictionaries(NAMES, ANY, max_size=4)


@given(st.lists(DELTAS | ANY, max_size=4), st.booleans())
def test_nothing_that_a_host_sends_breaks_more_than_its_reply(deltas, wrapped):
    items = [chunk(delta) if wrapped else delta for delta in deltas]
    whole = {
        "choices": [{"message": deltas[0] if deltas else None}],
        "usage": deltas[-1] if deltas else None,
    }
    for attempt in (
        lambda: fed(dialect.decoder(), sse(*[json.dumps(item) for item in items], *END)),
        lambda: dialect.decode(json.dumps(whole).encode()),
        lambda: dialect.error(400, {}, json.dumps(items).encode()),
    ):
        with contextlib.suppress(RightcallError):
            attempt()
