"""Runs as traces: an agent's span around its model's and its tools', by OpenTelemetry's conventions.

Only the API is used. The SDK, if the program sets one up, decides which spans are kept, where they go
and what happens when they cannot be sent; without an SDK nothing is recorded.
"""

from collections.abc import Collection, Mapping
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from opentelemetry import metrics, propagate, trace
from opentelemetry._logs import LoggerProvider
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, TracerProvider

from rightcall.core.lazy import own_version
from rightcall.core.options import check_keywords
from rightcall.core.ports import CALLER, Headers, Lasting, ModelExchange, RunSegment, ToolCall, Watch
from rightcall.log import logger
from rightcall.observe.content import ContentCapture, Redact, Where, capture_place
from rightcall.observe.conventions import USAGE, chosen_convention
from rightcall.observe.spans import CallWatch, ExchangeWatch, Instruments, SegmentWatch, Telemetry
from rightcall.record.redact import redact_secrets

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Hosts that are this machine."""
_MOST_ADDRESSES = 64
"""Addresses whose answer is cached, so that patterns are not matched again for each request."""

Totals: TypeAlias = Literal["usage", "aggregated", "none"]
_TOTALS: Mapping[Totals, str] = {"usage": USAGE, "aggregated": "gen_ai.aggregated_usage.", "none": ""}
"""The prefix of an agent's token totals; the second is Logfire's, and of no convention."""


_NO_TRACERS = (ProxyTracerProvider, NoOpTracerProvider)
_NO_METERS = ("_ProxyMeterProvider", "NoOpMeterProvider")
"""The classes of the providers in a program that has set up no SDK."""


class OpenTelemetry:
    """An observer that makes spans and metrics of runs: ``Agent(…, observers=[OpenTelemetry()])``.

    ``content`` also sends the content of messages: True or ``"span"`` in spans, ``"event"`` in events,
    ``"both"``; the default is ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT``. ``redact`` removes
    secrets from it; None removes nothing. ``propagate_to`` are the hosts of models that get the trace
    context, as in ``"*.example.com"``; the default is this machine. ``totals`` names the attributes with
    an agent's token totals: ``"usage"``, as in the conventions, ``"aggregated"``, or ``"none"`` for
    backends that add up all spans. The providers are the program's, unless given.
    """

    @check_keywords("rc.observe.OpenTelemetry")
    def __init__(
        self,
        *,
        content: bool | Where | None = None,
        redact: Redact | None = redact_secrets,
        propagate_to: Collection[str] = LOOPBACK,
        totals: Totals = "usage",
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        convention = chosen_convention()
        own = own_version()
        schema = convention.schema_url
        meter = metrics.get_meter("rightcall", own, meter_provider, schema)
        given = (tracer_provider, meter_provider, logger_provider)
        self._is_silent = given == (None, None, None)
        """Whether no SDK was set up at the last check."""
        self._telemetry = Telemetry(
            convention,
            trace.get_tracer("rightcall", own, tracer_provider, schema),
            Instruments(meter, convention),
            ContentCapture(capture_place(content), redact or (lambda value: value), logger_provider),
            _TOTALS[totals],
            _headers_for(tuple(propagate_to)) if propagate_to else None,
            ContextVar("rightcall_segment", default=None),
            lambda: _drops_below(tracer_provider or trace.get_tracer_provider()),
            lambda: _measures(meter_provider or metrics.get_meter_provider()),
        )

    def around(self, lasting: Lasting) -> Watch | None:
        """Start the span of something that lasts."""
        if self._is_silent:
            # Whether an SDK is set up is checked again once per run, or per model request outside of
            # any: a check takes longer than a span.
            is_request = isinstance(lasting, ModelExchange) and not lasting.key
            if not is_request and not isinstance(lasting, RunSegment):
                return None
            is_traced = not isinstance(trace.get_tracer_provider(), _NO_TRACERS)
            self._is_silent = not is_traced and not _measures(metrics.get_meter_provider())
            if self._is_silent:
                return None
        above = self._telemetry.segment.get()
        if above is not None and above.is_unseen and not isinstance(lasting, RunSegment):
            return None
        match lasting:
            case ModelExchange():
                return ExchangeWatch(self._telemetry, lasting, _caller())
            case ToolCall():
                return CallWatch(self._telemetry, lasting)
            case RunSegment():
                return SegmentWatch(self._telemetry, lasting, _caller())


def _measures(provider: MeterProvider) -> bool:
    """Whether a provider takes metrics: that of a program without an SDK does not."""
    return type(provider).__name__ not in _NO_METERS


def _caller() -> Context | None:
    """The span of a caller in another process; None if there is none, or if a span is current here."""
    carried = CALLER.get()
    if not carried or trace.get_current_span().get_span_context().is_valid:
        return None
    return propagate.extract(carried)


_DROPS_TRACES = ("AlwaysOffSampler", "TraceIdRatioBased{")
_DROPS_BELOW = "localParentNotSampled:AlwaysOffSampler}"
"""How samplers describe themselves, as specified; the last is the end of a ``ParentBased``'s."""


def _drops_below(provider: Any) -> bool:
    """Whether a provider's sampler is known to drop every span below one that it dropped."""
    describe = getattr(getattr(provider, "sampler", None), "get_description", None)
    said = "" if describe is None else describe()
    return said.startswith(_DROPS_TRACES) or said.endswith(_DROPS_BELOW)


def _headers_for(hosts: tuple[str, ...]) -> Headers:
    """Returns the function that gives a request's headers, as the program's propagator sets them.

    Other hosts get no trace context of ours, only the one that a caller in another process sent along.
    """

    @lru_cache(maxsize=_MOST_ADDRESSES)
    def is_told(url: str) -> bool:
        host = urlsplit(url).hostname or ""
        return any(fnmatchcase(host, pattern) for pattern in hosts)

    def headers(url: str) -> Mapping[str, str]:
        if not is_told(url):
            return CALLER.get() or {}
        carried: dict[str, str] = {}
        try:
            propagate.inject(carried)
        except Exception:
            logger.exception("a propagator failed; the request goes without the trace")
            return {}
        return carried

    return headers
