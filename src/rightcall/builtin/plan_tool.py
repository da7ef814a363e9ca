"""A plan that a model keeps: each call writes the whole plan, and the last in the transcript is current.

The tool has no state. A run that is resumed, replayed or trimmed has the plan of its transcript.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Message, Reply, Results
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure

Status: TypeAlias = Literal["pending", "in_progress", "done"]

MAX_STEPS = 50
MAX_CHARACTERS = 500
"""The most characters in one step."""

_MARKS: dict[Status, str] = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}
_DESCRIPTION = """\
Keep a plan for work of several steps. Each call writes the whole plan anew: all steps in order, each \
pending, in_progress or done. Write it before you begin, mark a step in_progress when you start on it, \
mark it done as soon as it is, and change the steps when you learn better. Not for work of one or two \
steps."""
_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "What is to be done, in a few words."},
                    "status": {"type": "string", "enum": list(_MARKS)},
                },
                "required": ["text", "status"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}


class Step(Struct, frozen=True, gc=False):
    """One step of a plan."""

    text: str
    status: Status


class _PlanArguments(Struct):
    steps: tuple[Step, ...]


@checked("rc.builtin.plan")
def plan(*, name: str = "plan", description: str = _DESCRIPTION) -> Tool:
    """A tool with which a model keeps a plan. ``plan_in`` reads it from a transcript."""

    async def handler(steps: Sequence[dict[str, Any]]) -> str:
        return _render(_checked(msgspec.convert(steps, tuple[Step, ...])))

    return Tool(
        name,
        description,
        _PARAMETERS,
        handler,
        short="Keep a plan.",
        errors="neutral",
        effect="pure",
        facts=Facts(untrusted=False, private=False, reach="nothing", targets=()),
    )


@checked("rc.builtin.plan_in")
def plan_in(messages: Iterable[Message], *, name: str = "plan") -> tuple[Step, ...]:
    """The steps of the last accepted plan; empty if there is none."""
    steps: tuple[Step, ...] = ()
    calls = {}
    for message in messages:
        if isinstance(message, Reply):
            calls = {call.id: call for call in message.calls if call.name == name}
        elif isinstance(message, Results):
            for result in message.results:
                if result.call_id in calls and not result.is_error:
                    steps = msgspec.json.decode(
                        calls[result.call_id].arguments, type=_PlanArguments
                    ).steps
    return steps


def _checked(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if not 0 < len(steps) <= MAX_STEPS:
        raise ToolFailure(f"A plan has 1 to {MAX_STEPS} steps, not {len(steps)}.")
    for number, step in enumerate(steps, start=1):
        if not step.text.strip() or len(step.text) > MAX_CHARACTERS:
            raise ToolFailure(f"Step {number} must have 1 to {MAX_CHARACTERS} characters.")
    current = [number for number, step in enumerate(steps, start=1) if step.status == "in_progress"]
    if len(current) > 1:
        numbers = ", ".join(map(str, current))
        raise ToolFailure(f"Only one step at a time is in_progress; here are {len(current)}: {numbers}.")
    return steps


def _render(steps: tuple[Step, ...]) -> str:
    lines = [
        f"{number}. {_MARKS[step.status]} {' '.join(step.text.split())}"
        for number, step in enumerate(steps, start=1)
    ]
    done = sum(step.status == "done" for step in steps)
    return "\n".join([*lines, f"{done} of {len(steps)} done."])
