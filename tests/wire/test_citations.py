"""What a reply's words are from, and how likely they were: the same form from every vendor."""

import json

import pytest
from msgspec import convert, to_builtins

import rightcall as rc
from rightcall.core.message import Citation, Reply, Token
from rightcall.testing import ScriptedModel
from rightcall.wire.dialects import load
from rightcall.wire.reply_extras import parse_annotations, parse_grounding
from wire.recorded import reply_of, rows, same_at_every_cut

CAFE = "Café ☕ opens at 8. Closed on Sundays."
"""With characters of two and three bytes, which Gemini counts."""


def sse(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)


def whole_and_streamed(dialect: str, whole: object, *events: object, done: bytes = b"") -> Reply:
    """The reply in a body, which must be the one of the stream, wherever that is cut."""
    module = load(dialect)
    reply = module.decode(json.dumps(whole).encode())
    streamed = reply_of(same_at_every_cut(module, sse(*events) + done))
    assert (streamed.citations, streamed.logprobs) == (reply.citations, reply.logprobs)
    return reply


def test_openai_chat_annotates_and_its_hosts_list():
    annotations = [
        {
            "type": "url_citation",
            "url_citation": {"start_index": 5, "end_index": 11, "url": "https://a", "title": "A"},
        },
        {
            "type": "url_citation",
            "url_citation": {"start_index": 5, "end_index": 99, "url": "https://b"},
        },
    ]
    base = {"id": "c", "model": "m"}
    reply = whole_and_streamed(
        "openai_chat",
        {**base, "choices": [{"message": {"content": "Hello world", "annotations": annotations}}]},
        {**base, "choices": [{"index": 0, "delta": {"content": "Hello world"}}]},
        {**base, "choices": [{"index": 0, "delta": {"annotations": annotations[:1]}}]},
        {**base, "choices": [{"index": 0, "delta": {"annotations": annotations[1:]}}]},
        done=b"data: [DONE]\n\n",
    )
    # The second is for words that are not there, so that nobody knows which it is for.
    assert reply.citations == (
        Citation(start=5, end=11, url="https://a", title="A"),
        Citation(url="https://b"),
    )
    assert reply.vendor["openai_chat"]["annotations"] == annotations

    listed = {"citations": ["https://a"]}
    found = {"search_results": [{"title": "A", "url": "https://a", "snippet": "so", "date": "2026"}]}
    said = [{"message": {"content": "Yes [1]."}}]
    decode = load("openai_chat").decode
    assert decode(json.dumps({**base, "choices": said, **listed}).encode()).citations == (
        Citation(url="https://a"),
    )
    assert decode(json.dumps({**base, "choices": said, **listed, **found}).encode()).citations == (
        Citation(url="https://a", title="A", quote="so"),
    )


def test_thoughts_among_the_text_take_the_places_away():
    message = {
        "content": "<think>hm</think>Hello",
        "annotations": [{"type": "url_citation", "url": "https://a", "start_index": 0, "end_index": 3}],
    }
    reply = load("openai_chat").decode(json.dumps({"choices": [{"message": message}]}).encode())
    assert reply.text == "Hello"
    assert reply.citations == (Citation(url="https://a"),)


def test_responses_counts_from_the_beginning_of_each_text():
    cited = {"type": "url_citation", "start_index": 0, "end_index": 3, "url": "https://a", "title": "A"}
    filed = {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}
    made = {"type": "file_path", "file_id": "file_2", "index": 0}
    likely = [{"token": "One", "logprob": -0.5, "bytes": [], "top_logprobs": []}]
    parts = [
        {"type": "output_text", "text": "One", "annotations": [], "logprobs": likely},
        {"type": "output_text", "text": "Two.", "annotations": [cited, filed, made]},
    ]
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    response = {"id": "r", "status": "completed", "model": "m", "output": [item]}
    reply = whole_and_streamed(
        "openai_responses",
        response,
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    )
    assert reply.citations == (
        Citation(start=3, end=6, url="https://a", title="A"),
        Citation(start=6, end=6, title="a.pdf", file="file_1"),
        Citation(file="file_2"),
    )
    assert reply.logprobs == (Token("One", -0.5),)


