"""Builds the reply from an interaction's steps: as they arrive, their events, and the Reply.

A call that the token limit cut off gets its end event like any other, so a CallEnd waits for proof that
the model went on after the call.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

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
from rightcall.core.message import Citation, Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Call, Media, Text, Usage, media_kind
from rightcall.errors import ProtocolError
from rightcall.wire.gemini_interactions.tables import CONTENT, NAME, STOPS
from rightcall.wire.payload import count_in, mapping, own_bag, present, sequence, text_in, without
from rightcall.wire.reply_extras import parse_byte_annotations

_KNOWN = ("type", "mime_type", "data", "uri")


def media_in(content: Mapping[str, Any]) -> Media | None:
    """The media that the model made; None if sending them back would change them."""
    kind = content.get("mime_type")
    given = content.get("data")
    place = content.get("uri")
    if not isinstance(kind, str) or CONTENT.get(media_kind(kind)) != content.get("type"):
        return None
    more = {}
    for key, value in content.items():
        if key not in _KNOWN:
            more[key] = value
    vendor = own_bag(NAME, more)
    if isinstance(place, str) and place and not given:
        return Media(media_type=kind, url=place, vendor=vendor)
    if not isinstance(given, str) or place:
        return None
    try:
        data = b64decode(given, validate=True)
    except ValueError:
        return None
    if b64encode(data).decode() == given:
        return Media(data, kind, vendor=vendor)
    return None


Part: TypeAlias = Text | Reasoning | Call | Media | Unknown
Index: TypeAlias = int | None

_LISTS = {"model_output": "content", "thought": "summary"}
"""The member that holds the content of each kind of step that grows."""
_FLOWS = ("audio",)
"""Content types whose pieces are joined."""


class StepContent:
    """One content of a step, which arrives in pieces."""

    __slots__ = ("fields", "pieces")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = dict(fields)
        self.pieces: list[str] = []
        """Pieces of its text or data."""

    @property
    def whole(self) -> dict[str, Any]:
        """The complete content."""
        member = "data"
        if self.fields.get("type") == "text":
            member = "text"
        if self.pieces:
            return {**self.fields, member: "".join(self.pieces)}
        return self.fields


class InteractionStep:
    """One step while it arrives."""

    __slots__ = ("call", "fields", "is_open", "items", "kind", "pieces")

    def __init__(self, fields: Mapping[str, Any], call: int = -1) -> None:
        self.fields = dict(fields)
        self.kind = str(self.fields.get("type") or "")
        self.call = call
        """The index among the reply's calls; -1 if it is not a call."""
        self.pieces: list[str] = []
        """Pieces of a call's arguments."""
        self.items: list[StepContent] = []
        self.is_open = True

    def parts(self, *, cut: bool) -> Iterator[Part]:
        """The parts of the step. ``cut``: a call that nothing followed may be incomplete."""
        match self.kind:
            case "function_call":
                yield self.as_call(truncated=cut and self.is_open)
            case "thought":
                yield self._thought()
            case "model_output":
                yield from map(_content, self.items)
            case _:
                yield Unknown({NAME: {"step": self.fields}})

    def as_call(self, *, truncated: bool = False) -> Call:
        """The step as a call."""
        known = ("type", "id", "name", "arguments")
        beside = {}
        for key, value in self.fields.items():
            if key not in known:
                beside[key] = value
        return Call(
            id=text_in(self.fields.get("id")),
            name=text_in(self.fields.get("name")),
            arguments="".join(self.pieces),
            truncated=truncated,
            vendor={NAME: beside},
        )

    def _thought(self) -> Reasoning:
        summary = [item.whole for item in self.items]
        texts = [text_in(item.get("text")) for item in summary]
        bag = without(self.fields, "type", "summary")
        if any(item.keys() != {"type", "text"} for item in summary):
            bag["summary"] = summary
        return Reasoning("".join(texts), {NAME: bag})


