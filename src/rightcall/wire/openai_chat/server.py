"""Encodes a reply's events as a Chat Completions stream, or a reply as one body.

Text is sent as it comes, and arguments under the index of their call, so that parallel calls may be
interleaved. Clients are sure to send back only the text and the calls of an assistant message, so what
the model's vendor wants back is put into the calls' ids: with thoughts these can be long.

With refusals and lists, the module satisfies the ``ServerDialect`` port.
"""

from collections.abc import Mapping, Sequence
from typing import Any

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
from rightcall.core.message import Reasoning, Reply, Token
from rightcall.core.parts import Call, Usage
from rightcall.core.request import ClientRequest, ErrorResponse, ListedModel, ReplyHeader
from rightcall.errors import RightcallError
from rightcall.wire.client_request import is_text_tool
from rightcall.wire.client_response import (
    REFUSED,
    broken_reply_error,
    error_response,
    input_of,
    json_bytes,
    models_of_openai,
    openai_error,
    refusal_in,
    status_of,
)
from rightcall.wire.openai_chat.client_request import parse_request
from rightcall.wire.openai_chat.tables import FINISHES, NAME
from rightcall.wire.payload import data_url
from rightcall.wire.relay_tokens import RelayToken, call_id, returnable_fields

__all__ = [
    "Writer", "encode_error", "encode_model_list", "encode_reply", "encode_token_count", "name",
    "parse_request", "writer",
]  # fmt: skip

name = NAME
KEEP_ALIVE = b": keep-alive\n\n"
_DONE = b"data: [DONE]\n\n"
_TAIL = b',"logprobs":null,"finish_reason":null}]}\n\n'


class Writer:
    """Writes one streamed reply."""

    def __init__(self, asked: ClientRequest, answer: ReplyHeader) -> None:
        self.left_out: list[str] = []
        self._asked = asked
        self._answer = answer
        self._began = False
        head = json_bytes(_head(answer, "chat.completion.chunk"))
        self._usage_head = b"data: " + head[:-1] + b',"choices":[]'
        self._head = b"data: " + head[:-1] + b',"choices":[{"index":0,"delta":'
        self._thoughts: list[Reasoning] = []
        """Thoughts that the next call's id must carry."""
        self._held: dict[int, str] = {}
        """The ids of calls of tools with text input, by index; these calls are sent whole."""
        self._bare: set[int] = set()
        """Calls of which only the name was sent."""

    def start(self) -> bytes:
        """The role, which must come first."""
        if self._began:
            return b""
        self._began = True
        return self._delta(b'{"role":"assistant","content":""}')

    def write(self, event: ModelEvent, /) -> bytes:
        """The bytes that the event adds."""
        start = b"" if self._began else self.start()
        match event:
            case TextDelta(text):
                return start + self._delta(b'{"content":' + json_bytes(text) + b"}")
            case CallDelta(index, text):
                return start + self._arguments(index, text)
            case ReasoningDelta(text):
                return start + self._delta(b'{"reasoning_content":' + json_bytes(text) + b"}")
            case ReasoningEnd(reasoning):
                self._thoughts.append(reasoning)
            case CallStart():
                return start + self._call(event)
            case CallEnd(index, call) if index in self._held:
                custom = {"name": call.name, "input": input_of(call)}
                identity = self._held.pop(index)
                whole = {"index": index, "id": identity, "type": "custom", "custom": custom}
                return start + self._delta(json_bytes({"tool_calls": [whole]}))
            case CallEnd(index, call) if index in self._bare:
                return start + self._arguments(index, call.arguments.strip() or "{}")
            case ReplyEnd(reply):
                return start + self._end(reply)
            case _:
                # The call was sent already, or it is a retry, which a client is not told about.
                pass
        return start

    def fail(self, error: RightcallError, /) -> bytes:
        """An error in place of a chunk, which every SDK raises."""
        return b"data: " + json_bytes({"error": openai_error(error)}) + b"\n\n" + _DONE

    def keep_alive(self) -> bytes:
        """A comment: an object would be taken for a broken chunk."""
        return KEEP_ALIVE

    def _delta(self, delta: bytes) -> bytes:
        return self._head + delta + _TAIL

    def _call(self, event: CallStart) -> bytes:
        thoughts = tuple(self._thoughts)
        self._thoughts = []
        carried = RelayToken(event.id, returnable_fields(event.vendor), thoughts)
        answer = self._answer
        identity = call_id("call_", answer.id, event.index, carried, answer.shorten)
        if is_text_tool(self._asked, event.name):
            self._held[event.index] = identity
            return b""
        self._bare.add(event.index)
        function = {"name": event.name, "arguments": ""}
        call = {"index": event.index, "id": identity, "type": "function", "function": function}
        return self._delta(json_bytes({"tool_calls": [call]}))

    def _arguments(self, index: int, text: str) -> bytes:
        if index in self._held:
            return b""
        self._bare.discard(index)
        function = b'"function":{"arguments":' + json_bytes(text)
        return self._delta(b'{"tool_calls":[{"index":%d,' % index + function + b"}}]}")

    def _end(self, reply: Reply) -> bytes:
        if reply.stop == "error":
            return self.fail(broken_reply_error(reply))
        if self._held:
            self.left_out.append("a call that was cut off")
        more = beside(reply, self.left_out)
        last = self._delta(json_bytes(more)) if more else b""
        likely = json_bytes(likely_of(reply.logprobs))
        word = json_bytes(FINISHES[reply.stop])
        last += self._head + b'{},"logprobs":' + likely + b',"finish_reason":' + word + b"}]}\n\n"
        if self._asked.usage:
            last += self._usage_head + b',"usage":' + json_bytes(usage_of(reply.usage)) + b"}\n\n"
        return last + _DONE


