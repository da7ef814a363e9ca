"""What a sampler leaves out: nothing is started below it, unless the sampler might want it."""

import pytest
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

DROPPING = [ALWAYS_OFF, TraceIdRatioBased(0.0), ParentBased(ALWAYS_OFF)]
NAMES = ["off", "ratio", "parent"]


@rc.tool(effect="read")
async def look(what: str) -> str:
    """Looks at something."""
    return what


def model():
    return ScriptedModel([reply(call("look", what="a")), "Done."])


class Asked(Sampler):
    """Another sampler, and the names that it was asked about."""

    def __init__(self, inner):
        self.inner, self.names = inner, []

    def should_sample(self, parent_context, trace_id, name, *given, **more):
        self.names.append(name)
        return self.inner.should_sample(parent_context, trace_id, name, *given, **more)

    def get_description(self):
        return self.inner.get_description()


class ChatsOnly(Sampler):
    """Takes the spans of models, and no other."""

    def should_sample(self, parent_context, trace_id, name, *_, **__):
        wanted = name.startswith("chat")
        return SamplingResult(Decision.RECORD_AND_SAMPLE if wanted else Decision.DROP)

    def get_description(self):
        return "ChatsOnly"


@pytest.mark.parametrize("meters", [None, NoOpMeterProvider()], ids=["metrics", "no metrics"])
@pytest.mark.parametrize("dropping", DROPPING, ids=NAMES)
async def test_a_sampler_that_drops_a_run_is_asked_once(kept, dropping, meters):
    sampler = Asked(dropping)
    given = {"tracer_provider": TracerProvider(sampler=sampler)}
    observer = kept.observer(**given, **({"meter_provider": meters} if meters else {}))
    await rc.Agent(model(), [look], observers=[observer]).run("Go.")
    assert sampler.names == ["invoke_agent agent"]


@pytest.mark.parametrize("dropping", DROPPING, ids=NAMES)
async def test_metrics_are_complete_where_spans_are_dropped(kept, dropping):
    def counts(found):
        return {name: sum(getattr(p, "count", 1) for p in points) for name, points in found.items()}

    await rc.Agent(model(), [look], observers=[kept.observer()]).run("Go.")
    once = counts(kept.metrics())
    observer = kept.observer(tracer_provider=TracerProvider(sampler=dropping))
    await rc.Agent(model(), [look], observers=[observer]).run("Go.")
    twice = counts(kept.metrics())
    counters = {"rightcall.tool.calls"}
    assert {name: twice[name] for name in once.keys() - counters} == {
        name: 2 * once[name] for name in once.keys() - counters
    }
    (calls,) = kept.metrics()["rightcall.tool.calls"]
    assert calls.value == 2


@pytest.mark.parametrize(
    "sampler",
    [ChatsOnly(), ParentBased(ALWAYS_OFF, local_parent_not_sampled=ALWAYS_ON)],
    ids=["by name", "below what is dropped"],
)
async def test_a_sampler_that_may_want_what_is_below_is_asked(kept, sampler):
    exporter = InMemorySpanExporter()
    tracers = TracerProvider(sampler=sampler)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    observer = kept.observer(tracer_provider=tracers, meter_provider=NoOpMeterProvider())
    await rc.Agent(model(), [look], observers=[observer]).run("Go.")
    names = [each.name for each in exporter.get_finished_spans() if each.name.startswith("chat")]
    assert names == ["chat scripted", "chat scripted"]
