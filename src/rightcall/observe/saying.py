"""Content in spans and events: only where it was asked for, and no more than was asked for."""

from collections.abc import Mapping
from os import environ
from typing import Any, Literal, TypeAlias, get_args

from opentelemetry._logs import LoggerProvider, SeverityNumber, get_logger
from opentelemetry.context import Context
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from rightcall.core.around import CallEnd, ExchangeEnd, ModelExchange, RunSegment, SegmentEnd, ToolCall
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.observe import content
from rightcall.observe import conventions as names
from rightcall.observe.content import Redact, written

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that Python's instrumentations share; the conventions themselves define none."""

Where: TypeAlias = Literal["none", "span", "event", "both"]
_CAPTURED: Mapping[str, Where] = {
    "": "none",
    "false": "none",
    "no_content": "none",
    "true": "span",
    "span_only": "span",
    "event_only": "event",
    "span_and_event": "both",
}


def place_of(said: bool | Where | None) -> Where:  # noqa: FBT001 - an option's value
    """Where content goes; the argument takes precedence over the environment."""
    if said is None:
        told = environ.get(CAPTURE, "").strip().lower()
        if told not in _CAPTURED:
            logger.warning("%s=%s is not known, and no content is sent", CAPTURE, told)
        return _CAPTURED.get(told, "none")
    if isinstance(said, bool):
        return "span" if said else "none"
    if said not in get_args(Where):
        raise UsageError(f"content= is True, False, {', '.join(get_args(Where))}, and not {said!r}")
    return said


class Saying:
    """Adds content to spans or events, as it was asked for."""

    def __init__(self, where: Where, redact: Redact, provider: LoggerProvider | None) -> None:
        self._in_spans = where in ("span", "both")
        self._redact = redact
        self._logger = None
        if where in ("event", "both"):
            self._logger = get_logger("rightcall", logger_provider=provider)
        self.is_asked = where != "none"
        """Whether any content is sent."""

    def exchange(
        self,
        span: Span,
        exchange: ModelExchange,
        end: ExchangeEnd | None,
        attributes: Mapping[str, AttributeValue],
        context: Context | None,
    ) -> None:
        """Add a model's request and reply; a request that broke off has no output."""
        in_span = self._in_spans and span.is_recording()
        if not in_span and self._logger is None:
            return
        request = exchange.request
        said: dict[str, Any] = {
            names.SYSTEM_INSTRUCTIONS: content.instructions(request.system),
            names.INPUT_MESSAGES: content.messages(request.messages),
            names.OUTPUT_MESSAGES: content.output(() if end is None else (end.reply,)),
            names.TOOL_DEFINITIONS: content.definitions(request.specs),
        }
        said = {name: value for name, value in said.items() if value}
        if in_span:
            self._put(span, said)
        if self._logger is not None:
            clean: Any = self._redact(said)
            self._logger.emit(
                context=context,
                severity_number=SeverityNumber.INFO,
                event_name=names.DETAILS_EVENT,
                attributes={**attributes, **clean},
            )

    def segment(self, span: Span, segment: RunSegment, end: SegmentEnd | None) -> None:
        """Add an agent's input and its last reply."""
        if not self._in_spans:
            return
        said: dict[str, Any] = {
            names.SYSTEM_INSTRUCTIONS: content.instructions(segment.system),
            names.INPUT_MESSAGES: content.messages(segment.messages),
            names.OUTPUT_MESSAGES: content.output(() if end is None else end.replies[-1:]),
        }
        self._put(span, {name: value for name, value in said.items() if value})

    def call(self, span: Span, call: ToolCall, end: CallEnd | None) -> None:
        """Add a tool's arguments, and its result as the model read it."""
        if not self._in_spans:
            return
        said = {names.CALL_ARGUMENTS: content.arguments(call.call)}
        if end is not None:
            said[names.CALL_RESULT] = content.response(end.result)
        self._put(span, said)

    def _put(self, span: Span, said: Mapping[str, Any]) -> None:
        span.set_attributes({name: written(value, self._redact) for name, value in said.items()})
