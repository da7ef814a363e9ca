"""What newer Claudes refuse, and what they are sent instead, in every dialect that they are asked in."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

import rightcall as rc
from later import Later
from rightcall.core.message import Reasoning, Reply, user_text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.wire import anthropic, bedrock
from rightcall.wire.anthropic import server
from rightcall.wire.claude import can_be_forced

BINDING = "thinking-binding-controls-2026-08-01"
DROPPED = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
CLOCK = Spec(name="clock", description="The time.", parameters={"type": "object", "properties": {}})
THOUGHT = Reasoning("Hm.", {"anthropic": {"signature": "s"}})
TOLD = (user_text("Hi"), Reply(content=(THOUGHT,), stop="end"), user_text("Go on"))


def messages(model: str, **more: Any) -> tuple[dict[str, Any], str]:
    """The body and the betas of a Messages request."""
    asked = Request(**{"messages": (user_text("Hi"),), **more})
    outgoing = anthropic.encode(asked, model=model, stream=True)
    body = json.loads(outgoing.body)
    if "thinking" in body:
        TypeAdapter(Later("anthropic.types.beta").BetaThinkingConfigParam).validate_python(
            body["thinking"]
        )
    return body, outgoing.headers.get("anthropic-beta", "")


def converse(model: str, **more: Any) -> dict[str, Any]:
    """The body of a Converse request."""
    asked = Request(**{"messages": (user_text("Hi"),), **more})
    body: dict[str, Any] = json.loads(bedrock.encode(asked, model=model, stream=True).body)
    return body


LEAST: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {
    "claude-opus-4-8": ({"type": "disabled"}, None),
    "claude-opus-5": ({"type": "disabled"}, None),
    "claude-opus-5-5": (None, {"effort": "low"}),
    "claude-opus-6": (None, {"effort": "low"}),
    "claude-sonnet-5": ({"type": "disabled"}, None),
    "claude-sonnet-5-5": ({"type": "between_tools"}, None),
    "claude-haiku-5-5": ({"type": "disabled"}, None),
    "claude-fable-5": (None, {"effort": "low"}),
    "claude-fable-5-2": (None, {"effort": "low"}),
    "claude-mythos-preview": (None, {"effort": "low"}),
    "minimax-m3": ({"type": "disabled"}, None),
}


@pytest.mark.parametrize("model", LEAST)
def test_the_least_thought_is_what_the_model_has_for_it(model):
    thinking, config = LEAST[model]
    body, _ = messages(model, options={"reasoning": "none"})
    assert (body.get("thinking"), body.get("output_config")) == (thinking, config)
    if model.startswith("claude"):
        body = converse(f"us.anthropic.{model}", options={"reasoning": "none"})
        fields = body.get("additionalModelRequestFields", {})
        assert (fields.get("thinking"), body.get("outputConfig")) == (thinking, config)


@pytest.mark.parametrize(
    ("model", "tokens", "effort"),
    [
        ("claude-opus-4-7", 500, "low"),
        ("claude-opus-5", 2_048, "low"),
        ("claude-sonnet-5", 8_000, "medium"),
        ("claude-haiku-5-5", 10_000, "high"),
        ("claude-fable-5", 20_000, "xhigh"),
        ("claude-opus-5-5", 90_000, "max"),
    ],
)
def test_a_budget_becomes_an_effort_where_a_budget_is_refused(model, tokens, effort):
    body, _ = messages(model, options={"reasoning": tokens})
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": effort}
    body = converse(f"anthropic.{model}", options={"reasoning": tokens})
    assert body["additionalModelRequestFields"]["thinking"] == {"type": "adaptive"}
    assert body["outputConfig"] == {"effort": effort}


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "glm-5"])
def test_a_budget_stays_one_where_it_is_taken(model):
    body, _ = messages(model, options={"reasoning": 2_000})
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2_000}


@pytest.mark.parametrize(
    ("model", "effort"),
    [("claude-sonnet-4-6", "max"), ("claude-opus-4-7", "xhigh"), ("claude-sonnet-5", "xhigh")],
)
def test_an_effort_that_came_with_4_7_is_the_next_greater_one_before(model, effort):
    body, _ = messages(model, options={"reasoning": "xhigh"})
    assert body["output_config"] == {"effort": effort}


FORCED = {
    "claude-opus-4-8": True,
    "claude-opus-5": True,
    "claude-sonnet-5": True,
    "anthropic.claude-sonnet-5": False,
    "anthropic.claude-opus-5": True,
    "claude-haiku-5-5": True,
    "claude-opus-5-5": False,
    "anthropic/claude-opus-5.5": False,
    "us.anthropic.claude-sonnet-5-5": False,
    "claude-fable-5": False,
    "claude-fable-5-1": False,
    "claude-mythos-5": False,
    "claude-mythos-preview": False,
    "gpt-5.5": True,
}


@pytest.mark.parametrize("model", FORCED)
def test_models_that_refuse_a_forced_choice_choose_themselves(model):
    assert can_be_forced(model) is FORCED[model]
    for choice, forced in (
        ("required", {"type": "any"}),
        (Named("clock"), {"type": "tool", "name": "clock"}),
    ):
        body, _ = messages(model, specs=(CLOCK,), choice=choice)
        assert body.get("tool_choice") == (forced if FORCED[model] else None)
    body = converse(model, specs=(CLOCK,), choice="required")
    assert body["toolConfig"].get("toolChoice") == ({"any": {}} if FORCED[model] else None)
    body, _ = messages(model, specs=(CLOCK,), choice="none")
    assert body["tool_choice"] == {"type": "none"}


def test_the_profile_says_which_claudes_can_be_forced():
    for place in ("anthropic", "openrouter"):
        assert not rc.connect(f"{place}:claude-opus-5-5", api_key="k").profile.forced_choice
        assert rc.connect(f"{place}:claude-opus-5", api_key="k").profile.forced_choice


@pytest.mark.parametrize(
    ("model", "is_bound"),
    [
        ("claude-opus-5", False),
        ("claude-sonnet-5", False),
        ("claude-fable-5", False),
        ("claude-fable-5-1", True),
        ("claude-mythos-5-2", True),
        ("claude-opus-5-5", True),
        ("claude-haiku-5-5", True),
        ("kimi-k3", False),
    ],
)
def test_thoughts_behind_a_changed_prompt_are_left_out_and_no_reason_to_refuse(model, is_bound):
    body, betas = messages(model, messages=TOLD)
    assert body.get("thinking") == ({"type": "adaptive", **DROPPED} if is_bound else None)
    assert (BINDING in betas) is is_bound
    body, _ = messages(model, messages=TOLD, options={"reasoning": "low"})
    assert body["thinking"] == {"type": "adaptive", **(DROPPED if is_bound else {})}
    fields = converse(f"anthropic.{model}", messages=TOLD).get("additionalModelRequestFields", {})
    assert fields.get("thinking") == ({"type": "adaptive", **DROPPED} if is_bound else None)
    assert fields.get("anthropic_beta") == ([BINDING] if is_bound else None)


def test_nothing_is_said_of_thoughts_where_there_are_none_or_none_are_wanted():
    body, betas = messages("claude-opus-5-5")
    assert "thinking" not in body
    assert betas == ""
    body, betas = messages("claude-sonnet-5-5", messages=TOLD, options={"reasoning": "none"})
    assert body["thinking"] == {"type": "between_tools"}
    assert betas == ""


def test_a_client_that_wants_thoughts_between_calls_alone_wants_the_least():
    body = {"model": "m", "max_tokens": 9, "thinking": {"type": "between_tools"}, "messages": []}
    body["messages"] = [{"role": "user", "content": "Hi"}]
    asked = server.parse_request(json.dumps(body).encode(), headers={})
    assert asked.request.options["reasoning"] == "none"
