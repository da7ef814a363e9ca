"""Which calls run together: runs of independent calls, with serial ones as barriers between them."""

from collections.abc import Sequence
from typing import TypeAlias

from rightcall.core.call import CheckedCall

Stage: TypeAlias = list[tuple[int, CheckedCall]]
"""Calls to run at once, each with its position among all."""


def plan(calls: Sequence[object]) -> list[Stage]:
    """The stages to run one after the other, in the model's order.

    What is not a checked call is in no stage.
    """
    stages: list[Stage] = []
    barrier = True
    for position, call in enumerate(calls):
        if isinstance(call, CheckedCall):
            if barrier or call.tool.serial:
                stages.append([])
            stages[-1].append((position, call))
            barrier = call.tool.serial
    return stages
