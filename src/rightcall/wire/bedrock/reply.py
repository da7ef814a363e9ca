"""Builds Bedrock's reply: its blocks as they arrive, their events, and the Reply.

Independent of frames and bytes. A block is an object with one member, whose name is its kind. A call
that the token limit cut off gets its stop event like any other, so a CallEnd waits for proof that the
model went on after the call: another block, or a stop reason that cuts nothing.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
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
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Media, Text, Usage
from rightcall.errors import ProtocolError
from rightcall.wire.bedrock.tables import CUTTING, FAULTS, FORMATS, NAME, STOPS, UNPARSED
from rightcall.wire.block_order import by_index
from rightcall.wire.citations import in_texts, of_bedrock

Part: TypeAlias = Text | Reasoning | Call | Media | Unknown
Index: TypeAlias = int | None

_SERVERS = "server_tool_use"
"""The type of a call that Bedrock runs itself."""
_TOLD = frozenset(["output", "usage", "stopReason", "p"])
"""Members of a reply that have fields of their own, and ``p``, which is padding."""
_CALL = frozenset(["toolUseId", "name", "input", "type"])
"""Members of a call that we store in fields. Its type, if it has one, may not be sent back."""


class Block:
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
                return self._thought()
            case "image" | "audio" | "video" if (made := self._made()) is not None:
                return made
            case _:
                return Unknown({NAME: {self.kind: self._whole()}})

    def as_call(self, *, truncated: bool = False) -> Call:
        """The call that a block holds."""
        beside = {key: value for key, value in self.fields.items() if key not in _CALL and value}
        return Call(
            id=_text(self.fields.get("toolUseId")),
            name=_text(self.fields.get("name")),
            arguments="".join(self.pieces) or ("" if truncated else "{}"),
            truncated=truncated,
            vendor={NAME: beside} if beside else {},
        )

    def _thought(self) -> Reasoning:
        bag: dict[str, Any] = {}
        if self.redacted:
            bag["redactedContent"] = _joined(self.redacted)
        elif self.signature:
            bag["signature"] = self.signature
        return Reasoning("".join(self.pieces), {NAME: bag} if bag else {})

    def _made(self) -> Media | None:
        """The image, audio or video in a block."""
        brought = self.grown.get(self.kind, ())
        sources = [_mapping(each).get("source") for each in (self.fields, *brought)]
        pieces = [_text(_mapping(source).get("bytes")) for source in sources if source]
        form = _text(_mapping(self.fields).get("format"))
        try:
            data = b"".join([b64decode(piece) for piece in pieces])
        except (NotBase64, ValueError):
            return None
        kind = FORMATS.get((self.kind, form), f"{self.kind}/{form or '*'}")
        return Media(data, kind) if data else None

    def _whole(self) -> Any:
        """The complete block, as in a reply that was not streamed."""
        if not isinstance(self.fields, dict):
            return self.fields
        fields = dict(self.fields)
        if self.pieces and self.kind == "toolUse":
            fields["input"] = _input("".join(self.pieces))
        for member, brought in self.grown.items():
            if member == "toolResult":
                fields["content"] = [item for each in brought for item in _items(each)]
            elif member == self.kind:
                for each in brought:
                    fields |= _mapping(each)
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
        self._blocks: list[Block] = []
        self._at: dict[Index, Block] = {}
        """The newest block of each index."""
        self._indexes: list[Index] = []
        """The blocks' indexes."""
        self._calls = 0
        self._closed: list[Block] = []
        """Ended calls that nothing has followed yet."""
        self._told: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self._stop: StopReason = "end"
        self._stop_word = ""

    def start(self, index: Index, start: Mapping[str, Any]) -> Block:
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
                self.say(index, "text", _text(inner))
            case "citationsContent":
                cited = _mapping(inner)
                texts = [_text(_mapping(each).get("text")) for each in _items(cited.get("content"))]
                self.say(index, "text", "".join(texts))
                self._at[index].grown["citation"] = list(_items(cited.get("citations")))
            case "reasoningContent":
                thought = _mapping(_mapping(inner).get("reasoningText"))
                self.say(index, "reasoningContent", _text(thought.get("text")))
                self.seal(
                    index,
                    _text(thought.get("signature")),
                    _text(_mapping(inner).get("redactedContent")),
                )
            case _:
                block = self._begin(index, kind, inner)
                if block.call >= 0 and arguments not in ("", "{}", "null"):
                    self.json(index, arguments)
                self.close(index)

    def stop(self, event: Mapping[str, Any]) -> None:
        """Record that the model stopped, and why."""
        self._stop_word = _text(event.get("stopReason"))
        self._stop = STOPS.get(self._stop_word, "end")
        self.update({key: value for key, value in event.items() if key != "usage"})
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
        parts = [block.part(cut=self._stop in CUTTING) for block in blocks]
        # The vendor refuses an empty text that is sent back.
        content = [each for each in parts if not isinstance(each, Text) or each.text or each.vendor]
        router = _mapping(_mapping(self._told.get("trace")).get("promptRouter"))
        beside = {
            key: self._usage[key] for key in ("cacheDetails", "serverToolUsage") if self._usage.get(key)
        }
        bag = {**self._told, **({"usage": beside} if beside else {})}
        reply = Reply(
            tuple(content),
            self._stop,
            self._stop_word,
            usage(self._usage),
            _text(router.get("invokedModelId")),
            {NAME: bag} if bag else {},
            fault=FAULTS.get(self._stop_word, ""),
            citations=in_texts(content, NAME, of_bedrock),
        )
        self.events.append(ReplyEnd(reply))

    def _begin(self, index: Index, kind: str, fields: Any) -> Block:
        self._go_on()
        is_call = kind == "toolUse" and isinstance(fields, dict) and fields.get("type") != _SERVERS
        block = Block(kind, fields, self._calls if is_call else -1)
        self._blocks.append(block)
        self._indexes.append(index)
        self._at[index] = block
        if is_call:
            self._calls += 1
            call = block.as_call()
            self.events.append(CallStart(block.call, call.name, call.id))
        return block

    def _block(self, index: Index, kind: str) -> Block:
        """The block of that kind at that index; texts and thoughts begin with their first piece."""
        if self._closed:
            self._go_on()
        block = self._at.get(index)
        return block if block is not None and block.kind == kind else self._begin(index, kind, {})

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for block in self._closed:
            self._end_call(block)
        self._closed.clear()

    def _end_call(self, block: Block) -> None:
        block.is_open = False
        self.events.append(CallEnd(block.call, block.as_call()))


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts converted to ours, whose input includes cached tokens."""
    cached, written = _count(counts, "cacheReadInputTokens"), _count(counts, "cacheWriteInputTokens")
    return Usage(
        input_tokens=_count(counts, "inputTokens") + cached + written,
        output_tokens=_count(counts, "outputTokens"),
        cached_tokens=cached,
        cache_written_tokens=written,
    )


_KINDS = ("text", "toolUse", "reasoningContent", "citationsContent", "image", "audio", "video")


def _kind_of(fields: Mapping[str, Any]) -> tuple[str, Any]:
    """The kind of a block and its content. Some hosts add a ``type``."""
    kind = next((key for key in _KINDS if key in fields), None)
    kind = kind or next((key for key in fields if key != "type"), "unknown")
    return kind, fields.get(kind)


def _joined(pieces: list[str]) -> str:
    """Each piece is separate base64."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join([b64decode(piece) for piece in pieces])).decode()
    except (NotBase64, ValueError):
        return "".join(pieces)


def _input(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {UNPARSED: text}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
