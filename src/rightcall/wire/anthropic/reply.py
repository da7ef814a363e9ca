"""Builds Anthropic's reply: its blocks as they arrive, their events, and the Reply.

Independent of frames and bytes. A call that the token limit cut off gets its stop event like any other,
so a CallEnd waits for proof that the model went on after the call: another block, or a stop reason that
cuts nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

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
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.wire.anthropic.tables import (
    BESIDE,
    CUTTING,
    ELSEWHERE,
    MADE,
    NAME,
    STOPS,
    THOUGHTS,
    UNPARSED,
)
from rightcall.wire.blocks import by_index
from rightcall.wire.claude import COMPUTER, TOOLSET_MEMBER, join_action
from rightcall.wire.decoders import parsed_input
from rightcall.wire.payload import count_in, items_in, mapping, text_in
from rightcall.wire.reply_extras import in_texts, of_anthropic, reported_cost


def merged_usage(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    """The counts so far, overridden by later ones. They are totals, not increments.

    Null or missing counts change nothing, nor does an input of zero, which some hosts send at the end.
    """
    fresh = {
        key: value
        for key, value in after.items()
        if value is not None and (value or "input" not in key or key not in before)
    }
    return {**before, **fresh}


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts converted to ours, whose input includes cached tokens."""
    totals = dict.fromkeys(_COUNTS, 0)
    for name in _COUNTS:
        count = counts.get(name)
        if isinstance(count, int):
            totals[name] = count
    if "iterations" in counts:
        iterations = items_in(counts.get("iterations"))
        for name in _COUNTS if iterations else ():
            within = 0
            beside = 0
            for step in iterations:
                if step.get("type") in BESIDE:
                    beside += count_in(step, name)
                else:
                    within += count_in(step, name)
            totals[name] = max(totals[name], within) + beside
    cached = totals["cache_read_input_tokens"]
    written = totals["cache_creation_input_tokens"]
    details = counts.get("output_tokens_details")
    return Usage(
        input_tokens=totals["input_tokens"] + cached + written,
        output_tokens=totals["output_tokens"],
        cached_tokens=cached,
        cache_written_tokens=written,
        reasoning_tokens=count_in(details, "thinking_tokens") if isinstance(details, Mapping) else 0,
        cost=reported_cost(counts) if "cost" in counts else None,
    )


_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def usage_of_others(counts: Mapping[str, Any]) -> dict[str, Usage]:
    """The usage of other models, by name."""
    found = dict[str, Usage]()
    for step in items_in(counts.get("iterations")):
        name = step.get("model")
        if step.get("type") in ELSEWHERE and isinstance(name, str):
            # It is counted as a separate reply without iterations.
            found[name] = found.get(name, Usage()) + usage({**step, "iterations": None})
    return found


Part: TypeAlias = Text | Reasoning | Call | Media | Unknown


class AnthropicBlock:
    """One content block while it arrives."""

    __slots__ = (
        "call",
        "fields",
        "grown",
        "id",
        "is_member",
        "is_open",
        "kind",
        "made",
        "name",
        "pieces",
        "whole_input",
    )

    def __init__(self, fields: dict[str, Any], whole_input: str, call: int) -> None:
        self.kind = text_in(fields.get("type"))
        self.name = text_in(fields.get("name"))
        self.id = text_in(fields.get("id"))
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
        self.is_member = call >= 0 and fields.get(TOOLSET_MEMBER) == COMPUTER
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
        fields = self.members()
        if self.pieces and self.kind not in ("text", "thinking"):
            fields["input"] = parsed_input("".join(self.pieces), UNPARSED)
        return fields

    def members(self) -> dict[str, Any]:
        """The block's members, without what its pieces make up."""
        members = dict(self.fields)
        for key, values in self.grown.items():
            members[key] = _sum([members.get(key), *values])
        return members

    def arguments(self, *, truncated: bool = False) -> str:
        """The raw text of a call's arguments."""
        if not self.pieces and truncated and self.whole_input == "{}":
            return ""
        return "".join(self.pieces) or self.whole_input


