"""Encodes a reply's events as a Responses stream, or a reply as one response.

Items come one after another, each begun, extended and closed, with every index, id and number that the
vendor sends: some clients read one event, and others refuse a stream that lacks any. The last event
repeats everything, so a reply is held until then. What the model's vendor wants back is put where
OpenAI's encrypted reasoning would be.

With refusals and lists, the module satisfies the ``ServerDialect`` port.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rightcall.core.events import CallStart, ModelEvent, ReplyEnd
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import (
    ANY_OBJECT,
    ClientRequest,
    ErrorResponse,
    ListedModel,
    Named,
    ReplyHeader,
)
from rightcall.errors import RightcallError
from rightcall.wire.blocks import BlockSequencer
from rightcall.wire.client_response import (
    REFUSED,
    broken_reply_error,
    error_response,
    input_of,
    json_bytes,
    kind_of,
    models_of_openai,
    openai_error,
    refusal_in,
    status_of,
    without_place,
)
from rightcall.wire.openai_responses.client_request import parse_request
from rightcall.wire.openai_responses.reply import Item
from rightcall.wire.openai_responses.tables import CALLS, ENDINGS, NAME
from rightcall.wire.payload import object_in, without
from rightcall.wire.relay_tokens import RelayToken, call_id, encode_token, returnable_fields

__all__ = [
    "Writer", "encode_error", "encode_model_list", "encode_reply", "encode_token_count", "name",
    "parse_request", "writer",
]  # fmt: skip

name = NAME
KEEP_ALIVE = b": keep-alive\n\n"
_PREFIXES = {"custom_tool_call": "ctc", "tool_search_call": "tsc", "function_call": "fc"}
_PIECES = {
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}
"""The names of the events with a call's arguments, without ``.delta`` and ``.done``. Other calls come
whole."""


class Writer:
    """Writes one streamed reply."""

    def __init__(self, asked: ClientRequest, answer: ReplyHeader) -> None:
        self.left_out: list[str] = []
        self._asked = asked
        self._answer = answer
        self._began = False
        self._items = _ItemWriter(asked, answer)
        self._turns = BlockSequencer(self._items)

    def start(self) -> bytes:
        """The response's start, without any output."""
        if self._began:
            return b""
        self._began = True
        response = {"response": self._response("in_progress")}
        event = self._items.event
        return event("response.created", response) + event("response.in_progress", response)

    def write(self, event: ModelEvent, /) -> bytes:
        """The bytes that the event adds."""
        start = b"" if self._began else self.start()
        if type(event) is ReplyEnd:
            return start + self._end(event.reply)
        return start + self._turns.take(event)

    def fail(self, error: RightcallError, /) -> bytes:
        """A failed response: the only end that every client recognizes as a failure."""
        start = self.start()
        said = stream_error(error)
        response = {**self._response("failed"), "error": said, "output": self._items.done}
        return start + self._items.event("response.failed", {"response": response})

    def keep_alive(self) -> bytes:
        """A comment: an object would be taken for a broken event."""
        return KEEP_ALIVE

    def _end(self, reply: Reply) -> bytes:
        written = self._turns.finish()
        if reply.stop == "error":
            return written + self.fail(broken_reply_error(reply))
        if words := refusal_in(reply) or (REFUSED if reply.stop == "refusal" else ""):
            written += self._items.refuse(words)
        self.left_out += without_place(reply)
        response = _ended_response(reply, self._asked, self._answer, self._items.done)
        return written + self._items.event(f"response.{response['status']}", {"response": response})

    def _response(self, status: str) -> Item:
        return response_of(self._asked, self._answer, status)


writer = Writer


