"""Encodes a reply's events as a streamGenerateContent stream, or a reply as one response.

A call is sent whole, once it has ended, and not at all if it was cut off: clients run what they receive.
What the model's vendor wants back is put where Google's signature of a call would be, thoughts included,
since clients do not send thoughts back.

With refusals and lists, the module satisfies the ``ServerDialect`` port.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Raw

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
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.core.request import ClientRequest, ErrorResponse, ListedModel, ReplyHeader
from rightcall.errors import ErrorKind, RightcallError
from rightcall.wire.client_response import (
    broken_reply_error,
    error_message,
    error_response,
    json_bytes,
    kind_of,
    overflow_message,
    refusal_in,
    status_of,
)
from rightcall.wire.gemini.client_request import parse_request
from rightcall.wire.gemini.messages import UNPARSED, Json
from rightcall.wire.gemini.tables import FINISHES, NAME
from rightcall.wire.payload import base64_raw, object_in
from rightcall.wire.relay_tokens import RelayToken, call_id, encode_token, returnable_fields

__all__ = [
    "Writer", "encode_error", "encode_model_list", "encode_reply", "encode_token_count", "name",
    "parse_request", "writer",
]  # fmt: skip

name = NAME
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

    def __init__(self, asked: ClientRequest, answer: ReplyHeader) -> None:
        self.left_out: list[str] = []
        self._answer = answer
        self._is_array = asked.framing == "array"
        self._count = 0
        self._tail = b"," + json_bytes(_identity_members(answer))[1:]
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
                begun = self._calls.pop(index, None)
                thoughts = tuple(self._thoughts)
                self._thoughts = []
                vendor = call.vendor or ({} if begun is None else begun.vendor)
                carried = RelayToken(call.id, returnable_fields(vendor), thoughts)
                return self._part(json_bytes(call_part(call, index, self._answer, carried)))
            case ReplyEnd(reply):
                if reply.stop == "error":
                    return self.fail(broken_reply_error(reply))
                if self._calls:
                    self.left_out.append("a call that was cut off")
                self.left_out += ["citations"] if reply.citations else []
                parts = [*map(_media_part, reply.media), *_refusal(reply)]
                end = response_of(reply, parts, self._answer)
                return self._chunk(json_bytes(end)) + self._close()
            case _:
                # A client is not told about retries and fallbacks.
                pass
        return b""

    def fail(self, error: RightcallError, /) -> bytes:
        """An error, which SDKs raise, and a finish for clients that ignore it."""
        candidate = {"content": {"parts": [], "role": "model"}, "finishReason": "OTHER", "index": 0}
        end = {
            "candidates": [{**candidate, "finishMessage": error_message(error)}],
            **_identity_members(self._answer),
        }
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
        if self._is_array:
            return b"]"
        return b""


writer = Writer


def encode_reply(reply: Reply, asked: ClientRequest, answer: ReplyHeader, /) -> bytes:  # noqa: ARG001 - as all dialects have it
    """The reply as one response."""
    if reply.stop == "error":
        raise broken_reply_error(reply)
    return json_bytes(response_of(reply, list(_parts(reply, answer)), answer))


def _parts(reply: Reply, answer: ReplyHeader) -> Iterator[Json]:
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
                    carried = RelayToken(part.id, returnable_fields(part.vendor), tuple(thoughts))
                    yield call_part(part, index, answer, carried)
                    thoughts = []
                index += 1
            case Media():
                yield _media_part(part)
            case _:
                continue
    yield from _refusal(reply)


def call_part(call: Call, index: int, answer: ReplyHeader, carried: RelayToken) -> Json:
    """A call, with its token as the signature."""
    identity = call_id("call_", answer.id, index, RelayToken(call.id))
    arguments: Json | Raw = {}
    if call.as_json.strip() and object_in(call.as_json) is None:
        arguments = {UNPARSED: call.arguments}
    elif call.as_json.strip():
        # As the model wrote it, but on one line, as an event's data must be.
        arguments = Raw(msgspec.json.format(call.as_json.encode(), indent=-1))
    function = {"id": identity, "name": call.name, "args": arguments}
    if not carried.vendor and not carried.thoughts:
        return {"functionCall": function}
    text = encode_token(carried)
    # The field holds bytes, whose base64 Google's SDKs decode strictly.
    return {"functionCall": function, "thoughtSignature": text + "=" * (-len(text) % 4)}


def _refusal(reply: Reply) -> Iterator[Json]:
    """The text of a refusal, which has no part of its own here."""
    if words := refusal_in(reply):
        yield {"text": words}


def _media_part(media: Media) -> Json:
    if media.way == "bytes":
        return {"inlineData": {"mimeType": media.media_type, "data": base64_raw(media)}}
    return {"fileData": {"mimeType": media.media_type, "fileUri": media.url or media.id}}


def response_of(reply: Reply, parts: Sequence[Json], answer: ReplyHeader) -> Json:
    """The response that ends a reply."""
    candidate: Json = {
        "content": {"parts": parts or [{"text": ""}], "role": "model"},
        "finishReason": FINISHES[reply.stop],
        "index": 0,
    }
    if reply.logprobs:
        candidate["logprobsResult"] = {
            "chosenCandidates": [_token(token.text, token.logprob) for token in reply.logprobs],
            "topCandidates": [
                {"candidates": [_token(*each) for each in token.top]} for token in reply.logprobs
            ],
        }
    return {
        "candidates": [candidate],
        "usageMetadata": usage_of(reply.usage),
        **_identity_members(answer),
    }


def _identity_members(answer: ReplyHeader) -> Json:
    return {"modelVersion": answer.model, "responseId": answer.id}


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
    if usage.cached_tokens:
        cached = {"cachedContentTokenCount": usage.cached_tokens}
    else:
        cached = {}
    return {**counts, **cached, **({"thoughtsTokenCount": thought} if thought else {})}


def error_body(error: RightcallError) -> Json:
    """The error object of the dialect."""
    kind = kind_of(error)
    status = _STATUSES.get(kind, "INTERNAL")
    words = error_message(error)
    if kind == "context_overflow":
        # Google's message begins so; clients search for it before they shorten a conversation.
        words = overflow_message(error, _TOO_LONG)
    return {"error": {"code": status_of(error), "message": words, "status": status}}


_METHODS = ["generateContent", "streamGenerateContent", "countTokens"]


def encode_error(error: RightcallError, asked: ClientRequest | None = None, /) -> ErrorResponse:  # noqa: ARG001
    """The error in the client's format."""
    return error_response(error, status_of(error), error_body(error))


def encode_token_count(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"totalTokens": tokens})


def encode_model_list(models: Sequence[ListedModel], /) -> bytes:
    """The list of models."""
    found = [
        {
            "name": f"models/{each.name}",
            "displayName": each.name,
            "supportedGenerationMethods": _METHODS,
            **({"inputTokenLimit": each.context_window} if each.context_window else {}),
            **({"outputTokenLimit": each.output_tokens} if each.output_tokens else {}),
        }
        for each in models
    ]
    return json_bytes({"models": found})
