"""Calls that may run into the stages in which they do."""

from collections.abc import Sequence
from typing import TypeAlias

from rightcall.core.call import CheckedCall

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
