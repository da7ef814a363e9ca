"""What became of a call, and which calls of a reply run together."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.call import Call, CheckedCall, Repair
from rightcall.core.outcome import Outcome
from rightcall.core.result import Result
from rightcall.gate.render import render


class Execution(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What became of one call."""

    call: Call
    outcome: Outcome
    result: Result
    seconds: float = 0.0
    """From the start of the first attempt to the outcome; waiting for a slot is not counted."""
    attempts: int = 0
    """How often the handler was started."""
    repairs: tuple[Repair, ...] = ()


def not_run(call: Call, outcome: Outcome) -> Execution:
    """What became of a call that was never started."""
    return Execution(call=call, outcome=outcome, result=render(call, outcome))


Stage: TypeAlias = list[tuple[int, CheckedCall]]
"""Calls that run at once, each with its position among all."""


def stages(calls: Sequence[object]) -> list[Stage]:
    """The stages to run one after the other, in the model's order: serial calls are barriers.

    What is not a checked call is in no stage.
    """
    found: list[Stage] = []
    barrier = True
    for position, call in enumerate(calls):
        if isinstance(call, CheckedCall):
            if barrier or call.tool.serial:
                found.append([])
            found[-1].append((position, call))
            barrier = call.tool.serial
    return found
