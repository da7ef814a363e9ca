"""Whatever watches a run, the run goes on."""

import logging
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Sampler

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
def look(city: str) -> str:
    """Looks."""
    return "sunny"


async def ran(*observers):
    model = ScriptedModel([reply(call("look", city="Paris")), "Sunny."])
    return await rc.Agent(model, [look], observers=observers).run("Weather?")


class Exporter(SpanExporter):
    def export(self, spans):
        raise OSError("nobody is there")


class AtStart(SpanProcessor):
    def on_start(self, span, parent_context=None):
        raise RuntimeError("at start")


class AtEnd(SpanProcessor):
    def on_end(self, span):
        raise RuntimeError("at end")


class Unsure(Sampler):
    def should_sample(self, *_, **__):
        raise RuntimeError("unsure")

    def get_description(self):
        return "unsure"


def provider(processor=None, **options):
    made = TracerProvider(**options)
    if processor is not None:
        made.add_span_processor(processor)
    return made


@pytest.mark.parametrize(
    "tracers",
    [
        provider(SimpleSpanProcessor(Exporter())),
        provider(AtStart()),
        provider(AtEnd()),
        provider(sampler=Unsure()),
    ],
    ids=["exporter", "start", "end", "sampler"],
)
async def test_a_run_does_not_fail_because_an_exporter_does(tracers, caplog):
    with caplog.at_level(logging.CRITICAL, "opentelemetry"):
        result = await ran(rc.observe.OpenTelemetry(tracer_provider=tracers))
    assert (result.text, result.calls[0].outcome) == ("Sunny.", "returned")
    assert not trace.get_current_span().get_span_context().is_valid
    assert len([each for each in caplog.records if "an observer around" in each.message]) <= 1


class Broken:
    """An observer whose own code raises, and that nothing can be kept by."""

    __slots__ = ()
    __hash__ = None

    def around(self, lasting):
        raise KeyError("observer")


async def test_an_observer_that_raises_is_logged_once_and_harms_nobody(kept, caplog):
    result = await ran(Broken(), kept.observer())
    assert result.text == "Sunny."
    assert len(kept.spans) == 4
    assert len([each for each in caplog.records if "an observer around" in each.message]) == 1


async def test_two_tracers_keep_to_their_own_spans(kept):
    other = type(kept)()
    await ran(kept.observer(), other.observer())
    for each in (kept, other):
        agent, tool = each.span("invoke_agent agent"), each.span("execute_tool look")
        assert tool.parent.span_id == agent.context.span_id
        assert tool.context.trace_id == agent.context.trace_id
    other.tracers.shutdown()
    other.meters.shutdown()


async def test_what_is_not_sampled_costs_no_content(kept, monkeypatch):
    def refuse(*_):
        raise AssertionError("made for nobody")

    monkeypatch.setattr("rightcall.observe.content.messages", refuse)
    observer = kept.observer(content=True, tracer_provider=provider(sampler=ALWAYS_OFF))
    assert (await ran(observer)).text == "Sunny."


async def test_without_an_sdk_nothing_happens():
    assert (await ran(rc.observe.OpenTelemetry())).text == "Sunny."


async def test_functions_and_those_around_can_watch_together(kept):
    seen = []
    result = await ran(lambda run, happened: seen.append(happened), kept.observer())
    assert (result.text, len(kept.spans)) == ("Sunny.", 4)
    assert seen


def test_what_is_neither_is_refused():
    with pytest.raises(UsageError, match="observer"):
        rc.Agent(ScriptedModel([]), observers=["otel"])
    with pytest.raises(UsageError, match="contents"):
        rc.observe.OpenTelemetry(contents=True)


def test_off_means_that_nothing_of_it_is_loaded():
    code = (
        "import sys, asyncio, rightcall as rc\n"
        "from rightcall.testing import ScriptedModel\n"
        "assert asyncio.run(rc.Agent(ScriptedModel(['Hi.'])).run('Hi?')).text == 'Hi.'\n"
        "assert not [m for m in sys.modules if 'opentelemetry' in m or 'rightcall.observe' in m]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
