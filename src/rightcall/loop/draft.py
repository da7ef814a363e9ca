"""A reply's events into the reply as far as it came: what is left when a stream breaks."""

from rightcall.core.call import Call
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Text


class Draft:
    """Collects events, and puts them together only if the stream breaks."""

    def __init__(self) -> None:
        self._events: list[ModelEvent] = []
        self.add = self._events.append
        """Take the next event."""

    @property
    def end(self) -> ReplyEnd | None:
        """The end of the reply, once it has come."""
        return next((e for e in reversed(self._events) if isinstance(e, ReplyEnd)), None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply has come yet."""
        return self.end is None and not self.broken("").content

    def broken(self, word: str) -> Reply:
        """The reply as far as it came. ``word`` says what broke it."""
        pieces = _Pieces()
        for event in self._events:
            pieces.add(event)
        return Reply(tuple([piece.part() for piece in pieces.all]), "error", word)


class _Pieces:
    """Events into the parts of a reply."""

    def __init__(self) -> None:
        self.all: list[_Piece] = []
        self._calls: dict[int, _Piece] = {}

    def add(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text) | ReasoningDelta(text):
                if not self.all or self.all[-1].kind is not type(event):
                    self.all.append(_Piece(type(event)))
                self.all[-1].texts.append(text)
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

    def part(self) -> Text | Reasoning | Call:
        text = "".join(self.texts)
        if self.call is None:
            return Text(text) if self.kind is TextDelta else Reasoning(text)
        if self.ended:
            return self.call
        return Call(id=self.call.id, name=self.call.name, arguments=text, truncated=True)
