"""Builds the reply from an interaction's steps: as they arrive, their events, and the Reply.

A call that the token limit cut off gets its end event like any other, so a CallEnd waits for proof that
the model went on after the call.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from rightcall.core.call import Call
from rightcall.core.citation import Citation
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
from rightcall.wire.citations import annotated_bytes
from rightcall.wire.encoding import mapping, sequence
from rightcall.wire.gemini_interactions.made import media_in
from rightcall.wire.gemini_interactions.tables import NAME, STOPS

Part: TypeAlias = Text | Reasoning | Call | Media | Unknown
Index: TypeAlias = int | None

_LISTS = {"model_output": "content", "thought": "summary"}
"""The member that holds the content of each kind of step that grows."""
_FLOWS = ("audio",)
"""Content types whose pieces are joined."""


class Item:
    """One content of a step, which arrives in pieces."""

    __slots__ = ("fields", "pieces")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = dict(fields)
        self.pieces: list[str] = []
        """Pieces of its text or data."""

    @property
    def whole(self) -> dict[str, Any]:
        """The complete content."""
        member = "text" if self.fields.get("type") == "text" else "data"
        return {**self.fields, member: "".join(self.pieces)} if self.pieces else self.fields


class Step:
    """One step while it arrives."""

    __slots__ = ("call", "fields", "is_open", "items", "kind", "pieces")

    def __init__(self, fields: Mapping[str, Any], call: int = -1) -> None:
        self.fields = dict(fields)
        self.kind = str(self.fields.get("type") or "")
        self.call = call
        """The index among the reply's calls; -1 if it is not a call."""
        self.pieces: list[str] = []
        """Pieces of a call's arguments."""
        self.items: list[Item] = []
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
        beside = {key: value for key, value in self.fields.items() if key not in known}
        return Call(
            id=_string(self.fields.get("id")),
            name=_string(self.fields.get("name")),
            arguments="".join(self.pieces),
            truncated=truncated,
            vendor={NAME: beside},
        )

    def _thought(self) -> Reasoning:
        summary = [item.whole for item in self.items]
        texts = [_string(item.get("text")) for item in summary]
        bag = {key: value for key, value in self.fields.items() if key not in ("type", "summary")}
        if any(item.keys() != {"type", "text"} for item in summary):
            bag["summary"] = summary
        return Reasoning("".join(texts), {NAME: bag})


class ReplyBuilder:
    """Builds the reply of one interaction."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_done = False
        self._steps: list[Step] = []
        self._at: dict[Index, Step] = {}
        self._calls = 0
        self._closed: list[Step] = []
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
        self._model = _string(said.get("model")) or self._model
        self._counts = mapping(said.get("usage")) or self._counts

    def start(self, index: Index, fields: Mapping[str, Any], arguments: str = "") -> None:
        """Begin a step, which may be complete already. ``arguments``: those of a call, as text."""
        self._go_on()
        is_call = fields.get("type") == "function_call"
        step = self._at[index] = Step(fields, self._calls if is_call else -1)
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
        self.content(self._grown(index, "model_output"), {"type": "text", "text": piece})

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
                self.content(self._grown(index, "model_output"), delta)
            case "text_annotation_delta":
                self._annotate(index, delta)
            case "thought_summary":
                self.content(self._grown(index, "thought"), mapping(delta.get("content")))
            case "thought_signature":
                fields = self._grown(index, "thought").fields
                fields["signature"] = _string(fields.get("signature")) + _string(delta.get("signature"))
            case "arguments_delta":
                self.json(index, _string(delta.get("arguments")))
            case kind:
                self._join(self._grown(index, _string(kind)), delta)

    def content(self, step: Step, content: Mapping[str, Any]) -> None:
        """Add content to a step: to its last content if the two belong together."""
        kind = _string(content.get("type"))
        member = "text" if kind == "text" else "data"
        rest = {key: value for key, value in content.items() if key != member and value is not None}
        last = step.items[-1] if step.items else None
        if last is None or not _goes_on(last.fields, rest):
            last = Item(rest)
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
            stop = "calls" if self._calls else "end" if word == "completed" else "error"
        parts = [part for step in self._steps for part in step.parts(cut=cut)]
        content = tuple([part for part in parts if not isinstance(part, Text) or part.text])
        reply = Reply(
            content,
            stop,
            word,
            usage(self._counts),
            self._model,
            {NAME: self._bag} if self._bag else {},
            citations=_citations(content),
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _grown(self, index: Index, kind: str) -> Step:
        if self._closed:
            self._go_on()
        step = self._at.get(index)
        if step is None or step.kind != kind:
            self.start(index, {"type": kind})
            step = self._at[index]
        return step

    def _annotate(self, index: Index, delta: Mapping[str, Any]) -> None:
        step = self._grown(index, "model_output")
        if not step.items:
            self.content(step, {"type": "text", "text": ""})
        step.items[-1].fields.setdefault("annotations", []).extend(sequence(delta.get("annotations")))

    def _join(self, step: Step, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            before = step.fields.get(key)
            if isinstance(before, list) and isinstance(value, list):
                before.extend(value)
            elif key != "type":
                step.fields[key] = value

    def _go_on(self) -> None:
        """The model went on, so the calls that ended before are complete."""
        for step in self._closed:
            self._end_call(step)
        self._closed.clear()

    def _end_call(self, step: Step) -> None:
        if not step.pieces:
            # The empty object that the step began with was the complete arguments.
            step.pieces.append("{}")
            self.events.append(CallDelta(step.call, "{}"))
        step.is_open = False
        self.events.append(CallEnd(step.call, step.as_call()))


def usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts; it counts thoughts, and what tools put into the prompt, separately."""

    def count(name: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) else 0

    return Usage(
        input_tokens=count("total_input_tokens") + count("total_tool_use_tokens"),
        output_tokens=count("total_output_tokens") + count("total_thought_tokens"),
        cached_tokens=count("total_cached_tokens"),
        reasoning_tokens=count("total_thought_tokens"),
    )


def _goes_on(before: Mapping[str, Any], rest: Mapping[str, Any]) -> bool:
    """Whether a content continues the one before it."""
    kind = rest.get("type")
    if kind == "text":
        # A content with annotations is complete; the next one is another.
        return before.get("type") == "text" and len(rest) == 1 and "annotations" not in before
    return kind in _FLOWS and before.get("mime_type") == rest.get("mime_type")


def _content(item: Item) -> Part:
    said = item.whole
    if said.get("type") == "text":
        more = {key: value for key, value in said.items() if key not in ("type", "text") and value}
        return Text(_string(said.get("text")), {NAME: more} if more else {})
    return media_in(said) or Unknown({NAME: {"content": said}})


def _citations(content: tuple[Part, ...]) -> tuple[Citation, ...]:
    found: list[Citation] = []
    before = 0
    for part in content:
        if isinstance(part, Text):
            annotations = mapping(part.vendor.get(NAME)).get("annotations")
            found += annotated_bytes(annotations, part.text, before) if annotations else ()
            before += len(part.text)
    return tuple(found)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
