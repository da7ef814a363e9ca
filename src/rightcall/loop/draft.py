"""Collects a reply while it streams, and enforces the limits on its size."""

from collections.abc import Callable, Sequence

from rightcall.core.call import Call
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelChange,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    RetryStart,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Text
from rightcall.errors import ProtocolError

MAX_REPLY = 32_000_000
"""The most characters of a whole reply: its text, its reasoning and its calls' arguments."""
MAX_ARGUMENTS = 8_000_000
"""The most characters of one call's arguments."""
MAX_CALLS = 4096
"""The most calls in one reply."""
_KEPT = 64_000
"""Characters that are kept of each part of a reply that was too long: no later request could hold it
all."""
_TEXTS = (TextDelta, ReasoningDelta)


class Draft:
    """A reply so far. Its events are assembled only if the stream breaks off."""

    __slots__ = (
        "_calls", "_events", "_is_too_long", "_size", "_weigh_at", "end", "first", "passed_over",
    )  # fmt: skip

    def __init__(self) -> None:
        self._events: list[ModelEvent] = []
        self._size = 0
        self._weigh_at = MAX_ARGUMENTS
        self._calls = 0
        self._is_too_long = False
        self.end: ReplyEnd | None = None
        """The end of the reply, once it is here."""
        self.first: float | None = None
        """Seconds until the reply began."""
        self.passed_over: tuple[ModelChange, ...] = ()
        """The models that failed before the reply began."""

    @property
    def append(self) -> Callable[[ModelEvent], None]:
        """Adds the next delta of text or arguments; call ``grew`` with the length of many at once."""
        return self._events.append

    def add(self, event: ModelEvent) -> None:
        """Add the next event. Raises ProtocolError when the reply exceeds a limit."""
        # Kept only after the check: an end event would mark the parts before it as complete.
        # In this order because each case costs something, and every reply has an end.
        match event:
            case ReplyEnd():
                calls = event.reply.calls
                self._look_at(calls, max(self._calls, len(calls)))
                self.end = event
            case CallStart():
                self._calls += 1
                self._look_at((), self._calls)
            case CallEnd():
                self._look_at((event.call,), self._calls)
            case ReasoningDelta() | TextDelta() | CallDelta():
                self.grew(len(event.text))
            case ModelChange():
                self.passed_over += (event,)
                return
            case RetryStart():
                return
            case ReasoningEnd():
                # Its text was counted with its deltas.
                pass
        self._events.append(event)

    def grew(self, size: int) -> None:
        """Count what was appended. Calls are measured only once one of them could be too long."""
        self._size += size
        if self._size > self._weigh_at:
            self._weigh()

    def _weigh(self) -> None:
        if self._size > MAX_REPLY:
            self._refuse(f"the reply is longer than {MAX_REPLY:,} characters")
        sizes: dict[int, int] = {}
        for event in self._events:
            if isinstance(event, CallDelta):
                sizes[event.index] = sizes.get(event.index, 0) + len(event.text)
        if max(sizes.values(), default=0) > MAX_ARGUMENTS:
            self._refuse(f"a call's arguments are longer than {MAX_ARGUMENTS:,} characters")
        # Rare enough that all measuring of a long reply costs no more than a few passes over it.
        self._weigh_at = min(self._size + MAX_ARGUMENTS // 8, MAX_REPLY)

    def _look_at(self, calls: Sequence[Call], count: int) -> None:
        for call in calls:
            if len(call.arguments) > MAX_ARGUMENTS:
                self._refuse(f"a call's arguments are longer than {MAX_ARGUMENTS:,} characters")
        if count > MAX_CALLS:
            self._refuse(f"the reply has more than {MAX_CALLS:,} calls")

    def _refuse(self, why: str) -> None:
        self._is_too_long = True
        raise ProtocolError(why)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply is here yet."""
        return all(isinstance(event, CallDelta) for event in self._events)

    def broken(self, word: str) -> Reply:
        """Returns the reply so far. ``word`` says why it broke off."""
        pieces = _Pieces()
        for event in self._events:
            pieces.add(event)
        most = _KEPT if self._is_too_long else None
        return Reply(tuple([piece.part(most) for piece in pieces.all]), "error", word)


class _Pieces:
    """Assemble events into the parts of a reply."""

    def __init__(self) -> None:
        self.all: list[_Piece] = []
        self._calls: dict[int, _Piece] = {}

    def add(self, event: ModelEvent) -> None:
        if isinstance(event, _TEXTS):
            kind = type(event)
            if not self.all or self.all[-1].kind is not kind:
                self.all.append(_Piece(kind))
            self.all[-1].texts.append(event.text)
            return
        match event:
            case CallStart(index, name, call_id):
                piece = self._calls[index] = _Piece(CallStart, Call(id=call_id, name=name))
                self.all.append(piece)
            case CallDelta(index, text) if index in self._calls:
                self._calls[index].texts.append(text)
            case CallEnd(index, call):
                if index not in self._calls:
                    self._calls[index] = _Piece(CallStart, call)
                    self.all.append(self._calls[index])
                self._calls[index].call = call
                self._calls[index].ended = True
            case _:
                pass


class _Piece:
    """One part of the reply that is still growing."""

    def __init__(self, kind: type, call: Call | None = None) -> None:
        self.kind = kind
        self.texts: list[str] = []
        self.call = call
        self.ended = False

    def part(self, most: int | None = None) -> Text | Reasoning | Call:
        text = "".join(self.texts)[:most]
        if self.call is None:
            return Text(text) if self.kind is TextDelta else Reasoning(text)
        if self.ended:
            return self.call
        return Call(id=self.call.id, name=self.call.name, arguments=text, truncated=True)
