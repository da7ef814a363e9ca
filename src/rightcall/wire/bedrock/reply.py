"""Builds Bedrock's reply: its blocks as they arrive, their events, and the Reply.

Independent of frames and bytes. A block is an object with one member, whose name is its kind. A call
that the token limit cut off gets its stop event like any other, so a CallEnd waits for proof that the
model went on after the call: another block, or a stop reason that cuts nothing.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

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
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Call, Media, Text, Usage
from rightcall.errors import ProtocolError
from rightcall.wire.bedrock.tables import CUTTING, FAULTS, FORMATS, NAME, STOPS, UNPARSED
from rightcall.wire.blocks import by_index
from rightcall.wire.decoders import parsed_input
from rightcall.wire.payload import count_in, mapping, own_bag, text_in, without
from rightcall.wire.reply_extras import in_texts, of_bedrock

Part: TypeAlias = Text | Reasoning | Call | Media | Unknown
Index: TypeAlias = int | None

_SERVERS = "server_tool_use"
"""The type of a call that Bedrock runs itself."""
_TOLD = frozenset(["output", "usage", "stopReason", "p"])
"""Members of a reply that have fields of their own, and ``p``, which is padding."""
_CALL = frozenset(["toolUseId", "name", "input", "type"])
"""Members of a call that we store in fields. Its type, if it has one, may not be sent back."""


class BedrockBlock:
    """One content block while it arrives."""

    __slots__ = ("call", "fields", "grown", "is_open", "kind", "pieces", "redacted", "signature")

    def __init__(self, kind: str, fields: Any, call: int) -> None:
        self.kind = kind
        self.fields = fields
        self.pieces: list[str] = []
        """Pieces of text, thoughts or JSON, depending on the kind of the block."""
        self.call = call
        """The index among the reply's calls; -1 if it is not a call."""
        self.is_open = True
        self.signature = ""
        self.redacted: list[str] = []
        self.grown: dict[str, list[Any]] = {}
        """What rarer deltas added, by member."""

    def part(self, *, cut: bool) -> Part:
        """The block as a part. ``cut``: a call that nothing followed may be incomplete."""
        if self.call >= 0:
            return self.as_call(truncated=cut and self.is_open)
        match self.kind:
            case "text":
                citations = self.grown.get("citation")
                return Text("".join(self.pieces), {NAME: {"citations": citations}} if citations else {})
            case "reasoningContent":
                bag: dict[str, Any] = {}
                if self.redacted:
                    bag["redactedContent"] = _join_base64(self.redacted)
                elif self.signature:
                    bag["signature"] = self.signature
                return Reasoning("".join(self.pieces), own_bag(NAME, bag))
            case "image" | "audio" | "video" if (made := self._to_media()) is not None:
                return made
            case _:
                return Unknown({NAME: {self.kind: self._whole()}})

    def as_call(self, *, truncated: bool = False) -> Call:
        """The call that a block holds."""
        beside = {}
        for key, value in self.fields.items():
            if key not in _CALL and value:
                beside[key] = value
        return Call(
            id=text_in(self.fields.get("toolUseId")),
            name=text_in(self.fields.get("name")),
            arguments="".join(self.pieces) or ("" if truncated else "{}"),
            truncated=truncated,
            vendor=own_bag(NAME, beside),
        )

    def _to_media(self) -> Media | None:
        """The image, audio or video in a block."""
        pieces = []
        for each in (self.fields, *self.grown.get(self.kind, ())):
            source = mapping(mapping(each).get("source"))
            pieces.append(text_in(source.get("bytes")))
        form = text_in(mapping(self.fields).get("format"))
        try:
            data = b"".join(map(b64decode, pieces))
        except ValueError:
            return None
        kind = FORMATS.get((self.kind, form), f"{self.kind}/{form or '*'}")
        if data:
            return Media(data, kind)
        return None

    def _whole(self) -> Any:
        """The complete block, as in a reply that was not streamed."""
        if not isinstance(self.fields, dict):
            return self.fields
        fields = dict(self.fields)
        if self.pieces and self.kind == "toolUse":
            fields["input"] = parsed_input("".join(self.pieces), UNPARSED)
        for member, brought in self.grown.items():
            if member == "toolResult":
                fields["content"] = []
                for each in brought:
                    fields["content"] += _items(each)
            elif member == self.kind:
                for each in brought:
                    fields |= mapping(each)
            else:
                fields[member] = brought[-1]
        return fields


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_stopped = False
        """Whether the model has stopped; only the usage may follow."""
        self.is_done = False
        self._blocks: list[BedrockBlock] = []
        self._at: dict[Index, BedrockBlock] = {}
        """The newest block of each index."""
        self._indexes: list[Index] = []
        """The blocks' indexes."""
        self._calls = 0
        self._closed: list[BedrockBlock] = []
        """Ended calls that nothing has followed yet."""
        self._told: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self._stop: StopReason = "end"
        self._stop_word = ""

    def start(self, index: Index, start: Mapping[str, Any]) -> BedrockBlock:
        """Begin a block, given as an object with one member that names its kind."""
        kind, fields = _kind_of(start)
        return self._begin(index, kind, fields)

    def close(self, index: Index) -> None:
        """End a block."""
        block = self._at.get(index)
        if block is not None and block.call >= 0 and block.is_open and block not in self._closed:
            self._closed.append(block)
        elif block is not None and block.kind == "reasoningContent" and block.is_open:
            block.is_open = False
            thought = block.part(cut=False)
            if isinstance(thought, Reasoning) and thought.vendor:
                self.events.append(ReasoningEnd(thought))

    def say(self, index: Index, kind: Literal["text", "reasoningContent"], text: str | None) -> None:
        """Add to a text or a thought."""
        block = self._block(index, kind)
        if text:
            block.pieces.append(text)
            self.events.append(TextDelta(text) if kind == "text" else ReasoningDelta(text))

    def seal(self, index: Index, signature: str | None, redacted: str | None) -> None:
        """Set the signature of a thought, or the redacted content that replaces it."""
        block = self._block(index, "reasoningContent")
        block.signature += signature or ""
        if redacted:
            block.redacted.append(redacted)

    def json(self, index: Index, piece: str | None) -> None:
        """Add to the arguments of a call, or to the input of one of the vendor's own tools."""
        if not piece:
            return
        if self._closed:
            self._go_on()
        block = self._at.get(index)
        if block is None or block.kind != "toolUse":
            raise ProtocolError(f"{NAME}: arguments at index {index}, where no call has begun")
        if block.call >= 0:
            if not block.is_open:
                raise ProtocolError(f"{NAME}: arguments at index {index}, where the call has ended")
            self.events.append(CallDelta(block.call, piece))
        block.pieces.append(piece)

    def grow(self, index: Index, delta: Mapping[str, Any]) -> None:
        """Add a delta of a rarer kind: a citation, a piece of an image, or an unknown one."""
        kind = next(iter(delta), "")
        block = self._block(index, "text") if kind == "citation" else self._at.get(index)
        self._go_on()
        if block is None:
            block = self._begin(index, kind, {})
        for member, value in delta.items():
            block.grown.setdefault(member, []).append(value)

    def whole(self, index: int, fields: Mapping[str, Any], arguments: str) -> None:
        """Add a complete block, with the raw text of its arguments."""
        kind, inner = _kind_of(fields)
        match kind:
            case "text":
                self.say(index, "text", text_in(inner))
            case "citationsContent":
                cited = mapping(inner)
                texts = [text_in(mapping(each).get("text")) for each in _items(cited.get("content"))]
                self.say(index, "text", "".join(texts))
                self._at[index].grown["citation"] = list(_items(cited.get("citations")))
            case "reasoningContent":
                thought = mapping(mapping(inner).get("reasoningText"))
                self.say(index, "reasoningContent", text_in(thought.get("text")))
                self.seal(
                    index,
                    text_in(thought.get("signature")),
                    text_in(mapping(inner).get("redactedContent")),
                )
            case _:
                block = self._begin(index, kind, inner)
                if block.call >= 0 and arguments not in ("", "{}", "null"):
                    self.json(index, arguments)
                self.close(index)

    def stop(self, event: Mapping[str, Any]) -> None:
        """Record that the model stopped, and why."""
        self._stop_word = text_in(event.get("stopReason"))
        self._stop = STOPS.get(self._stop_word, "end")
        self.update(without(event, "usage"))
        self.is_stopped = True
        if self._stop not in CUTTING:
            for block in self._blocks:
                if block.call >= 0 and block.is_open:
                    self._end_call(block)
        if self._stop == "end" and self._calls:
            self._stop = "calls"

    def update(self, members: Mapping[str, Any]) -> None:
        """Update the reply's own members."""
        self._told.update({key: value for key, value in members.items() if key not in _TOLD and value})
        counts = members.get("usage")
        if isinstance(counts, dict):
            self._usage = counts

    def end(self) -> None:
        """Finish the reply."""
        if self.is_done:
            return
        self.is_done = True
        blocks = by_index(self._blocks, self._indexes)
        content = []
        for block in blocks:
            part = block.part(cut=self._stop in CUTTING)
            # The vendor refuses an empty text that is sent back.
            if not isinstance(part, Text) or part.text or part.vendor:
                content.append(part)
        router = mapping(mapping(self._told.get("trace")).get("promptRouter"))
        bag = dict(self._told)
        for key in ("cacheDetails", "serverToolUsage"):
            if self._usage.get(key):
                bag.setdefault("usage", {})[key] = self._usage[key]
        reply = Reply(
            tuple(content),
            self._stop,
            self._stop_word,
            usage(self._usage),
            text_in(router.get("invokedModelId")),
            own_bag(NAME, bag),
            fault=FAULTS.get(self._stop_word, ""),
            citations=in_texts(content, NAME, of_bedrock),
        )
        self.events.append(ReplyEnd(reply))

    def _begin(self, index: Index, kind: str, fields: Any) -> BedrockBlock:
        self._go_on()
        is_call = kind == "toolUse" and isinstance(fields, dict) and fields.get("type") != _SERVERS
        block = BedrockBlock(kind, fields, self._calls if is_call else -1)
        self._blocks.append(block)
        self._indexes.append(index)
        self._at[index] = block
        if is_call:
            self._calls += 1
            call = block.as_call()
            self.events.append(CallStart(block.call, call.name, call.id))
        return block

    def _block(self, index: Index, kind: str) -> BedrockBlock:
        """The block of that kind at that index; texts and thoughts begin with their first piece."""
        if self._closed:
            self._go_on()
        block = self._at.get(index)
        if block is not None and block.kind == kind:
            return block
        return self._begin(index, kind, {})

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for block in self._closed:
            self._end_call(block)
        self._closed.clear()

    def _end_call(self, block: BedrockBlock) -> None:
        block.is_open = False
        self.events.append(CallEnd(block.call, block.as_call()))


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts converted to ours, whose input includes cached tokens."""
    cached = count_in(counts, "cacheReadInputTokens")
    written = count_in(counts, "cacheWriteInputTokens")
    return Usage(
        input_tokens=count_in(counts, "inputTokens") + cached + written,
        output_tokens=count_in(counts, "outputTokens"),
        cached_tokens=cached,
        cache_written_tokens=written,
    )


_KINDS = ("text", "toolUse", "reasoningContent", "citationsContent", "image", "audio", "video")


def _kind_of(fields: Mapping[str, Any]) -> tuple[str, Any]:
    """The kind of a block and its content. Some hosts add a ``type``."""
    kind = next((key for key in _KINDS if key in fields), None)
    kind = kind or next((key for key in fields if key != "type"), "unknown")
    return kind, fields.get(kind)


def _join_base64(pieces: list[str]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join([b64decode(piece) for piece in pieces])).decode()
    except ValueError:
        return "".join(pieces)


def _items(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    return []
