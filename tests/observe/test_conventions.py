"""Spans and metrics against the conventions: by a table of our own, and by the published registry."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanKind

import rightcall as rc
from observe.semantics import BACKENDS, CONTENT, FOR_BOTH, METRICS, OURS, REQUIRED, published
from rightcall.testing import ScriptedModel, call, reply

STATES = ["1.41.1", "dev"]
USAGE = rc.models.Usage(
    input_tokens=100,
    output_tokens=20,
    cached_tokens=60,
    cache_written_tokens=10,
    reasoning_tokens=5,
    cost=0.01,
)


@rc.tool(effect="read")
def look(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


@pytest.fixture(params=STATES)
def state(request, kept, monkeypatch):
    """One state of the conventions, asked for as operators do."""
    if request.param == "dev":
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http,gen_ai_latest_experimental")
    return request.param


async def watched(kept, **options):
    model = ScriptedModel(
        [reply(call("look", city="Paris"), usage=USAGE), reply("Sunny.", usage=USAGE)], name="m-1"
    )
    agent = rc.Agent(
        model,
        tools=[look],
        name="guide",
        options={"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "reasoning": "low"},
        max_tokens=500,
        observers=[kept.observer(**options)],
    )
    with rc.observe.conversation("talk-1"):
        return await agent.run("Weather in Paris?", run="r1")


def operation(span):
    return span.attributes["gen_ai.operation.name"]


async def test_every_span_has_what_is_required_and_nothing_that_is_said(kept, state):
    await watched(kept)
    assert [operation(each) for each in kept.spans] == ["chat", "execute_tool", "chat", "invoke_agent"]
    for span in kept.spans:
        given = set(span.attributes)
        assert given >= REQUIRED[state][operation(span)]
        assert not given & CONTENT
        assert "Paris" not in str(dict(span.attributes))


async def test_metrics_have_the_names_and_units_of_the_convention(kept, state):
    await watched(kept)
    assert kept.units() == METRICS[state] | FOR_BOTH


async def test_spans_agree_with_the_published_registry(kept, state, shared_data):
    spans, _ = published(shared_data, state)
    await watched(kept, content=True)
    for span in kept.spans:
        levels, _ = spans[operation(span)]
        given = set(span.attributes)
        assert given - set(levels) <= OURS | BACKENDS, "names that the convention does not have"
        assert {name for name, level in levels.items() if level == "required"} <= given


async def test_metrics_agree_with_the_published_registry(kept, state, shared_data):
    _, metrics = published(shared_data, state)
    _, later = published(shared_data, "dev")
    await watched(kept)
    units = kept.units()
    for name, points in kept.metrics().items():
        if name == "rightcall.tool.calls":
            continue
        unit, levels = metrics.get(name) or later[name]
        assert units[name] == unit
        for point in points:
            assert set(point.attributes) <= set(levels), name
            assert {each for each, level in levels.items() if level == "required"} <= set(
                point.attributes
            )


class Remembering(Sampler):
    """Takes everything, and remembers what it was asked about."""

    def __init__(self):
        self.seen = []

    def should_sample(
        self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None
    ):
        self.seen.append((name, set(attributes)))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self):
        return "remembering"


async def test_samplers_are_told_what_they_decide_by(kept, state, shared_data):
    spans, _ = published(shared_data, state)
    sampler = Remembering()
    await watched(kept, tracer_provider=TracerProvider(sampler=sampler))
    for name, given in sampler.seen:
        wanted = spans[name.partition(" ")[0]][1] - {"server.address", "server.port"}
        assert wanted <= given


async def test_a_chat_span_tells_what_was_asked_and_what_came(kept):
    await watched(kept)
    first, second = [each for each in kept.spans if each.name == "chat m-1"]
    told = dict(second.attributes)
    assert told.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ScriptedModel",
        "gen_ai.request.model": "m-1",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.request.max_tokens": 500,
        "gen_ai.conversation.id": "talk-1",
        "session.id": "talk-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 10,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "gen_ai.usage.cost": 0.01,
        "operation.cost": 0.01,
    }
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert second.kind is SpanKind.INTERNAL


async def test_a_tool_s_span_and_an_agent_s_tell_what_they_are(kept):
    await watched(kept)
    assert dict(kept.span("execute_tool look").attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1_0",
        "rightcall.tool.early": True,
        "gen_ai.tool.description": "The weather in a city.",
        "session.id": "talk-1",
        "rightcall.tool.outcome": "returned",
    }
    agent = dict(kept.span("invoke_agent guide").attributes)
    assert agent["gen_ai.usage.input_tokens"] == 200
    assert agent["gen_ai.usage.cache_read.input_tokens"] == 120
    assert (agent["rightcall.run"], agent["rightcall.stop"]) == ("r1", "end")
    assert agent["gen_ai.conversation.id"] == "talk-1"


async def test_the_schema_is_the_convention_s(kept, state):
    await watched(kept)
    wanted = "https://opentelemetry.io/schemas/1.41.1" if state == "1.41.1" else ""
    assert {each.instrumentation_scope.schema_url for each in kept.spans} == {wanted}
    assert {each.instrumentation_scope.name for each in kept.spans} == {"rightcall"}


async def test_development_s_own_names(kept, monkeypatch):
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    await watched(kept)
    chat = kept.spans[0].attributes
    assert chat["gen_ai.usage.cache_write.input_tokens"] == 10
    assert chat["gen_ai.request.reasoning.level"] == "low"
    tool = kept.span("execute_tool look").attributes
    assert (tool["gen_ai.agent.name"], tool["gen_ai.conversation.id"]) == ("guide", "talk-1")
    agent = kept.span("invoke_agent guide").attributes
    assert "gen_ai.provider.name" not in agent
    assert "gen_ai.usage.cache_read.input_tokens" not in agent


async def test_no_conversation_is_made_up(kept):
    agent = rc.Agent(ScriptedModel(["Hi."]), observers=[kept.observer()])
    await agent.run("Hi?")
    assert not [each for each in kept.spans if "gen_ai.conversation.id" in each.attributes]


@pytest.mark.parametrize(
    ("totals", "name"),
    [("aggregated", "gen_ai.aggregated_usage.input_tokens"), ("none", None)],
)
async def test_sums_can_have_another_name_for_backends_that_add_up_spans(kept, totals, name):
    await watched(kept, totals=totals)
    sums = {each for each in kept.span("invoke_agent guide").attributes if "usage" in each}
    assert "gen_ai.usage.input_tokens" not in sums
    assert (name in sums) if name else not sums


async def test_metrics_count_tokens_and_outcomes(kept):
    await watched(kept)
    metrics = kept.metrics()
    used = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in metrics["gen_ai.client.token.usage"]
    }
    assert used == {"input": 200, "output": 40}
    (outcome,) = metrics["rightcall.tool.calls"]
    assert (dict(outcome.attributes), outcome.value) == (
        {"gen_ai.tool.name": "look", "rightcall.tool.outcome": "returned"},
        1,
    )
    (seconds,) = metrics["gen_ai.client.operation.duration"]
    assert (seconds.count, seconds.explicit_bounds[:3]) == (2, (0.01, 0.02, 0.04))
