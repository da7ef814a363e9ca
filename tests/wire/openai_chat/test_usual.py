"""Chunks of the usual kind are read in a shorter way, which must come to the same."""

import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import RightcallError
from rightcall.wire import openai_chat as dialect
from wire.recorded import fed, rows

decode = import_module("rightcall.wire.openai_chat.decode")  # the package has a function of this name


def told(body: bytes, most_unusual: int) -> list[str]:
    """Every event of a stream, or why there are none, when so many unusual chunks are put up with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "_MOST_UNUSUAL", most_unusual)
        try:
            return [repr(event) for event in fed(dialect.decoder(), body)]
        except RightcallError as error:
            return [repr(error)]


def assert_same_either_way(body: bytes) -> None:
    assert told(body, 1_000_000) == told(body, -1)


def read_in_the_short_way(body: bytes) -> int:
    """How many chunks of a stream the short way takes."""
    taken = 0
    usual = decode.Decoder._goes_on

    def counting(self, data, events):
        nonlocal taken
        found = usual(self, data, events)
        taken += found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode.Decoder, "_goes_on", counting)
        fed(dialect.decoder(), body)
    return taken


def test_recorded_streams_mean_the_same_either_way(shared_data):
    for row in rows(shared_data, "openai.chat", stream=True):
        assert_same_either_way(row["path"].read_bytes())


def test_most_chunks_of_recorded_streams_are_usual(shared_data):
    found = [row["path"].read_bytes() for row in rows(shared_data, "openai.chat", stream=True)]
    sound = [body for body in found if b"[DONE]" in body and b'"error"' not in body]
    usual = sum(read_in_the_short_way(body) for body in sound)
    assert usual / sum(body.count(b"data:") for body in sound) > 0.8


def test_nearly_all_chunks_of_a_long_call_are_usual():
    pieces = [{"index": 0, "function": {"arguments": "x" * 4}} for _ in range(100)]
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    frames = [chunk({"tool_calls": [each]}) for each in (first, *pieces)]
    body = sse(*frames, chunk({}, finish_reason="tool_calls"))
    assert read_in_the_short_way(body) == 101  # all but the first chunk, which says the model
    assert_same_either_way(body)


def chunk(delta: Any, **choice: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, **choice}]}


def sse(*chunks: Any) -> bytes:
    lines = [f"data: {json.dumps(each)}\n\n" for each in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


nothing: st.SearchStrategy[Any] = st.just(None)
texts = st.sampled_from(["", "a", "<think>", "</think>", " ", '{"x":', "1}", '"', "é"])
indexes = st.sampled_from([0, 0, 0, 1, 2, "0", None])
fragments = st.fixed_dictionaries(
    {"index": indexes, "function": st.fixed_dictionaries({"arguments": texts})},
    optional={"type": st.just("function"), "id": nothing},
)
openings = st.fixed_dictionaries(
    {
        "index": indexes,
        "id": st.sampled_from(["a", "b", ""]),
        "function": st.fixed_dictionaries({"name": st.sampled_from(["f", "g"]), "arguments": texts}),
    }
)
whole_deltas = st.fixed_dictionaries(
    {},
    optional={
        "content": texts | nothing,
        "role": st.just("assistant"),
        "refusal": nothing,
        "reasoning_content": st.sampled_from(["hm", None]),
        "reasoning": st.sampled_from(["so", "", None]),
        "thinking": st.sampled_from(["ah", None]),
        "channel": st.just("analysis"),
        "tool_calls": st.lists(fragments | openings, max_size=2) | nothing,
        "odd": st.just(1),
    },
)
usual_deltas = st.one_of(
    st.fixed_dictionaries({"reasoning": texts}),
    st.fixed_dictionaries({"content": texts}),
    st.fixed_dictionaries({"tool_calls": st.lists(fragments, min_size=1, max_size=1)}),
    st.fixed_dictionaries({"tool_calls": st.lists(openings, min_size=1, max_size=1)}),
)
choices = st.fixed_dictionaries(
    {"delta": usual_deltas | whole_deltas},
    optional={
        "index": st.sampled_from([0, 1]),
        "finish_reason": st.sampled_from([None, None, "stop", "tool_calls", "length"]),
        "logprobs": nothing,
        "error": nothing,
    },
)
chunks = st.fixed_dictionaries(
    {"choices": st.lists(choices, min_size=1, max_size=1) | st.lists(choices, max_size=2)},
    optional={
        "id": st.sampled_from(["c", "d"]),
        "model": st.just("m"),
        "usage": st.sampled_from([None, None, {"prompt_tokens": 3, "completion_tokens": 4}]),
        "citations": st.sampled_from([None, ["a"]]),
        "obfuscation": st.text(max_size=3),
    },
)


@given(st.booleans(), st.lists(chunks, max_size=12))
def test_any_stream_means_the_same_either_way(known, items):
    first = [{"id": "c", "model": "m", "choices": []}] if known else []
    assert_same_either_way(sse(*first, *items))


def test_a_thought_between_the_pieces_of_a_call_is_ended_either_way():
    piece = {"index": 0, "function": {"arguments": "1"}}
    first = {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}
    deltas = [{"tool_calls": [first]}, {"reasoning": "hm"}, {"tool_calls": [piece]}]
    body = sse(*map(chunk, deltas))
    assert any("ReasoningEnd" in event for event in told(body, 1_000_000))
    assert_same_either_way(body)
