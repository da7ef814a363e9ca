"""The events of a run: noun, then Start, Delta or End.

A model yields the events of one reply, the last of which is ReplyEnd. An agent yields those of every
turn, the results between them, and RunEnd at the end.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from rightcall.core.handler import CallProgress
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reasoning, Reply, User
from rightcall.core.partial import PartialJson, PartialOutput
from rightcall.core.parts import Call, Result, Text
from rightcall.errors import ErrorKind


class TextDelta(Struct, frozen=True, gc=False, tag=True):
    """A piece of the answer."""

    text: str


class ReasoningDelta(Struct, frozen=True, gc=False, tag=True):
    """A piece of the model's reasoning."""

    text: str


class ReasoningEnd(Struct, frozen=True, gc=False, tag=True):
    """A thought is complete; only if its vendor needs it sent back.

    Code that forwards a reply while it streams needs it before what follows the thought.
    """

    reasoning: Reasoning


class CallStart(Struct, frozen=True, gc=False, tag=True):
    """The model starts a call. ``index`` distinguishes the calls of one reply."""

    index: int
    name: str
    id: str = ""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """The vendor's data to send back with the call, if it is known at the start."""


class CallDelta(Struct, frozen=True, gc=False, eq=False, tag=True):
    """A piece of a call's arguments."""

    index: int
    text: str
    so_far: PartialJson | None = None
    """A view of the arguments so far; costs nothing until it is read."""


class OutputDelta(Struct, frozen=True, gc=False, eq=False, tag=True):
    """A piece of the structured answer, however the model writes it; ``partial`` is it so far."""

    text: str
    """A piece of the answer's JSON."""
    index: int | None = None
    """The call that it is written into; None where the answer is the reply's text."""
    so_far: PartialOutput | None = None
    """A view of the answer so far; costs nothing until it is read."""

    @property
    def partial(self) -> Any:
        """The answer so far, as a part of its type: texts and lists grow, and nothing goes away again.

        None before there is any. It is the live object: copy it to keep it.
        """
        if self.so_far is None:
            return None
        return self.so_far.value


class CallEnd(Struct, frozen=True, gc=False, tag=True):
    """A call is complete, as the model wrote it."""

    index: int
    call: Call


class ReplyEnd(Struct, frozen=True, gc=False, tag=True):
    """The whole reply. Always the last event of a model's stream; without it the stream broke off."""

    reply: Reply
    raw: bytes | None = None
    """The vendor's own bytes, if they were requested; they go to the journal."""


class ModelChange(Struct, frozen=True, gc=False, tag=True):
    """A model failed before any part of its reply arrived, and another is asked instead."""

    failed: str
    """The name of the model that failed."""
    why: str
    model: str
    """The name of the model that is asked now."""


class RetryStart(Struct, frozen=True, gc=False, tag=True):
    """A request failed and is retried after a wait. No part of the reply has arrived yet."""

    attempt: int
    """The number of the next attempt: 2 for the first retry."""
    seconds: float
    """Seconds until the retry."""
    kind: ErrorKind
    reason: str
    """The error of the failed attempt, in words."""


class TurnStart(Struct, frozen=True, gc=False, tag=True):
    """The model is about to be asked."""

    turn: int


class CompactionStart(Struct, frozen=True, gc=False, tag=True):
    """Earlier messages are being summarised, because they take up too much of the model's context."""

    turn: int


class CompactionEnd(Struct, frozen=True, gc=False, tag=True):
    """Earlier messages were shortened or summarised; ``message`` is sent in their place."""

    message: User
    before: int
    """The tokens of the messages that would have been sent."""
    after: int
    """The tokens of those that are sent."""


class AgentChange(Struct, frozen=True, gc=False, tag=True):
    """The run was handed over: from here on another agent goes on in it."""

    agent: str
    """The name of the agent that goes on."""
    before: str
    """The name of the one before."""


class SubagentEvent(Struct, frozen=True, gc=False, tag=True):
    """An event of a subagent."""

    agent: str
    """The agent's name as a tool; ``writer/checker`` for a subagent of a subagent."""
    call_id: str
    """The id of the call that handed it the task."""
    event: "StreamEvent"


class ResultEnd(Struct, frozen=True, gc=False, tag=True):
    """A call has its result."""

    result: Result
    seconds: float = 0.0


class MessageEnd(Struct, frozen=True, gc=False, tag=True):
    """A message that was added to the run while it went on was given to the model."""

    message: User


ModelEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ReasoningEnd
    | CallStart
    | CallDelta
    | CallEnd
    | RetryStart
    | ReplyEnd
    | ModelChange
)
"""The events of one streamed reply."""
StreamEvent: TypeAlias = (
    ModelEvent
    | OutputDelta
    | TurnStart
    | CallProgress
    | ResultEnd
    | SubagentEvent
    | AgentChange
    | MessageEnd
    | CompactionStart
    | CompactionEnd
)
"""The events of a run; RunEnd follows at its end."""
Emit: TypeAlias = Callable[[StreamEvent], None]


def reply_events(reply: Reply, fragment: int | None = None) -> Iterator[ModelEvent]:
    """Yields the events that a reply streams as, in pieces of ``fragment`` characters, or whole."""
    index = 0
    for part in reply.content:
        match part:
            case Text(text):
                yield from (TextDelta(piece) for piece in _pieces(text, fragment))
            case Reasoning(text):
                yield from (ReasoningDelta(piece) for piece in _pieces(text, fragment))
                if part.vendor:
                    yield ReasoningEnd(part)
            case Call():
                yield CallStart(index, part.name, part.id, part.vendor)
                yield from (CallDelta(index, piece) for piece in _pieces(part.arguments, fragment))
                if not part.truncated:
                    yield CallEnd(index, part)
                index += 1
            case _:
                continue
    yield ReplyEnd(reply)


def _pieces(text: str, size: int | None) -> Iterator[str]:
    step = size or max(len(text), 1)
    return (text[at : at + step] for at in range(0, len(text), step))


def emit_to_both(emit: Emit, show: Emit) -> Emit:
    """Returns a function that passes each event to both."""

    def emit_both(event: StreamEvent) -> None:
        emit(event)
        show(event)

    return emit_both
