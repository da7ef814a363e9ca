"""Which calls run together: runs of independent calls, with serial ones as barriers between them."""

from collections.abc import Sequence

from toolwright.core.call import CheckedCall


def plan(calls: Sequence[object]) -> list[list[int]]:
    """The stages to run one after the other, as positions in ``calls``, in the model's order.

    Calls of one stage run at once. What is not a checked call is in no stage.
    """
    stages: list[list[int]] = []
    barrier = True
    for position, call in enumerate(calls):
        if isinstance(call, CheckedCall):
            if barrier or call.tool.serial:
                stages.append([])
            stages[-1].append(position)
            barrier = call.tool.serial
    return stages
