"""Builds Anthropic's reply: its blocks as they arrive, their events, and the Reply.

Independent of frames and bytes. A call that the token limit cut off gets its stop event like any other,
so a CallEnd waits for proof that the model went on after the call: another block, or a stop reason that
cuts nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.core.call import Call
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
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Media, Text
from rightcall.errors import ProtocolError
from rightcall.wire.anthropic.tables import (
    CUTTING,
    MADE,
    NAME,
    STOPS,
    THOUGHTS,
    UNPARSED,
)
from rightcall.wire.anthropic.toolset import FAMILY, SET_NAME, joined
from rightcall.wire.anthropic.usage import merged_usage, usage, usage_of_others
from rightcall.wire.block_order import by_index
from rightcall.wire.citations import in_texts, of_anthropic

Part: TypeAlias = Text | Reasoning | Call | Media | Unknown


class Block:
    """One content block while it arrives."""

    __slots__ = (
        "call",
        "fields",
        "grown",
        "is_member",
        "is_open",
        "kind",
        "made",
        "pieces",
        "whole_input",
    )

    def __init__(self, fields: dict[str, Any], whole_input: str, call: int) -> None:
        kind = fields.get("type")
        self.kind = kind if isinstance(kind, str) else ""
        self.fields = fields
        self.pieces: list[str] = []
        """Pieces of text, thinking or JSON, depending on the kind of the block."""
        self.whole_input = whole_input
        """The input that the block began with; it is complete if no pieces follow."""
        self.call = call
        """The index among the reply's calls; -1 if it is not a call."""
        self.is_open = True
        self.made: Call | None = None
        """The call, once it has ended."""
        self.is_member = call >= 0 and fields.get(SET_NAME) == FAMILY
        """Whether it calls an action of the computer toolset; in our form the action is an argument."""
        self.grown: dict[str, list[Any]] = {}
        """What deltas of unknown types added, by member."""

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Add a delta of unknown type."""
        for key, value in delta.items():
            if key != "type":
                self.grown.setdefault(key, []).append(value)

    def whole(self) -> dict[str, Any]:
        """The complete block, as in a reply that was not streamed."""
        grown = {key: _sum([self.fields.get(key), *values]) for key, values in self.grown.items()}
        fields = {**self.fields, **grown}
        if self.pieces and self.kind not in ("text", "thinking"):
            fields["input"] = _input("".join(self.pieces))
        return fields

    def arguments(self, *, truncated: bool = False) -> str:
        """The raw text of a call's arguments."""
        nothing = truncated and self.whole_input == "{}"
        return "".join(self.pieces) or ("" if nothing else self.whole_input)


def parts_of(blocks: Iterable[Block], *, cut: bool) -> tuple[Part, ...]:
    """The parts of a reply.

    ``cut``: the reply may have stopped within a block; calls that nothing followed are truncated.
    """
    parts = (
        part
        for block in blocks
        for part in (_PARTS.get(block.kind, _unknown)(block, cut), *_files(block))
    )
    # The vendor refuses an empty text that is sent back.
    return tuple(part for part in parts if not isinstance(part, Text) or part.text or part.vendor)


def call_of(block: Block, *, truncated: bool = False) -> Call:
    """The call that a block holds."""
    name, arguments = _text(block.fields.get("name")), block.arguments(truncated=truncated)
    beside = _rest(block, "type", "id", "name", "input")
    if block.is_member:
        name, arguments = FAMILY, joined(name, arguments)
        del beside[SET_NAME]
    return Call(
        id=_text(block.fields.get("id")),
        name=name,
        arguments=arguments,
        truncated=truncated,
        vendor={NAME: beside} if beside else {},
    )


def _text_part(block: Block, _cut: bool) -> Part:  # noqa: FBT001 (one signature for all)
    beside = _rest(block, "type", "text")
    return Text("".join(block.pieces), {NAME: beside} if beside else {})