def parts_of(blocks: Iterable[AnthropicBlock], *, cut: bool) -> tuple[Part, ...]:
    """The parts of a reply.

    ``cut``: the reply may have stopped within a block; calls that nothing followed are truncated.
    """
    parts: list[Part] = []
    for block in blocks:
        part = _PARTS.get(block.kind, _unknown)(block, cut)
        # The vendor refuses an empty text that is sent back.
        if not isinstance(part, Text) or part.text or part.vendor:
            parts.append(part)
        # The files that the vendor's code left in its container, to be fetched by id. They are sent back
        # by sending back the block itself.
        if block.kind.endswith("code_execution_tool_result"):
            for file in items_in(mapping(block.fields.get("content")).get("content")):
                identity = file.get("file_id")
                if isinstance(identity, str) and identity:
                    made = {MADE: block.fields.get("tool_use_id")}
                    parts.append(Media(id=identity, vendor={NAME: made}))
    return tuple(parts)


def call_of(block: AnthropicBlock, *, truncated: bool = False) -> Call:
    """The call that a block holds."""
    name = block.name
    arguments = block.arguments(truncated=truncated)
    beside = _rest(block, "type", "id", "name", "input")
    if block.is_member:
        arguments = join_action(name, arguments)
        name = COMPUTER
        del beside[TOOLSET_MEMBER]
    return Call(
        id=block.id,
        name=name,
        arguments=arguments,
        truncated=truncated,
        vendor={NAME: beside} if beside else {},
    )


def _text_part(block: AnthropicBlock, _cut: bool) -> Part:  # noqa: FBT001 (one signature for all)
    beside = _rest(block, "type", "text")
    return Text("".join(block.pieces), {NAME: beside} if beside else {})


def _thinking(block: AnthropicBlock, _cut: bool) -> Part:  # noqa: FBT001
    fields = {key: value for key, value in block.whole().items() if key != "thinking"}
    return Reasoning("".join(block.pieces), {NAME: fields})


def _redacted_part(block: AnthropicBlock, _cut: bool) -> Part:  # noqa: FBT001
    return Reasoning("", {NAME: block.whole()})


def _call(block: AnthropicBlock, cut: bool) -> Part:  # noqa: FBT001
    return block.made or call_of(block, truncated=cut and block.is_open)


def _unknown(block: AnthropicBlock, _cut: bool) -> Part:  # noqa: FBT001
    return Unknown({NAME: block.whole()})


def _sum(values: list[Any]) -> Any:
    """Join texts and lists; of anything else take the last."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, str) for value in given):
        return "".join(given)
    if given and all(isinstance(value, list) for value in given):
        return [item for value in given for item in value]
    if given:
        return given[-1]
    return None


def _rest(block: AnthropicBlock, *known: str) -> dict[str, JsonValue]:
    """The block's other members, without those that are null or empty."""
    return {key: value for key, value in block.members().items() if key not in known and value}


