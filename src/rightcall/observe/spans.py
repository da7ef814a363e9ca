"""The spans: an agent's around its model's and its tools', each the current span while it lasts."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from time import monotonic
from typing import Any

from msgspec import Struct
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from rightcall.core import ports
from rightcall.core.parts import Usage
from rightcall.core.sanitize import encodable
from rightcall.observe import conventions as names
from rightcall.observe.content import ContentCapture
from rightcall.observe.conventions import CONVERSATION, SECONDS_BUCKETS, TOKEN_BUCKETS, Convention
from rightcall.observe.facts import (
    MetricAttributes,
    answering,
    error_type,
    facts_of,
    failure_type,
    request_attributes,
    response_id,
    tokens_of,
)

_TOKEN_COUNTERS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read.input_tokens",
    "cache_written_tokens": "cache_write.input_tokens",
    "reasoning_tokens": "reasoning.output_tokens",
}
"""The counters' names, by the field of a reply's usage."""


class Instruments:
    """The instruments of a meter, created once, with the names of one version of the conventions."""

    def __init__(self, meter: Meter, convention: Convention) -> None:
        self._meter = meter
        self.exchange_seconds = self._seconds(convention.exchange_seconds, "How long models take.")
        self.first_chunk_seconds = self._seconds(
            convention.first_chunk_seconds, "How long it takes until a reply begins to come."
        )
        self.agent_seconds = self._seconds(names.AGENT_SECONDS, "How long agents take.")
        self.tool_seconds = self._seconds(names.TOOL_SECONDS, "How long tools take.")
        self.tool_calls = meter.create_counter(
            names.TOOL_CALLS, "{call}", "Calls, by their tools and outcomes."
        )
        self.agent_exchanges = self.agent_calls = None
        if convention.counts_tokens:
            self.agent_exchanges = meter.create_histogram(
                names.AGENT_EXCHANGES, "{inference_call}", "Questions of an agent to its model."
            )
            self.agent_calls = meter.create_histogram(
                names.AGENT_TOOL_CALLS, "{tool_call}", "Calls of an agent's that were run."
            )
        # The release has one histogram, with an attribute for input or output; the later version has a
        # counter for each kind of token, and a histogram of each reply's usage.
        self._counters: dict[str, Counter] = {}
        if not convention.counts_tokens:
            self._input_tokens = self._output_tokens = self._tokens(names.TOKEN_USAGE)
        else:
            self._input_tokens = self._tokens(f"{names.INFERENCE}operation.input_tokens")
            self._output_tokens = self._tokens(f"{names.INFERENCE}operation.output_tokens")
            for field, name in _TOKEN_COUNTERS.items():
                counter = f"{names.INFERENCE}usage.{name}"
                self._counters[field] = meter.create_counter(counter, "{token}", "Tokens used.")

    def _seconds(self, name: str, description: str) -> Histogram:
        return self._meter.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=SECONDS_BUCKETS
        )

    def _tokens(self, name: str) -> Histogram:
        return self._meter.create_histogram(
            name, "{token}", "Tokens of a reply.", explicit_bucket_boundaries_advisory=TOKEN_BUCKETS
        )

    def record_tokens(self, usage: Usage, kept: MetricAttributes) -> None:
        """Record the usage of one reply."""
        if not self._counters:
            self._input_tokens.record(usage.input_tokens, kept.input_tokens)
            self._output_tokens.record(usage.output_tokens, kept.output_tokens)
            return
        for field, counter in self._counters.items():
            if tokens := getattr(usage, field):
                counter.add(tokens, kept.attributes)
        self._input_tokens.record(usage.input_tokens, kept.attributes)
        self._output_tokens.record(usage.output_tokens, kept.attributes)


_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 500
_PAUSED = "paused"
"""For a call whose inner run waits for a person: it has no outcome, because it has not ended."""
_trace_context = TraceContextTextMapPropagator()


class Telemetry(Struct, frozen=True, eq=False):
    """What spans are created with."""

    convention: Convention
    tracer: Tracer
    instruments: Instruments
    saying: ContentCapture
    totals: str
    """The prefix of the attributes with an agent's token totals; empty for none."""
    headers: ports.Headers | None
    """The headers that requests to models carry."""
    segment: ContextVar["SegmentWatch | None"]
    """The run's own span, for use where another observer's span is around the current one."""
    drops_below: Callable[[], bool]
    """Whether the sampler drops every span below one that it dropped."""
    measures: Callable[[], bool]
    """Whether anybody takes metrics."""


