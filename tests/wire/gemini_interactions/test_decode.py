"""Interactions: the odd and the broken, and what Google's own types make of the scenarios."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from conformance.scenarios_gemini_interactions import (
    BEGIN,
    WIRES,
    said,
    standing,
    step,
    stream,
    use,
    used,
    wire,
    wrote,
)
from later import Later
from rightcall.core.events import CallEnd
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Call, Media, Text
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.wire import gemini_interactions as interactions
from rightcall.wire.gemini_interactions.tables import NAME, STOPS, WAITING
from wire.made import base64
from wire.recorded import fed, reply_of, same_at_every_cut

INTERACTIONS = Later("google.genai._gaos.types.interactions")


def read(*events: dict[str, Any], status: str = "completed") -> Any:
    return reply_of(same_at_every_cut(interactions, stream(*events, standing("completed", status))))


def test_the_scenarios_are_what_googles_types_say():
    event = TypeAdapter(INTERACTIONS.InteractionSSEEvent)
    for name, (streamed, whole) in WIRES.items():
        for line in streamed.decode().split("\n\n"):
            data = line.partition("data: ")[2]
            if data and data != "[DONE]" and "mystery" not in data:
                assert not getattr(event.validate_python(json.loads(data)), "is_unknown", False)
        if name != "error-mid-stream":
            assert INTERACTIONS.Interaction.model_validate(json.loads(whole)).status


def test_every_standing_of_googles_is_known():
    (words, _) = INTERACTIONS.interaction.InteractionStatus.__args__
    assert {*STOPS, *WAITING, "failed"} == set(words.__args__)


def test_a_search_of_the_vendors_is_put_together_and_kept():
    begun = {"type": "google_search_result", "call_id": "g", "result": [{"a": 1}]}
    reply = read(
        *step(
            0,
            {"type": "google_search_call", "id": "g"},
            {"type": "google_search_call", "arguments": {"queries": ["x"]}, "signature": "s"},
        ),
        *step(1, begun, {"type": "google_search_result", "result": [{"b": 2}]}),
        *said(2, "Found."),
    )
    call = {"type": "google_search_call", "id": "g", "arguments": {"queries": ["x"]}, "signature": "s"}
    result = {**begun, "result": [{"a": 1}, {"b": 2}]}
    assert reply.content == (
        Unknown({NAME: {"step": call}}), Unknown({NAME: {"step": result}}), Text("Found."),
    )  # fmt: skip


def test_a_sound_in_pieces_is_one_and_a_thought_may_hold_a_picture():
    picture = {"type": "image", "mime_type": "image/png", "data": "eA=="}
    sound = {"type": "audio", "mime_type": "audio/l16", "sample_rate": 24000}
    reply = read(
        *step(0, {"type": "thought"}, {"type": "thought_summary", "content": picture}),
        *step(1, {"type": "model_output"}, {**sound, "data": base64(b"abc")}, {**sound, "data": "ZGVm"}),
    )
    assert reply.content == (
        Reasoning("", {NAME: {"summary": [picture]}}),
        Media(b"abcdef", "audio/l16", vendor={NAME: {"sample_rate": 24000}}),
    )


def test_citations_are_counted_in_characters():
    words = "Été. Oui."
    cited = [{"type": "url_citation", "url": "https://a", "start_index": 0, "end_index": 6}]
    whole = wire([], wrote({"type": "text", "text": words, "annotations": cited}), status="completed")
    (citation,) = interactions.decode(whole[1]).citations
    assert (citation.start, citation.end, words[citation.start : citation.end]) == (0, 4, "Été.")


def test_steps_that_come_only_at_the_end_are_read():
    last = standing("completed", "requires_action", steps=[wrote("Hi"), used("a", {"n": 1.0})])
    reply = reply_of(same_at_every_cut(interactions, stream(*BEGIN, last)))
    assert (reply.text, reply.calls[0].arguments) == ("Hi", '{"n":1.0}')


def test_a_call_that_begins_with_all_of_its_arguments_and_one_without_an_end():
    reply = read(
        {"index": 0, "step": used("a", {"n": 1}), "event_type": "step.start"},
        *use(1, "b", "{}"),
    )
    assert [call.arguments for call in reply.calls] == ['{"n":1}', "{}"]
    assert reply.stop == "calls"


def test_what_was_cut_off_never_ends_and_what_came_before_does():
    events = fed(
        interactions.decoder(),
        stream(*use(0, "a", "{}"), *use(1, "b", '{"q'), standing("completed", "incomplete")),
    )
    assert [event.call.id for event in events if isinstance(event, CallEnd)] == ["a"]
    assert reply_of(events).calls[1] == Call(
        id="b", name="look", arguments='{"q', truncated=True, vendor={NAME: {}}
    )


@pytest.mark.parametrize(
    ("status", "stop"),
    [
        ("budget_exceeded", "length"),
        ("cancelled", "error"),
        ("requires_action", "error"),
        ("?", "error"),
    ],
)
def test_how_it_stands_is_why_it_stopped(status, stop):
    assert read(*said(0, "Hi"), status=status).stop == stop


def test_one_that_breaks_off_is_continued_with_its_token():
    last = standing("completed", "requires_continuation", continuation_token="t")
    reply = reply_of(fed(interactions.decoder(), stream(*said(0, "Hi"), last)))
    assert (reply.stop, reply.vendor[NAME]) == ("pause", {"id": "v1_a", "continuation_token": "t"})


def test_one_that_failed_says_why():
    told = {"status": "failed", "steps": [], "errors": [{"code": "internal", "message": "no"}]}
    with pytest.raises(VendorError, match="no") as caught:
        interactions.decode(json.dumps(told).encode())
    assert (caught.value.vendor_code, caught.value.retryable) == ("internal", True)
    with pytest.raises(VendorError, match="the interaction failed"):
        read(status="failed")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[]", "not an object"),
        (b"{}", "without a status"),
        (b'{"status": "in_progress", "id": "v1"}', "no reply yet"),
        (b"\xff", "not JSON"),
        (b'{"status": "completed", "steps": 3}', "of another shape"),
        (b'{"status": "completed", "steps": [[]]}', "of another shape"),
    ],
)
def test_what_is_no_reply_is_a_protocol_error(body, words):
    with pytest.raises(ProtocolError, match=words):
        interactions.decode(body)


def test_a_body_in_a_list_is_the_body_and_an_event_of_another_shape_is_an_error():
    body = WIRES["single-call"][1]
    assert interactions.decode(b"[" + body + b"]") == interactions.decode(body)
    over = {"event_type": "interaction.completed"}
    with pytest.raises(ProtocolError, match=r"interaction\.completed of another shape"):
        fed(interactions.decoder(), stream({**over, "interaction": []}))
    odd = stream({**over, "interaction": {"status": [1]}})
    assert reply_of(fed(interactions.decoder(), odd)).stop == "error"


def test_a_body_in_place_of_a_stream_is_read_and_a_cut_one_is_truncated():
    body = WIRES["single-call"][1]
    assert reply_of(fed(interactions.decoder(), body[:9], body[9:])).calls
    for end in range(1, len(body)):
        with pytest.raises((TruncatedStream, ProtocolError)):
            fed(interactions.decoder(), body[:end])
    with pytest.raises(ProtocolError, match="no call is open"):
        fed(interactions.decoder(), stream(*use(0, "a", "{}")[1:2]))
