"""What it costs to have a run traced: instructions of one tool turn, streamed over HTTP.

The vendor is on loopback; it is the turn that docs/benchmarks.md begins with.

``python bench/observed.py`` prints a table. Its rows: nobody around; OpenTelemetry's API alone, which is
what a program without its SDK has; the SDK with nothing recorded, as a sampler that takes nothing leaves
it, and with one run in ten; what the SDK takes by itself, for as many spans, then with as many
attributes, then with as many measurements; and the observer with the SDK and an exporter that does
nothing, without metrics, with them, and with them but for exemplars. Rows can be chosen:
``python bench/observed.py "one in ten"``.
"""

import asyncio
import gc
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from guard import ENVIRONMENT, HERE
from one_turn import get_weather
from script import ANSWER
from standing import Standing

import rightcall as rc
from rightcall.core.ports import AroundObserver, End, Lasting, ModelExchange, ToolCall, Watch

WAYS = (
    "off",
    "api",
    "sampled out",
    "one in ten",
    "bare spans",
    "filled spans",
    "filled spans, metrics",
    "observer",
    "observer, metrics",
    "observer, metrics, no exemplars",
)
BEGIN = {
    "a.name": "chat",
    "a.provider": "ollama",
    "a.model": "m",
    "a.host": "localhost",
    "a.port": 11434,
}
END = {"a.finish": ["stop"], "a.model": "m", "a.id": "chatcmpl-1", "a.input": 100, "a.output": 20}
"""Five at the start of a span and five at its end, as those of a turn have on average."""
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--instr-atstart=no"]
COUNTED = "--counted"
WARM, TURNS = 3, 60
BOUNDARIES = tuple([0.01 * 2**step for step in range(14)])


class Alone:
    """What the SDK is asked for in a turn, by the least code that asks for it."""

    def __init__(self, tracer: Any, histogram: Any, *, filled: bool) -> None:
        self.tracer = tracer
        self.histogram = histogram
        self.begin = BEGIN if filled else None

    def around(self, lasting: Lasting) -> Watch:
        measurements = (
            4 if isinstance(lasting, ModelExchange) else 2 if isinstance(lasting, ToolCall) else 1
        )
        return AloneSpan(self, measurements)


class AloneSpan:
    """One of its spans, current while it lasts."""

    trace = ""

    def __init__(self, by: Alone, measurements: int) -> None:
        from opentelemetry import context, trace  # noqa: PLC0415 - not loaded where nobody watches

        self._by, self._measurements, self._leave = by, measurements, context.detach
        self._span = by.tracer.start_span("alone", None, trace.SpanKind.INTERNAL, by.begin)
        self._token = context.attach(trace.set_span_in_context(self._span))

    def end(self, end: End | None, error: BaseException | None) -> None:
        if self._by.begin:
            self._span.set_attributes(END)
        for _ in range(self._measurements if self._by.histogram else 0):
            self._by.histogram.record(0.1, BEGIN)
        self._leave(self._token)
        self._span.end()


def observers(way: str) -> Sequence[AroundObserver]:
    """Those who watch, in one of the ways."""
    if way == "off":
        return ()
    if way == "api":
        return (rc.observe.OpenTelemetry(),)
    from opentelemetry.metrics import NoOpMeterProvider  # noqa: PLC0415 - a way of its own
    from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415
        BatchSpanProcessor,
        SpanExporter,
        SpanExportResult,
    )
    from opentelemetry.sdk.trace.sampling import (  # noqa: PLC0415
        ALWAYS_OFF,
        DEFAULT_ON,
        ParentBasedTraceIdRatio,
    )

    class Nowhere(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    samplers = {"sampled out": ALWAYS_OFF, "one in ten": ParentBasedTraceIdRatio(0.1)}
    spans = TracerProvider(sampler=samplers.get(way, DEFAULT_ON))
    spans.add_span_processor(BatchSpanProcessor(Nowhere()))
    taken = AlwaysOffExemplarFilter() if "no exemplars" in way else None
    meters = (
        MeterProvider([InMemoryMetricReader()], exemplar_filter=taken)
        if "metrics" in way
        else NoOpMeterProvider()
    )
    if "spans" in way:
        made = meters.get_meter("alone").create_histogram(
            "alone", "s", explicit_bucket_boundaries_advisory=BOUNDARIES
        )
        told = made if "metrics" in way else None
        return (Alone(spans.get_tracer("alone"), told, filled="filled" in way),)
    return (rc.observe.OpenTelemetry(tracer_provider=spans, meter_provider=meters),)


async def run(way: str, runs: int, url: str) -> None:
    """So many turns that are counted."""
    tools = [rc.tool(get_weather, effect="read")]
    agent = rc.Agent(rc.connect("ollama:m", base_url=url), tools, observers=observers(way))
    gc.disable()
    await ask(agent, WARM)
    count()
    await ask(agent, runs)
    # What an interpreter does to end is no turn's work.
    os._exit(0)


async def ask(agent: rc.Agent, times: int) -> None:
    for _ in range(times):
        result = await agent.run("What is the weather in Reykjavik?")
        assert result.text == ANSWER, result


def count() -> None:
    """Have callgrind count from here on: starting takes far longer than some turns."""
    command = ["callgrind_control", "-i", "on", str(os.getpid())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def counted(way: str, runs: int, url: str) -> int:
    """The instructions of so many turns."""
    command = [sys.executable, str(HERE / "observed.py"), COUNTED, way, str(runs), url]
    told = subprocess.run(
        [*CALLGRIND, *command], check=True, env=ENVIRONMENT, capture_output=True, text=True
    )
    found = re.search(r"Collected : (\d+)", told.stderr)
    assert found, told.stderr
    return int(found[1])


def main(ways: Sequence[str]) -> None:
    """Each way beside the first, without what it takes to count."""
    vendor = Standing()
    url = f"{vendor.url}/turns1/v1"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        nothing = pool.submit(counted, WAYS[0], 0, url)
        all_turns = [pool.submit(counted, way, TURNS, url) for way in ways]
        base = 0
        for way, turns in zip(ways, all_turns, strict=True):
            turn = (turns.result() - nothing.result()) // TURNS
            base = base or turn
            print(f"{way:31} {turn:>11,} instructions  {turn / base - 1:+6.1%}", flush=True)
    vendor.end()


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == [COUNTED]:
        asyncio.run(run(given[1], int(given[2]), given[3]))
    else:
        main((WAYS[0], *given) if given else WAYS)
