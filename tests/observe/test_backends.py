"""Runs through the libraries of Logfire and Langfuse: what these take of our spans, and leave as it is.

Neither backend is asked: their libraries filter, scrub and add before anything is sent. They are in the
environment that ``make test WHAT=otel`` makes; skipped in words elsewhere.
"""

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import TypeAdapter

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

NEEDED = "make test WHAT=otel installs it"
PRICED = rc.models.Usage(input_tokens=400, output_tokens=30, cost=0.002)


@rc.tool(effect="read")
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"{city}: sunny"


@rc.tool(effect="read")
def get_trains(city: str) -> str:
    """Trains to a city."""
    raise TimeoutError("no answer")


async def traced(provider: Any, **options: Any) -> None:
    """Have a run with a call that returns and one that fails."""
    calls = (call("get_weather", city="Paris"), call("get_trains", city="Paris"))
    model = ScriptedModel([reply(*calls, usage=PRICED), reply("Sunny.", usage=PRICED)], name="large")
    watcher = rc.observe.OpenTelemetry(content=True, tracer_provider=provider, **options)
    agent = rc.Agent(model, [get_weather, get_trains], "Plan trips.", name="travel", observers=[watcher])
    with rc.observe.conversation("trip-1"):
        await agent.run("Can I go to Paris?")


def by_name(kept: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in kept.get_finished_spans()}


NAMES = {"invoke_agent travel", "chat large", "execute_tool get_weather", "execute_tool get_trains"}


async def test_logfire_reads_messages_as_its_own_and_scrubs_nothing_that_it_needs(tmp_path):
    logfire = pytest.importorskip("logfire", reason=f"needs logfire: {NEEDED}")
    shapes = pytest.importorskip("logfire._internal.integrations.llm_providers.semconv")
    levels = pytest.importorskip("logfire._internal.constants")
    kept = InMemorySpanExporter()
    instance = logfire.configure(
        local=True,
        send_to_logfire=False,
        console=False,
        config_dir=tmp_path,
        data_dir=tmp_path,
        additional_span_processors=[SimpleSpanProcessor(kept)],
    )
    await traced(instance.config.get_tracer_provider(), totals="aggregated")
    instance.shutdown()
    spans = by_name(kept)
    assert set(spans) >= NAMES
    chat, agent = spans["chat large"].attributes, spans["invoke_agent travel"].attributes
    asked = json.loads(chat["gen_ai.input.messages"])
    assert TypeAdapter(list[shapes.ChatMessage]).validate_python(asked) == asked
    parts = [part for message in asked for part in message["parts"]]
    known = {
        "text": shapes.TextPart,
        "tool_call": shapes.ToolCallPart,
        "tool_call_response": shapes.ToolCallResponsePart,
    }
    assert {part["type"] for part in parts} == set(known)
    for part in parts:
        # As its own kind, and not as anything: a part that Logfire does not know is any mapping.
        assert TypeAdapter(known[part["type"]]).validate_python(part) == part
    assert chat["gen_ai.conversation.id"] == "trip-1"
    assert (chat["gen_ai.usage.input_tokens"], chat["operation.cost"]) == (400, 0.002)
    assert agent["gen_ai.aggregated_usage.input_tokens"] == 800
    assert "gen_ai.usage.input_tokens" not in agent
    scrubbed = {name for span in spans.values() for name, value in span.attributes.items()
                if isinstance(value, str) and value.startswith("[Scrubbed")}  # fmt: skip
    # Langfuse's name for a conversation looks like a secret to Logfire, which does not read it.
    assert scrubbed <= {"session.id"}
    failed = spans["execute_tool get_trains"]
    assert failed.attributes["logfire.level_num"] == levels.LEVEL_NUMBERS["error"]
    assert "no answer" not in json.dumps(dict(failed.attributes), default=str)


async def test_langfuse_takes_every_span_and_finds_the_root():
    processors = pytest.importorskip(
        "langfuse._client.span_processor", reason=f"needs langfuse: {NEEDED}"
    )
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(
        processors.LangfuseSpanProcessor(
            public_key="pk", secret_key="sk", base_url="http://127.0.0.1:9", span_exporter=kept
        )
    )
    await traced(provider, totals="none")
    provider.shutdown()
    spans = by_name(kept)
    assert set(spans) == NAMES
    roots = {
        name for name, span in spans.items() if span.attributes.get("langfuse.internal.is_app_root")
    }
    assert roots == {"invoke_agent travel"}
    # Whatever a session is filtered or summed up by is looked for in every span of it.
    assert [span.attributes["session.id"] for span in spans.values()] == ["trip-1"] * 4
    chat, agent = spans["chat large"].attributes, spans["invoke_agent travel"].attributes
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.cost"]) == (400, 0.002)
    assert not [name for name in agent if name.startswith("gen_ai.usage.")]