_PARTS: Mapping[str, Callable[[AnthropicBlock, bool], Part]] = {
    "text": _text_part,
    "thinking": _thinking,
    "redacted_thinking": _redacted_part,
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
        self.blocks: list[AnthropicBlock] = []
        self._message: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self.newest: dict[int | None, AnthropicBlock] = {}
        """The newest block of each index; None maps to the newest of all."""
        self._indexes: list[int | None] = []
        """The blocks' indexes."""
        self._is_ordered = True
        """Whether the blocks arrived in the order of their indexes."""
        self._is_cited = False
        """Whether a text may have citations."""
        self._calls = 0
        self.stopped_calls: list[AnthropicBlock] = []
        """Ended calls that nothing has followed yet."""

    def update(self, members: Mapping[str, Any]) -> None:
        """Update the message's own members; null changes nothing."""
        self._message.update({key: value for key, value in members.items() if value is not None})
        counts = members.get("usage")
        if isinstance(counts, dict):
            self._usage = merged_usage(self._usage, counts)

    def start(
        self, index: int | None, fields: dict[str, Any], whole_input: str = "{}"
    ) -> AnthropicBlock:
        """Begin a block, even if the index was used before."""
        self.go_on()
        is_call = fields.get("type") == "tool_use"
        block = AnthropicBlock(fields, whole_input, self._calls if is_call else -1)
        self.blocks.append(block)
        if index is not None and self._indexes and index < (self._indexes[-1] or 0):
            self._is_ordered = False
        self._indexes.append(index)
        self.newest[index] = self.newest[None] = block
        if is_call:
            self._calls += 1
            name = COMPUTER if block.is_member else block.name
            self.events.append(CallStart(block.call, name, block.id))
        elif block.kind in ("text", "thinking"):
            text = fields.get(block.kind)
            if isinstance(text, str) and text:
                block.pieces.append(text)
                self.events.append(TextDelta(text) if block.kind == "text" else ReasoningDelta(text))
            self._is_cited = self._is_cited or "citations" in fields
        return block

    def stop(self, index: int | None) -> None:
        """End a block."""
        block = self.newest.get(index)
        if block is not None and block.call >= 0 and block.is_open and block not in self.stopped_calls:
            self.stopped_calls.append(block)
        elif block is not None and block.kind in THOUGHTS and block.is_open:
            block.is_open = False
            thought = _PARTS[block.kind](block, False)  # noqa: FBT003
            assert isinstance(thought, Reasoning)
            self.events.append(ReasoningEnd(thought))

    def add_citation(self, index: int | None, citation: Any) -> None:
        """Add a citation to a text."""
        self._is_cited = True
        fields = self.find_or_start(index, "text").fields
        if not isinstance(fields.get("citations"), list):
            fields["citations"] = []
        fields["citations"].append(citation)

    def grow(self, index: int | None, delta: Mapping[str, Any]) -> None:
        """Add a delta of unknown type."""
        self.go_on()
        block = self.newest.get(index)
        if block is not None:
            block.grow(delta)

    def end(self) -> None:
        """Finish the reply."""
        stop_word = text_in(self._message.get("stop_reason"))
        model = text_in(self._message.get("model"))
        stop: StopReason = STOPS.get(stop_word, "end")
        cut = stop in CUTTING
        if not cut:
            for block in self.blocks:
                if block.call >= 0 and block.is_open:
                    self._end_call(block)
        if stop == "end" and self._calls:
            stop = "calls"
        bag = {key: value for key, value in self._message.items() if key not in _TOLD}
        blocks = self.blocks if self._is_ordered else by_index(self.blocks, self._indexes)
        parts = parts_of(blocks, cut=cut)
        reply = Reply(
            parts,
            stop,
            stop_word,
            usage(self._usage),
            model,
            {NAME: bag} if bag else {},
            citations=in_texts(parts, NAME, of_anthropic) if self._is_cited else (),
            elsewhere=usage_of_others(self._usage) if "iterations" in self._usage else {},
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def find_or_start(self, index: int | None, kind: str) -> AnthropicBlock:
        """The block of that kind at that index; a new one if a host sent a delta without a start."""
        if self.stopped_calls:
            self.go_on()
        block = self.newest.get(index)
        if block is not None and block.kind == kind:
            return block
        return self.start(index, {"type": kind})

    def go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for block in self.stopped_calls:
            self._end_call(block)
        self.stopped_calls.clear()

    def _end_call(self, block: AnthropicBlock) -> None:
        block.is_open = False
        call = block.made = call_of(block)
        if (block.is_member or not block.pieces) and call.arguments not in ("", "{}"):
            self.events.append(CallDelta(block.call, call.arguments))
        self.events.append(CallEnd(block.call, call))
