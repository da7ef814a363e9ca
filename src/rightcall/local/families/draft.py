"""The draft of a reply: turns what is parsed from its text into events and parts.

White space between the parts belongs to none of them: around a thought, before the answer, and between
calls. White space inside of the answer stays, even around a call.
"""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent, ReasoningDelta, TextDelta
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Call, Text

Part: TypeAlias = Text | Reasoning | Call | Unknown
_Kind: TypeAlias = Literal["", "text", "thought", "call", "aside"]

_FENCE = re.compile(r"\s*```[a-zA-Z]*[ \t]*\r?\n")
_FENCE_SO_FAR = re.compile(r"\s*(?:`{0,2}|```[a-zA-Z]*[ \t]*\r?)")
_TICKS = "```"
_FENCE_END = re.compile(r"\s*```\s*\Z")
_MAX_FENCE = 64


class FamilyReply:
    """The parts of a reply in progress."""

    __slots__ = ("_calls", "_id", "_kind", "_name", "_parts", "_pieces", "_spaces", "events", "has_text")

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        self._parts: list[Part] = []
        self._kind: _Kind = ""
        self._pieces: list[str] = []
        self._spaces: list[str] = []
        """White space that is part of the reply only if more follows."""
        self._calls = 0
        self.has_text = False
        self._name = ""
        self._id = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts so far, including the one that is still open."""
        return (*self._parts, *self._open())

    @property
    def open_text(self) -> str:
        """The text of the part that is still open, with the white space at its end."""
        return "".join((*self._pieces, *self._spaces))

    @property
    def is_empty(self) -> bool:
        """Whether it has no parts yet."""
        return not self._kind

    @property
    def called_name(self) -> str:
        """The name of the last started call."""
        last = next(event for event in reversed(self.events) if isinstance(event, CallStart))
        return last.name

    def before(self) -> Callable[[], None]:
        """Returns a function that undoes everything added from here on, unless its events were taken.

        Its cost does not depend on the draft's length: later additions go into lists of their own.
        """
        events = len(self.events)
        parts = len(self._parts)
        kept = (self._kind, self._pieces, self._spaces, self._calls, self._name, self._id, self.has_text)

        def undo() -> None:
            del self.events[events:]
            del self._parts[parts:]
            self._kind, self._pieces, self._spaces, self._calls = kept[:4]
            self._name, self._id, self.has_text = kept[4:]

        return undo

    def take(self) -> tuple[ModelEvent, ...]:
        """The events since the last call."""
        events = self.events
        self.events = []
        return tuple(events)

    def forget_space(self) -> None:
        """White space so far comes before the reply and is not part of it."""
        self._spaces = []

    def text(self, piece: str) -> None:
        """Add a piece of the answer."""
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
        """Add a piece of a thought."""
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
        """Start a call."""
        self._begin("call")
        self._name = name
        self._id = identity
        self.events.append(CallStart(self._calls, name, identity))

    def arguments(self, piece: str) -> None:
        """Add a piece of the current call's arguments."""
        if piece:
            self._pieces.append(piece)
            self.events.append(CallDelta(self._calls, piece))

    def end(self, identity: str = "") -> None:
        """Complete the call. Some families write the id last."""
        self._id = self._id or identity
        call = Call(id=self._id, name=self._name, arguments="".join(self._pieces))
        self.events.append(CallEnd(self._calls, call))
        self._parts.append(call)
        self._close()

    def cut(self, identity: str = "") -> None:
        """The reply ended inside of the call."""
        self._id = self._id or identity
        self._parts.extend(self._open())
        self._close()

    def open_aside(self, to: str) -> None:
        """Start a message that is neither for the user nor for an offered tool."""
        self._begin("aside")
        self._name = to

    def aside(self, piece: str) -> None:
        """Add a piece of such a message. It has no events; it is among the parts."""
        self._pieces.append(piece)

    def _close(self) -> None:
        self._calls += 1
        self._pieces = []
        self._name = ""

    def _begin(self, kind: _Kind) -> None:
        """Start another part: the open one is complete."""
        if self._kind != "call":
            self._parts.extend(self._open())
        self._pieces = []
        self._kind = kind
        self._spaces = []

    def _open(self) -> list[Part]:
        text = "".join(self._pieces)
        match self._kind:
            case "text" if text:
                return [Text(text)]
            case "thought" if text:
                return [Reasoning(text)]
            case "call" if self._name:
                return [Call(id=self._id, name=self._name, arguments=text, truncated=True)]
            case "aside":
                return [Unknown({"local": {"to": self._name, "text": text}})]
            case _:
                return []


