"""Decodes an interaction, streamed or whole, to events and a Reply. Does no I/O.

A stream ends with ``interaction.completed``, which holds the final status; ``[DONE]`` may follow.
https://ai.google.dev/gemini-api/docs/interactions/streaming
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.core.message import Reply
from rightcall.core.sse import ServerEvent
from rightcall.errors import ProtocolError
from rightcall.wire.encoding import mapping, sequence
from rightcall.wire.gemini_interactions.errors import refused
from rightcall.wire.gemini_interactions.reply import Index, ReplyBuilder
from rightcall.wire.gemini_interactions.tables import NAME, WAITING
from rightcall.wire.json_objects import event_object, whole_object
from rightcall.wire.refusal import UNREADABLE, excerpt
from rightcall.wire.sse_reply import SseReply, whole_reply


class _Delta(Struct, gc=False):
    type: str = ""
    text: str | None = None
    arguments: str | None = None


class _More(Struct, gc=False):
    """The members of most events. Others are parsed when they occur."""

    event_type: str = ""
    index: int | None = None
    delta: _Delta | None = None


class _RawStep(Struct):
    arguments: Raw = Raw(b"")


class _RawStart(Struct):
    step: _RawStep | None = None


class _RawWhole(Struct):
    steps: list[_RawStep | None] | None = None


class _RawDone(Struct):
    interaction: _RawWhole | None = None


_more = msgspec.json.Decoder(_More).decode
_any = msgspec.json.Decoder().decode
_start = msgspec.json.Decoder(_RawStart).decode
_whole = msgspec.json.Decoder(_RawWhole).decode
_done = msgspec.json.Decoder(_RawDone).decode
_each = msgspec.json.Decoder(list[Raw]).decode


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="the interaction did")


def decoder() -> Decoder:
    """A decoder for one streamed reply."""
    return Decoder()


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take(reply: ReplyBuilder, event: ServerEvent) -> None:
    data = event.data
    if reply.is_done or not data or data.strip() == b"[DONE]":
        return
    if b'"step.delta"' in data and _grown(reply, data):
        return
    value = event_object(NAME, data)
    kind = value.get("event_type") or event.name
    handler = _ON.get(kind) if isinstance(kind, str) else None
    if handler is not None:
        try:
            handler(reply, value, data)
        except msgspec.ValidationError as problem:
            raise ProtocolError(f"{NAME}: a {kind} of another shape: {problem}") from problem
    elif value.get("error"):
        raise refused(value)


def _grown(reply: ReplyBuilder, data: bytes) -> bool:
    """Add an event that extends a text or a call's arguments, as most do; returns whether it was one."""
    try:
        event = _more(data)
    except UNREADABLE:
        return False
    delta = event.delta
    if event.event_type != "step.delta" or delta is None:
        return False
    if delta.type == "text" and delta.text is not None:
        reply.text(event.index, delta.text)
        return True
    if delta.type == "arguments_delta" and delta.arguments is not None:
        reply.json(event.index, delta.arguments)
        return True
    return False


def _take_whole(reply: ReplyBuilder, body: bytes) -> None:
    body = _first(body)
    value = whole_object(NAME, body)
    if value.get("error"):
        raise refused(value)
    if not isinstance(value.get("status"), str):
        raise ProtocolError(f"{NAME}: a reply without a status: {excerpt(body)}")
    try:
        raw = _whole(body)
    except msgspec.ValidationError as problem:
        raise ProtocolError(f"{NAME}: a reply of another shape: {problem}") from problem
    _end(reply, value, raw)


def _first(body: bytes) -> bytes:
    """The body, or its only item: an error may come in a list."""
    try:
        return bytes(_each(body)[0])
    except (*UNREADABLE, IndexError):
        return body


def _step_start(reply: ReplyBuilder, event: Mapping[str, Any], data: bytes) -> None:
    step = mapping(event.get("step"))
    is_call = step.get("type") == "function_call"
    arguments = _arguments(_start(data).step) if is_call else ""
    # An empty object is a placeholder for arguments that are still to come.
    reply.start(_index(event), step, "" if arguments == "{}" else arguments)


def _step_delta(reply: ReplyBuilder, event: Mapping[str, Any], _: bytes) -> None:
    reply.add(_index(event), mapping(event.get("delta")))


def _step_stop(reply: ReplyBuilder, event: Mapping[str, Any], _: bytes) -> None:
    reply.close(_index(event))


def _status(reply: ReplyBuilder, event: Mapping[str, Any], _: bytes) -> None:
    reply.note({**event, "id": event.get("interaction_id")})


def _created(reply: ReplyBuilder, event: Mapping[str, Any], _: bytes) -> None:
    reply.note(mapping(event.get("interaction")))


def _over(reply: ReplyBuilder, event: Mapping[str, Any], data: bytes) -> None:
    said = mapping(event.get("interaction"))
    if str(said.get("status")) not in WAITING:
        _end(reply, said, _done(data).interaction or _RawWhole())


def _end(reply: ReplyBuilder, said: Mapping[str, Any], raw: _RawWhole) -> None:
    status = str(said.get("status") or "completed")
    if status in WAITING:
        raise ProtocolError(f"{NAME}: the interaction is {status}, and there is no reply yet")
    reply.note(said)
    if status == "failed":
        raise refused({"error": _failure(said)})
    if not reply.is_begun:
        for at, (step, given) in enumerate(
            zip(sequence(said.get("steps")), raw.steps or (), strict=True)
        ):
            reply.start(at, mapping(step), _arguments(given))
            reply.close(at)
    reply.end(status)


def _failure(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The error of a failed interaction, wherever the vendor put it."""
    steps = [mapping(step).get("error") for step in sequence(said.get("steps"))]
    told = [mapping(each) for each in (*sequence(said.get("errors")), *steps) if each]
    return told[0] if told else {"message": "the interaction failed", "code": "failed"}


_ON: Mapping[str, Callable[[ReplyBuilder, Mapping[str, Any], bytes], None]] = {
    "interaction.created": _created,
    "interaction.status_update": _status,
    "step.start": _step_start,
    "step.delta": _step_delta,
    "step.stop": _step_stop,
    "interaction.completed": _over,
}


def _index(event: Mapping[str, Any]) -> Index:
    index = event.get("index")
    return index if isinstance(index, int) else None


def _arguments(step: _RawStep | None) -> str:
    """The arguments of a call as their original JSON text, without white space."""
    raw = b"" if step is None else bytes(step.arguments)
    if raw in (b"", b"null"):
        return ""
    if raw.startswith(b'"'):
        # Some hosts send the object as a string, as OpenAI does.
        return str(_any(raw))
    return msgspec.json.format(raw, indent=-1).decode()
