"""Decodes a Responses stream to events, and a whole response to a reply.

The response in the last event is the reply. Items that a host left out of it are taken from the stream,
and text that was never sent as deltas is emitted from the finished items, so that the events are
complete.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

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
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.openai_responses.errors import refused
from rightcall.wire.openai_responses.reply import (
    Item,
    call_id,
    called,
    is_call,
    is_object,
    items_in,
    read_call,
    read_reply,
    read_thought,
    text_in,
    written,
)
from rightcall.wire.openai_responses.slots import ItemSlot, ItemSlots
from rightcall.wire.openai_responses.tables import ENDS, PIECES, TEXTS, WHOLE, Channel
from rightcall.wire.refusal import UNREADABLE, excerpt, readable

_ERRORS = ("error", "response.error")
_DELTAS = {f"{event}.delta": place for event, place in PIECES.items()}
_DONES = {
    f"{event}.done": (kind, channel, channel if channel in ("refusal", "arguments", "input") else "text")
    for event, (kind, channel) in PIECES.items()
}


class _Frame(Struct):
    """The members of an event that are read; the items at the end hold everything else."""

    type: Any = None
    delta: Any = None
    item_id: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    item: Any = None
    response: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    input: Any = None
    error: Any = None
    code: Any = None
    message: Any = None
    status: Any = None


_read_frame = msgspec.json.Decoder(_Frame).decode


def decode(body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    response = _whole(body)
    return read_reply(response, items_in(response["output"]))


def _whole(body: bytes) -> Item:
    """The response in a whole body. Raises VendorError if it is a refusal."""
    response = _read(body, msgspec.json.decode)
    if not isinstance(response, dict):
        raise ProtocolError(f"a response is an object, not {excerpt(body)}")
    if response.get("status") == "failed" or ("output" not in response and response.get("error")):
        raise refused(response.get("error"))
    if not isinstance(response.get("output"), list):
        if response.get("type") == "error" or "detail" in response:
            raise refused(response)
        raise ProtocolError(f"a response without output: {excerpt(body)}")
    return response


class Decoder:
    """Decodes one stream. Feed it bytes, split anywhere."""

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._began = False
        self._body: bytearray | None = None
        """The body so far if it is no event stream: a refusal with status 200, or a host that does not
        stream."""
        self._events: list[ModelEvent] = []
        self._slots = ItemSlots()
        self._ids: list[str] = []
        """The ids of the calls that have started, in order."""
        self._reply: Reply | None = None
        self._is_finished = False

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that these bytes complete. Raises VendorError for a refusal inside the stream."""
        if not self._began and data.strip():
            self._began = True
            self._body = bytearray() if data.lstrip().startswith(b"{") else None
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"a body is longer than {MAX_EVENT_BYTES:,} bytes")
            return ()
        for event in self._sse.feed(data):
            self._take(event)
        return self._given()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The reply. Raises TruncatedStream if the vendor never said that it is complete.

        Only here, as a recorded stream contains several responses, of which the last one counts.
        """
        for event in self._sse.finish():
            try:
                self._take(event)
            except ProtocolError as error:
                raise TruncatedStream("the stream ended in the middle of an event") from error
        if self._is_finished:
            return ()
        if self._body is not None:
            self._end(_Frame(response=_whole(bytes(self._body))), "response.completed")
        if self._reply is None:
            raise TruncatedStream("the stream ended before its response.completed event")
        self._is_finished = True
        self._events.append(ReplyEnd(self._reply))
        return self._given()

    def _given(self) -> tuple[ModelEvent, ...]:
        events = tuple(self._events)
        self._events.clear()
        return events

    def _take(self, event: ServerEvent) -> None:
        data = event.data
        if data == b"[DONE]" or not data.strip():
            return
        frame = _read(data, _read_frame)
        kind = frame.type if isinstance(frame.type, str) else event.name
        if kind in _ERRORS or (frame.type is None and frame.error):
            raise refused(readable(data))
        if self._reply is not None:
            if kind != "response.created":
                return
            self._reply, self._slots = None, ItemSlots()
        handle = self._handlers.get(kind)
        if handle is not None:
            handle(self, frame, kind)

    def _delta(self, frame: _Frame, kind: str) -> None:
        text = frame.delta
        if not isinstance(text, str) or not text:
            return
        item_type, channel = _DELTAS[kind]
        slot = self._slots.hear(item_type, frame.item_id, frame.output_index)
        if not slot.is_done:
            self._add(slot, (channel, _part(frame)), text)

    def _part_done(self, frame: _Frame, kind: str) -> None:
        item_type, channel, member = _DONES[kind]
        text = getattr(frame, member)
        if isinstance(text, str) and text:
            slot = self._slots.hear(item_type, frame.item_id, frame.output_index)
            if not slot.is_done:
                self._catch_up(slot, (channel, _part(frame)), text)

    def _item_added(self, frame: _Frame, _kind: str) -> None:
        # Some hosts send null here: https://github.com/openai/openai-python/pull/3126
        if isinstance(frame.item, dict):
            slot = self._slots.announce(frame.item, frame.output_index)
            if is_call(slot.item) and called(slot.item):
                self._start(slot)

    def _item_done(self, frame: _Frame, _kind: str) -> None:
        if not isinstance(frame.item, dict):
            return
        slot = self._slots.close(frame.item, frame.output_index)
        self._settle(slot, frame.item)
        slot.is_done = True
        if slot.kind == "reasoning":
            self._events.append(ReasoningEnd(read_thought(frame.item)))
        if is_call(slot.item) and not slot.ended and _is_whole(slot.item):
            self._end_call(slot, slot.item)

    def _end(self, frame: _Frame, kind: str) -> None:
        response: Item = frame.response if isinstance(frame.response, dict) else {}
        if "failed" in (ENDS[kind], response.get("status")):
            raise refused(response.get("error") or frame.error)
        if response.get("status") in (None, "", "in_progress", "queued"):
            response = {**response, "status": ENDS[kind]}
        output = items_in(response.get("output"))
        if not output or len(output) < sum(slot.is_done for slot in self._slots.all):
            # Several hosts and ChatGPT's own backend leave it out:
            # https://github.com/QuantumNous/new-api/issues/4362,
            # https://github.com/BerriAI/litellm/pull/32724
            output = self._streamed(response["status"])
        self._reply = read_reply(response, output)
        calls = iter(self._reply.calls)
        left = list(self._slots.all)
        for item in output:
            slot = self._slots.match(item, left)
            if not slot.is_done:
                self._settle(slot, item)
            if is_call(item) and not next(calls).truncated and not slot.ended:
                self._end_call(slot, item)

    def _streamed(self, status: str) -> list[Item]:
        known = [
            slot for slot in self._slots.all if slot.is_done or slot.pieces or slot.index is not None
        ]
        if all(slot.at is not None for slot in known):
            known.sort(key=lambda slot: slot.at or 0)
        return [slot.gathered(status) for slot in known]

    def _settle(self, slot: ItemSlot, item: Item) -> None:
        """Emit what the finished item holds and no delta brought."""
        if is_call(item):
            self._start(slot, item)
        final = _texts(item)
        if slot.total < sum(len(text) for _, text in final):
            for key, text in final:
                self._catch_up(slot, key, text)

    def _catch_up(self, slot: ItemSlot, key: tuple[Channel, int], text: str) -> None:
        sent = slot.sent.get(key, 0)
        # Deltas that differ cannot be retracted; the reply has the correct text.
        if len(text) > sent and text.startswith("".join(slot.pieces.get(key, ()))):
            self._add(slot, key, text[sent:])

    def _add(self, slot: ItemSlot, key: tuple[Channel, int], text: str) -> None:
        had = slot.total
        begins = slot.take(key, text)
        channel = key[0]
        if channel in ("arguments", "input"):
            if slot.index is not None:
                self._events.append(CallDelta(slot.index, text))
        elif channel == "text":
            self._events.append(TextDelta(text))
        elif channel != "refusal":
            # Summaries are paragraphs with headings; joined without a break they are unreadable.
            self._events.append(ReasoningDelta(f"\n\n{text}" if begins and had else text))

    def _start(self, slot: ItemSlot, item: Item | None = None) -> None:
        if slot.index is not None:
            return
        item = slot.item if item is None else item
        slot.index = len(self._ids)
        self._ids.append(call_id(item, slot.index, self._ids))
        self._events.append(CallStart(slot.index, called(item), self._ids[-1]))
        held = "".join([text for texts in slot.pieces.values() for text in texts])
        if held:
            self._events.append(CallDelta(slot.index, held))

    def _end_call(self, slot: ItemSlot, item: Item) -> None:
        self._start(slot, item)
        assert slot.index is not None
        slot.ended = True
        self._ids[slot.index] = call_id(item, slot.index, self._ids[: slot.index])
        self._events.append(CallEnd(slot.index, read_call(item, self._ids[slot.index])))

    _handlers: ClassVar[Mapping[str, Callable[["Decoder", _Frame, str], None]]] = {
        **dict.fromkeys(_DELTAS, _delta),
        **dict.fromkeys(_DONES, _part_done),
        **dict.fromkeys(ENDS, _end),
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
    }
    """All other events report progress, or are repeated by the finished item."""


def decoder() -> Decoder:
    """A decoder for one streamed reply."""
    return Decoder()


def _part(frame: _Frame) -> int:
    for index in (frame.summary_index, frame.content_index):
        if isinstance(index, int):
            return index
    return 0


def _texts(item: Item) -> list[tuple[tuple[Channel, int], str]]:
    """Every text in a finished item, with its channel and index."""
    kind = item.get("type")
    if is_call(item):
        return [(("input" if kind == "custom_tool_call" else "arguments", 0), written(item))]
    found: list[tuple[tuple[Channel, int], str]] = []
    if kind == "message":
        for at, part in enumerate(items_in(item.get("content"))):
            if text_in(part.get("type")) in TEXTS:
                found.append((("text", at), text_in(part.get("text"))))
    elif kind == "reasoning":
        for at, part in enumerate(items_in(item.get("summary"))):
            found.append((("summary", at), text_in(part.get("text"))))
        for at, part in enumerate(items_in(item.get("content"))):
            found.append((("content", at), text_in(part.get("text"))))
    return found


def _is_whole(item: Item) -> bool:
    """Whether a call may be run before the response has ended. In doubt it waits for the end."""
    if item["type"] in WHOLE or item.get("status") not in (None, "", "completed"):
        return False
    return item["type"] == "custom_tool_call" or is_object(written(item))


def _read(data: bytes, reader: Callable[[bytes], Any]) -> Any:
    try:
        return reader(data)
    except UNREADABLE as error:
        reason = error
    try:
        # Hosts that count in UTF-16 split a character in two, and send each half as an escape.
        return reader(json.dumps(json.loads(data), ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        raise ProtocolError(
            f"not JSON as the Responses API sends it ({reason}): {excerpt(data)}"
        ) from None
