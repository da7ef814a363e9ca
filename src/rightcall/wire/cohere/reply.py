"""Builds Cohere's reply: its parts as they arrive, their events, and the Reply.

Content parts and calls are indexed separately. A call that the token limit cut off gets its end event
like any other, so a CallEnd waits for proof that the model went on after the call.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Call, Text, Usage
from rightcall.errors import ProtocolError
from rightcall.wire.cohere.tables import CUTTING, NAME, STOPS
from rightcall.wire.payload import mapping, own_bag, text_in
from rightcall.wire.reply_extras import of_cohere

Part: TypeAlias = Text | Reasoning | Call | Unknown
Index: TypeAlias = int | None

PLAN = "tool_plan"
_SAID = ("text", "thinking", PLAN)
_CALL = frozenset(["id", "type", "function"])


class CohereBlock:
    """One part while it arrives."""

    __slots__ = ("call", "citations", "fields", "is_open", "kind", "pieces")

    def __init__(self, kind: str, fields: Mapping[str, Any], call: int = -1) -> None:
        self.kind = kind
        self.fields = dict(fields)
        self.pieces: list[str] = []
        """Pieces of text, thoughts or JSON, depending on the kind of the part."""
        self.call = call
        """The index among the reply's calls; -1 if it is not a call."""
        self.is_open = True
        self.citations: list[Any] = []

    def part(self, *, cut: bool) -> Part:
        """The finished part. ``cut``: a call that nothing followed may be incomplete."""
        if self.call >= 0:
            return self.as_call(truncated=cut and self.is_open)
        said = "".join(self.pieces)
        match self.kind:
            case "text":
                return Text(said, {NAME: {"citations": self.citations}} if self.citations else {})
            case "thinking" | "tool_plan":
                return Reasoning(said, {NAME: {"field": self.kind}})
            case _:
                return Unknown({NAME: {"part": self.fields}})

    def as_call(self, *, truncated: bool = False) -> Call:
        """The call that it holds."""
        function = mapping(self.fields.get("function"))
        arguments = "".join(self.pieces)
        beside = {}
        for key, value in self.fields.items():
            if key not in _CALL and value:
                beside[key] = value
        return Call(
            id=text_in(self.fields.get("id")),
            name=text_in(function.get("name")),
            # Cohere sends this for a tool without parameters.
            arguments="{}" if arguments == "null" and not truncated else arguments,
            truncated=truncated,
            vendor=own_bag(NAME, beside),
        )


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_done = False
        self._blocks: list[CohereBlock] = []
        self._content: dict[Index, CohereBlock] = {}
        self._at: dict[Index, CohereBlock] = {}
        """The newest call of each index."""
        self._calls = 0
        self._closed: list[CohereBlock] = []
        """Ended calls that nothing has followed yet."""
        self._cited: list[Any] = []
        self._id = ""

    def name(self, identity: object) -> None:
        """Set the reply's id."""
        self._id = text_in(identity) or self._id

    def start(self, index: Index, fields: Mapping[str, Any]) -> None:
        """Begin a part of the content, which may be complete already."""
        self._go_on()
        kind = text_in(fields.get("type")) or next((key for key in _SAID if key in fields), "unknown")
        block = self._content[index] = CohereBlock(kind, fields)
        self._blocks.append(block)
        if kind in _SAID:
            self._say(block, text_in(fields.get(kind)))

    def grow(self, index: Index, text: str | None, thinking: str | None) -> None:
        """Add to a text or a thought."""
        kind = "text" if text is not None else "thinking"
        if self._closed:
            self._go_on()
        block = self._content.get(index)
        if block is None or block.kind != kind:
            self.start(index, {"type": kind})
            block = self._content[index]
        self._say(block, text if text is not None else thinking or "")

    def add(self, index: Index, fields: Mapping[str, Any]) -> None:
        """Add to a part of unknown type."""
        block = self._content.get(index)
        if block is None:
            self.start(index, fields)
        elif block.kind not in _SAID:
            block.fields |= fields

    def plan(self, piece: str) -> None:
        """Add to the model's plan before its calls."""
        if not piece:
            return
        self._go_on()
        if not self._blocks or self._blocks[-1].kind != PLAN:
            self._blocks.append(CohereBlock(PLAN, {}))
        self._say(self._blocks[-1], piece)

    def call(self, index: Index, fields: Mapping[str, Any]) -> None:
        """Begin a call."""
        self._go_on()
        block = self._at[index] = CohereBlock("call", fields, self._calls)
        self._blocks.append(block)
        self._calls += 1
        begun = block.as_call()
        self.events.append(CallStart(block.call, begun.name, begun.id))
        self.json(index, text_in(mapping(fields.get("function")).get("arguments")))

    def json(self, index: Index, piece: str) -> None:
        """Add to a call's arguments."""
        if not piece:
            return
        if self._closed:
            self._go_on()
        block = self._at.get(index)
        if block is None or not block.is_open:
            raise ProtocolError(f"{NAME}: arguments at index {index}, where no call is open")
        block.pieces.append(piece)
        self.events.append(CallDelta(block.call, piece))

    def close(self, index: Index) -> None:
        """End a call."""
        block = self._at.get(index)
        if block is not None and block.is_open and block not in self._closed:
            self._closed.append(block)

    def cite(self, citation: Any) -> None:
        """Add a citation."""
        index = mapping(citation).get("content_index")
        block = self._content.get(index if isinstance(index, int) else 0)
        if block is None or block.kind != "text":
            block = next((each for each in self._content.values() if each.kind == "text"), None)
        (self._cited if block is None else block.citations).append(citation)

    def end(self, word: str, counts: Mapping[str, Any]) -> None:
        """Finish the reply, with its stop reason and its usage."""
        stop: StopReason = STOPS.get(word, "end")
        cut = stop in CUTTING
        for block in self._blocks:
            is_last = block is self._blocks[-1]
            if block.call >= 0 and block.is_open and not (cut and is_last):
                self._end_call(block)
        if stop == "end" and self._calls:
            stop = "calls"
        # Empty parts are dropped: the vendor refuses them when they are sent back.
        content = []
        for block in self._blocks:
            part = block.part(cut=cut)
            if not isinstance(part, Text | Reasoning) or part.text:
                content.append(part)
        bag: dict[str, Any] = {}
        if self._id:
            bag["id"] = self._id
        if billed := counts.get("billed_units"):
            bag["billed_units"] = billed
        if self._cited:
            bag["citations"] = self._cited
        reply = Reply(
            tuple(content),
            stop,
            word,
            usage(counts),
            vendor=own_bag(NAME, bag),
            citations=of_cohere(content, NAME),
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _say(self, block: CohereBlock, piece: str) -> None:
        if piece:
            block.pieces.append(piece)
            self.events.append(TextDelta(piece) if block.kind == "text" else ReasoningDelta(piece))

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for block in self._closed:
            self._end_call(block)
        self._closed.clear()

    def _end_call(self, block: CohereBlock) -> None:
        block.is_open = False
        self.events.append(CallEnd(block.call, block.as_call()))


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts of tokens, or else of billed tokens."""
    tokens = mapping(counts.get("tokens")) or mapping(counts.get("billed_units"))
    return Usage(
        input_tokens=_count(tokens, "input_tokens"),
        output_tokens=_count(tokens, "output_tokens"),
        cached_tokens=_count(counts, "cached_tokens"),
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    # They are declared as fractional numbers.
    value = counts.get(name)
    if isinstance(value, int | float):
        return int(value)
    return 0
