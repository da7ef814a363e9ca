"""Encodes a reply's events as a Messages stream, or a reply as one message.

Blocks come one after another, like the vendor's. What the model's vendor wants back is put where
Anthropic's signature would be: into a thought's signature, or into a redacted thought.

With refusals and lists, the module satisfies the ``ServerDialect`` port.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rightcall.core.events import CallStart, ModelEvent, ReplyEnd
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reasoning, Reply
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import ClientRequest, ErrorResponse, ListedModel, ReplyHeader
from rightcall.errors import ErrorKind, RightcallError
from rightcall.wire.anthropic.client_request import parse_request
from rightcall.wire.anthropic.tables import NAME, REASONS, REFUSALS, UNPARSED
from rightcall.wire.blocks import BlockSequencer
from rightcall.wire.client_request import tokens_of
from rightcall.wire.client_response import (
    broken_reply_error,
    error_message,
    error_response,
    format_time,
    is_too_large,
    json_bytes,
    kind_of,
    overflow_message,
    refusal_in,
    status_of,
    without_place,
)
from rightcall.wire.payload import object_in
from rightcall.wire.relay_tokens import RelayToken, call_id, encode_token, returnable_fields

__all__ = [
    "Writer", "encode_error", "encode_model_list", "encode_reply", "encode_token_count", "name",
    "parse_request", "writer",
]  # fmt: skip

name = NAME
KEEP_ALIVE = b'event: ping\ndata: {"type":"ping"}\n\n'
_ERRORS: Mapping[ErrorKind, str] = {
    "auth": "authentication_error",
    "quota": "rate_limit_error",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "context_overflow": "invalid_request_error",
    "bad_request": "invalid_request_error",
    "not_found": "not_found_error",
    "filtered": "invalid_request_error",
    "timeout": "timeout_error",
}
"""The type of an error; a missing kind is a server error."""
_LOST: frozenset[ErrorKind] = frozenset({"connection", "protocol", "server", "timeout"})
"""Failures that a retry of the same request may avoid."""
_NUMBER = re.compile(r"\d[\d,]{2,}")
_UNSIGNED = encode_token(RelayToken())
"""The signature of a thought that need not be sent back: clients expect one."""


class Writer:
    """Writes one streamed reply."""

    def __init__(self, answer: ReplyHeader) -> None:
        self.left_out: list[str] = []
        self._answer = answer
        self._began = False
        self._blocks = _Blocks(answer)
        self._turns = BlockSequencer(self._blocks)

    def start(self) -> bytes:
        """The message's start, with the estimated usage of the request."""
        if self._began:
            return b""
        self._began = True
        usage = Usage(input_tokens=self._answer.input_tokens, output_tokens=1)
        message = _message(self._answer, [], None, usage)
        return _event("message_start", {"message": message})

    def write(self, event: ModelEvent, /) -> bytes:
        """The bytes that the event adds."""
        start = b"" if self._began else self.start()
        if type(event) is ReplyEnd:
            return start + self._end(event.reply)
        return start + self._turns.take(event)

    def fail(self, error: RightcallError, /) -> bytes:
        """The vendor's error event.

        A lost connection to the model is reported as overloaded, as Anthropic's own servers do inside a
        stream: there is no status any more, and of the types it is the one that clients (Vercel's AI
        SDK, and so opencode) retry. They treat ``api_error`` there as final.
        """
        what = _ERRORS["overloaded"] if kind_of(error) in _LOST else None
        return _event("error", error_body(error, what))

    def keep_alive(self) -> bytes:
        """A ping, which is one of the vendor's events."""
        return KEEP_ALIVE

    def _end(self, reply: Reply) -> bytes:
        written = self._turns.finish()
        if reply.stop == "error":
            return written + self.fail(broken_reply_error(reply))
        self.left_out += without_place(reply)
        if words := refusal_in(reply):
            blocks = self._blocks
            written += blocks.begin_text() + blocks.text(words) + blocks.end_text()
        delta = {"stop_reason": REASONS[reply.stop], "stop_sequence": None}
        # If the vendor counted nothing, the first estimate stands.
        usage = reply.usage
        if not usage.tokens:
            usage = Usage(input_tokens=self._answer.input_tokens)
        written += _event("message_delta", {"delta": delta, "usage": usage_of(usage)})
        return written + _event("message_stop", {})


