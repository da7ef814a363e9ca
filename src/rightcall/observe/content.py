"""Content in spans and events: only where it was asked for, redacted and truncated.

The shapes are those of the JSON schemas published with the conventions of 1.41.1. The bytes of media are
never included, only their type and size.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from os import environ
from typing import Any, Literal, TypeAlias, get_args

from opentelemetry._logs import LoggerProvider, SeverityNumber, get_logger
from opentelemetry.context import Context
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, User
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.ports import CallEnd, ExchangeEnd, ModelExchange, RunSegment, SegmentEnd, ToolCall
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.observe import conventions as names

Redact: TypeAlias = Callable[[object], object]
Part: TypeAlias = Mapping[str, Any]

LONGEST = 32_000
"""Characters of one text that are sent: a trace is not an archive."""

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


def capture_place(said: bool | Where | None) -> Where:  # noqa: FBT001 - an option's value
    """Where content goes; the argument takes precedence over the environment."""
    if said is None:
        value = environ.get(CAPTURE, "").strip().lower()
        if value not in _CAPTURED:
            logger.warning("%s=%s is not known, and no content is sent", CAPTURE, value)
        return _CAPTURED.get(value, "none")
    if isinstance(said, bool):
        return "span" if said else "none"
    if said not in get_args(Where):
        raise UsageError(f"content= is True, False, {', '.join(get_args(Where))}, and not {said!r}")
    return said


class ContentCapture:
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
            names.SYSTEM_INSTRUCTIONS: instructions(request.system),
            names.INPUT_MESSAGES: messages(request.messages),
            names.TOOL_DEFINITIONS: definitions(request.specs),
        }
        if end is not None:
            said[names.OUTPUT_MESSAGES] = output((end.reply,))
        said = _without_empty(said)
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
            names.SYSTEM_INSTRUCTIONS: instructions(segment.system),
            names.INPUT_MESSAGES: messages(segment.messages),
        }
        if end is not None:
            said[names.OUTPUT_MESSAGES] = output(end.replies[-1:])
        self._put(span, _without_empty(said))

    def call(self, span: Span, call: ToolCall, end: CallEnd | None) -> None:
        """Add a tool's arguments, and its result as the model read it."""
        if not self._in_spans:
            return
        said = {names.CALL_ARGUMENTS: arguments(call.call)}
        if end is not None:
            said[names.CALL_RESULT] = response(end.result)
        self._put(span, said)

    def _put(self, span: Span, said: Mapping[str, Any]) -> None:
        span.set_attributes({name: encode_content(value, self._redact) for name, value in said.items()})


def _without_empty(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value}


def encode_content(value: object, redact: Redact) -> str:
    """Content as an attribute's text, with secrets removed: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return str(redact(value))
    return encodable(json.dumps(redact(value), ensure_ascii=False, separators=(",", ":")))


def instructions(system: str) -> list[Part]:
    """The system text of a request."""
    return [_text(system)] if system else []


def definitions(specs: Iterable[Spec]) -> list[Part]:
    """The tool definitions of a request."""
    return [
        {
            "type": "function",
            "name": spec.name,
            "description": _cut(spec.description),
            "parameters": spec.parameters,
        }
        for spec in specs
    ]


def messages(said: Transcript) -> list[Part]:
    """The messages of a request."""
    return list(map(_encode_message, said))


def output(replies: Iterable[Reply]) -> list[Part]:
    """A model's reply, and why it stopped."""
    return [
        {
            "role": "assistant",
            "parts": _reply_parts(reply),
            "finish_reason": names.FINISHES.get(reply.stop, reply.stop),
        }
        for reply in replies
    ]


def arguments(call: Call) -> object:
    """A call's arguments: an object if they parse as one, otherwise the text that the model wrote."""
    if len(call.arguments) > LONGEST:
        return _cut(call.arguments)
    try:
        return json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return _cut(call.arguments)


def response(result: Result) -> object:
    """The result of a call as the model read it."""
    media = [_media(part) for part in result.content if isinstance(part, Media)]
    if media:
        return [_text(result.text), *media]
    return _cut(result.text)


def _encode_message(message: Message) -> Part:
    match message:
        case User():
            return {"role": "user", "parts": list(map(_part, message.content))}
        case Reply():
            return {"role": "assistant", "parts": _reply_parts(message)}
        case Results(results):
            parts = [
                {"type": "tool_call_response", "id": each.call_id, "response": response(each)}
                for each in results
            ]
            return {"role": "tool", "parts": parts}


def _reply_parts(reply: Reply) -> list[Part]:
    parts: list[Part] = []
    for part in reply.content:
        match part:
            case Call(id=call_id, name=name):
                asked = {"type": "tool_call", "id": call_id, "name": name}
                parts.append({**asked, "arguments": arguments(part)})
            case Reasoning(text):
                if text:
                    parts.append({"type": "reasoning", "content": _cut(text)})
            case Text() | Media():
                parts.append(_part(part))
            case _:
                # Parts that only the vendor can read are of no use to an operator.
                continue
    return parts


def _part(part: Text | Media) -> Part:
    if isinstance(part, Text):
        return _text(part.text)
    return _media(part)


def _text(text: str) -> Part:
    return {"type": "text", "content": _cut(text)}


def _media(media: Media) -> Part:
    about = {"modality": str(media.kind), "mime_type": media.media_type}
    if media.id is not None:
        return {"type": "file", **about, "file_id": media.id}
    if media.url is not None and not media.url.startswith("data:"):
        return {"type": "uri", **about, "uri": _cut(media.url)}
    return {"type": "media", **about, "bytes": len(media.data)}


def _cut(text: str) -> str:
    text = encodable(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({len(text):,} characters)"
