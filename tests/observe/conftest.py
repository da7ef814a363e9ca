"""A tracer and a meter that keep what they are told, and an agent that they watch."""

from collections.abc import Iterator

import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk, which make setup installs")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import rightcall as rc


class Kept:
    """What was told of runs."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader])

    def observer(self, **options) -> rc.observe.OpenTelemetry:
        """One that tells it here."""
        given = {"tracer_provider": self.tracers, "meter_provider": self.meters, **options}
        return rc.observe.OpenTelemetry(**given)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (found,) = [each for each in self.spans if each.name == name]
        return found

    def tree(self) -> dict[str, str]:
        """Every span and the one around it, by their names."""
        names = {each.context.span_id: each.name for each in self.spans}
        return {
            each.name: "" if each.parent is None else names[each.parent.span_id] for each in self.spans
        }

    def metrics(self) -> dict[str, list]:
        """The points of every metric."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def units(self) -> dict[str, str]:
        """The unit of every metric."""
        data = self._reader.get_metrics_data()
        found = [s for r in data.resource_metrics for s in r.scope_metrics]
        return {metric.name: metric.unit for scope in found for metric in scope.metrics}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    for name in ("OTEL_SEMCONV_STABILITY_OPT_IN", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        monkeypatch.delenv(name, raising=False)
    made = Kept()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()
