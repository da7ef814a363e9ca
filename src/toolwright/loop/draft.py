"""A reply's events into the reply as far as it came: what is left when a stream breaks."""

from toolwright.core.call import Call
from toolwright.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from toolwright.core.message import Reasoning, Reply
from toolwright.core.parts import Text


class Draft:
    """Collects events. Adding one costs the same however much came before."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        """The finished reply, once its end has come."""
        self.raw: bytes | None = None
        self._parts: list[_Piece] = []
        self._calls: dict[int, _Piece] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply has come yet."""
        return not self._parts and self.reply is None

    def add(self, event: ModelEvent) -> None:
        """Take the next event."""
        kind = type(event)
        if kind is TextDelta or kind is ReasoningDelta:
            if not self._parts or self._parts[-1].kind is not kind:
                self._parts.append(_Piece(kind))
            self._parts[-1].texts.append(event.text)  # type: ignore[union-attr]
        else:
            self._add_call(event)

    def broken(self, word: str) -> Reply:
        """The reply as far as it came. ``word`` says what broke it."""
        return Reply(tuple(piece.part() for piece in self._parts), "error", word)

    def _add_call(self, event: ModelEvent) -> None:
        match event:
            case CallStart(index, name, call_id):
                piece = self._calls[index] = _Piece(CallStart, Call(id=call_id, name=name))
                self._parts.append(piece)
            case CallDelta(index, text) if index in self._calls:
                self._calls[index].texts.append(text)
            case CallEnd(index, call):
                if index not in self._calls:
                    self._calls[index] = _Piece(CallStart, call)
                    self._parts.append(self._calls[index])
                self._calls[index].call = call
                self._calls[index].ended = True
            case ReplyEnd(reply, raw):
                self.reply, self.raw = reply, raw
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