class _SpanWatch:
    """A span that is the current span until it is ended."""

    trace = ""
    span: Span = INVALID_SPAN
    attributes: Mapping[str, AttributeValue] = {}
    context: Context | None = None
    _token: Token[Context] | None = None

    def __init__(self, by: Telemetry, above: "SegmentWatch | None" = None) -> None:
        self.by = by
        self.is_measured: bool = by.measures() if above is None else above.is_measured
        self._began = monotonic()

    def _start(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, AttributeValue],
        parent: Context | None = None,
        links: tuple[Link, ...] = (),
    ) -> None:
        """Start the span; without an SDK there is none, and nothing to make current."""
        self.span = self.by.tracer.start_span(name, parent, kind, attributes, links)
        self.attributes = attributes
        self.context = parent
        if self.span is not INVALID_SPAN:
            self.context = trace.set_span_in_context(self.span, parent)
            self._token = contexts.attach(self.context)

    def end(self, end: ports.End | None, error: BaseException | None) -> None:
        """Set the span's last attributes, and end it."""
        seconds = monotonic() - self._began
        try:
            # Still inside the span, so that the exemplars that an SDK keeps of measurements refer to it.
            kind = self._tell(end, error)
            if kind:
                # The message of an error may be anybody's: it is left out.
                self.span.set_attribute(names.ERROR_TYPE, kind)
                self.span.set_status(StatusCode.ERROR, kind)
            if self.is_measured:
                self._measure(end, kind, seconds)
        finally:
            self._leave()
            if self._token is not None:
                contexts.detach(self._token)
            self.span.end()

    def _tell(self, end: Any, error: BaseException | None) -> str:
        """Add what is known at the end to the span; returns the kind of error, or an empty string."""
        raise NotImplementedError

    def _measure(self, end: Any, kind: str, seconds: float) -> None:
        raise NotImplementedError

    def _leave(self) -> None:
        """Reset what was set for the span's duration, besides the current span."""