class _Blocks:
    """Writes content blocks as events; satisfies ``BlockWriter``."""

    def __init__(self, answer: ReplyHeader) -> None:
        self._answer = answer
        self._at = -1
        self._delta = b""
        """The beginning of a delta event for the open block."""

    def begin_text(self) -> bytes:
        return self._begin({"type": "text", "text": ""}, b'"text_delta","text":')

    def text(self, text: str, /) -> bytes:
        return self._delta + json_bytes(text) + b"}}\n\n"

    def end_text(self) -> bytes:
        return self._stop()

    def begin_thought(self) -> bytes:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return self._begin(block, b'"thinking_delta","thinking":')

    thought = text

    def end_thought(self, reasoning: Reasoning | None, /) -> bytes:
        delta = {"type": "signature_delta", "signature": signature_of(reasoning)}
        return _event("content_block_delta", {"index": self._at, "delta": delta}) + self._stop()

    def silent_thought(self, reasoning: Reasoning, /) -> bytes:
        if reasoning.text:
            written = self.begin_thought() + self.thought(reasoning.text)
            return written + self.end_thought(reasoning)
        return self._write_redacted(RelayToken(thoughts=(reasoning,)))

    def begin_call(self, start: CallStart, /) -> bytes:
        vendor = returnable_fields(start.vendor)
        hidden = self._write_redacted(RelayToken(vendor=vendor)) if vendor else b""
        block = _tool_use(start, start.index, self._answer)
        return hidden + self._begin(block, b'"input_json_delta","partial_json":')

    arguments = text

    def end_call(self, call: Call | None, /) -> bytes:  # noqa: ARG002 - one that was cut off stops, too
        return self._stop()

    def _begin(self, block: JsonObject, delta: bytes) -> bytes:
        self._at += 1
        self._delta = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,' % self._at
            + b'"delta":{"type":'
            + delta
        )
        return _event("content_block_start", {"index": self._at, "content_block": block})

    def _write_redacted(self, carried: RelayToken) -> bytes:
        return self._begin(_redacted_block(carried), b"") + self._stop()

    def _stop(self) -> bytes:
        return _event("content_block_stop", {"index": self._at})


def encode_reply(reply: Reply, asked: ClientRequest, answer: ReplyHeader, /) -> bytes:  # noqa: ARG001 - as all dialects have it
    """The reply as one message."""
    if reply.stop == "error":
        raise broken_reply_error(reply)
    content = list(_content(reply, answer))
    return json_bytes(_message(answer, content, REASONS[reply.stop], reply.usage))


def _content(reply: Reply, answer: ReplyHeader) -> Iterator[JsonObject]:
    index = 0
    for part in reply.content:
        match part:
            case Text(text):
                if text:
                    yield {"type": "text", "text": text}
            case Reasoning(text):
                if text:
                    yield {"type": "thinking", "thinking": text, "signature": signature_of(part)}
                elif part.vendor:
                    yield _redacted_block(RelayToken(thoughts=(part,)))
            case Call():
                if vendor := returnable_fields(part.vendor):
                    yield _redacted_block(RelayToken(vendor=vendor))
                yield {**_tool_use(part, index, answer), "input": _input(part)}
                index += 1
            case _:
                continue
    if words := refusal_in(reply):
        yield {"type": "text", "text": words}


def _tool_use(call: Call | CallStart, index: int, answer: ReplyHeader) -> dict[str, Any]:
    identity = call_id("toolu_", answer.id, index, RelayToken(call.id))
    return {"type": "tool_use", "id": identity, "name": call.name, "input": {}}


