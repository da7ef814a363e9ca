"""Decodes a Responses stream to events, and a whole response to a reply.

The response in the last event is the reply. Items that a host left out of it are taken from the stream,
and text that was never sent as deltas is emitted from the finished items, so that the events are
complete.
"""

from collections.abc import Callable, Iterable, Mapping
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
from rightcall.core.jsontext import check_parts
from rightcall.core.message import Reply
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.decoders import BLANK, LenientDecoder
from rightcall.wire.lenient_json import mend_json
from rightcall.wire.openai_responses.reply import (
    Item,
    call_id,
    call_input,
    call_name,
    is_call,
    is_object,
    read_call,
    read_reply,
    read_thought,
)
from rightcall.wire.openai_responses.tables import (
    CALLS,
    ENDS,
    PIECES,
    TEXTS,
    WHOLE,
    Channel,
    parse_refusal,
)
from rightcall.wire.payload import items_in, text_in
from rightcall.wire.refusal import UNREADABLE, excerpt, is_bare_error, readable


class ItemSlot:
    """One item of the output while it arrives."""

    __slots__ = (
        "at", "ended", "index", "is_announced", "is_done", "item", "kind", "pieces", "sent", "total",
    )  # fmt: skip

    def __init__(self, item: Item, at: int | None) -> None:
        self.item = item
        self.kind = text_in(item.get("type"))
        self.at = at
        """The output index."""
        self.is_announced = False
        self.is_done = False
        self.index: int | None = None
        """The position among the calls, once the call has started."""
        self.ended = False
        self.pieces: dict[tuple[Channel, int], list[str]] = {}
        self.sent: dict[tuple[Channel, int], int] = {}
        """The number of characters received, by channel and part."""
        self.total = 0

    def take(self, key: tuple[Channel, int], text: str) -> bool:
        """Add a piece; returns whether it begins its part."""
        pieces = self.pieces.get(key)
        self.total += len(text)
        if pieces is None:
            self.pieces[key] = [text]
            self.sent[key] = len(text)
            return True
        pieces.append(text)
        self.sent[key] += len(text)
        return False

    def assemble_item(self, status: str) -> Item:
        """The item as far as it is known: as the vendor finished it, or assembled from its pieces."""
        if self.is_done:
            return self.item
        if self.kind in WHOLE:
            # Only the finished item shows whether the object is complete.
            return {**self.item, "status": "incomplete"}
        item = {**self.item, "status": "completed" if status == "completed" else "incomplete"}
        if self.kind in CALLS:
            item[CALLS[self.kind]] = ""
        elif self.kind == "message":
            item.setdefault("role", "assistant")
            item["content"] = []
        elif self.kind == "reasoning":
            del item["status"]
            item["summary"] = []
            item["content"] = []
        for (channel, _), pieces in sorted(self.pieces.items()):
            text = "".join(pieces)
            if self.kind in CALLS:
                item[CALLS[self.kind]] += text
            elif self.kind == "message" and channel == "refusal":
                item["content"].append({"type": "refusal", "refusal": text})
            elif self.kind == "message":
                item["content"].append({"type": "output_text", "annotations": [], "text": text})
            elif self.kind == "reasoning" and channel == "summary":
                item["summary"].append({"type": "summary_text", "text": text})
            elif self.kind == "reasoning" and channel == "content":
                item["content"].append({"type": "reasoning_text", "text": text})
        return item


