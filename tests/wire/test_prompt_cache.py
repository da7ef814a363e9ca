"""What is kept of a prompt, how long, and arguments that come as they are written: in vendors' words."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

import rightcall as rc
from later import Later
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.dialects import load

ANTHROPIC = Later("anthropic.types")
OPENAI = Later("openai.types")

PDF = b"%PDF-1.7 a long contract"
SPECS = tuple(
    Spec(name=name, description="Look.", parameters={"type": "object"}, cache=name == "first")
    for name in ("first", "second")
)
ASKED = rc.User(
    (
        rc.models.Text("The contract:"),
        rc.file(PDF, name="contract.pdf", cache=True),
        rc.models.Text("Rules.", cache=True),
        rc.models.Text("Who pays?"),
    )
)
CLAUDE = "us.anthropic.claude-x-v1:0"
OPENROUTER = "https://openrouter.ai/api/v1"


def sent(dialect: str, *, model: str = "m", url: str = "", specs: tuple[Spec, ...] = (), **options: Any):
    request = Request(messages=(ASKED,), specs=specs, options=options)
    module = load(dialect, url)
    body = json.loads(module.encode(request, model=model, stream=True).body)
    # A conversation's own encoder writes the same.
    assert json.loads(module.encoder()(request, model=model, stream=True).body) == body
    return body


def test_anthropic_marks_parts_and_tools_and_says_how_long():
    body = sent("anthropic", specs=SPECS, cache_ttl="1h", cache=False, eager=True)
    TypeAdapter(ANTHROPIC.MessageCreateParams).validate_python(body)
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert [part.get("cache_control") for part in body["messages"][0]["content"]] == [
        None, mark, mark, None,
    ]  # fmt: skip
    assert [tool.get("cache_control") for tool in body["tools"]] == [mark, None]
    assert [tool["eager_input_streaming"] for tool in body["tools"]] == [True, True]
    TypeAdapter(list[ANTHROPIC.ToolParam]).validate_python(body["tools"])
    # Marks of one's own count towards the four that there may be.
    text = json.dumps(sent("anthropic", specs=SPECS, cache_ttl="5m"))
    assert text.count("cache_control") == text.count('"ttl": "5m"') == 4
    assert "eager" not in text


def test_bedrock_has_points_after_parts_and_tools():
    body = sent("bedrock", model=CLAUDE, specs=SPECS, cache_ttl="1h", cache=False, eager=True)
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    content = body["messages"][0]["content"]
    # None may follow a document, so what is before it is kept.
    assert [next(iter(block)) for block in content] == [
        "text", "cachePoint", "document", "text", "cachePoint", "text",
    ]  # fmt: skip
    assert content[1] == point
    assert body["toolConfig"]["tools"][1] == point
    assert len(body["toolConfig"]["tools"]) == 3
    fields = body["additionalModelRequestFields"]
    assert fields["anthropic_beta"] == ["fine-grained-tool-streaming-2025-05-14"]
    # Models of others refuse such points.
    assert "cachePoint" not in json.dumps(
        sent("bedrock", model="mistral.x-v1:0", specs=SPECS, eager=True)
    )


def test_openai_has_lifetimes_keys_and_breakpoints():
    breakpoints = [None, {"mode": "explicit"}, {"mode": "explicit"}, None]
    for dialect, kind, member in (
        ("openai_chat", OPENAI.chat.CompletionCreateParams, "messages"),
        ("openai_responses", OPENAI.responses.ResponseCreateParams, "input"),
    ):
        body = sent(dialect, cache_ttl="30m", cache_key="contract-7", specs=SPECS)
        TypeAdapter(kind).validate_python(body)
        assert body["prompt_cache_options"] == {"ttl": "30m"}
        assert body["prompt_cache_key"] == "contract-7"
        parts = body[member][0]["content"]
        assert [part.get("prompt_cache_breakpoint") for part in parts] == breakpoints
        assert sent(dialect, cache_ttl="24h")["prompt_cache_retention"] == "24h"


def test_hosts_that_know_none_of_it_are_told_none_of_it():
    told = sent("openai_chat", url="https://api.groq.com/openai/v1", cache_ttl="24h", cache_key="k")
    assert "cache" not in json.dumps(told)
    # OpenRouter hands Anthropic's marks on.
    parts = sent("openai_chat", url=OPENROUTER)["messages"][0]["content"]
    assert ["cache_control" in part for part in parts] == [False, True, True, False]
    assert "cache" not in json.dumps(sent("gemini", cache_ttl="1h", cache_key="k"))


@pytest.mark.parametrize(
    ("dialect", "ttl", "words"),
    [
        ("anthropic", "24h", "5m or 1h is"),
        ("bedrock", "30m", "5m or 1h is"),
        ("openai_responses", "1h", "30m or 12h or 24h is"),
        ("openai_chat", "12h", "30m or 24h is"),
    ],
)
def test_a_lifetime_that_a_vendor_has_not_is_refused(dialect, ttl, words):
    with pytest.raises(EncodeError, match=words):
        sent(dialect, cache_ttl=ttl)


def test_logprobs_are_asked_for_where_there_are_any():
    assert sent("openai_chat", logprobs=True)["logprobs"] is True
    chat = sent("openai_chat", logprobs=3)
    assert (chat["logprobs"], chat["top_logprobs"]) == (True, 3)
    responses = sent("openai_responses", logprobs=3)
    assert "message.output_text.logprobs" in responses["include"]
    assert responses["top_logprobs"] == 3
    TypeAdapter(OPENAI.responses.ResponseCreateParams).validate_python(responses)
    config = sent("gemini", logprobs=3)["generationConfig"]
    assert (config["responseLogprobs"], config["logprobs"]) == (True, 3)
    assert sent("gemini", logprobs=True)["generationConfig"] == {"responseLogprobs": True}
    assert "logprobs" not in sent("openai_chat", logprobs=False)
    for dialect in ("anthropic", "bedrock"):
        with pytest.raises(EncodeError, match="ask by openai_chat, openai_responses, gemini or ollama"):
            sent(dialect, logprobs=True)


def test_vertex_streams_arguments_where_it_is_asked_to():
    model = "publishers/google/models/gemini-3-pro"
    config = sent("gemini", model=model, specs=SPECS, eager=True)["toolConfig"]
    assert config == {"functionCallingConfig": {"streamFunctionCallArguments": True}}
    assert "toolConfig" not in sent("gemini", model="gemini-3-pro", specs=SPECS, eager=True)


def test_options_are_checked_by_their_kinds():
    for bad in ({"cache_ttl": "2h"}, {"logprobs": "yes"}, {"eager": 1}, {"cache_key": 7}):
        with pytest.raises(rc.errors.UsageError):
            rc.Agent("http://localhost:8080/v1|m", options=bad)  # type: ignore[arg-type]


def test_a_refusal_names_who_takes_it():
    film = rc.User((rc.file(b"\0\0\0\0ftypmp42", name="a.mp4"),))
    for dialect in ("anthropic", "openai_responses", "openai_chat"):
        with pytest.raises(EncodeError, match="gemini, bedrock would take it"):
            load(dialect, "https://api.openai.com/v1").encode(
                Request(messages=(film,)), model="m", stream=False
            )


def test_a_tool_and_a_function_say_it():
    @rc.tool(cache=True)
    def look() -> str:
        """Look."""
        return ""

    assert look.spec.cache
    assert rc.Tool("look", "Look.", cache=True).spec.cache
    assert rc.image(b"\x89PNG\r\n\x1a\n", cache=True).cache
