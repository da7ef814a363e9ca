"""The instruments: durations of models, agents and tools, tokens used, and outcomes of calls."""

from opentelemetry.metrics import Histogram, Meter

from rightcall.core.parts import Usage
from rightcall.observe import conventions as names
from rightcall.observe.conventions import SECONDS_BUCKETS, TOKEN_BUCKETS, Convention
from rightcall.observe.facts import Kept


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
        self.tokens = _CountedTokens(meter) if convention.counts_tokens else _TypedTokens(meter)

    def _seconds(self, name: str, description: str) -> Histogram:
        return self._meter.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=SECONDS_BUCKETS
        )


def _tokens(meter: Meter, name: str) -> Histogram:
    return meter.create_histogram(
        name, "{token}", "Tokens of a reply.", explicit_bucket_boundaries_advisory=TOKEN_BUCKETS
    )


class _TypedTokens:
    """The release's token metric: one histogram, with an attribute for input or output."""

    def __init__(self, meter: Meter) -> None:
        self._usage = _tokens(meter, names.TOKEN_USAGE)

    def record(self, usage: Usage, kept: Kept) -> None:
        """Record the usage of one reply."""
        self._usage.record(usage.input_tokens, kept.input_tokens)
        self._usage.record(usage.output_tokens, kept.output_tokens)


class _CountedTokens:
    """The later token metrics: a counter for each kind, and a histogram of each reply's usage."""

    def __init__(self, meter: Meter) -> None:
        self._counters = {
            field: meter.create_counter(f"{names.INFERENCE}usage.{name}", "{token}", "Tokens used.")
            for field, name in (
                ("input_tokens", "input_tokens"),
                ("output_tokens", "output_tokens"),
                ("cached_tokens", "cache_read.input_tokens"),
                ("cache_written_tokens", "cache_write.input_tokens"),
                ("reasoning_tokens", "reasoning.output_tokens"),
            )
        }
        self._input = _tokens(meter, f"{names.INFERENCE}operation.input_tokens")
        self._output = _tokens(meter, f"{names.INFERENCE}operation.output_tokens")

    def record(self, usage: Usage, kept: Kept) -> None:
        """Record the usage of one reply."""
        attributes = kept.attributes
        for field, counter in self._counters.items():
            if tokens := getattr(usage, field):
                counter.add(tokens, attributes)
        self._input.record(usage.input_tokens, attributes)
        self._output.record(usage.output_tokens, attributes)
