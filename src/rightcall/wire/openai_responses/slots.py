"""The items of a stream while they arrive, and which of them an event refers to.

OpenAI sends an item id and an output index with every event. Hosts leave out the index, repeat it, or
use another id in each event. So whatever is present and not contradictory is used, or else the open
item.
"""

from collections.abc import Iterable
from typing import Any

from rightcall.wire.openai_responses.reply import (
    Item,
    text_in,
)
from rightcall.wire.openai_responses.tables import CALLS, WHOLE, Channel


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

    def gathered(self, status: str) -> Item:
        """The item as far as it is known: as the vendor finished it, or assembled from its pieces."""
        if self.is_done:
            return self.item
        if self.kind in WHOLE:
            # Only the finished item shows whether the object is complete.
            return {**self.item, "status": "incomplete"}
        item = {**self.item, "status": "completed" if status == "completed" else "incomplete"}
        joined = [(channel, "".join(texts)) for (channel, _), texts in sorted(self.pieces.items())]
        if self.kind in CALLS:
            item[CALLS[self.kind]] = "".join([text for _, text in joined])
        elif self.kind == "message":
            item.setdefault("role", "assistant")
            item["content"] = [_message_part(channel, text) for channel, text in joined]
        elif self.kind == "reasoning":
            del item["status"]
            for member, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
                item[member] = [
                    {"type": kind, "text": text} for where, text in joined if where == member
                ]
        return item


class ItemSlots:
    """The items of one response, in order of first appearance."""

    def __init__(self) -> None:
        self.all: list[ItemSlot] = []
        self._by_id: dict[str, ItemSlot] = {}
        self._by_at: dict[int, ItemSlot] = {}
        self._shared: set[str] = set()
        """Ids that a host has used for several items, and that identify nothing."""

    def announce(self, item: Item, at: Any) -> ItemSlot:
        """The slot of an item that begins."""
        at = at if isinstance(at, int) else None
        slot = self._named(item)
        if slot is not None and slot.is_announced and None not in (at, slot.at) and at != slot.at:
            self._share(text_in(item.get("id")))
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
        slot = self._named(item)
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
        slot = self._by_id.get(identity) if isinstance(identity, str) else None
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
        named = self._named(item)
        if named is None or named not in left:
            called = item.get("call_id")
            alike = [slot for slot in left if slot.kind == item.get("type")]
            same = [slot for slot in alike if called and slot.item.get("call_id") == called]
            named = next(iter(same or alike), None)
        if named is None:
            return self._new(item, None)
        left.remove(named)
        return named

    def _named(self, item: Item) -> ItemSlot | None:
        slot = self._by_id.get(text_in(item.get("id")))
        return slot if slot is not None and slot.kind == item.get("type") else None

    def _open(self, kind: str, slots: Iterable[ItemSlot]) -> ItemSlot | None:
        return next((slot for slot in slots if slot.kind == kind and not slot.is_done), None)

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

    def _share(self, identity: str) -> None:
        self._shared.add(identity)
        self._by_id.pop(identity, None)


def _message_part(channel: Channel, text: str) -> Item:
    if channel == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "text": text}
