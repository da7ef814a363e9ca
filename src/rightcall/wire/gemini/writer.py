"""Encodes a reply's events as a streamGenerateContent stream, or a reply as one response.

A call is sent whole, once it has ended, and not at all if it was cut off: clients run what they receive.
What the model's vendor wants back is put where Google's signature of a call would be, thoughts included,
since clients do not send thoughts back.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Raw

from rightcall.core.call import Call
from rightcall.core.citation import Token
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Media, Text, Usage
from rightcall.core.served import Answer, Asked
from rightcall.errors import ErrorKind, RightcallError
from rightcall.wire.carried import Carried, attached, call_id, token
from rightcall.wire.encoding import base64_raw, object_in
from rightcall.wire.gemini.messages import UNPARSED, Json
from rightcall.wire.gemini.tables import FINISHES
from rightcall.wire.refused import broken, kind_of, status_of, worded_overflow, words_of
from rightcall.wire.writing import json_bytes, refusal_in

_STATUSES: Mapping[ErrorKind, str] = {
    "auth": "UNAUTHENTICATED",
    "quota": "RESOURCE_EXHAUSTED",
    "rate_limit": "RESOURCE_EXHAUSTED",
    "overloaded": "UNAVAILABLE",
    "context_overflow": "INVALID_ARGUMENT",
    "bad_request": "INVALID_ARGUMENT",
    "not_found": "NOT_FOUND",
    "filtered": "INVALID_ARGUMENT",
    "timeout": "DEADLINE_EXCEEDED",
    "cancelled": "CANCELLED",
    "connection": "UNAVAILABLE",
}
"""Google's status for each kind of failure; INTERNAL for others."""
_TOO_LONG = "input token count exceeds the maximum number of tokens allowed"


class Writer:
    """Writes one streamed reply."""

    def __init__(self, asked: Asked, answer: Answer) -> None:
        self.left_out: list[str] = []
        self._answer = answer
        self._is_array = asked.framing == "array"
        self._count = 0
        self._tail = b"," + json_bytes(_named(answer))[1:]
        self._thoughts: list[Reasoning] = []
        """Thoughts that the next call must carry."""
        self._calls: dict[int, CallStart] = {}
        """Calls that have begun but not ended."""

    def start(self) -> bytes:
        """Nothing: the stream begins with its first content."""
        return b""

    def write(self, event: ModelEvent, /) -> bytes:
        """The bytes that the event adds."""
        match event:
            case TextDelta(text):
                return self._part(b'{"text":' + json_bytes(text) + b"}")
            case CallDelta():
                pass
            case ReasoningDelta(text):
                return self._part(b'{"text":' + json_bytes(text) + b',"thought":true}')
            case ReasoningEnd(reasoning):
                self._thoughts.append(reasoning)
            case CallStart():
                self._calls[event.index] = event
            case CallEnd(index, call):
                return self._call(index, call)
            case ReplyEnd(reply):
                return self._end(reply)
            case _:
                # A client is not told about retries and fallbacks.
                pass
        return b""

    def fail(self, error: RightcallError, /) -> bytes:
        """An error, which SDKs raise, and a finish for clients that ignore it."""
        candidate = {"content": {"parts": [], "role": "model"}, "finishReason": "OTHER", "index": 0}
        end = {"candidates": [{**candidate, "finishMessage": words_of(error)}], **_named(self._answer)}
        return self._chunk(json_bytes(error_body(error))) + self._chunk(json_bytes(end)) + self._close()

    def keep_alive(self) -> bytes:
        """An empty chunk: comments break Google's SDK for Python and its CLI."""
        return self._part(b'{"text":""}')

    def _part(self, part: bytes) -> bytes:
        content = b'{"candidates":[{"content":{"parts":[' + part + b'],"role":"model"},"index":0}]'
        return self._chunk(content + self._tail)

    def _chunk(self, chunk: bytes) -> bytes:
        self._count += 1
        if self._is_array:
            return (b"[" if self._count == 1 else b",\n") + chunk
        return b"data: " + chunk + b"\r\n\r\n"

    def _close(self) -> bytes:
        return b"]" if self._is_array else b""

    def _call(self, index: int, call: Call) -> bytes:
        begun = self._calls.pop(index, None)
        thoughts, self._thoughts = tuple(self._thoughts), []
        vendor = call.vendor or ({} if begun is None else begun.vendor)
        carried = Carried(call.id, attached(vendor), thoughts)
        return self._part(json_bytes(call_part(call, index, self._answer, carried)))

    def _end(self, reply: Reply) -> bytes:
        if reply.stop == "error":
            return self.fail(broken(reply))
        if self._calls:
            self.left_out.append("a call that was cut off")
        self.left_out += ["citations"] if reply.citations else []
        parts = [*map(_made, reply.media), *_refusal(reply)]
        end = response_of(reply, parts, self._answer)
        return self._chunk(json_bytes(end)) + self._close()


