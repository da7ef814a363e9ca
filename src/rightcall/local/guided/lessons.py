"""What a small model is shown: one task, a few worked answers, then the question.

Everything it sees is a handful of short turns, because a model of this size copies what is near. The
worked answers of choosing and filling in come from the tools' own examples; those of telling are fixed,
and about nothing that the shipped tools do.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.message import Message, Reply, said
from rightcall.core.parts import Text
from rightcall.core.request import Request
from rightcall.core.tool import Spec

Shown: TypeAlias = tuple[str, str]
"""What the user says, and what the model should."""

NONE = "none"
"""What the model answers when no tool is needed."""

_SMALL_TALK: tuple[Shown, ...] = (("Good morning!", NONE), ("What is the longest river?", NONE))
_FIELDS: tuple[Shown, ...] = (
    ('{"name": "Ann", "height": "171 cm", "age": 34}\nHow tall is Ann?', "height"),
    ('{"item": "bag", "colour": "blue", "price": 25}\nWhat does the blue bag cost?', "price"),
    ('{"line": "R4", "from": "Bern", "departs": "14:05"}\nWhen does the train leave?', "departs"),
    ('{"title": "Budget", "room": "B12", "hour": "10:00"}\nWhere is the meeting?', "room"),
)
_TOLD: tuple[tuple[str, str, str], ...] = (
    ("How tall is Ann?", "171 cm", "Ann is 171 cm tall."),
    ("When does the train leave?", "14:05", "The train leaves at 14:05."),
    ("How many chairs are in B12?", "18", "There are 18 chairs in B12."),
)
_MOST_SHOWN = 2
"""Examples of one tool among others."""


def labels(specs: Sequence[Spec]) -> dict[str, str]:
    """What the model calls each tool: the last word of its name, where that is enough.

    A name that begins like a sentence, as ``get_weather``, would be chosen for how it begins.
    """
    short = [re.split(r"[_-]", spec.name)[-1] or spec.name for spec in specs]
    taken = [*short, NONE]
    return {
        spec.name: last if taken.count(last) == 1 else spec.name
        for spec, last in zip(specs, short, strict=True)
    }


def choosing(specs: Sequence[Spec], question: str) -> Request:
    """Asks which tool answers the question, by its label."""
    called = labels(specs)
    tools = "\n".join(f"{called[spec.name]}: {spec.short or spec.description}" for spec in specs)
    task = f"Choose the tool that answers the user, or {NONE}.\n{tools}\n{NONE}: No tool is needed."
    shown: list[Shown] = []
    for at in range(_MOST_SHOWN):
        shown.append(_SMALL_TALK[at])
        for spec in specs:
            shown += [(asked, called[spec.name]) for asked, _ in list(_examples(spec))[at : at + 1]]
    return _lesson(task, shown, question)


def filling(spec: Spec, question: str) -> Request:
    """Asks for the arguments."""
    about = spec.short or spec.description
    task = f"Write the arguments of {spec.name} as JSON.\n{spec.name}: {about}{_members(spec)}"
    return _lesson(task, [(asked, dump(given)) for asked, given in _examples(spec)], question)


def picking(question: str, value: JsonObject) -> Request:
    """Asks which member of a result answers the question."""
    return _lesson("Which field answers the question?", _FIELDS, f"{dump(value)}\n{question}")


def telling(question: str, value: str) -> Request:
    """Asks for the answer, given what the tool said."""
    task = "Answer the question with the result of the tool."
    shown = [(f"Question: {asked}\nResult: {result}", answer) for asked, result, answer in _TOLD]
    return _lesson(task, shown, f"Question: {question}\nResult: {value}")


def _examples(spec: Spec) -> Iterator[tuple[str, JsonObject]]:
    """The worked arguments, each with what a user would say for it."""
    for at, given in enumerate(spec.examples):
        if at < len(spec.questions):
            yield spec.questions[at], given
        else:
            yield _as_words(spec, given), given


def _as_words(spec: Spec, given: JsonObject) -> str:
    about = (spec.short or spec.description).rstrip(".")
    return f"{about}: {', '.join(map(_plain, given.values()))}" if given else about


def _members(spec: Spec) -> str:
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    lines = [
        f"\n{name}: {about['description']}"
        for name, about in properties.items()
        if isinstance(about, Mapping) and isinstance(about.get("description"), str)
    ]
    return "".join(lines)


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump(value)


def _lesson(task: str, shown: Sequence[Shown], question: str) -> Request:
    messages: list[Message] = []
    for asked, answer in shown:
        messages += [said(asked), Reply((Text(answer),))]
    return Request(messages=(*messages, said(question)), system=task)
