"""Traces: one span for the run, one for each question to the model, one for each call."""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

import rightcall as rc


def line(span: ReadableSpan) -> str:
    told = span.attributes or {}
    wanted = ("gen_ai.usage.input_tokens", "rightcall.tool.outcome", "rightcall.stop")
    return " ".join([span.name, *(f"{name}={told[name]!s}" for name in wanted if name in told)]) + "\n"


def watch() -> rc.observe.OpenTelemetry:
    """An observer whose spans are printed, a line each. OTLPSpanExporter() sends them to a collector."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=line)))
    return rc.observe.OpenTelemetry(tracer_provider=provider)


if __name__ == "__main__":
    from desk import make_desk

    print(make_desk(observers=[watch()]).run_sync("Where is order 17?").text)
