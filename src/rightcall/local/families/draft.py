"""What a reply is found to say, piece by piece, into its events and its parts.

Space between the parts belongs to none of them: what stands around a thought, before the answer begins,
and between calls. Space inside of the answer stays, even where a call stands between.
"""

from typing import Literal, TypeAlias

from rightcall.core.call import Call
from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent, ReasoningDelta, TextDelta
from rightcall.core.message import Reasoning
from rightcall.core.parts import Text

Part: TypeAlias = Text | Reasoning | Call
_Kind: TypeAlias = Literal["", "text", "thought", "call"]


class Draft:
    """The parts of one reply under way."""

    __slots__ = ("_calls", "_id", "_kind", "_name", "_parts", "_pieces", "_spaces", "events", "has_text")

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        self._parts: list[Part] = []
        self._kind: _Kind = ""
        self._pieces: list[str] = []
        self._spaces: list[str] = []
        """Space that is part of the reply only if more follows."""
        self._calls = 0
        self.has_text = False
        self._name = ""
        self._id = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts so far; the one that is still open as far as it goes."""
        return (*self._parts, *self._open())

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said yet."""
        return not self._kind

    def take(self) -> tuple[ModelEvent, ...]:
        """The events since the last time."""
        events, self.events = self.events, []
        return tuple(events)

    def forget_space(self) -> None:
        """Space so far stands before the reply and is no part of it."""
        self._spaces = []

    def text(self, piece: str) -> None:
        """A piece of the answer."""
        if self._kind != "text":
            if not piece or piece.isspace():
                self._spaces.append(piece)
                return
            piece = "".join((*self._spaces, piece))
            if self._kind != "" and not self.has_text:
                piece = piece.lstrip()
            self.has_text = True
            self._begin("text")
        elif not piece:
            return
        self._pieces.append(piece)
        self.events.append(TextDelta(piece))

    def thought(self, piece: str) -> None:
        """A piece of what the model thinks."""
        if not piece or piece.isspace():
            if self._kind == "thought":
                self._spaces.append(piece)
            return
        if self._kind != "thought":
            piece = piece.lstrip()
            self._begin("thought")
        whole = "".join((*self._spaces, piece))
        bare = whole.rstrip()
        self._spaces = [whole[len(bare) :]]
        self._pieces.append(bare)
        self.events.append(ReasoningDelta(bare))

    def start(self, name: str, identity: str = "") -> None:
        """A call begins."""
        self._begin("call")
        self._name, self._id = name, identity
        self.events.append(CallStart(self._calls, name, identity))

    def arguments(self, piece: str) -> None:
        """A piece of the arguments of the call that has begun."""
        if piece:
            self._pieces.append(piece)
            self.events.append(CallDelta(self._calls, piece))

    def end(self, identity: str = "") -> None:
        """The call is complete. Some families write the id last."""
        self._id = self._id or identity
        call = Call(id=self._id, name=self._name, arguments="".join(self._pieces))
        self.events.append(CallEnd(self._calls, call))
        self._parts.append(call)
        self._close()

    def cut(self, identity: str = "") -> None:
        """The reply stopped inside of the call."""
        self._id = self._id or identity
        self._parts.extend(self._open())
        self._close()

    def _close(self) -> None:
        self._calls += 1
        self._pieces = []
        self._name = ""

    def _begin(self, kind: _Kind) -> None:
        """Another part: what is open is complete."""
        if self._kind != "call":
            self._parts.extend(self._open())
        self._pieces = []
        self._kind = kind
        self._spaces = []

    def _open(self) -> list[Part]:
        text = "".join(self._pieces)
        match self._kind:
            case "text":
                return [Text(text)] if text else []
            case "thought":
                return [Reasoning(text)] if text else []
            case "call" if self._name:
                return [Call(id=self._id, name=self._name, arguments=text, truncated=True)]
            case _:
                return []