def _redacted_block(carried: RelayToken) -> JsonObject:
    return {"type": "redacted_thinking", "data": encode_token(carried)}


def signature_of(reasoning: Reasoning | None) -> str:
    """The value in place of Anthropic's signature of a thought; the thought's text is beside it."""
    if reasoning is None or not reasoning.vendor:
        return _UNSIGNED
    return encode_token(RelayToken(thoughts=(Reasoning("", reasoning.vendor),)))


def _input(call: Call) -> JsonObject:
    """The arguments as an object; if they were cut off, as much as arrived."""
    if not call.arguments.strip():
        return {}
    if call.truncated:
        partial = PartialJson()
        partial.feed(call.arguments)
        if isinstance(partial.value, dict):
            return partial.value
        return {}
    value = object_in(call.arguments)
    if value is None:
        return {UNPARSED: call.arguments}
    return value


def _message(
    answer: ReplyHeader, content: list[JsonObject], stop: str | None, usage: Usage
) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage_of(usage),
    }


def usage_of(usage: Usage) -> JsonObject:
    """A reply's usage in the vendor's format, whose input leaves out cached tokens."""
    beside = usage.cached_tokens + usage.cache_written_tokens
    counts: dict[str, Any] = {
        "input_tokens": max(usage.input_tokens - beside, 0),
        "cache_creation_input_tokens": usage.cache_written_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return counts


def error_body(error: RightcallError, what: str | None = None) -> JsonObject:
    """The error object of the dialect; ``what`` is the error's type, if known."""
    kind = kind_of(error)
    words = error_message(error)
    if kind == "context_overflow":
        words = _too_long(overflow_message(error, "prompt is too long"))
    if what is None:
        what = "request_too_large" if is_too_large(error) else _ERRORS.get(kind, "api_error")
    return {"type": "error", "error": {"type": what, "message": words}}


def _too_long(words: str) -> str:
    """The vendor's message for an overlong prompt, with the numbers from another vendor's message.

    Claude Code reads from it how much too long the prompt is, and shortens it by that.
    """
    if "tokens >" in words:
        return words
    numbers = sorted({int(each.replace(",", "")) for each in _NUMBER.findall(words)})
    if len(numbers) < 2:  # noqa: PLR2004 - what there is, and what there may be
        return words
    most, asked = numbers[-2:]
    return f"prompt is too long: {asked} tokens > {most} maximum ({words})"


def _event(name: str, members: JsonObject) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json_bytes({"type": name, **members}))


_OVERLOADED = REFUSALS.statuses["overloaded_error"]


def writer(asked: ClientRequest, answer: ReplyHeader, /) -> Writer:
    """A writer for one streamed reply, which begins with an estimate of the request's tokens."""
    if not answer.input_tokens:
        answer = replace(answer, input_tokens=tokens_of(asked))
    return Writer(answer)


def encode_error(error: RightcallError, asked: ClientRequest | None = None, /) -> ErrorResponse:  # noqa: ARG001
    """The error in the client's format."""
    if kind_of(error) == "overloaded":
        status = _OVERLOADED
    else:
        status = status_of(error)
    return error_response(error, status, error_body(error))


def encode_token_count(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"input_tokens": tokens})


def encode_model_list(models: Sequence[ListedModel], /) -> bytes:
    """The list of models, as a single page."""
    data = []
    for model in models:
        entry: dict[str, Any] = {
            "type": "model",
            "id": model.name,
            "display_name": model.name,
            "created_at": format_time(model.created),
            "lifecycle": "active",
        }
        if model.context_window:
            entry["max_input_tokens"] = model.context_window
        if model.output_tokens:
            entry["max_tokens"] = model.output_tokens
        data.append(entry)
    first = models[0].name if models else None
    last = models[-1].name if models else None
    return json_bytes({"data": data, "has_more": False, "first_id": first, "last_id": last})