class Fence:
    """Removes the code fence around an answer, however it is split. Without one, all of it stays."""

    def __init__(self) -> None:
        self._held = ""
        self._is_fenced: bool | None = None

    def feed(self, text: str) -> str:
        """The text that is certainly part of the answer."""
        text = self._held + text
        self._held = ""
        if self._is_fenced is None:
            opening = _FENCE.match(text, 0, _MAX_FENCE)
            if opening is None and len(text) < _MAX_FENCE and _FENCE_SO_FAR.fullmatch(text):
                self._held = text
                return ""
            self._is_fenced = opening is not None
            text = text[opening.end() :] if opening is not None else text
        if not self._is_fenced:
            return text
        bare = text.rstrip()
        ticks = len(bare) - len(bare.rstrip("`"))
        at = len(bare)
        if ticks <= len(_TICKS):
            at = len(bare[: at - ticks].rstrip())
        self._held = text[at:]
        return text[:at]

    def finish(self) -> str:
        """The text that was held back and is no fence."""
        held = self._held
        self._held = ""
        if self._is_fenced and _FENCE_END.fullmatch(held):
            return ""
        return held


class DraftWriter:
    """Adds answer and thoughts to the draft as the caller wants them.

    With ``reasoning`` off, thoughts are part of the answer, with their markers.
    """

    def __init__(self, draft: FamilyReply, *, reasoning: bool, fenced: bool) -> None:
        self._draft = draft
        self._reasoning = reasoning
        self._fence = Fence() if fenced else None
        self._pending = ""
        """The marker of a thought that the prompt opened, while the thought is empty."""
        self.at_line_start = True

    def add_answer(self, text: str) -> None:
        """Add a piece of the answer."""
        if not text:
            return
        is_space = text.isspace()
        self.at_line_start = text[-1] == "\n" or (is_space and (self.at_line_start or "\n" in text))
        self._draft.text(text if self._fence is None else self._fence.feed(text))

    def add_thought(self, text: str) -> None:
        """Add a piece of a thought."""
        if self._reasoning:
            self._draft.thought(text)
        elif self._pending and (not text or text.isspace()):
            self._pending += text
        else:
            self.add_answer(self._pending + text)
            self._pending = ""

    def open_thought(self, marker: str, *, in_prompt: bool) -> None:
        """Start a thought."""
        if self._reasoning:
            return
        if in_prompt:
            self._pending = marker
        else:
            self.add_answer(marker)

    def close_thought(self, marker: str, *, in_prompt: bool) -> None:
        """A thought was closed. One that the prompt both opens and closes is empty."""
        if not self._reasoning and not (in_prompt and self._pending):
            self.add_answer(self._pending + marker)
        self._pending = ""

    def leave_thought(self) -> None:
        """A thought ended without a closing marker."""
        self._pending = ""

    def stray(self, marker: str, *, in_prompt: bool) -> None:
        """A closing marker of a thought outside of any thought.

        At the beginning it closes one that the prompt opened; later it is just text.
        """
        if not self._draft.is_empty or not (self._reasoning or in_prompt):
            self.add_answer(marker)

    def finish(self) -> None:
        """The end of the reply."""
        if self._fence is not None:
            self._draft.text(self._fence.finish())
