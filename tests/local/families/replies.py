"""Reading a reply at one cut or at all of them, and what came of it as plain values."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
)
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Call, Text
from rightcall.core.tool import Spec
from rightcall.local.families.draft import Part
from rightcall.local.families.family import (
    Family,
    GemmaForm,
    NamedForm,
    NestedForm,
    TagForm,
)
from rightcall.local.families.reader import Reader

SPECS = (
    Spec(
        name="get_time",
        description="The time in a city.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}},
    ),
    Spec(
        name="add",
        description="Adds.",
        parameters={
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "number"},
                "note": {"type": ["string", "null"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "place": {"type": "object", "properties": {"x": {"type": "integer"}}},
            },
        },
    ),
)


def read(
    family: Family, pieces: Iterable[str], specs: tuple[Spec, ...] = SPECS, **options: Any
) -> tuple[Part, ...]:
    """The parts of a reply that comes in these pieces. Its events must tell the same."""
    reader = Reader(family, specs, **options)
    events: list[ModelEvent] = []
    for piece in pieces:
        events += reader.feed(piece)
    events += reader.finish()
    check_events(events, reader.content)
    return reader.content


def check_events(events: list[ModelEvent], parts: tuple[Part, ...]) -> None:
    """The events are the parts, unfolded; none is empty."""
    calls = [part for part in parts if isinstance(part, Call)]
    texts = [event for event in events if isinstance(event, TextDelta)]
    thoughts = [event for event in events if isinstance(event, ReasoningDelta)]
    deltas = [event for event in events if isinstance(event, CallDelta)]
    assert all(event.text for event in (*texts, *thoughts, *deltas))
    assert "".join(e.text for e in texts) == "".join(p.text for p in parts if isinstance(p, Text))
    assert "".join(e.text for e in thoughts) == "".join(
        p.text for p in parts if isinstance(p, Reasoning)
    )
    starts = [(event.index, event.name) for event in events if isinstance(event, CallStart)]
    assert starts == [(index, call.name) for index, call in enumerate(calls)]
    for index, call in enumerate(calls):
        assert "".join(event.text for event in deltas if event.index == index) == call.arguments
    ends = [event.call for event in events if isinstance(event, CallEnd)]
    assert ends == [call for call in calls if not call.truncated]


def cuts(text: str) -> Iterator[list[str]]:
    """The text letter by letter, and in two pieces at every place."""
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


def at_every_cut(family: Family, text: str, **options: Any) -> tuple[Part, ...]:
    """What a reply says, which must be the same at every cut."""
    whole = read(family, [text], **options)
    for pieces in cuts(text):
        assert read(family, pieces, **options) == whole, pieces
    return whole


def said(parts: tuple[Part, ...]) -> tuple[str, str, list[tuple[str, Any]]]:
    """The answer, the thoughts, and the calls with their arguments as values."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    calls = [(part.name, loaded(part.arguments)) for part in parts if isinstance(part, Call)]
    return text, thought, calls


def loaded(arguments: str) -> Any:
    """The value of a JSON text; a text that is none stays one."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def everything(parts: tuple[Part, ...]) -> str:
    """All that came out, in one text."""
    return "".join(map(_written, parts))


def _written(part: Part) -> str:
    match part:
        case Call():
            return f"{part.id}{part.name}{part.arguments}"
        case Unknown():
            return str(part.vendor)
        case _:
            return part.text


def markers_of(family: Family) -> list[str]:
    """Everything that means something in a family."""
    found = [*family.wrappers, *family.ends, *family.turn]
    for pair in (family.section, family.call, family.thoughts, family.citations):
        found += [*pair.open, *pair.close]
    match family.form:
        case NamedForm(marks=marks):
            found += [mark for mark, _ in marks]
        case TagForm() as form:
            found += [form.name_close, form.key_open, form.key_close, form.value_open, form.value_close]
        case NestedForm(prefix=marker) | GemmaForm(quote=marker):
            found.append(marker)
        case _:
            pass
    if family.channels is not None:
        heads = (family.channels.start, family.channels.message, family.channels.channel)
        found += [*heads, *family.channels.ends, " to=functions.add", " to=user", "analysis", "final"]
    return [marker for marker in found if marker]