class SegmentWatch(_SpanWatch):
    """``invoke_agent``: a run, from its beginning or from where it was resumed."""

    def __init__(self, by: Telemetry, segment: ports.RunSegment, caller: Context | None = None) -> None:
        super().__init__(by)
        self._lasting = segment
        self.agent = segment.agent
        self.conversation = CONVERSATION.get()
        facts = facts_of(segment.model)
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "invoke_agent",
            names.REQUEST_MODEL: facts.name,
            names.RUN: segment.run,
        }
        if self.agent:
            attributes[names.AGENT_NAME] = self.agent
        if by.convention.agent_has_provider:
            attributes[names.PROVIDER] = facts.provider
        if self.conversation:
            attributes[names.CONVERSATION_ID] = attributes[names.SESSION] = self.conversation
        name = "invoke_agent"
        if self.agent:
            name = f"invoke_agent {self.agent}"
        links = []
        for traceparent in segment.traces:
            around = _trace_context.extract({"traceparent": traceparent}, context=Context())
            linked = trace.get_current_span(around).get_span_context()
            if linked.is_valid:
                links.append(Link(linked))
        self._start(name, SpanKind.INTERNAL, attributes, caller, tuple(links))
        self.is_dropped = not self.span.is_recording() and by.drops_below()
        """Whether no span of this run is kept: then none is started below this one."""
        self.is_unseen = self.is_dropped and not self.is_measured
        self._reset = by.segment.set(self)
        # Servers are also told of a trace that is dropped, so that they keep nothing of it either.
        self._headers = ports.HEADERS.set(by.headers) if self.is_dropped and by.headers else None
        seen = self.span.get_span_context()
        if seen.is_valid:
            # The W3C ``traceparent``, for other processes.
            self.trace = f"00-{seen.trace_id:032x}-{seen.span_id:016x}-{seen.trace_flags:02x}"

    def _leave(self) -> None:
        self.by.segment.reset(self._reset)
        if self._headers is not None:
            ports.HEADERS.reset(self._headers)

    def _tell(self, end: ports.SegmentEnd | None, error: BaseException | None) -> str:
        span = self.span
        kind = ""
        if error is not None:
            kind = error_type(error)
        elif end is not None and not end.stop.is_answer and end.stop.reason != "pending":
            kind = end.stop.reason
        if span.is_recording():
            span.set_attributes(self._end_attributes(end))
            self.by.saying.segment(span, self._lasting, end)
        return kind

    def _measure(self, end: ports.SegmentEnd | None, kind: str, seconds: float) -> None:
        named = {names.AGENT_NAME: self.agent} if self.agent else {}
        kept = {names.REQUEST_MODEL: self.attributes[names.REQUEST_MODEL], **named}
        if kind:
            kept[names.ERROR_TYPE] = kind
        instruments = self.by.instruments
        instruments.agent_seconds.record(seconds, kept)
        if end is not None and instruments.agent_exchanges and instruments.agent_calls:
            instruments.agent_exchanges.record(len(end.replies), named)
            instruments.agent_calls.record(end.calls, named)

    def _end_attributes(self, end: ports.SegmentEnd | None) -> dict[str, AttributeValue]:
        convention = self.by.convention
        found = request_attributes(self._lasting, convention)
        if end is None:
            return found
        found[names.STOP] = end.stop.reason
        if end.replies:
            finish = end.replies[-1].stop
            found[names.FINISH_REASONS] = [names.FINISHES.get(finish, finish)]
        totals = self.by.totals
        if totals and end.usage.tokens:
            sums = tokens_of(end.usage, convention, cached=convention.agent_has_provider)
            sums.pop(names.REASONING_TOKENS, None)
            for name, value in sums.items():
                found[name.replace(names.USAGE, totals)] = value
        return found


class ExchangeWatch(_SpanWatch):
    """``chat``: a request to a model."""

    def __init__(
        self, by: Telemetry, exchange: ports.ModelExchange, caller: Context | None = None
    ) -> None:
        above = by.segment.get()
        super().__init__(by, above)
        self._lasting = exchange
        self._facts = facts = facts_of(exchange.model)
        if above is None or not above.is_dropped:
            attributes = facts.start
            if above is not None and above.conversation:
                known = {names.CONVERSATION_ID: above.conversation, names.SESSION: above.conversation}
                attributes = {**attributes, **known}
            self._start(facts.span_name, facts.kind, attributes, caller)
        is_traced = self.span is not INVALID_SPAN
        self._headers = ports.HEADERS.set(by.headers) if is_traced and by.headers else None

    def _leave(self) -> None:
        if self._headers is not None:
            ports.HEADERS.reset(self._headers)

    def _tell(self, end: ports.ExchangeEnd | None, error: BaseException | None) -> str:
        by = self.by
        span = self.span
        asked = self._facts
        kind = "" if error is None else error_type(error)
        if end is not None:
            self._facts = answering(self._lasting.model, end.reply, asked)
            kind = kind or ("error" if end.reply.stop == "error" else "")
        if span.is_recording():
            told = self._end_attributes(end)
            if self._facts is not asked:
                told |= self._facts.attributes
                span.update_name(self._facts.span_name)
            span.set_attributes(told)
            if by.saying.is_asked:
                attributes = {**self.attributes, **told}
                by.saying.exchange(span, self._lasting, end, attributes, self.context)
        return kind

    def _measure(self, end: ports.ExchangeEnd | None, kind: str, seconds: float) -> None:
        instruments = self.by.instruments
        facts = self._facts
        kept = facts.attributes
        if end is not None:
            answered = facts.metric_attributes(end.reply.model)
            kept = answered.attributes
            if end.reply.usage.tokens:
                instruments.record_tokens(end.reply.usage, answered)
            if end.first is not None and facts.streams:
                instruments.first_chunk_seconds.record(end.first, kept)
        if kind:
            kept = {**kept, names.ERROR_TYPE: kind}
        instruments.exchange_seconds.record(seconds, kept)

    def _end_attributes(self, end: ports.ExchangeEnd | None) -> dict[str, AttributeValue]:
        told = request_attributes(self._lasting.request, self.by.convention)
        if end is None:
            return told
        reply = end.reply
        told[names.FINISH_REASONS] = [names.FINISHES.get(reply.stop, reply.stop)]
        if reply.model:
            told[names.RESPONSE_MODEL] = reply.model
        if identity := response_id(reply):
            told[names.RESPONSE_ID] = identity
        if end.first is not None and self._facts.streams:
            told[names.FIRST_CHUNK] = end.first
        if reply.usage.tokens:
            told |= tokens_of(reply.usage, self.by.convention, cached=True)
        if reply.usage.cost is not None:
            told[names.LANGFUSE_COST] = told[names.LOGFIRE_COST] = reply.usage.cost
        return told


