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
from rightcall.wire.decoders import SseReply, arguments_in, event_object, whole_object, whole_reply
from rightcall.wire.gemini_interactions.reply import ReplyBuilder
from rightcall.wire.gemini_interactions.tables import NAME, WAITING, parse_refusal
from rightcall.wire.payload import mapping, number_in, sequence
from rightcall.wire.refusal import UNREADABLE, excerpt, is_bare_error


class _StepDelta(Struct, gc=False):
    type: str = ""
    text: str | None = None
    arguments: str | None = None


class _StepEvent(Struct, gc=False):
    """The members of most events. Others are parsed when they occur."""

    event_type: str = ""
    index: int | None = None
    delta: _StepDelta | None = None


class _RawStep(Struct):
    arguments: Raw = Raw(b"")


class _RawStart(Struct):
    step: _RawStep | None = None


class _RawWhole(Struct):
    steps: list[_RawStep | None] | None = None


class _RawDone(Struct):
    interaction: _RawWhole | None = None


_more = msgspec.json.Decoder(_StepEvent).decode
_any = msgspec.json.Decoder().decode
_start = msgspec.json.Decoder(_RawStart).decode
_whole = msgspec.json.Decoder(_RawWhole).decode
_done = msgspec.json.Decoder(_RawDone).decode
_each = msgspec.json.Decoder(list[Raw]).decode


class Decoder(SseReply[ReplyBuilder]):
    """Decodes one streamed reply. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        super().__init__(NAME, ReplyBuilder(), _take, _take_whole, end="the interaction did")


decoder = Decoder


def decode(body: bytes, /) -> Reply:
    """The reply in a body that was not streamed."""
    return whole_reply(ReplyBuilder(), _take_whole, body)


def _take(reply: ReplyBuilder, event: ServerEvent) -> None:
    data = event.data
    if reply.is_done or not data or data.strip() == b"[DONE]":
        return
    if b'"step.delta"' in data and _take_usual_event(reply, data):
        return
    value = event_object(NAME, data)
    kind = value.get("event_type") or event.name
    handler = _ON.get(kind) if isinstance(kind, str) else None
    if handler is not None:
        try:
            handler(reply, value, data)
        except msgspec.ValidationError as problem:
            raise ProtocolError(f"{NAME}: a {kind} of another shape: {problem}") from problem
    elif value.get("error") or is_bare_error(value):
        raise parse_refusal(value)


def _take_usual_event(reply: ReplyBuilder, data: bytes) -> bool:
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
    try:
        # An error may come in a list, as its only item.
        body = bytes(_each(body)[0])
    except (*UNREADABLE, IndexError):
        pass
    value = whole_object(NAME, body)
    if value.get("error"):
        raise parse_refusal(value)
    if not isinstance(value.get("status"), str):
        raise ProtocolError(f"{NAME}: a reply without a status: {excerpt(body)}")
    try:
        raw = _whole(body)
    except msgspec.ValidationError as problem:
        raise ProtocolError(f"{NAME}: a reply of another shape: {problem}") from problem
    _end(reply, value, raw)


def _step_start(reply: ReplyBuilder, event: Mapping[str, Any], data: bytes) -> None:
    step = mapping(event.get("step"))
    arguments = ""
    if step.get("type") == "function_call":
        arguments = _text_of(_start(data).step)
    if arguments == "{}":
        # An empty object is a placeholder for arguments that are still to come.
        arguments = ""
    reply.start(number_in(event.get("index")), step, arguments)


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
        # The error of a failed interaction, wherever the vendor put it.
        steps = [mapping(step).get("error") for step in sequence(said.get("steps"))]
        for error in (*sequence(said.get("errors")), *steps):
            if error:
                raise parse_refusal({"error": mapping(error)})
        raise parse_refusal({"error": {"message": "the interaction failed", "code": "failed"}})
    if not reply.is_begun:
        for at, (step, given) in enumerate(
            zip(sequence(said.get("steps")), raw.steps or (), strict=True)
        ):
            reply.start(at, mapping(step), _text_of(given))
            reply.close(at)
    reply.end(status)


_ON: Mapping[str, Callable[[ReplyBuilder, Mapping[str, Any], bytes], None]] = {
    "interaction.created": lambda reply, event, _: reply.note(mapping(event.get("interaction"))),
    "interaction.status_update": lambda reply, event, _: reply.note(
        {**event, "id": event.get("interaction_id")}
    ),
    "step.start": _step_start,
    "step.delta": lambda reply, event, _: reply.add(
        number_in(event.get("index")), mapping(event.get("delta"))
    ),
    "step.stop": lambda reply, event, _: reply.close(number_in(event.get("index"))),
    "interaction.completed": _over,
}


def _text_of(step: _RawStep | None) -> str:
    return "" if step is None else arguments_in(bytes(step.arguments))
