"""Names and attributes for models, requests, errors and outcomes in traces, without any content."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from msgspec import Struct
from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from rightcall.core.message import Reply
from rightcall.core.outcome import Failed, Outcome
from rightcall.core.parts import Usage
from rightcall.core.ports import RunSegment
from rightcall.errors import RightcallError
from rightcall.observe import conventions as names
from rightcall.observe.conventions import Convention

_PORTS = {"http": 80, "https": 443}
_LONGEST_NAME = 128
_MOST_ANSWERS = 32


class MetricAttributes(Struct, frozen=True):
    """The attributes of a model's metrics: built once, because every reply needs them."""

    attributes: Mapping[str, AttributeValue]
    """Operation, provider, models and server."""
    input_tokens: Mapping[str, AttributeValue]
    output_tokens: Mapping[str, AttributeValue]


class ModelFacts(Struct, frozen=True):
    """The attributes of a model that every span and metric has."""

    name: str
    span_name: str
    provider: str
    kind: SpanKind
    """CLIENT for a model that is asked over the network, INTERNAL for one in this process."""
    streams: bool
    attributes: Mapping[str, AttributeValue]
    """Operation, provider, model and server: the attributes of metrics."""
    start: Mapping[str, AttributeValue]
    """The same, and whether it streams: the attributes a span starts with, as a sampler needs them."""
    _by_answer: dict[str, MetricAttributes]

    def metric_attributes(self, model: str) -> MetricAttributes:
        """The attributes of a reply's metrics; ``model`` is the one that the vendor says answered."""
        found = self._by_answer.get(model)
        if found is None:
            attributes = self.attributes
            if model:
                attributes = {**attributes, names.RESPONSE_MODEL: model}
            found = MetricAttributes(
                attributes,
                input_tokens={**attributes, names.TOKEN_TYPE: "input"},
                output_tokens={**attributes, names.TOKEN_TYPE: "output"},
            )
            if len(self._by_answer) < _MOST_ANSWERS:
                self._by_answer[model] = found
        return found


_known: WeakKeyDictionary[Any, ModelFacts] = WeakKeyDictionary()


def facts_of(model: Any) -> ModelFacts:
    """The facts of a model; for a model made of several, those of the first that is asked."""
    try:
        known = _known.get(model)
    except TypeError:
        # It cannot be a key of the cache, so its facts are computed each time.
        return _facts_of(model)
    if known is None:
        known = _facts_of(model)
        _known[model] = known
    return known


def answering(model: Any, reply: Reply, first: ModelFacts) -> ModelFacts:
    """The facts of the model that answered, of several; ``first`` is the one asked first."""
    for member in getattr(model, "members", ()):
        if member.name == reply.answered_by:
            return facts_of(member.model)
    return first


def _facts_of(model: Any) -> ModelFacts:
    members = getattr(model, "members", ())
    if members:
        return facts_of(members[0].model)
    wire = getattr(model, "wire_model", model)
    kind = type(wire).__name__
    name = _word(wire, "vendor_name") or _word(wire, "name") or kind
    own = _word(wire, "provider") or kind
    provider = names.PROVIDERS.get(own, own)
    attributes: dict[str, AttributeValue] = {
        names.OPERATION: "chat",
        names.PROVIDER: provider,
        names.REQUEST_MODEL: name,
    }
    place = _word(wire, "place")
    if place:
        there = urlsplit(place)
        attributes[names.SERVER_ADDRESS] = there.hostname or ""
        attributes[names.SERVER_PORT] = there.port or _PORTS.get(there.scheme, 0)
    streams = getattr(wire, "streaming", True) is True
    start = {**attributes, names.STREAM: True} if streams else attributes
    kind_of_span = SpanKind.CLIENT if place else SpanKind.INTERNAL
    return ModelFacts(name, f"chat {name}", provider, kind_of_span, streams, attributes, start, {})


def _word(model: Any, name: str) -> str:
    found = getattr(model, name, "")
    return found[:_LONGEST_NAME] if isinstance(found, str) else ""


def response_id(reply: Reply) -> str:
    """The vendor's id of a reply, if it sent one."""
    for bag in reply.vendor.values():
        found = bag.get("id") if isinstance(bag, Mapping) else None
        if isinstance(found, str):
            return found[:_LONGEST_NAME]
    return ""


def error_type(error: BaseException) -> str:
    """The name of an exception: its kind, for errors of vendors and networks, otherwise its class."""
    kind = getattr(error, "kind", "") if isinstance(error, RightcallError) else ""
    if isinstance(kind, str) and kind:
        return kind
    return type(error).__qualname__


def failure_type(outcome: Outcome) -> str:
    """The error of a failed call: the exception's class, or the outcome in one word."""
    raised = outcome.cause.partition(":")[0].strip() if isinstance(outcome, Failed) else ""
    if raised.isidentifier() or "." in raised:
        return raised[:_LONGEST_NAME]
    return outcome.kind


def request_attributes(request: Any, convention: Convention) -> dict[str, AttributeValue]:
    """The options of a model request."""
    found: dict[str, AttributeValue] = {}
    for option, name in names.OPTIONS.items() if request.options else ():
        value = request.options.get(option)
        if value is not None:
            found[name] = list(value) if option == "stop" else value
    if request.max_tokens is not None:
        found[names.MAX_TOKENS] = request.max_tokens
    if isinstance(request, RunSegment):
        if request.wants_output:
            found[names.OUTPUT_TYPE] = "json"
        return found
    if request.output is not None:
        found[names.OUTPUT_TYPE] = "json"
    if convention.reasoning_level:
        level = request.options.get("reasoning")
        if level is not None:
            found[convention.reasoning_level] = str(level)
    return found


def tokens_of(usage: Usage, convention: Convention, *, cached: bool) -> dict[str, AttributeValue]:
    """The tokens of a reply, or of several."""
    found: dict[str, AttributeValue] = {
        names.INPUT_TOKENS: usage.input_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
    }
    if cached and usage.cached_tokens:
        found[names.CACHE_READ] = usage.cached_tokens
    if cached and usage.cache_written_tokens:
        found[convention.cache_write] = usage.cache_written_tokens
    if usage.reasoning_tokens:
        found[names.REASONING_TOKENS] = usage.reasoning_tokens
    return found