class CallWatch(_SpanWatch):
    """``execute_tool``: a call, including one that was not allowed to run."""

    def __init__(self, by: Telemetry, call: ports.ToolCall) -> None:
        above = by.segment.get()
        super().__init__(by, above)
        self._lasting = call
        # A name that no tool has was made up by the model: it goes into no span name and no metric.
        self._known = "" if call.tool is None else call.tool.name
        self._agent = "" if above is None else above.agent
        if above is not None and above.is_dropped:
            return
        tool = call.tool
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "execute_tool",
            names.TOOL_NAME: self._known or encodable(call.call.name[:_LONGEST_NAME]),
            names.TOOL_TYPE: "function",
            names.CALL_ID: encodable(call.call.id),
        }
        if tool is not None and tool.description:
            attributes[names.TOOL_DESCRIPTION] = encodable(tool.description[:_LONGEST_DESCRIPTION])
        if call.early:
            attributes[names.EARLY] = True
        parent = None
        if above is not None:
            # A call that starts while the reply still streams belongs to the run, as any other does.
            parent = above.context
            if by.convention.tool_has_agent and above.agent:
                attributes[names.AGENT_NAME] = above.agent
            if above.conversation:
                attributes[names.SESSION] = above.conversation
                if by.convention.tool_has_agent:
                    attributes[names.CONVERSATION_ID] = above.conversation
        name = f"execute_tool {self._known}" if self._known else "execute_tool"
        self._start(name, SpanKind.INTERNAL, attributes, parent)

    def _tell(self, end: ports.CallEnd | None, error: BaseException | None) -> str:
        span = self.span
        outcome = _PAUSED
        kind = ""
        if end is not None:
            outcome = end.outcome.kind
            kind = failure_type(end.outcome) if end.result.is_error else ""
        elif error is not None:
            # A call that was started speculatively and then dropped is no error.
            outcome = "cancelled"
            kind = "" if self._lasting.early else error_type(error)
        if span.is_recording():
            span.set_attribute(names.OUTCOME, outcome)
            if end is not None and end.attempts > 1:
                span.set_attribute(names.ATTEMPTS, end.attempts)
            self.by.saying.call(span, self._lasting, end)
        self._outcome = outcome
        return kind

    def _measure(self, end: ports.CallEnd | None, kind: str, seconds: float) -> None:
        outcome = self._outcome
        if outcome == _PAUSED:
            # It is counted when it ends, in whichever process that is.
            return
        kept: dict[str, AttributeValue] = {names.TOOL_NAME: self._known or "_OTHER"}
        self.by.instruments.tool_calls.add(1, {**kept, names.OUTCOME: outcome})
        if self._agent:
            kept[names.AGENT_NAME] = self._agent
        if kind:
            kept[names.ERROR_TYPE] = kind
        if self._known and (end is None or end.attempts):
            kept[names.TOOL_TYPE] = "function"
            self.by.instruments.tool_seconds.record(seconds, kept)
