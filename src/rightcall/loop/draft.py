"""A reply that is still coming: what there is of it, and whether it is more than may be."""

from collections.abc import Sequence

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
"""Characters of a whole reply: its text, its reasoning and its calls' arguments."""
MAX_ARGUMENTS = 8_000_000
"""Characters of the arguments of one call."""
MAX_CALLS = 4096
"""Calls in one reply."""
_KEPT = 64_000
"""Characters that are kept of each part of a reply that was too long: no later request could hold it."""
_TEXTS = (TextDelta, ReasoningDelta)


class Draft:
    """A reply as far as it came. Events are put together only if the stream breaks."""

    def __init__(self) -> None:
        self._events: list[ModelEvent] = []
        self.append = self._events.append
        """Take the next delta of text or arguments; ``grew`` is told their lengths, many at a time."""
        self._size = 0
        self._weigh_at = MAX_ARGUMENTS
        self._calls = 0
        self._is_too_long = False
        self.end: ReplyEnd | None = None
        """The end of the reply, once it has come."""
        self.first: float | None = None
        """Seconds until something of it came."""
        self.passed_over: list[ModelChange] = []
        """The models that failed before anything came."""

    def add(self, event: ModelEvent) -> None:
        """Take the next event. Raises ProtocolError when there is more of the reply than may be."""
        # Not kept before it was looked at: an end makes whole what stands before it.
        match event:
            case ReasoningDelta(text) | TextDelta(text) | CallDelta(text=text):
                self.grew(len(text))
            case CallStart():
                self._calls += 1
                self._look_at((), self._calls)
            case CallEnd(call=call):
                self._look_at((call,), self._calls)
            case ReplyEnd(reply):
                calls = reply.calls
                self._look_at(calls, max(self._calls, len(calls)))
                self.end = event
            case ModelChange():
                self.passed_over.append(event)
                return
            case RetryStart():
                return
            case ReasoningEnd():
                # Its text was counted as it came.
                pass
        self._events.append(event)

    def grew(self, size: int) -> None:
        """Count what was appended. Calls are weighed only once one of them could be too long."""
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
        # Seldom enough that all the weighing of a long reply costs no more than a few looks at it.
        self._weigh_at = min(self._size + MAX_ARGUMENTS // 8, MAX_REPLY)

    def _look_at(self, calls: Sequence[Call], count: int) -> None:
        if any(len(call.arguments) > MAX_ARGUMENTS for call in calls):
            self._refuse(f"a call's arguments are longer than {MAX_ARGUMENTS:,} characters")
        if count > MAX_CALLS:
            self._refuse(f"the reply has more than {MAX_CALLS:,} calls")

    def _refuse(self, why: str) -> None:
        self._is_too_long = True
        raise ProtocolError(why)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply has come yet."""
        return all(isinstance(event, CallDelta) for event in self._events)

    def broken(self, word: str) -> Reply:
        """The reply as far as it came. ``word`` says what broke it."""
        pieces = _Pieces()
        for event in self._events:
            pieces.add(event)
        most = _KEPT if self._is_too_long else None
        return Reply(tuple([piece.part(most) for piece in pieces.all]), "error", word)


class _Pieces:
    """Events into the parts of a reply."""

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
    """One part of the reply, still growing."""

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
