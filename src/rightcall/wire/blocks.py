"""Turns a reply's events into consecutive blocks, for dialects that stream one block at a time.

Models may write calls in parallel: events of a later call wait until the earlier call has ended, and so
do all other events while a call is open. Nothing is interleaved, and nothing is lost.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias, TypeVar

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning
from rightcall.core.parts import Call

_Kind: TypeAlias = Literal["", "text", "thought", "call"]


class BlockWriter(Protocol):
    """Writes blocks; only one is open at a time."""

    def begin_text(self) -> bytes:
        """Begin a text."""

    def text(self, text: str, /) -> bytes:
        """Add to the text."""

    def end_text(self) -> bytes:
        """End the text."""

    def begin_thought(self) -> bytes:
        """Begin a thought."""

    def thought(self, text: str, /) -> bytes:
        """Add to the thought."""

    def end_thought(self, reasoning: Reasoning | None, /) -> bytes:
        """End the thought; ``reasoning`` holds what its vendor wants back, if anything."""

    def silent_thought(self, reasoning: Reasoning, /) -> bytes:
        """Write a thought that has no visible text."""

    def begin_call(self, start: CallStart, /) -> bytes:
        """Begin a call."""

    def arguments(self, text: str, /) -> bytes:
        """Add to the call's arguments."""

    def end_call(self, call: Call | None, /) -> bytes:
        """End the call; ``call`` is None if it was cut off."""


class _Waiting:
    """A block that began while a call was open."""

    __slots__ = ("end", "is_over", "kind", "pieces", "start")

    def __init__(self, kind: _Kind, start: CallStart | None = None) -> None:
        self.kind: _Kind = kind
        self.start = start
        self.pieces: list[str] = []
        self.end: Call | Reasoning | None = None
        self.is_over = False


class BlockSequencer:
    """Passes a reply's events to a writer of blocks."""

    def __init__(self, blocks: BlockWriter) -> None:
        self._blocks = blocks
        self._kind: _Kind = ""
        self._index = -1
        """The index of the open call."""
        self._waiting: list[_Waiting] = []

    def take(self, event: ModelEvent) -> bytes:
        """The bytes that an event adds; none for an event that belongs to no block."""
        match event:
            case TextDelta(text):
                if self._kind == "text":
                    return self._blocks.text(text)
                return self._say("text", text)
            case CallDelta(index, text):
                if self._kind == "call" and index == self._index:
                    return self._blocks.arguments(text)
                self._call(index).pieces.append(text)
            case ReasoningDelta(text):
                if self._kind == "thought":
                    return self._blocks.thought(text)
                return self._say("thought", text)
            case ReasoningEnd(reasoning):
                if self._kind == "thought":
                    self._kind = ""
                    return self._blocks.end_thought(reasoning)
                if self._kind == "call":
                    last = self._waiting[-1] if self._waiting else None
                    if last is None or last.kind != "thought" or last.is_over:
                        last = _Waiting("thought")
                        self._waiting.append(last)
                    last.end = reasoning
                    last.is_over = True
                    return b""
                return self._close() + self._blocks.silent_thought(reasoning)
            case CallStart():
                if self._kind == "call":
                    self._waiting.append(_Waiting("call", event))
                    return b""
                return self._close() + self._open(_Waiting("call", event))
            case CallEnd(index, call):
                if self._kind != "call" or index != self._index:
                    waiting = self._call(index)
                    waiting.end = call
                    waiting.is_over = True
                    return b""
                self._kind = ""
                written = self._blocks.end_call(call)
                while self._waiting and not self._is_calling:
                    written += self._close() + self._next()
                return written
            case _:
                pass
        return b""

    def finish(self) -> bytes:
        """The bytes that end open and waiting blocks."""
        written = self._close()
        while self._waiting:
            written += self._next() + self._close()
        return written

    def _say(self, kind: _Kind, text: str) -> bytes:
        if self._kind == "call":
            last = self._waiting[-1] if self._waiting else None
            if last is None or last.kind != kind or last.is_over:
                last = _Waiting(kind)
                self._waiting.append(last)
            last.pieces.append(text)
            return b""
        return self._close() + self._open(_Waiting(kind)) + self._piece(text)

    @property
    def _is_calling(self) -> bool:
        return self._kind == "call"

    def _call(self, index: int) -> _Waiting:
        return next(
            each for each in self._waiting if each.start is not None and each.start.index == index
        )

    def _next(self) -> bytes:
        """Write the block that has waited longest, as far as it has arrived."""
        block = self._waiting.pop(0)
        if block.kind == "thought" and not block.pieces and isinstance(block.end, Reasoning):
            return self._blocks.silent_thought(block.end)
        written = self._open(block)
        if block.pieces:
            written += self._piece("".join(block.pieces))
        if block.is_over:
            return written + self._close(block.end)
        return written

    def _open(self, block: _Waiting) -> bytes:
        self._kind = block.kind
        if block.start is not None:
            self._index = block.start.index
            return self._blocks.begin_call(block.start)
        if block.kind == "text":
            return self._blocks.begin_text()
        return self._blocks.begin_thought()

    def _piece(self, text: str) -> bytes:
        match self._kind:
            case "text":
                return self._blocks.text(text)
            case "thought":
                return self._blocks.thought(text)
            case _:
                return self._blocks.arguments(text)

    def _close(self, end: Call | Reasoning | None = None) -> bytes:
        kind = self._kind
        self._kind = ""
        match kind:
            case "text":
                return self._blocks.end_text()
            case "thought":
                return self._blocks.end_thought(end if isinstance(end, Reasoning) else None)
            case "call":
                return self._blocks.end_call(end if isinstance(end, Call) else None)
            case _:
                return b""


Block = TypeVar("Block")


def by_index(blocks: Sequence[Block], indexes: Sequence[int | None]) -> Sequence[Block]:
    """The blocks sorted by index; in order of arrival where the indexes are missing or not unique.

    Imitators of a vendor's API leave indexes out, or give several blocks the same one.
    """
    numbers = []
    for index in indexes:
        if index is not None:
            numbers.append(index)
    if len(numbers) < len(blocks) or len(set(numbers)) < len(numbers):
        return blocks
    if all(before < after for before, after in pairwise(numbers)):
        return blocks
    return [block for _, block in sorted(zip(numbers, blocks, strict=True), key=lambda pair: pair[0])]
