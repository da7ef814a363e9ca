"""What it costs to have a run traced: instructions of one tool turn, as the guard counts them.

``python bench/observed.py`` prints a table: nobody around; OpenTelemetry's API alone, which is what a
program without its SDK has; the SDK with nothing recorded, as a sampler that takes nothing leaves it;
the SDK's bare spans, of which nothing is told, for what it takes by itself; and the SDK with an exporter
that does nothing.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Sequence
from typing import Any

from guard import FEW, HERE, MANY, instructions
from one_turn import Canned, get_weather
from script import ANSWER

import rightcall as rc
from rightcall.core.around import End, Lasting
from rightcall.core.ports import AroundObserver, Watch

WAYS = ("off", "api", "sampled out", "bare", "sdk", "sdk with metrics")
RUNS = 400


class Bare:
    """As many spans as a run has, and nothing in them."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def around(self, lasting: Lasting) -> Watch:
        return BareSpan(self._tracer.start_as_current_span("bare"))


class BareSpan:
    """One of them, current while it lasts."""

    trace = ""

    def __init__(self, entered: Any) -> None:
        self._entered = entered
        entered.__enter__()

    def end(self, end: End | None, error: BaseException | None) -> None:
        self._entered.__exit__(None, None, None)


def observers(way: str) -> Sequence[AroundObserver]:
    """Those who watch, in one of the ways."""
    if way == "off":
        return ()
    if way == "api":
        return (rc.observe.OpenTelemetry(),)
    from opentelemetry.metrics import NoOpMeterProvider  # noqa: PLC0415 - a way of its own
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415
        BatchSpanProcessor,
        SpanExporter,
        SpanExportResult,
    )
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON  # noqa: PLC0415

    class Nowhere(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    spans = TracerProvider(sampler=ALWAYS_OFF if way == "sampled out" else ALWAYS_ON)
    spans.add_span_processor(BatchSpanProcessor(Nowhere()))
    meters = MeterProvider([InMemoryMetricReader()]) if "metrics" in way else NoOpMeterProvider()
    if way == "bare":
        return (Bare(spans.get_tracer("bare")),)
    return (rc.observe.OpenTelemetry(tracer_provider=spans, meter_provider=meters),)


async def run(way: str, runs: int) -> float:
    """So many turns, and the seconds of CPU that they took."""
    model = rc.connect("ollama:m", transport=Canned())
    tools = [rc.tool(get_weather, effect="read")]
    agent = rc.Agent(model, tools, observers=observers(way))
    gc.disable()
    began = time.process_time()
    for _ in range(runs):
        result = await agent.run("What is the weather in Reykjavik?")
        assert result.text == ANSWER, result
    return time.process_time() - began


def main() -> None:
    base = 0
    for way in WAYS:
        few, many = (instructions([str(HERE / "observed.py"), way, str(runs)]) for runs in (FEW, MANY))
        turn = (many - few) // (MANY - FEW)
        base = base or turn
        micro = min(asyncio.run(run(way, RUNS)) for _ in range(3)) / RUNS * 1e6
        print(f"{way:18} {turn:>11,} instructions  {turn / base - 1:+6.1%}  {micro:7.0f} µs of CPU")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(run(sys.argv[1], int(sys.argv[2])))
    else:
        main()