class ReplyBuilder:
    """Builds the reply of one interaction."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_done = False
        self._steps: list[InteractionStep] = []
        self._at: dict[Index, InteractionStep] = {}
        self._calls = 0
        self._closed: list[InteractionStep] = []
        """Ended calls that nothing has followed yet."""
        self._bag: dict[str, Any] = {}
        self._model = ""
        self._counts: Mapping[str, Any] = {}

    @property
    def is_begun(self) -> bool:
        """Whether any step has arrived."""
        return bool(self._steps)

    def note(self, said: Mapping[str, Any]) -> None:
        """Update the interaction's own members: its id, its model, its usage so far."""
        for member in ("id", "continuation_token", "service_tier"):
            if value := said.get(member):
                self._bag[member] = value
        self._model = text_in(said.get("model")) or self._model
        self._counts = mapping(said.get("usage")) or self._counts

    def start(self, index: Index, fields: Mapping[str, Any], arguments: str = "") -> None:
        """Begin a step, which may be complete already. ``arguments``: those of a call, as text."""
        self._go_on()
        is_call = fields.get("type") == "function_call"
        step = self._at[index] = InteractionStep(fields, self._calls if is_call else -1)
        self._steps.append(step)
        if is_call:
            self._calls += 1
            begun = step.as_call()
            vendor = begun.vendor if begun.vendor[NAME] else {}
            self.events.append(CallStart(step.call, begun.name, begun.id, vendor))
            self.json(index, arguments)
        for content in sequence(fields.get(_LISTS.get(step.kind, ""))):
            self.content(step, mapping(content))

    def text(self, index: Index, piece: str) -> None:
        """Add to the model's text."""
        self.content(self._growing_step(index, "model_output"), {"type": "text", "text": piece})

    def json(self, index: Index, piece: str) -> None:
        """Add to a call's arguments."""
        if not piece:
            return
        step = self._at.get(index)
        if step is None or step.call < 0 or not step.is_open:
            raise ProtocolError(f"{NAME}: arguments at index {index}, where no call is open")
        step.pieces.append(piece)
        self.events.append(CallDelta(step.call, piece))

    def add(self, index: Index, delta: Mapping[str, Any]) -> None:
        """Add a delta to a step."""
        match delta.get("type"):
            case "text" | "image" | "audio" | "video" | "document":
                self.content(self._growing_step(index, "model_output"), delta)
            case "text_annotation_delta":
                step = self._growing_step(index, "model_output")
                if not step.items:
                    self.content(step, {"type": "text", "text": ""})
                step.items[-1].fields.setdefault("annotations", []).extend(
                    sequence(delta.get("annotations"))
                )
            case "thought_summary":
                self.content(self._growing_step(index, "thought"), mapping(delta.get("content")))
            case "thought_signature":
                fields = self._growing_step(index, "thought").fields
                fields["signature"] = text_in(fields.get("signature")) + text_in(delta.get("signature"))
            case "arguments_delta":
                self.json(index, text_in(delta.get("arguments")))
            case kind:
                fields = self._growing_step(index, text_in(kind)).fields
                for key, value in delta.items():
                    before = fields.get(key)
                    if isinstance(before, list) and isinstance(value, list):
                        before.extend(value)
                    elif key != "type":
                        fields[key] = value

    def content(self, step: InteractionStep, content: Mapping[str, Any]) -> None:
        """Add content to a step: to its last content if the two belong together."""
        kind = text_in(content.get("type"))
        member = "text" if kind == "text" else "data"
        rest = present(without(content, member))
        last = step.items[-1] if step.items else None
        if last is None or not _goes_on(last.fields, rest):
            last = StepContent(rest)
            step.items.append(last)
        piece = content.get(member)
        if not isinstance(piece, str) or not piece:
            return
        last.pieces.append(piece)
        if kind == "text":
            said = ReasoningDelta if step.kind == "thought" else TextDelta
            self.events.append(said(piece))

    def close(self, index: Index) -> None:
        """End a step."""
        step = self._at.get(index)
        if step is not None and step.call >= 0 and step.is_open and step not in self._closed:
            self._closed.append(step)
        elif step is not None and step.kind == "thought" and step.is_open:
            step.is_open = False
            (thought,) = step.parts(cut=False)
            if isinstance(thought, Reasoning) and thought.vendor[NAME]:
                self.events.append(ReasoningEnd(thought))

    def end(self, word: str) -> None:
        """Finish the interaction with its status."""
        stop: StopReason = STOPS.get(word, "error")
        cut = stop not in ("end", "calls")
        for step in self._steps:
            if step.call >= 0 and step.is_open and not (cut and step is self._steps[-1]):
                self._end_call(step)
        if stop in ("end", "calls"):
            if self._calls:
                stop = "calls"
            elif word == "completed":
                stop = "end"
            else:
                stop = "error"
        parts = []
        for step in self._steps:
            for part in step.parts(cut=cut):
                if not isinstance(part, Text) or part.text:
                    parts.append(part)
        content = tuple(parts)
        reply = Reply(
            content,
            stop,
            word,
            usage(self._counts),
            self._model,
            own_bag(NAME, self._bag),
            citations=_citations(content),
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _growing_step(self, index: Index, kind: str) -> InteractionStep:
        if self._closed:
            self._go_on()
        step = self._at.get(index)
        if step is None or step.kind != kind:
            self.start(index, {"type": kind})
            step = self._at[index]
        return step

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for step in self._closed:
            self._end_call(step)
        self._closed.clear()

    def _end_call(self, step: InteractionStep) -> None:
        if not step.pieces:
            # The empty object that the step began with was the complete arguments.
            step.pieces.append("{}")
            self.events.append(CallDelta(step.call, "{}"))
        step.is_open = False
        self.events.append(CallEnd(step.call, step.as_call()))


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts; it counts thoughts, and what tools put into the prompt, separately."""
    thought = count_in(counts, "total_thought_tokens")
    return Usage(
        input_tokens=count_in(counts, "total_input_tokens") + count_in(counts, "total_tool_use_tokens"),
        output_tokens=count_in(counts, "total_output_tokens") + thought,
        cached_tokens=count_in(counts, "total_cached_tokens"),
        reasoning_tokens=thought,
    )


def _goes_on(before: Mapping[str, Any], rest: Mapping[str, Any]) -> bool:
    """Whether a content continues the one before it."""
    kind = rest.get("type")
    if kind == "text":
        # A content with annotations is complete; the next one is another.
        return before.get("type") == "text" and len(rest) == 1 and "annotations" not in before
    return kind in _FLOWS and before.get("mime_type") == rest.get("mime_type")


def _content(item: StepContent) -> Part:
    said = item.whole
    if said.get("type") == "text":
        more = {}
        for key, value in said.items():
            if key not in ("type", "text") and value:
                more[key] = value
        return Text(text_in(said.get("text")), own_bag(NAME, more))
    return media_in(said) or Unknown({NAME: {"content": said}})


def _citations(content: tuple[Part, ...]) -> tuple[Citation, ...]:
    found: list[Citation] = []
    before = 0
    for part in content:
        if isinstance(part, Text):
            annotations = mapping(part.vendor.get(NAME)).get("annotations")
            if annotations:
                found += parse_byte_annotations(annotations, part.text, before)
            before += len(part.text)
    return tuple(found)
