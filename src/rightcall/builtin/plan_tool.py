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
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
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
_PARAMETERS: JsonObject = object_schema(
    ["steps"],
    steps={
        "type": "array",
        "items": object_schema(
            ["text", "status"],
            text={"type": "string", "description": "What is to be done, in a few words."},
            status={"type": "string", "enum": list(_MARKS)},
        ),
    },
)


class PlanStep(Struct, frozen=True, gc=False):
    """One step of a plan."""

    text: str
    status: Status


class _PlanArguments(Struct):
    steps: tuple[PlanStep, ...]


@check_keywords("rc.builtin.plan")
def plan(*, name: str = "plan", description: str = _DESCRIPTION) -> Tool:
    """A tool with which a model keeps a plan. ``plan_in`` reads it from a transcript."""

    async def handler(steps: Sequence[dict[str, Any]]) -> str:
        planned = msgspec.convert(steps, tuple[PlanStep, ...])
        if not 0 < len(planned) <= MAX_STEPS:
            raise ToolFailure(f"A plan has 1 to {MAX_STEPS} steps, not {len(planned)}.")
        lines = []
        current = []
        for number, step in enumerate(planned, start=1):
            if not step.text.strip() or len(step.text) > MAX_CHARACTERS:
                raise ToolFailure(f"Step {number} must have 1 to {MAX_CHARACTERS} characters.")
            lines.append(f"{number}. {_MARKS[step.status]} {' '.join(step.text.split())}")
            if step.status == "in_progress":
                current.append(str(number))
        if len(current) > 1:
            raise ToolFailure(
                f"Only one step at a time is in_progress; here are {len(current)}: {', '.join(current)}."
            )
        done = sum(step.status == "done" for step in planned)
        return "\n".join([*lines, f"{done} of {len(planned)} done."])

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


@check_keywords("rc.builtin.plan_in")
def plan_in(messages: Iterable[Message], *, name: str = "plan") -> tuple[PlanStep, ...]:
    """The steps of the last accepted plan; empty if there is none."""
    steps: tuple[PlanStep, ...] = ()
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