def whole(reply: Reply, asked: Asked, answer: Answer, /) -> bytes:  # noqa: ARG001 - as all dialects have it
    """The reply as one response."""
    if reply.stop == "error":
        raise broken(reply)
    return json_bytes(response_of(reply, list(_parts(reply, answer)), answer))


def _parts(reply: Reply, answer: Answer) -> Iterator[Json]:
    thoughts: list[Reasoning] = []
    index = 0
    for part in reply.content:
        match part:
            case Text(text):
                if text:
                    yield {"text": text}
            case Reasoning(text):
                if part.vendor:
                    thoughts.append(part)
                if text:
                    yield {"text": text, "thought": True}
            case Call():
                if not part.truncated:
                    carried = Carried(part.id, attached(part.vendor), tuple(thoughts))
                    yield call_part(part, index, answer, carried)
                    thoughts = []
                index += 1
            case Media():
                yield _made(part)
            case _:
                continue
    yield from _refusal(reply)


def call_part(call: Call, index: int, answer: Answer, carried: Carried) -> Json:
    """A call, with its token as the signature."""
    identity = call_id("call_", answer.id, index, Carried(call.id))
    function = {"id": identity, "name": call.name, "args": _arguments(call)}
    if not carried.vendor and not carried.thoughts:
        return {"functionCall": function}
    text = token(carried)
    # The field holds bytes, whose base64 Google's SDKs decode strictly.
    return {"functionCall": function, "thoughtSignature": text + "=" * (-len(text) % 4)}


def _arguments(call: Call) -> Raw | Json:
    if not call.as_json.strip():
        return {}
    if object_in(call.as_json) is None:
        return {UNPARSED: call.arguments}
    # As the model wrote it, but on one line, as an event's data must be.
    return Raw(msgspec.json.format(call.as_json.encode(), indent=-1))


def _refusal(reply: Reply) -> Iterator[Json]:
    """The text of a refusal, which has no part of its own here."""
    if words := refusal_in(reply):
        yield {"text": words}


def _made(media: Media) -> Json:
    if media.way == "bytes":
        return {"inlineData": {"mimeType": media.media_type, "data": base64_raw(media)}}
    return {"fileData": {"mimeType": media.media_type, "fileUri": media.url or media.id}}


def response_of(reply: Reply, parts: Sequence[Json], answer: Answer) -> Json:
    """The response that ends a reply."""
    candidate: Json = {
        "content": {"parts": parts or [{"text": ""}], "role": "model"},
        "finishReason": FINISHES[reply.stop],
        "index": 0,
    }
    if reply.logprobs:
        candidate["logprobsResult"] = _likely(reply.logprobs)
    return {"candidates": [candidate], "usageMetadata": usage_of(reply.usage), **_named(answer)}


def _named(answer: Answer) -> Json:
    return {"modelVersion": answer.model, "responseId": answer.id}


def _likely(tokens: Sequence[Token]) -> Json:
    return {
        "chosenCandidates": [_token(token.text, token.logprob) for token in tokens],
        "topCandidates": [{"candidates": [_token(*each) for each in token.top]} for token in tokens],
    }


def _token(text: str, logprob: float) -> Json:
    return {"token": text, "logProbability": logprob}


def usage_of(usage: Usage) -> Json:
    """A reply's usage in the vendor's format, whose output leaves out thoughts."""
    thought = min(usage.reasoning_tokens, usage.output_tokens)
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - thought,
        "totalTokenCount": usage.tokens,
    }
    cached = {"cachedContentTokenCount": usage.cached_tokens} if usage.cached_tokens else {}
    return {**counts, **cached, **({"thoughtsTokenCount": thought} if thought else {})}


def error_body(error: RightcallError) -> Json:
    """The error object of the dialect."""
    kind = kind_of(error)
    status = _STATUSES.get(kind, "INTERNAL")
    words = words_of(error)
    if kind == "context_overflow":
        # Google's message begins so; clients search for it before they shorten a conversation.
        words = worded_overflow(error, _TOO_LONG)
    return {"error": {"code": status_of(error), "message": words, "status": status}}