def _thinking(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    fields = {key: value for key, value in block.whole().items() if key != "thinking"}
    return Reasoning("".join(block.pieces), {NAME: fields})


def _redacted(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    return Reasoning("", {NAME: block.whole()})


def _call(block: Block, cut: bool) -> Part:  # noqa: FBT001
    return block.made or call_of(block, truncated=cut and block.is_open)


def _unknown(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    return Unknown({NAME: block.whole()})


def _files(block: Block) -> Iterable[Media]:
    """The files that the vendor's code left in its container, to be fetched by id.

    They are sent back by sending back the block itself.
    """
    if not block.kind.endswith("code_execution_tool_result"):
        return
    result = block.fields.get("content")
    made = result.get("content") if isinstance(result, Mapping) else None
    for each in made if isinstance(made, list) else ():
        if isinstance(each, Mapping) and isinstance(file := each.get("file_id"), str) and file:
            yield Media(id=file, vendor={NAME: {MADE: block.fields.get("tool_use_id")}})


def _sum(values: list[Any]) -> Any:
    """Join texts and lists; of anything else take the last."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, str) for value in given):
        return "".join(given)
    if given and all(isinstance(value, list) for value in given):
        return [item for value in given for item in value]
    return given[-1] if given else None


def _input(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {UNPARSED: text}


def _rest(block: Block, *known: str) -> dict[str, JsonValue]:
    """The block's other members, without those that are null or empty."""
    return {key: value for key, value in block.whole().items() if key not in known and value}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_PARTS: Mapping[str, Callable[[Block, bool], Part]] = {
    "text": _text_part,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
}


_TOLD = frozenset(["type", "role", "content", "model", "usage", "stop_reason", "delta"])
"""Members of a message that have fields of their own; others go into the reply's vendor bag."""


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_done = False
        self.blocks: list[Block] = []
        self._message: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self._at: dict[int | None, Block] = {}
        """The newest block of each index; None maps to the newest of all."""
        self._indexes: list[int | None] = []
        """The blocks' indexes."""
        self._calls = 0
        self._stopped: list[Block] = []
        """Ended calls that nothing has followed yet."""

    def update(self, members: Mapping[str, Any]) -> None:
        """Update the message's own members; null changes nothing."""
        self._message.update({key: value for key, value in members.items() if value is not None})
        counts = members.get("usage")
        if isinstance(counts, dict):
            self._usage = merged_usage(self._usage, counts)

    def start(self, index: int | None, fields: dict[str, Any], whole_input: str = "{}") -> Block:
        """Begin a block, even if the index was used before."""
        self._go_on()
        is_call = fields.get("type") == "tool_use"
        block = Block(fields, whole_input, self._calls if is_call else -1)
        self.blocks.append(block)
        self._indexes.append(index)
        self._at[index] = self._at[None] = block
        if is_call:
            self._calls += 1
            name = FAMILY if block.is_member else _text(fields.get("name"))
            self.events.append(CallStart(block.call, name, _text(fields.get("id"))))
        elif block.kind in ("text", "thinking"):
            self._add(block, fields.get(block.kind))
        return block

    def stop(self, index: int | None) -> None:
        """End a block."""
        block = self._at.get(index)
        if block is not None and block.call >= 0 and block.is_open and block not in self._stopped:
            self._stopped.append(block)
        elif block is not None and block.kind in THOUGHTS and block.is_open:
            block.is_open = False
            thought = _PARTS[block.kind](block, False)  # noqa: FBT003
            assert isinstance(thought, Reasoning)
            self.events.append(ReasoningEnd(thought))

    def say(self, index: int | None, kind: Literal["text", "thinking"], text: str | None) -> None:
        """Add to a text or a thought."""
        self._add(self._block(index, kind), text)

    def signature(self, index: int | None, signature: str | None) -> None:
        """Set the complete signature of a thought."""
        self._block(index, "thinking").fields["signature"] = signature

    def citation(self, index: int | None, citation: Any) -> None:
        """Add a citation to a text."""
        fields = self._block(index, "text").fields
        if not isinstance(fields.get("citations"), list):
            fields["citations"] = []
        fields["citations"].append(citation)

    def json(self, index: int | None, piece: str | None) -> None:
        """Add to the arguments of a call, or to the input of one of the vendor's own tools."""
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
            if not block.is_member:
                self.events.append(CallDelta(block.call, piece))
        block.pieces.append(piece)

    def grow(self, index: int | None, delta: Mapping[str, Any]) -> None:
        """Add a delta of unknown type."""
        self._go_on()
        block = self._at.get(index)
        if block is not None:
            block.grow(delta)

    def end(self) -> None:
        """Finish the reply."""
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
        parts = parts_of(by_index(self.blocks, self._indexes), cut=cut)
        reply = Reply(
            parts,
            stop,
            stop_word,
            usage(self._usage),
            model if isinstance(model, str) else "",
            {NAME: bag} if bag else {},
            citations=in_texts(parts, NAME, of_anthropic),
            elsewhere=usage_of_others(self._usage),
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _block(self, index: int | None, kind: str) -> Block:
        """The block of that kind at that index; a new one if a host sent a delta without a start."""
        if self._stopped:
            self._go_on()
        block = self._at.get(index)
        return block if block is not None and block.kind == kind else self.start(index, {"type": kind})

    def _add(self, block: Block, text: object) -> None:
        if isinstance(text, str) and text:
            block.pieces.append(text)
            self.events.append(TextDelta(text) if block.kind == "text" else ReasoningDelta(text))

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for block in self._stopped:
            self._end_call(block)
        self._stopped.clear()

    def _end_call(self, block: Block) -> None:
        block.is_open = False
        call = block.made = call_of(block)
        if (block.is_member or not block.pieces) and call.arguments not in ("", "{}"):
            self.events.append(CallDelta(block.call, call.arguments))
        self.events.append(CallEnd(block.call, call))