writer = Writer


def encode_reply(reply: Reply, asked: ClientRequest, answer: ReplyHeader, /) -> bytes:
    """The reply as one body."""
    if reply.stop == "error":
        raise broken_reply_error(reply)
    thoughts = tuple(part for part in reply.content if isinstance(part, Reasoning) and part.vendor)
    calls = []
    for index, call in enumerate(reply.calls):
        carried = RelayToken(call.id, returnable_fields(call.vendor), () if index else thoughts)
        identity = call_id("call_", answer.id, index, carried, answer.shorten)
        calls.append(_call(call, identity, asked))
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if calls else "")}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    message |= {"refusal": None, **beside(reply, [])}
    if calls:
        message["tool_calls"] = calls
    finish = {"logprobs": likely_of(reply.logprobs), "finish_reason": FINISHES[reply.stop]}
    choice = {"index": 0, "message": message, **finish}
    body = {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage_of(reply.usage)}
    return json_bytes(body)


def _head(answer: ReplyHeader, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": kind,
        "created": answer.created,
        "model": answer.model,
    }


def _call(call: Call, identity: str, asked: ClientRequest) -> dict[str, Any]:
    if is_text_tool(asked, call.name):
        custom = {"name": call.name, "input": input_of(call)}
        return {"id": identity, "type": "custom", "custom": custom}
    function = {"name": call.name, "arguments": call.arguments.strip() or "{}"}
    return {"id": identity, "type": "function", "function": function}


def beside(reply: Reply, left: list[str]) -> dict[str, Any]:
    """The members of a message besides text, thoughts and calls; adds to ``left`` what has none."""
    found: dict[str, Any] = {}
    if words := refusal_in(reply) or (REFUSED if reply.stop == "refusal" else ""):
        found["refusal"] = words
    for media in reply.media:
        if media.kind == "image":
            # As OpenRouter has them; OpenAI has no field for images here.
            image = {"type": "image_url", "image_url": {"url": data_url(media)}}
            found.setdefault("images", []).append(image)
        else:
            left.append(f"{media.media_type} made by the model")
    for citation in reply.citations:
        if citation.url:
            body = {
                "url": citation.url,
                "title": citation.title,
                "start_index": citation.start or 0,
                "end_index": citation.end or 0,
            }
            annotation = {"type": "url_citation", "url_citation": body}
            found.setdefault("annotations", []).append(annotation)
    return found


def likely_of(tokens: Sequence[Token]) -> dict[str, Any] | None:
    """The log probabilities of the tokens."""
    if not tokens:
        return None
    content = []
    for token in tokens:
        top = [_token(*each) for each in token.top]
        content.append({**_token(token.text, token.logprob), "top_logprobs": top})
    return {"content": content, "refusal": None}


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode(errors="replace"))}


def usage_of(usage: Usage) -> Mapping[str, Any]:
    """A reply's usage in the dialect's format."""
    into = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_written_tokens}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": into,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def encode_error(error: RightcallError, asked: ClientRequest | None = None, /) -> ErrorResponse:  # noqa: ARG001
    """The error in the client's format."""
    return error_response(error, status_of(error), {"error": openai_error(error)})


def encode_token_count(tokens: int, /) -> bytes:
    """Chat has no request to count tokens; the body is that of Responses."""
    return json_bytes({"object": "response.input_tokens", "input_tokens": tokens})


def encode_model_list(models: Sequence[ListedModel], /) -> bytes:
    """The list of models."""
    return models_of_openai(models)
