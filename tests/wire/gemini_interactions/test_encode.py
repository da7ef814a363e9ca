"""Requests of the Interactions API, held against Google's own types."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

import rightcall as rc
from conformance.scenarios import BASE
from later import Later
from request.server import serving, whole
from rightcall.core.message import Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.errors import EncodeError
from rightcall.request.background_model import BackgroundModel
from rightcall.wire import gemini_interactions as interactions
from rightcall.wire.gemini_interactions.messages import UNPARSED
from rightcall.wire.gemini_interactions.tables import NAME
from rightcall.wire.google import FOREIGN_SIGNATURE
from rightcall.wire.vendor_state import kept_at


def sent(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(interactions.encode(request, model="m", stream=True).body)
    typed = Later("google.genai._gaos.types.interactions").CreateModelInteraction.model_validate(body)
    unknown = [step for step in typed.input if getattr(step, "is_unknown", False)]  # type: ignore[union-attr]
    assert not unknown
    assert not typed.model_extra
    return body


def test_everything_that_can_be_asked_for_is_as_googles_types_have_it():
    options = {
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "reasoning": "max",
        "vendor_tools": [{"type": "google_search"}],
        "extra": {"generation_config": {"speech_config": []}, "service_tier": "flex"},
    }  # fmt: skip
    body = sent(replace(BASE, options=options, choice=Named("look"), output={"type": "object"}))
    assert body["generation_config"] == {
        "max_output_tokens": 100, "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop_sequences": ["END"],
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["look"]}},
        "thinking_level": "high", "thinking_summaries": "auto", "speech_config": [],
    }  # fmt: skip
    assert (body["store"], body["service_tier"]) == (False, "flex")
    assert [tool["type"] for tool in body["tools"]] == ["function", "google_search"]
    assert list(body)[-1] == "input"


def test_a_conversation_is_its_steps():
    png = Media(b"x", "image/png")
    thought = Reasoning("Hm.", {NAME: {"signature": "c2ln"}})
    calls = [
        Call(id="a", name="look", arguments='{"n": 1.0}', vendor={NAME: {}}),
        Call(id="", name="look", arguments="{", vendor={NAME: {}}),
    ]
    results = [
        Result(call_id="a", name="look", outcome="returned", content=(Text("one"), png)),
        Result(call_id="", name="look", outcome="failed", content=()),
    ]
    messages = (
        User((Text("See"), png)),
        Reply((thought, Reasoning("foreign"), Text("I look."), png, *calls)),
        Results(tuple(results)),
        Reply((Unknown({"other": {}}), Text(""))),
        User(()),
    )
    image = {"type": "image", "mime_type": "image/png", "data": "eA=="}
    one, words = {"type": "text", "text": "one"}, {"type": "text", "text": "I look."}
    assert sent(Request(messages=messages))["input"] == [
        {"type": "user_input", "content": [{"type": "text", "text": "See"}, image]},
        {"type": "thought", "summary": [{"type": "text", "text": "Hm."}], "signature": "c2ln"},
        {"type": "model_output", "content": [words, image]},
        {"type": "function_call", "id": "a", "name": "look", "arguments": {"n": 1.0}},
        {"type": "function_call", "id": "call", "name": "look", "arguments": {UNPARSED: "{"}},
        {"type": "function_result", "call_id": "a", "name": "look", "result": [one, image]},
        {
            "type": "function_result", "call_id": "call", "name": "look", "is_error": True,
            "result": [{"type": "text", "text": ""}],
        },
        {"type": "user_input", "content": [{"type": "text", "text": ""}]},
    ]  # fmt: skip


def test_a_call_of_anothers_has_the_signature_that_is_not_looked_at():
    calls = Reply((Call(id="a", name="x", arguments="{}"), Call(id="b", name="x", arguments="{}")))
    _, thought, *rest = sent(Request(messages=(user_text("Hi"), calls)))["input"]
    assert thought == {"type": "thought", "signature": FOREIGN_SIGNATURE}
    assert [step["id"] for step in rest] == ["a", "b"]


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (Request(messages=()), "messages"),
        (replace(BASE, options={"reasoning": 100}), "option 'reasoning'"),
        (replace(BASE, choice=Named("no")), "choice"),
        (replace(BASE, choice="required", specs=()), "choice"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(request_, where):
    with pytest.raises(EncodeError) as caught:
        interactions.encode(request_, model="m", stream=False)
    assert caught.value.where == where


def test_a_grammar_and_examples_end_the_description_and_a_native_tool_goes_as_it_is():
    spec = replace(BASE.specs[0], examples=({"q": "x"},), grammar={"lark": "start: A"})
    own = replace(BASE.specs[0], name="url_context", native={NAME: {"type": "url_context"}})
    first, second = sent(replace(BASE, specs=(spec, own)))["tools"]
    assert "start: A" in first["description"]
    assert '{"q":"x"}' in first["description"]
    assert second == {"type": "url_context"}


PAUSED = Reply((Text("One"),), "pause", vendor={NAME: {"id": "v1", "continuation_token": "t"}})


def test_what_broke_off_goes_on_from_the_same_input_or_from_where_it_is_kept():
    request = Request(messages=(user_text("Count"), PAUSED, PAUSED))
    body = sent(request)
    assert (body["continuation_token"], len(body["input"])) == ("t", 1)
    kept = json.loads(
        kept_at("gemini_interactions", "https://example.com")
        .encode(request, model="m", stream=False)
        .body
    )
    assert (kept["continuation_token"], kept["previous_interaction_id"]) == ("t", "v1")
    assert "input" not in kept


def answer(number: int, *steps: dict[str, Any], status: str = "completed") -> Any:
    body = {"id": f"v1_{number}", "status": status, "steps": steps, "usage": {"total_input_tokens": 5}}
    return whole(json.dumps(body).encode())


WORDS = {"type": "model_output", "content": [{"type": "text", "text": "Seen."}]}
CALLED = {"type": "function_call", "id": "a", "name": "look", "arguments": {}}


@rc.tool
def look() -> str:
    """Look."""
    return "seen"


async def test_the_vendor_keeps_the_conversation_and_is_told_all_where_it_has_forgotten():
    gone = whole(json.dumps({"error": {"code": 404, "message": "Not found"}}).encode(), 404)
    async with serving(answer(1, CALLED), gone, answer(2, WORDS)) as server:
        model = rc.connect(
            "gemini-interactions:m", base_url=server.url, api_key="k", streaming=False, state="vendor"
        )
        result = await rc.Agent(model, [look]).run("Look!")
        bodies = [json.loads(body) for _, _, body in server.requests]
    assert result.text == "Seen."
    assert [body.get("previous_interaction_id") for body in bodies] == [None, "v1_1", None]
    kinds = [[step["type"] for step in body["input"]] for body in bodies]
    assert kinds == [
        ["user_input"], ["function_result"], ["user_input", "function_call", "function_result"],
    ]  # fmt: skip
    assert all(body["store"] for body in bodies)


async def test_a_reply_is_made_in_the_background():
    async with serving(answer(1, status="in_progress"), answer(1, WORDS)) as server:
        model = rc.connect("gemini-interactions:m", base_url=server.url, api_key="k")
        result = await rc.Agent(BackgroundModel(model, 0.001)).run("Look!")  # type: ignore[arg-type]
        (path, _, body), (second, _, _) = server.requests
    assert result.text == "Seen."
    assert (path, second) == ("/v1beta/interactions", "/v1beta/interactions/v1_1")
    assert json.loads(body)["background"] is True


@pytest.mark.parametrize(
    ("model", "level"),
    [("gemini-3.6-flash", "minimal"), ("gemini-3.8-flash", "low"), ("gemini-3.1-pro-preview", "low")],
)
def test_the_least_thought_is_the_least_level_that_the_model_knows(model, level):
    asked = replace(BASE, options={"reasoning": "none"})
    sent = json.loads(interactions.encode(asked, model=model, stream=True).body)
    assert sent["generation_config"]["thinking_level"] == level