def test_anthropic_cites_whole_blocks():
    texts = [
        ("As told, ", None),
        (
            "it rains",
            {
                "type": "char_location",
                "cited_text": "Rain.",
                "document_title": "Weather",
                "file_id": "file_1",
                "document_index": 0,
                "start_char_index": 0,
                "end_char_index": 5,
            },
        ),
        (
            " here.",
            {
                "type": "web_search_result_location",
                "url": "https://a",
                "title": "A",
                "cited_text": "wet",
            },
        ),
        ("", {"type": "search_result_location", "source": "https://s", "title": "S", "cited_text": "x"}),
    ]
    blocks = [{"type": "text", "text": t, "citations": [c] if c else None} for t, c in texts]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "usage": {}}
    events: list[object] = [{"type": "message_start", "message": {**message, "content": []}}]
    for at, (text, citation) in enumerate(texts):
        block = {"type": "text", "text": "", "citations": []}
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        if citation:
            delta = {"type": "citations_delta", "citation": citation}
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
        delta = {"type": "text_delta", "text": text}
        events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    whole = {**message, "content": blocks, "stop_reason": "end_turn"}
    reply = whole_and_streamed("anthropic", whole, *events)
    assert reply.citations == (
        Citation(start=9, end=17, title="Weather", file="file_1", quote="Rain."),
        Citation(start=17, end=23, url="https://a", title="A", quote="wet"),
        Citation(start=23, end=23, url="https://s", title="S", quote="x"),
    )
    assert reply.text[9:17] == "it rains"


def gemini(**candidate: object) -> dict[str, object]:
    return {"candidates": [{"index": 0, "finishReason": "STOP", **candidate}]}


def test_gemini_counts_in_bytes_and_is_understood_in_characters():
    start = len("Café ☕ ".encode())
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://a", "title": "A"}},
            {"retrievedContext": {"uri": "gs://b", "title": "B", "text": "b"}},
            {"web": {"uri": "https://c", "title": "C"}},
        ],
        "groundingSupports": [
            {
                "segment": {"startIndex": start, "endIndex": start + 11, "text": "opens at 8."},
                "groundingChunkIndices": [0, 1, 7],
            },
            # Counted from the beginning of a part: the words are found all the same.
            {
                "segment": {"startIndex": 1, "endIndex": 18, "text": "Closed on Sundays"},
                "groundingChunkIndices": [0],
            },
            {"segment": {"endIndex": 4}, "groundingChunkIndices": [1]},  # inside the é
        ],
    }
    recited = {"citationSources": [{"startIndex": 0, "endIndex": 5, "uri": "https://r"}]}
    said = {"content": {"parts": [{"text": CAFE}]}}
    more = {"groundingMetadata": grounding, "citationMetadata": recited}
    whole = gemini(**said, **more)
    first = {"candidates": [{"content": {"parts": [{"text": CAFE[:9]}]}}]}
    second = gemini(content={"parts": [{"text": CAFE[9:]}]}, **more)
    reply = whole_and_streamed("gemini", whole, first, second)
    assert [(c.start, c.end, c.url) for c in reply.citations] == [
        (7, 18, "https://a"),
        (7, 18, "gs://b"),
        (19, 36, "https://a"),
        (None, None, "gs://b"),
        (None, None, "https://c"),
        (0, 4, "https://r"),
    ]
    assert (CAFE[7:18], CAFE[19:36], CAFE[0:4]) == ("opens at 8.", "Closed on Sundays", "Café")
    assert reply.vendor["gemini"]["groundingMetadata"] == grounding


def test_bedrock_cites_as_claude_does():
    citation = {
        "title": "Weather",
        "source": "https://s",
        "sourceContent": [{"text": "Ra"}, {"text": "in."}],
        "location": {"web": {"url": "https://a", "domain": "a"}},
    }
    cited = {"citationsContent": {"content": [{"text": "it rains"}], "citations": [citation]}}
    message = {"role": "assistant", "content": [{"text": "Yes, "}, cited]}
    body = {"output": {"message": message}, "stopReason": "end_turn", "usage": {}}
    reply = load("bedrock").decode(json.dumps(body).encode())
    expected = Citation(start=5, end=13, url="https://a", title="Weather", quote="Rain.")
    assert reply.citations == (expected,)