class ItemSlots:
    """The items of one response, in order of first appearance.

    OpenAI sends an item id and an output index with every event. Hosts leave out the index, repeat it,
    or use another id in each event. So whatever is present and not contradictory is used, or else the
    open item.
    """

    def __init__(self) -> None:
        self.all: list[ItemSlot] = []
        self._by_id: dict[str, ItemSlot] = {}
        self._by_at: dict[int, ItemSlot] = {}
        self._shared: set[str] = set()
        """Ids that a host has used for several items, and that identify nothing."""

    def announce(self, item: Item, at: Any) -> ItemSlot:
        """The slot of an item that begins."""
        at = at if isinstance(at, int) else None
        slot = self._slot_by_id(item)
        if slot is not None and slot.is_announced and None not in (at, slot.at) and at != slot.at:
            identity = text_in(item.get("id"))
            self._shared.add(identity)
            self._by_id.pop(identity, None)
            slot = None
        if slot is None and at is not None:
            implied = self._by_at.get(at)
            if implied is not None and not implied.is_announced and implied.kind == item.get("type"):
                slot = implied
        if slot is None:
            slot = self._new(item, at)
        if not slot.is_done:
            slot.item = item
            self._register(slot, at)
        slot.is_announced = True
        return slot

    def close(self, item: Item, at: Any) -> ItemSlot:
        """The slot of an item that is done."""
        at = at if isinstance(at, int) else None
        slot = self._slot_by_id(item)
        if slot is None and at is not None:
            slot = self._by_at.get(at)
            if slot is not None and (slot.is_done or slot.kind != item.get("type")):
                slot = None
        elif slot is None:
            slot = self._open(text_in(item.get("type")), self.all)
        if slot is None:
            slot = self._new(item, at)
        slot.item = item
        self._register(slot, slot.at if at is None else at)
        return slot

    def hear(self, kind: str, identity: Any, at: Any) -> ItemSlot:
        """The slot that a piece belongs to; a new one if nothing was announced."""
        if isinstance(identity, str):
            slot = self._by_id.get(identity)
            if slot is not None and slot.kind == kind:
                return slot
        if isinstance(at, int):
            slot = self._by_at.get(at)
            if slot is not None and slot.kind == kind:
                return slot
        else:
            at = None
            slot = self._open(kind, reversed(self.all))
            if slot is not None:
                return slot
        item = {"type": kind}
        if isinstance(identity, str) and identity:
            item["id"] = identity
        slot = self._new(item, at)
        self._register(slot, at)
        return slot

    def match(self, item: Item, left: list[ItemSlot]) -> ItemSlot:
        """The slot of an item in the finished response; removes it from ``left``."""
        named = self._slot_by_id(item)
        if named is None or named not in left:
            called = item.get("call_id")
            alike = [slot for slot in left if slot.kind == item.get("type")]
            same = [slot for slot in alike if called and slot.item.get("call_id") == called]
            if not alike:
                return self._new(item, None)
            named = (same or alike)[0]
        left.remove(named)
        return named

    def _slot_by_id(self, item: Item) -> ItemSlot | None:
        slot = self._by_id.get(text_in(item.get("id")))
        if slot is not None and slot.kind == item.get("type"):
            return slot
        return None

    def _open(self, kind: str, slots: Iterable[ItemSlot]) -> ItemSlot | None:
        for slot in slots:
            if slot.kind == kind and not slot.is_done:
                return slot
        return None

    def _new(self, item: Item, at: int | None) -> ItemSlot:
        slot = ItemSlot(item, at)
        self.all.append(slot)
        return slot

    def _register(self, slot: ItemSlot, at: int | None) -> None:
        identity = text_in(slot.item.get("id"))
        if identity and identity not in self._shared:
            self._by_id[identity] = slot
        if at is not None:
            slot.at = at
            self._by_at[at] = slot


_WAITING = ("queued", "in_progress")
_ERRORS = ("error", "response.error")
_DELTAS = {f"{event}.delta": place for event, place in PIECES.items()}
_DONES = {f"{event}.done": place for event, place in PIECES.items()}


class _ResponseEvent(Struct):
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


_read_frame = msgspec.json.Decoder(_ResponseEvent).decode


def decode(body: bytes) -> Reply:
    """The reply in a body that was not streamed."""
    response = _whole(body)
    return read_reply(response, items_in(response["output"]))


