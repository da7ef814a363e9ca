"""The events of a reply into the events of a Messages stream, or into one message.

Blocks come one after another, as the vendor's do. What the vendor of the model wants back stands where
Anthropic's own signature would: in a thought's, or in a thought that is not shown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.core.call import Call
from rightcall.core.events import CallStart, ModelEvent, ReplyEnd
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reasoning, Reply
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Text, Usage
from rightcall.core.served import Answer, Asked
from rightcall.errors import ErrorKind, RightcallError
from rightcall.wire.anthropic.tables import REASONS, UNPARSED
from rightcall.wire.carried import Carried, attached, call_id, token
from rightcall.wire.encoding import object_in
from rightcall.wire.in_turn import InTurn
from rightcall.wire.refused import broken, is_too_large, kind_of, worded_overflow, words_of
from rightcall.wire.writing import json_bytes, refusal_in, without_place

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
"""The type of an error; the server's own where it is not here."""
_LOST: frozenset[ErrorKind] = frozenset({"connection", "protocol", "server", "timeout"})
"""What the same request may not meet again."""
_NUMBER = re.compile(r"\d[\d,]{2,}")
_UNSIGNED = token(Carried())
"""The signature of a thought that nobody wants back: clients look for one."""


class Writer:
    """Writes one streamed reply."""

    def __init__(self, answer: Answer) -> None:
        self.left_out: list[str] = []
        self._answer = answer
        self._began = False
        self._blocks = _Blocks(answer)
        self._turns = InTurn(self._blocks)

    def start(self) -> bytes:
        """The message, with what the request is about."""
        if self._began:
            return b""
        self._began = True
        usage = Usage(input_tokens=self._answer.input_tokens, output_tokens=1)
        message = _message(self._answer, [], None, usage)
        return _event("message_start", {"message": message})

    def write(self, event: ModelEvent, /) -> bytes:
        """What the event adds."""
        start = b"" if self._began else self.start()
        if type(event) is ReplyEnd:
            return start + self._end(event.reply)
        return start + self._turns.take(event)

    def fail(self, error: RightcallError, /) -> bytes:
        """The vendor's own event for it.

        A model that was lost on the way is said to be overloaded, as Anthropic's own servers say it
        inside a stream: there is no status any more, and of the types it is the one that clients
        (Vercel's AI SDK, and so opencode) try again for. They take ``api_error`` there for final.
        """
        what = _ERRORS["overloaded"] if kind_of(error) in _LOST else None
        return _event("error", error_body(error, what))

    def keep_alive(self) -> bytes:
        """A ping, which is one of the vendor's events."""
        return KEEP_ALIVE

    def _end(self, reply: Reply) -> bytes:
        written = self._turns.finish()
        if reply.stop == "error":
            return written + self.fail(broken(reply))
        self.left_out += without_place(reply)
        if words := refusal_in(reply):
            blocks = self._blocks
            written += blocks.begin_text() + blocks.text(words) + blocks.end_text()
        delta = {"stop_reason": REASONS[reply.stop], "stop_sequence": None}
        # Who counts nothing leaves it at what was said first.
        usage = reply.usage if reply.usage.tokens else Usage(input_tokens=self._answer.input_tokens)
        written += _event("message_delta", {"delta": delta, "usage": usage_of(usage)})
        return written + _event("message_stop", {})


class _Blocks:
    """Content blocks as events; satisfies ``in_turn.Blocks``."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._at = -1
        self._delta = b""
        """What a delta of the open block begins with."""

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
        return self._hidden(Carried(thoughts=(reasoning,)))

    def begin_call(self, start: CallStart, /) -> bytes:
        vendor = attached(start.vendor)
        hidden = self._hidden(Carried(vendor=vendor)) if vendor else b""
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

    def _hidden(self, carried: Carried) -> bytes:
        return self._begin(_hidden(carried), b"") + self._stop()

    def _stop(self) -> bytes:
        return _event("content_block_stop", {"index": self._at})


def whole(reply: Reply, asked: Asked, answer: Answer, /) -> bytes:  # noqa: ARG001 - as all dialects have it
    """The reply as one message."""
    if reply.stop == "error":
        raise broken(reply)
    content = list(_content(reply, answer))
    return json_bytes(_message(answer, content, REASONS[reply.stop], reply.usage))


def _content(reply: Reply, answer: Answer) -> Iterator[JsonObject]:
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
                    yield _hidden(Carried(thoughts=(part,)))
            case Call():
                if vendor := attached(part.vendor):
                    yield _hidden(Carried(vendor=vendor))
                yield {**_tool_use(part, index, answer), "input": _input(part)}
                index += 1
            case _:
                continue
    if words := refusal_in(reply):
        yield {"type": "text", "text": words}


def _tool_use(call: Call | CallStart, index: int, answer: Answer) -> dict[str, Any]:
    identity = call_id("toolu_", answer.id, index, Carried(call.id))
    return {"type": "tool_use", "id": identity, "name": call.name, "input": {}}


def _hidden(carried: Carried) -> JsonObject:
    return {"type": "redacted_thinking", "data": token(carried)}


def signature_of(reasoning: Reasoning | None) -> str:
    """What stands for Anthropic's signature of a thought; its text stands beside it."""
    if reasoning is None or not reasoning.vendor:
        return _UNSIGNED
    return token(Carried(thoughts=(Reasoning("", reasoning.vendor),)))


def _input(call: Call) -> JsonObject:
    """The arguments as an object; as far as they have come, where they were cut off."""
    if not call.arguments.strip():
        return {}
    if call.truncated:
        partial = PartialJson()
        partial.feed(call.arguments)
        return partial.value if isinstance(partial.value, dict) else {}
    value = object_in(call.arguments)
    return {UNPARSED: call.arguments} if value is None else value


def _message(
    answer: Answer, content: list[JsonObject], stop: str | None, usage: Usage
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
    """What a reply took. Here cached tokens are no part of the input."""
    beside = usage.cached_tokens + usage.cache_written_tokens
    thought = {"output_tokens_details": {"thinking_tokens": usage.reasoning_tokens}}
    return {
        "input_tokens": max(usage.input_tokens - beside, 0),
        "cache_creation_input_tokens": usage.cache_written_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        **(thought if usage.reasoning_tokens else {}),
    }


def error_body(error: RightcallError, what: str | None = None) -> JsonObject:
    """An error as every client of the dialect reads it; ``what`` is its type, where that is known."""
    kind = kind_of(error)
    words = words_of(error)
    if kind == "context_overflow":
        words = _too_long(worded_overflow(error, "prompt is too long"))
    if what is None:
        what = "request_too_large" if is_too_large(error) else _ERRORS.get(kind, "api_error")
    return {"type": "error", "error": {"type": what, "message": words}}


def _too_long(words: str) -> str:
    """The vendor's sentence, with the numbers of the words that another vendor has for it.

    Claude Code reads how much too long a prompt is, and makes it so much shorter.
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
