"""The items of a stream in the making, and which of them an event means.

OpenAI gives an item id and an output index on every event. Hosts leave out the index, repeat it, or give
an item another id in each event, so whatever is there and not contradicted is used, else what is open.
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
        """How many characters have come, by channel and part."""
        self.total = 0

    def take(self, key: tuple[Channel, int], text: str) -> bool:
        """Keep a piece; says whether it begins its part."""
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
        """The item as far as it is known: as the vendor closed it, or put together from its pieces."""
        if self.is_done:
            return self.item
        if self.kind in WHOLE:
            # How much of the object there is to come, only the finished item tells.
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
    """The items of one response, in the order in which they were first heard of."""

    def __init__(self) -> None:
        self.all: list[ItemSlot] = []
        self._by_id: dict[str, ItemSlot] = {}
        self._by_at: dict[int, ItemSlot] = {}
        self._shared: set[str] = set()
        """Ids that a host has given to several items, and that tell nothing."""

    def announce(self, item: Item, at: Any) -> ItemSlot:
        """The slot of an item that is said to begin."""
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
        """The slot of an item that is said to be done."""
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
        """The slot that a piece belongs to; a new one where nothing was announced."""
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
        """The slot, among those left, of an item in the finished response; taken out of ``left``."""
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
