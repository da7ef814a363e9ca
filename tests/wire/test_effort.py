"""How much to think, in the words that every dialect knows."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter

from later import Later
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.claude import budget_for_effort
from rightcall.wire.dialects import DIALECTS, load

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
MODELS = {
    "openai_chat": ("gpt-5",),
    "openai_responses": ("gpt-5",),
    "anthropic": ("claude-opus-4-8", "claude-sonnet-4-5-20250929"),
    "gemini": ("gemini-3-pro-preview", "gemini-2.5-flash", "gemini-2.5-pro"),
    "cohere": ("command-a-reasoning-08-2025",),
    "gemini_interactions": ("gemini-3.6-flash",),
    "ollama": ("gpt-oss",),
    "bedrock": ("anthropic.claude-opus-4-8-v1", "openai.gpt-oss-120b-1:0", "amazon.nova-2-lite-v1:0"),
}
TYPES: Mapping[str, Any] = {
    "reasoning_effort": (Later("openai.types.shared"), "ReasoningEffort"),
    "reasoning": (Later("openai.types.shared_params"), "Reasoning"),
    "thinking": (Later("anthropic.types"), "ThinkingConfigParam"),
    "output_config": (Later("anthropic.types"), "OutputConfigParam"),
    "thinkingConfig": (Later("google.genai.types"), "ThinkingConfig"),
}
"""What the vendors' SDKs take under each name."""


def body(dialect: str, model: str, reasoning: object, **more: Any) -> dict[str, Any]:
    request = Request(messages=(user_text("Hi"),), options={"reasoning": reasoning}, **more)  # type: ignore[dict-item]
    sent: dict[str, Any] = msgspec.json.decode(
        load(dialect).encode(request, model=model, stream=False).body
    )
    return sent


PLACES = [(dialect, model) for dialect in DIALECTS for model in MODELS[dialect]]


@pytest.mark.parametrize(("dialect", "model"), PLACES)
def test_every_word_for_effort_is_known_in_every_dialect(dialect, model):
    bare = body(dialect, model, None)
    for word in WORDS:
        sent = body(dialect, model, word)
        assert sent != bare or (word, model) == ("none", "openai.gpt-oss-120b-1:0")
        for name, (module, kind) in TYPES.items():
            for holder in (sent, sent.get("generationConfig", {})):
                if name in holder and dialect != "cohere":
                    TypeAdapter(getattr(module, kind)).validate_python(holder[name])


@pytest.mark.parametrize(("dialect", "model"), PLACES)
def test_a_word_that_is_none_is_refused_with_its_place(dialect, model):
    with pytest.raises(EncodeError, match="reasoning"):
        body(dialect, model, "huge")


@pytest.mark.parametrize(
    ("model", "budget"),
    [
        ("claude-3-7-sonnet-20250219", 8192),
        ("claude-sonnet-4-20250514", 8192),
        ("claude-opus-4@20250514", 8192),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 8192),
        ("claude-opus-4-5", 8192),
        ("claude-opus-4-6", None),
        ("claude-sonnet-4-6", None),
        ("claude-opus-4-10", None),
        ("claude-sonnet-5", None),
        ("MiniMax-M2", None),
    ],
)
def test_only_claudes_before_adaptive_thinking_get_a_budget(model, budget):
    assert budget_for_effort("medium", model, None) == budget


def test_a_budget_leaves_half_of_the_limit_to_the_answer():
    sent = body("anthropic", "claude-sonnet-4-5", "max", max_tokens=4096)
    assert (sent["thinking"], sent["max_tokens"]) == ({"type": "enabled", "budget_tokens": 2048}, 4096)
