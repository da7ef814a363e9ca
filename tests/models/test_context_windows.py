"""How many tokens a model reads, and what an agent sends of a long history for it."""

import json
import logging

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.models.providers import CONTEXT_WINDOWS, PROVIDERS, context_window

CHAT = {"choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}

KNOWN = {
    "gemini:gemini-2.5-pro": 1_048_576,
    "gemini:gemini-3-pro-preview": 1_048_576,
    "gemini-interactions:gemini-3.1-pro-preview": 1_048_576,
    "groq:llama-3.3-70b-versatile": 131_072,
    "groq:meta-llama/llama-4-scout-17b-16e-instruct": 131_072,
    "mistral:mistral-large-latest": 256_000,
    "mistral:mistral-large-2411": 131_072,
    "cohere:command-a-03-2025": 256_000,
    "cohere:command-r-plus-08-2024": 128_000,
    "zai:glm-4.6": 200_000,
    "alibaba:qwen3-max": 262_144,
    "perplexity:anthropic/claude-opus-4-8": 1_000_000,
    "https://proxy.example/v1|google/gemini-2.5-flash-image": 32_768,
    "https://proxy.example/v1|GPT-5-mini": 400_000,
    # What the tables have is the same without them; they are an extra.
    "xai:grok-4-0709": 256_000,
    "moonshot:kimi-k2-thinking": 262_144,
    # However a host writes the name.
    "https://proxy.example/v1|anthropic/claude-opus-4.8": 1_000_000,
    "https://proxy.example/v1|us.anthropic.claude-opus-5-5-v1:0": 1_000_000,
    "https://proxy.example/v1|ft:gpt-4o-2024-08-06:acme::abc": 128_000,
    "https://proxy.example/v1|gpt-4.1": 1_047_576,
    "https://proxy.example/v1|gpt-5.6-sol": 1_050_000,
    "https://proxy.example/v1|qwen3": None,
    "ollama:qwen3": None,
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_models_context_is_known_wherever_its_vendor_states_it(name):
    assert rc.connect(name, api_key="k").profile.context_window == KNOWN[name]


AT_BEDROCK = {
    "anthropic.claude-opus-4-8-v1:0": 1_000_000,
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0": 200_000,
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-v1:0": 200_000,
    "us-gov.amazon.nova-pro-v1:0": 300_000,
    "meta.llama3-3-70b-instruct-v1:0": None,
}


@pytest.mark.parametrize("model", AT_BEDROCK)
def test_a_region_and_a_vendor_in_front_hide_no_context(model):
    assert context_window("bedrock", model) == AT_BEDROCK[model]


def test_the_tables_go_first_where_they_are_installed():
    pytest.importorskip("genai_prices")
    assert rc.connect("deepseek:deepseek-v4-pro", api_key="k").profile.context_window == 1_000_000
    assert context_window("deepseek", "deepseek-v4-pro") is None


def test_no_row_hides_one_below_it():
    rows = [(windows.provider, start) for windows in CONTEXT_WINDOWS for start in windows.tokens]
    for at, (provider, start) in enumerate(rows):
        assert provider in ("", *PROVIDERS)
        for above, prefix in rows[:at]:
            assert not (above in ("", provider) and start.startswith(prefix)), (provider, start)


def history(messages, tokens):
    said = rc.Text("word " * tokens)
    return [rc.Reply((said,)) if at % 2 else rc.User((said,)) for at in range(messages)]


async def test_a_long_history_is_cut_for_an_address_and_sent_whole_where_it_fits(caplog):
    caplog.set_level(logging.INFO, "rightcall")
    long = history(241, 1_000)
    async with serving(whole(json.dumps(CHAT).encode())) as server:

        async def count_sent(model, **options):
            async with rc.Agent(f"{server.url}/v1|{model}", **options) as agent:
                await agent.run("Hi", history=long)
            return len(json.loads(server.requests[-1][2])["messages"])

        assert await count_sent("gemini-2.5-pro") == 242
        assert "not known" not in caplog.text
        assumed = await count_sent("my-own")
        assert 40 < assumed < 120
        assert await count_sent("my-own", window=rc.conversation.Window(tokens=500_000)) == 242
        assert await count_sent("my-own", window=rc.conversation.Window(tokens=10_000)) < 12
        assert await count_sent("my-own") == assumed
    notes = [record.getMessage() for record in caplog.records if "not known" in record.getMessage()]
    assert len(notes) == 1
    assert "my-own is not known: 128,000 tokens are assumed" in notes[0]
    assert "window=rc.conversation.Window(tokens=…)" in notes[0]
