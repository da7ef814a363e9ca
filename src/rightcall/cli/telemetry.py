"""OpenTelemetry for commands that serve: sets up the SDK from the standard ``OTEL_`` variables."""

import os
from importlib import import_module
from typing import Any

from rightcall.core.extras import load
from rightcall.errors import UsageError

_EXPORTERS = ("otlp", "console", "none")
_OTLP = "opentelemetry.exporter.otlp.proto.http"
_MISSING = (
    "--otel sends what it traces by OTLP: pip install 'rightcall[otel]' opentelemetry-sdk "
    "opentelemetry-exporter-otlp-proto-http"
)


def telemetry() -> Any:
    """An observer that traces with an SDK: the process's own, or one that is set up here.

    ``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME`` and the SDK's other variables set the endpoint
    and the service name.
    """
    load("opentelemetry")
    observer = load("rightcall.observe.tracing").OpenTelemetry()
    try:
        _set_up_traces()
        _set_up_metrics()
    except ModuleNotFoundError as error:
        raise UsageError(_MISSING) from error
    return observer


def _set_up_traces() -> None:
    trace, sdk = import_module("opentelemetry.trace"), import_module("opentelemetry.sdk.trace")
    exporter = _exporter("traces", "trace", "ConsoleSpanExporter", "OTLPSpanExporter")
    if exporter is None or isinstance(trace.get_tracer_provider(), sdk.TracerProvider):
        # opentelemetry-instrument has already set up an SDK.
        return
    provider = sdk.TracerProvider()
    provider.add_span_processor(sdk.export.BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def _set_up_metrics() -> None:
    metrics, sdk = import_module("opentelemetry.metrics"), import_module("opentelemetry.sdk.metrics")
    exporter = _exporter("metrics", "metric", "ConsoleMetricExporter", "OTLPMetricExporter")
    if exporter is None or isinstance(metrics.get_meter_provider(), sdk.MeterProvider):
        return
    reader = import_module("opentelemetry.sdk.metrics.export").PeriodicExportingMetricReader(exporter)
    metrics.set_meter_provider(sdk.MeterProvider([reader]))


def _exporter(signal: str, module: str, console: str, otlp: str) -> Any:
    """The exporter that ``OTEL_TRACES_EXPORTER`` or a similar variable names; None for none."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    named = os.environ.get(variable) or "otlp"
    if named not in _EXPORTERS:
        raise UsageError(f"{variable}={named}: there is {', '.join(_EXPORTERS)}")
    if named == "none":
        return None
    if named == "console":
        sdk = "trace" if signal == "traces" else "metrics"
        return getattr(import_module(f"opentelemetry.sdk.{sdk}.export"), console)()
    return getattr(import_module(f"{_OTLP}.{module}_exporter"), otlp)()
