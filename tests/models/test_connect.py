"""Names into models: providers, addresses, keys, prices."""

import json
import sys
from pathlib import Path

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.errors import UsageError
from rightcall.models import providers
from rightcall.models.providers import PROVIDERS, quirks_of
from rightcall.transport.http import HttpTransport

KEY = "sk-test-0123456789abcdef"
CHAT = {
    "id": "r",
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for provider in PROVIDERS.values():
        for variable in (*provider.keys, provider.url_variable):
            if variable:
                monkeypatch.delenv(variable, raising=False)


WRONG = {
    "no scheme": (
        "localhost:8000|m",
        r"'localhost:8000\|m': an address begins with http:// or https://",
    ),
    "an unknown provider": ("antropic:claude", r"no provider 'antropic'; did you mean 'anthropic'\?"),
    "another library's word": ("google-gla:flash", r"no provider 'google-gla'; did you mean 'gemini'\?"),
    "another library's slash": ("openai/gpt-5", "provider:model, as in 'openai:gpt-5'"),
    "a model alone": ("claude-opus-4-8", "provider:model, as in 'anthropic:claude-opus-4-8'"),
    "no model": ("openai", "write the provider and the model as provider:model"),
    "a port that is none": ("http://me:pass/word@localhost:8080/v1|m", "its host or its port is wrong"),
    "a port that is too high": ("http://localhost:99999/v1|m", "its host or its port is wrong"),
    "half an address of IPv6": ("http://[::1/v1|m", "its host or its port is wrong"),
    "an address without a model": ("http://localhost:8080/v1", "as address|model"),
    "no key": ("openai:gpt-4o", "openai: no key; set OPENAI_API_KEY, or pass api_key="),
    "either of two keys": ("gemini:flash", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
    "no address": ("azure:gpt", "set AZURE_OPENAI_ENDPOINT, or pass base_url="),
}


@pytest.mark.parametrize(("name", "words"), WRONG.values(), ids=WRONG)
def test_a_name_that_leads_nowhere_says_what_to_do(name, words):
    with pytest.raises(UsageError, match=words):
        rc.connect(name)


def test_a_misspelt_name_does_not_ask_for_what_local_models_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "rightcall.models.local", raising=False)
    with pytest.raises(UsageError, match="'gpt-4o' is no local model"):
        rc.connect("gpt-4o")


def test_no_provider_is_listed_twice():
    listed = json.loads(Path(providers.__file__).with_name("providers.json").read_text())["providers"]
    assert [each["name"] for each in listed] == list(PROVIDERS)


def test_every_provider_can_be_connected_to(monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    for name in PROVIDERS:
        model = rc.connect(f"{name}:some-model", api_key=KEY, base_url="http://localhost:1")
        assert KEY not in repr(model)


def test_the_key_comes_from_the_environment_and_stays_out_of_sight(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert KEY not in repr(rc.connect("anthropic:claude"))


def test_the_price_tables_say_how_much_a_model_holds():
    assert rc.connect("openai:gpt-4o", api_key=KEY).profile.context_window == 128_000
    assert rc.connect("openai:no-such-model", api_key=KEY).profile.context_window is None


def test_a_variable_is_part_of_an_address(monkeypatch):
    with pytest.raises(UsageError, match="set SNOWFLAKE_ACCOUNT, or pass base_url="):
        rc.connect("snowflake:m", api_key=KEY)
    monkeypatch.setenv("SNOWFLAKE_ACCOUNT", "evil.example/x?")
    with pytest.raises(UsageError, match="can be no part of one"):
        rc.connect("snowflake:m", api_key=KEY)
    monkeypatch.setenv("SNOWFLAKE_ACCOUNT", "MyOrg-my_account")
    url = "https://myorg-my-account.snowflakecomputing.com/api/v2/cortex/v1"
    assert url in repr(rc.connect("snowflake:m", api_key=KEY))


def test_what_a_host_cannot_is_in_the_profile():
    assert not rc.connect("moonshot:kimi-k3", api_key=KEY).profile.forced_choice
    assert rc.connect("zai:glm-5", api_key=KEY).profile.structured == "tool"
    deepseek = rc.connect("deepseek:deepseek-v4-pro", api_key=KEY).profile
    assert (deepseek.forced_choice, deepseek.structured) == (False, "tool")
    assert rc.connect("huggingface:m", api_key=KEY).profile.forced_choice


async def test_perplexity_is_asked_as_responses_without_what_it_does_not_know():
    reply = {"id": "r", "status": "completed", "model": "m", "output": []}
    async with serving(whole(json.dumps(reply).encode())) as server:
        name, url = "perplexity:perplexity/sonar", f"{server.url}/v1"
        async with rc.connect(name, base_url=url, api_key=KEY, streaming=False) as model:
            assert not model.profile.forced_choice
            _ = [event async for event in model.stream(Request(messages=(user_text("Hi"),)))]
        path, _, body = server.requests[0]
    assert path == "/v1/responses"
    assert "prompt_cache_key" not in json.loads(body)
    assert json.loads(body)["include"] == []


async def exchange(name: str, **options: object) -> tuple[str, dict[str, str], dict, list]:
    transport = HttpTransport()
    async with serving(whole(json.dumps(CHAT).encode())) as server:
        model = rc.connect(name.format(url=server.url), transport=transport, **options)
        events = [event async for event in model.stream(Request(messages=(user_text("Hi"),)))]
        path, headers, body = server.requests[0]
    await transport.close()
    return path, headers, json.loads(body), events


async def test_an_address_of_ones_own_is_asked_without_a_key():
    path, headers, body, _ = await exchange("{url}/v1|qwen3")
    assert (path, body["model"], "authorization" in headers) == ("/v1/chat/completions", "qwen3", False)


async def test_a_reply_is_priced_where_the_price_is_known(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    transport = HttpTransport()
    async with serving(whole(json.dumps(CHAT).encode())) as server:
        model = rc.connect("openai:gpt-4o", base_url=server.url, transport=transport)
        result = await rc.Agent(model).run("Hi")
    await transport.close()
    assert result.usage.cost == pytest.approx(1000 * 2.5e-6 + 100 * 10e-6)


async def test_a_header_of_the_provider_carries_the_key():
    transport = HttpTransport()
    async with serving(whole(json.dumps(CHAT).encode())) as server:
        model = rc.connect("azure:gpt-4o", base_url=server.url, api_key=KEY, transport=transport)
        _ = [event async for event in model.stream(Request(messages=(user_text("Hi"),)))]
        _, headers, _ = server.requests[0]
    await transport.close()
    assert headers["api-key"] == KEY
    assert "authorization" not in headers


def test_a_user_in_the_address_and_a_key_are_one_too_many():
    with pytest.raises(UsageError, match="the address holds a user and a password, and there is a key"):
        rc.connect("openai:gpt", base_url="http://me:secret@127.0.0.1:1/v1", api_key="k")
    assert "secret" not in repr(rc.connect("openai:gpt", base_url="http://127.0.0.1:1/v1", api_key="k"))


async def test_usage_that_cannot_be_is_not_counted(caplog):
    body = {
        "model": "gpt",
        "choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": -5, "completion_tokens": 7, "cost": -1.5},
    }
    async with serving(whole(json.dumps(body).encode())) as server:
        url = server.url
        async with rc.connect("openai:gpt", base_url=url, api_key="k", streaming=False) as model:
            result = await rc.Agent(model).run("Hi.")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (0, 7)
    assert not (result.usage.cost or 0) < 0
    assert "usage that cannot be is not counted: input_tokens -5" in caplog.text


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-opus-4-8-20260528", True),
        ("claude-opus-5-5", True),
        ("claude-fable-5-1", True),
        ("claude-haiku-5-5", True),
        ("claude-opus-4-7", False),
        ("claude-sonnet-5", False),
        ("claude-sonnet-4-6", False),
    ],
)
def test_only_newer_claudes_are_sent_instructions_in_the_middle_of_a_conversation(model, takes):
    assert quirks_of("anthropic", model).get("system_turns", False) is takes
    assert quirks_of("bedrock-anthropic", model) == {}


def test_an_agent_by_name_costs_little_to_make_once_one_was_made(monkeypatch):
    """Function calls are counted, which are the same on every machine: 0.05 and 0.09 ms of CPU."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def weather(city: str, days: int = 1) -> str:
        """The weather in a city."""
        return city

    def count_calls(tools):
        rc.Agent("openai:gpt-5", tools)
        calls = 0

        def count(_frame, event, _argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            rc.Agent("openai:gpt-5", tools)
        finally:
            sys.setprofile(None)
        return calls

    assert count_calls([]) < 800
    assert count_calls([weather]) < 1_200
