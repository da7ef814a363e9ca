"""A reply that is being put together, block by block, and the events that tell of it.

Knows nothing of frames and bytes. A call that the token limit cut off is stopped like any other, so a
CallEnd waits until something shows that the model went on after the call: another block, or a stop
reason that cuts nothing.
"""

from collections.abc import Mapping
from typing import Any

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reply, StopReason
from rightcall.errors import ProtocolError
from rightcall.wire.anthropic.blocks import Block, call_of, parts_of
from rightcall.wire.anthropic.tables import CUTTING, NAME, STOPS, merged_usage, usage

_TOLD = frozenset(["type", "role", "content", "model", "usage", "stop_reason", "delta"])
"""Members of a message that have a place of their own; the others go into the reply's vendor bag."""


class Assembly:
    """One reply in the making."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """What has happened and was not yet told."""
        self.is_done = False
        self.blocks: list[Block] = []
        self._message: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self._at: dict[int | None, Block] = {}
        """The newest block of each index; under None the newest of all."""
        self._calls = 0
        self._stopped: list[Block] = []
        """Calls that have stopped, and nothing has come since."""

    def update(self, members: Mapping[str, Any]) -> None:
        """Take what is said of the message as a whole; what is null changes nothing."""
        self._message.update({key: value for key, value in members.items() if value is not None})
        counts = members.get("usage")
        if isinstance(counts, dict):
            self._usage = merged_usage(self._usage, counts)

    def start(self, index: int | None, fields: dict[str, Any], whole_input: str = "{}") -> Block:
        """A block begins. An index that was used before means a new block all the same."""
        self._go_on()
        is_call = fields.get("type") == "tool_use"
        block = Block(fields, whole_input, self._calls if is_call else -1)
        self.blocks.append(block)
        self._at[index] = self._at[None] = block
        if is_call:
            self._calls += 1
            call = call_of(block)
            self.events.append(CallStart(block.call, call.name, call.id))
        elif block.kind == "text":
            self._add_text(block, fields.get("text"))
        elif block.kind == "thinking":
            self._add_thinking(block, fields.get("thinking"))
        return block

    def stop(self, index: int | None) -> None:
        """A block ends."""
        block = self._at.get(index)
        if block is not None and block.call >= 0 and block.is_open and block not in self._stopped:
            self._stopped.append(block)

    def text(self, index: int | None, text: str | None) -> None:
        """More of an answer."""
        self._add_text(self._block(index, "text"), text)

    def thinking(self, index: int | None, text: str | None) -> None:
        """More of a thought."""
        self._add_thinking(self._block(index, "thinking"), text)

    def signature(self, index: int | None, signature: str | None) -> None:
        """The signature of a thought, whole."""
        self._block(index, "thinking").fields["signature"] = signature

    def citation(self, index: int | None, citation: Any) -> None:
        """One more citation of an answer."""
        fields = self._block(index, "text").fields
        if not isinstance(fields.get("citations"), list):
            fields["citations"] = []
        fields["citations"].append(citation)

    def json(self, index: int | None, piece: str | None) -> None:
        """More of a call's arguments, or of the input of one of the vendor's own tools."""
        if not piece:
            return
        if self._stopped:
            self._go_on()
        block = self._at.get(index)
        if block is None or block.kind in ("text", "thinking"):
            raise ProtocolError(f"{NAME}: arguments at index {index}, where no call has begun")
        if block.call >= 0:
            if not block.is_open:
                raise ProtocolError(f"{NAME}: arguments at index {index}, where the call has ended")
            self.events.append(CallDelta(block.call, piece))
        block.pieces.append(piece)

    def grow(self, index: int | None, delta: Mapping[str, Any]) -> None:
        """A delta of a kind that is not known."""
        self._go_on()
        block = self._at.get(index)
        if block is not None:
            block.grow(delta)

    def end(self) -> None:
        """The reply is whole."""
        word = self._message.get("stop_reason")
        stop_word = word if isinstance(word, str) else ""
        stop: StopReason = STOPS.get(stop_word, "end")
        cut = stop in CUTTING
        if not cut:
            for block in self.blocks:
                if block.call >= 0 and block.is_open:
                    self._end_call(block)
        if stop == "end" and self._calls:
            stop = "calls"
        bag = {key: value for key, value in self._message.items() if key not in _TOLD}
        model = self._message.get("model")
        reply = Reply(
            parts_of(self.blocks, cut=cut),
            stop,
            stop_word,
            usage(self._usage),
            model if isinstance(model, str) else "",
            {NAME: bag} if bag else {},
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _block(self, index: int | None, kind: str) -> Block:
        """The block of that kind at that index; a new one where a host sent a delta without one."""
        if self._stopped:
            self._go_on()
        block = self._at.get(index)
        return block if block is not None and block.kind == kind else self.start(index, {"type": kind})

    def _add_text(self, block: Block, text: object) -> None:
        if isinstance(text, str) and text:
            block.pieces.append(text)
            self.events.append(TextDelta(text))

    def _add_thinking(self, block: Block, text: object) -> None:
        if isinstance(text, str) and text:
            block.pieces.append(text)
            self.events.append(ReasoningDelta(text))

    def _go_on(self) -> None:
        """The model wrote on, so what had stopped was complete."""
        for block in self._stopped:
            self._end_call(block)
        self._stopped.clear()

    def _end_call(self, block: Block) -> None:
        block.is_open = False
        call = call_of(block)
        if not block.pieces and call.arguments not in ("", "{}"):
            self.events.append(CallDelta(block.call, call.arguments))
        self.events.append(CallEnd(block.call, call))