def _whole(body: bytes) -> Item:
    """The response in a whole body. Raises VendorError if it is a refusal."""
    check_parts(body, "the reply")
    try:
        response = msgspec.json.decode(body)
    except UNREADABLE as error:
        mended = mend_json(body)
        if mended is None:
            raise _unreadable(body, error) from None
        return _whole(mended)
    if not isinstance(response, dict):
        raise ProtocolError(f"a response is an object, not {excerpt(body)}")
    if response.get("status") == "failed" or ("output" not in response and response.get("error")):
        raise parse_refusal(response.get("error"))
    if response.get("status") in _WAITING and not response.get("output"):
        raise ProtocolError(f"the response is {response['status']}, and there is no reply yet")
    if not isinstance(response.get("output"), list):
        if response.get("type") == "error" or "detail" in response or is_bare_error(response):
            raise parse_refusal(response)
        raise ProtocolError(f"a response without output: {excerpt(body)}")
    return response


class Decoder(LenientDecoder):
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
        if not self._began and data.strip(BLANK):
            self._began = True
            if data.lstrip(BLANK).startswith(b"{"):
                self._body = bytearray()
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_EVENT_BYTES:
                raise ProtocolError(f"a body is longer than {MAX_EVENT_BYTES:,} bytes")
            return ()
        for event in self._sse.feed(data):
            self._take(event)
        return self._drain_events()

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
            self._end(_ResponseEvent(response=_whole(bytes(self._body))), "response.completed")
        if self._reply is None:
            raise TruncatedStream("the stream ended before its response.completed event")
        self._is_finished = True
        self._events.append(ReplyEnd(self._reply))
        return self._drain_events()

    def _drain_events(self) -> tuple[ModelEvent, ...]:
        events = tuple(self._events)
        self._events.clear()
        if self._halves is not None:
            return self._halves.join(events)
        return events

    def _take(self, event: ServerEvent) -> None:
        data = event.data
        if data == b"[DONE]" or not data.strip():
            return
        try:
            frame = _read_frame(data)
        except UNREADABLE as error:
            if not self._take_mended(data, lambda mended: self._take(ServerEvent(mended, event.name))):
                raise _unreadable(data, error) from None
            return
        kind = frame.type if isinstance(frame.type, str) else event.name
        if kind in _ERRORS or (frame.type is None and (frame.error or frame.message)):
            value = readable(data)
            if kind in _ERRORS or frame.error or is_bare_error(value):
                raise parse_refusal(value)
        if self._reply is not None:
            if kind != "response.created":
                return
            self._reply = None
            self._slots = ItemSlots()
        handle = self._handlers.get(kind)
        if handle is not None:
            handle(self, frame, kind)

    def _delta(self, frame: _ResponseEvent, kind: str) -> None:
        text = frame.delta
        if not isinstance(text, str) or not text:
            return
        item_type, channel = _DELTAS[kind]
        slot = self._slots.hear(item_type, frame.item_id, frame.output_index)
        if not slot.is_done:
            self._add(slot, (channel, _part(frame)), text)

    def _part_done(self, frame: _ResponseEvent, kind: str) -> None:
        item_type, channel = _DONES[kind]
        if channel in ("refusal", "arguments", "input"):
            text = getattr(frame, channel)
        else:
            text = frame.text
        if isinstance(text, str) and text:
            slot = self._slots.hear(item_type, frame.item_id, frame.output_index)
            if not slot.is_done:
                self._catch_up(slot, (channel, _part(frame)), text)

    def _item_added(self, frame: _ResponseEvent, _kind: str) -> None:
        # Some hosts send null here: https://github.com/openai/openai-python/pull/3126
        if isinstance(frame.item, dict):
            slot = self._slots.announce(frame.item, frame.output_index)
            if is_call(slot.item) and call_name(slot.item):
                self._start(slot)

    def _item_done(self, frame: _ResponseEvent, _kind: str) -> None:
        if not isinstance(frame.item, dict):
            return
        slot = self._slots.close(frame.item, frame.output_index)
        self._settle(slot, frame.item)
        slot.is_done = True
        if slot.kind == "reasoning":
            self._events.append(ReasoningEnd(read_thought(frame.item)))
        if is_call(slot.item) and not slot.ended and _is_whole(slot.item):
            self._end_call(slot, slot.item)

    def _end(self, frame: _ResponseEvent, kind: str) -> None:
        response: Item = {}
        if isinstance(frame.response, dict):
            response = frame.response
        if "failed" in (ENDS[kind], response.get("status")):
            raise parse_refusal(response.get("error") or frame.error)
        if response.get("status") in (None, "", "in_progress", "queued"):
            response = {**response, "status": ENDS[kind]}
        output = items_in(response.get("output"))
        if not output or len(output) < sum(slot.is_done for slot in self._slots.all):
            # Several hosts and ChatGPT's own backend leave it out:
            # https://github.com/QuantumNous/new-api/issues/4362,
            # https://github.com/BerriAI/litellm/pull/32724
            status = response["status"]
            known = []
            for slot in self._slots.all:
                if slot.is_done or slot.pieces or slot.index is not None:
                    known.append(slot)
            if all(slot.at is not None for slot in known):
                known.sort(key=lambda slot: slot.at or 0)
            output = [slot.assemble_item(status) for slot in known]
        self._reply = read_reply(response, output)
        calls = iter(self._reply.calls)
        left = list(self._slots.all)
        for item in output:
            slot = self._slots.match(item, left)
            if not slot.is_done:
                self._settle(slot, item)
            if is_call(item) and not next(calls).truncated and not slot.ended:
                self._end_call(slot, item)

    def _settle(self, slot: ItemSlot, item: Item) -> None:
        """Emit what the finished item holds and no delta brought."""
        if is_call(item):
            self._start(slot, item)
        # Every text in a finished item, with its channel and index.
        kind = item.get("type")
        final: list[tuple[tuple[Channel, int], str]] = []
        if is_call(item):
            channel: Channel = "input" if kind == "custom_tool_call" else "arguments"
            final.append(((channel, 0), call_input(item)))
        elif kind == "message":
            for at, part in enumerate(items_in(item.get("content"))):
                if text_in(part.get("type")) in TEXTS:
                    final.append((("text", at), text_in(part.get("text"))))
        elif kind == "reasoning":
            for at, part in enumerate(items_in(item.get("summary"))):
                final.append((("summary", at), text_in(part.get("text"))))
            for at, part in enumerate(items_in(item.get("content"))):
                final.append((("content", at), text_in(part.get("text"))))
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
        self._events.append(CallStart(slot.index, call_name(item), self._ids[-1]))
        before = "".join(map("".join, slot.pieces.values()))
        if before:
            self._events.append(CallDelta(slot.index, before))

    def _end_call(self, slot: ItemSlot, item: Item) -> None:
        self._start(slot, item)
        assert slot.index is not None
        slot.ended = True
        self._ids[slot.index] = call_id(item, slot.index, self._ids[: slot.index])
        self._events.append(CallEnd(slot.index, read_call(item, self._ids[slot.index])))

    _handlers: ClassVar[Mapping[str, Callable[["Decoder", _ResponseEvent, str], None]]] = {
        **dict.fromkeys(_DELTAS, _delta),
        **dict.fromkeys(_DONES, _part_done),
        **dict.fromkeys(ENDS, _end),
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
    }
    """All other events report progress, or are repeated by the finished item."""


decoder = Decoder


def _part(frame: _ResponseEvent) -> int:
    for index in (frame.summary_index, frame.content_index):
        if isinstance(index, int):
            return index
    return 0


def _is_whole(item: Item) -> bool:
    """Whether a call may be run before the response has ended. In doubt it waits for the end."""
    if item["type"] in WHOLE or item.get("status") not in (None, "", "completed"):
        return False
    return item["type"] == "custom_tool_call" or is_object(call_input(item))


def _unreadable(data: bytes, error: Exception) -> ProtocolError:
    return ProtocolError(f"not JSON as the Responses API sends it ({error}): {excerpt(data)}")