class _ItemWriter:
    """Writes output items as events; satisfies ``BlockWriter``."""

    def __init__(self, asked: ClientRequest, answer: ReplyHeader) -> None:
        self.done: list[Item] = []
        """The items that are complete."""
        self._asked = asked
        self._answer = answer
        self._number = 0
        self._item: Item = {}
        """The open item."""
        self._pieces: list[str] = []
        self._delta = (b"", b"")
        """The bytes before and after the number in a delta event of the open item."""

    def event(self, name: str, members: Item) -> bytes:
        """An event with the next sequence number."""
        body = {"type": name, "sequence_number": self._number, **members}
        self._number += 1
        return b"event: %s\ndata: %s\n\n" % (name.encode(), json_bytes(body))

    def begin_text(self) -> bytes:
        written = self._begin(_message(self._name("msg"), [], "in_progress"))
        part = self._event("response.content_part.added", content_index=0, part=_part(""))
        self._deltas("response.output_text.delta", b',"content_index":0,"logprobs":[],"delta":')
        return written + part

    def text(self, text: str, /) -> bytes:
        self._pieces.append(text)
        before, after = self._delta
        self._number += 1
        return b"%s%d%s%s}\n\n" % (before, self._number - 1, after, json_bytes(text))

    def end_text(self) -> bytes:
        text = "".join(self._pieces)
        written = self._event("response.output_text.done", content_index=0, text=text, logprobs=[])
        written += self._event("response.content_part.done", content_index=0, part=_part(text))
        return written + self._end(_message(self._item["id"], [_part(text)], "completed"))

    def begin_thought(self) -> bytes:
        written = self._begin(_reasoning(self._name("rs"), "", None))
        summary = {"type": "summary_text", "text": ""}
        part = self._event("response.reasoning_summary_part.added", summary_index=0, part=summary)
        self._deltas("response.reasoning_summary_text.delta", b',"summary_index":0,"delta":')
        return written + part

    thought = text

    def end_thought(self, reasoning: Reasoning | None, /) -> bytes:
        text = "".join(self._pieces)
        summary = {"type": "summary_text", "text": text}
        written = self._event("response.reasoning_summary_text.done", summary_index=0, text=text)
        written += self._event("response.reasoning_summary_part.done", summary_index=0, part=summary)
        return written + self._end(_reasoning(self._item["id"], text, encrypted_of(reasoning)))

    def silent_thought(self, reasoning: Reasoning, /) -> bytes:
        if reasoning.text:
            written = self.begin_thought() + self.thought(reasoning.text)
            return written + self.end_thought(reasoning)
        return self._write_token(RelayToken(thoughts=(reasoning,)))

    def begin_call(self, start: CallStart, /) -> bytes:
        vendor = returnable_fields(start.vendor)
        hidden = self._write_token(RelayToken(vendor=vendor)) if vendor else b""
        item = call_item(start, start.index, self._asked, self._answer)
        kind = item["type"]
        if kind in _PIECES:
            self._deltas(f"{_PIECES[kind]}.delta", b',"delta":', item["id"])
        return hidden + self._begin({**item, "status": "in_progress", CALLS[kind]: _EMPTY.get(kind, "")})

    def arguments(self, text: str, /) -> bytes:
        if self._item["type"] == "function_call":
            return self.text(text)
        # Text that others write as JSON, and objects, can be sent only at the end.
        self._pieces.append(text)
        return b""

    def end_call(self, call: Call | None, /) -> bytes:
        kind = self._item["type"]
        cut = {"status": "incomplete" if call is None else "completed"}
        if kind == "function_call":
            text = "".join(self._pieces)
            written = b""
            if call is not None and not text.strip():
                text = "{}"
                written = self.text(text)
            done = self._event(f"{_PIECES[kind]}.done", name=self._item["name"], arguments=text)
            return written + done + self._end({**self._item, **cut, "arguments": text})
        whole = call or Call(id="", name="", arguments="".join(self._pieces))
        value = input_in(whole, kind)
        if kind not in _PIECES:
            return self._end({**self._item, **cut, CALLS[kind]: value})
        written = self.text(value) + self._event(f"{_PIECES[kind]}.done", input=value)
        return written + self._end({**self._item, **cut, "input": value})

    def refuse(self, words: str) -> bytes:
        """A message with a refusal."""
        part = {"type": "refusal", "refusal": words}
        written = self._begin(_message(self._name("msg"), [], "in_progress"))
        begun = {**part, "refusal": ""}
        written += self._event("response.content_part.added", content_index=0, part=begun)
        written += self._event("response.refusal.delta", content_index=0, delta=words)
        written += self._event("response.refusal.done", content_index=0, refusal=words)
        written += self._event("response.content_part.done", content_index=0, part=part)
        return written + self._end(_message(self._item["id"], [part], "completed"))

    def _name(self, prefix: str) -> str:
        return f"{prefix}_{self._answer.id}_{len(self.done)}"

    def _write_token(self, carried: RelayToken) -> bytes:
        item = _reasoning(self._name("rs"), "", encode_token(carried))
        return self._begin({**item, "encrypted_content": None}) + self._end(item)

    def _begin(self, item: Item) -> bytes:
        self._item = item
        self._pieces = []
        members = {"output_index": len(self.done), "item": item}
        return self.event("response.output_item.added", members)

    def _end(self, item: Item) -> bytes:
        members = {"output_index": len(self.done), "item": item}
        self.done.append(item)
        return self.event("response.output_item.done", members)

    def _event(self, kind: str, /, **members: Any) -> bytes:
        place = {"item_id": self._item["id"], "output_index": len(self.done)}
        return self.event(kind, {**place, **members})

    def _deltas(self, name: str, after: bytes, identity: str = "") -> None:
        place = json_bytes({"item_id": identity or self._item["id"], "output_index": len(self.done)})
        head = f'event: {name}\ndata: {{"type":"{name}","sequence_number":'.encode()
        self._delta = (head, b"," + place[1:-1] + after)


_EMPTY: Mapping[str, Any] = {"tool_search_call": {}}


def encode_reply(reply: Reply, asked: ClientRequest, answer: ReplyHeader, /) -> bytes:
    """The reply as one response."""
    if reply.stop == "error":
        raise broken_reply_error(reply)
    return json_bytes(_ended_response(reply, asked, answer, list(_output(reply, asked, answer))))


def _ended_response(reply: Reply, asked: ClientRequest, answer: ReplyHeader, output: list[Item]) -> Item:
    why = ENDINGS[reply.stop]
    response = response_of(asked, answer, "completed" if why is None else "incomplete")
    response["incomplete_details"] = None if why is None else {"reason": why}
    response["output"] = output
    response["usage"] = usage_of(reply.usage)
    return response


