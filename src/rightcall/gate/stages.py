"""Groups the calls that may run into stages, which run one after the other."""

from collections.abc import Sequence
from typing import TypeAlias

from rightcall.core.call import CheckedCall

Stage: TypeAlias = list[tuple[int, CheckedCall]]
"""Calls that run at the same time, each with its position among all calls."""


def stages(calls: Sequence[object]) -> list[Stage]:
    """Returns the stages in the model's order: a serial call is a barrier.

    Only checked calls are in a stage.
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