@pytest.mark.parametrize("junk", [None, 7, "x", [7, None, "x", {}], [{"type": {}}], {"a": 1}])
def test_what_is_no_citation_is_none(junk):
    assert parse_annotations(junk, "text") == []
    bag = {"groundingMetadata": {"groundingChunks": junk, "groundingSupports": junk}}
    assert [c for c in parse_grounding(bag, "text") if c.url] == []
    odd = {"groundingSupports": [{"segment": {"startIndex": {}}, "groundingChunkIndices": junk}]}
    assert parse_grounding({"groundingMetadata": odd, "citationMetadata": junk}, "text") == ()


def test_recorded_spans_are_the_words_they_are_for(shared_data):
    """In every recorded stream with citations, and there are some of three vendors."""
    apis = {
        "openai_responses": "openai.responses",
        "anthropic": "anthropic.messages",
        "gemini": "gemini.generateContent",
    }
    seen = dict.fromkeys(apis, 0)
    for name, api in apis.items():
        module = load(name)
        for row in rows(shared_data, api, stream=True):
            body = row["path"].read_bytes()
            if row["status"] != 200 or not (b"itation" in body or b"grounding" in body):
                continue
            decoder = module.decoder()
            reply = reply_of([*decoder.feed(body), *decoder.finish()])
            seen[name] += len(reply.citations)
            for citation in reply.citations:
                if citation.start is not None:
                    assert 0 <= citation.start <= citation.end <= len(reply.text)
                assert citation.url or citation.file or citation.title or citation.quote
    assert min(seen.values()) > 0, seen


def test_logprobs_of_chat_and_gemini():
    def token(text: str, logprob: float, *top: tuple[str, float]) -> dict[str, object]:
        beside = [{"token": t, "logprob": p, "bytes": None} for t, p in top]
        return {"token": text, "logprob": logprob, "bytes": None, "top_logprobs": beside}

    first, second = token("He", -0.1, ("He", -0.1), ("Hi", -3)), token("llo", 0)
    base = {"id": "c", "model": "m"}
    pieces = [
        {"index": 0, "delta": {"content": "He"}, "logprobs": {"content": [first]}},
        {"index": 0, "delta": {"content": "llo"}, "logprobs": {"content": [second], "refusal": None}},
        {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"},
    ]
    message = {"message": {"content": "Hello"}, "logprobs": {"content": [first, second]}}
    reply = whole_and_streamed(
        "openai_chat",
        {**base, "choices": [message]},
        *[{**base, "choices": [piece]} for piece in pieces],
    )
    expected = (Token("He", -0.1, (("He", -0.1), ("Hi", -3.0))), Token("llo", 0.0))
    assert reply.logprobs == expected
    assert convert(to_builtins(reply), Reply) == reply

    def result(at: slice) -> dict[str, object]:
        chosen = [{"token": "He", "tokenId": 1, "logProbability": -0.1}, {"token": "llo"}][at]
        top = [
            {"candidates": [chosen[0], {"token": "Hi", "logProbability": -3}] if at.start == 0 else []}
        ]
        return {"logprobsResult": {"chosenCandidates": chosen, "topCandidates": top}}

    whole = gemini(content={"parts": [{"text": "Hello"}]}, **result(slice(0, 2)))
    begun = {"candidates": [{"content": {"parts": [{"text": "He"}]}, **result(slice(0, 1))}]}
    ended = gemini(content={"parts": [{"text": "llo"}]}, **result(slice(1, 2)))
    assert whole_and_streamed("gemini", whole, begun, ended).logprobs == expected


async def test_a_run_gives_those_of_its_answer():
    cited = Reply((rc.models.Text("So."),), citations=(Citation(start=0, end=2, url="https://a"),))
    result = await rc.Agent(ScriptedModel([cited])).run("Is it so?")
    assert result.citations == cited.citations
    assert rc.RunResult.from_json(result.to_json()).citations == cited.citations
    assert rc.RunResult.from_json(result.to_json()).media == ()