def _output(reply: Reply, asked: ClientRequest, answer: ReplyHeader) -> Iterator[Item]:
    calls = 0
    for at, part in enumerate(reply.content):
        match part:
            case Text(text):
                if text:
                    yield _message(f"msg_{answer.id}_{at}", [_part(text)], "completed")
            case Reasoning(text):
                yield _reasoning(f"rs_{answer.id}_{at}", text, encrypted_of(part))
            case Call():
                if vendor := returnable_fields(part.vendor):
                    hidden = encode_token(RelayToken(vendor=vendor))
                    yield _reasoning(f"rs_{answer.id}_{at}", "", hidden)
                item = call_item(part, calls, asked, answer)
                value = input_in(part, item["type"])
                status = "incomplete" if part.truncated else "completed"
                yield {**item, "status": status, CALLS[item["type"]]: value}
                calls += 1
            case _:
                continue
    if words := refusal_in(reply) or (REFUSED if reply.stop == "refusal" else ""):
        part_ = {"type": "refusal", "refusal": words}
        yield _message(f"msg_{answer.id}_{len(reply.content)}", [part_], "completed")


def call_item(call: Call | CallStart, index: int, asked: ClientRequest, answer: ReplyHeader) -> Item:
    """A call's item without the model's input."""
    form = asked.forms.get(call.name, {"type": "function_call", "name": call.name})
    kind = str(form["type"])
    identity = call_id("call_", answer.id, index, RelayToken(call.id))
    item = {"type": kind, "id": f"{_PREFIXES[kind]}_{answer.id}_{index}", "call_id": identity}
    if kind == "tool_search_call":
        return {**item, "execution": "client"}
    return item | without(form, "type")


def input_in(call: Call, kind: str) -> Any:
    """The model's input, in the form for a call of that kind."""
    if kind == "custom_tool_call":
        return input_of(call)
    if kind == "function_call":
        if call.arguments.strip() or call.truncated:
            return call.arguments
        return "{}"
    return object_in(call.arguments) or {}


def encrypted_of(reasoning: Reasoning | None) -> str | None:
    """The value in place of OpenAI's encrypted reasoning; the thought's text is beside it."""
    if reasoning is None or not reasoning.vendor:
        return None
    return encode_token(RelayToken(thoughts=(Reasoning("", reasoning.vendor),)))


def _message(identity: str, content: list[Item], status: str) -> Item:
    shared = {"id": identity, "type": "message", "status": status, "role": "assistant"}
    return {**shared, "content": content}


def _part(text: str) -> Item:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _reasoning(identity: str, text: str, encrypted: str | None) -> Item:
    summary = [{"type": "summary_text", "text": text}] if text else []
    item = {"id": identity, "type": "reasoning", "summary": summary}
    return {**item, "encrypted_content": encrypted}


def response_of(asked: ClientRequest, answer: ReplyHeader, status: str) -> Item:
    """A response without output, with the settings of the request."""
    request = asked.request
    options = request.options
    output = request.output
    form: Item = {"type": "text"}
    if output == ANY_OBJECT:
        form = {"type": "json_object"}
    elif output is not None:
        form = {"type": "json_schema", "name": "answer", "schema": output, "strict": True}
    choice: Any = request.choice
    if isinstance(choice, Named):
        choice = {"type": "function", "name": choice.name}
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": request.max_tokens,
        "model": answer.model,
        "output": [],
        "parallel_tool_calls": options.get("parallel") is not False,
        "previous_response_id": None,
        "reasoning": {"effort": options.get("reasoning"), "summary": None},
        "store": False,
        "temperature": options.get("temperature", 1.0),
        "text": {"format": form},
        "tool_choice": choice,
        "tools": [],
        "top_p": options.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": {},
    }


def usage_of(usage: Usage) -> JsonObject:
    """A reply's usage in the dialect's format."""
    into = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_written_tokens}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": into,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.tokens,
    }


def stream_error(error: RightcallError) -> JsonObject:
    """An error within a stream. Codex retries after a server error, but not after an overload."""
    body = openai_error(error)
    code = "server_error" if kind_of(error) == "overloaded" else body["code"]
    return {"code": code, "message": body["message"]}


def encode_error(error: RightcallError, asked: ClientRequest | None = None, /) -> ErrorResponse:
    """The error in the client's format.

    Codex understands an overlong prompt only as the end of a stream.
    """
    kind = kind_of(error)
    if kind == "context_overflow" and asked is not None and asked.client == "codex" and asked.stream:
        stream = Writer(asked, ReplyHeader(id="refused", model=asked.model)).fail(error)
        return ErrorResponse(status=200, body=stream, headers={"content-type": "text/event-stream"})
    return error_response(error, status_of(error), {"error": openai_error(error)})


def encode_token_count(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"object": "response.input_tokens", "input_tokens": tokens})


def encode_model_list(models: Sequence[ListedModel], /) -> bytes:
    """The list of models."""
    return models_of_openai(models)
