"""What is to become of a checked call, before anyone is asked."""

from toolwright.core.call import CheckedCall
from toolwright.core.decision import Allow, Ask, Decision
from toolwright.loop.setup import Policy


def decision_for(checked: CheckedCall, policy: Policy | None) -> Decision | None:
    """The tool's own wish and the policy's word; None when the call may simply run.

    A tool that requires approval is asked about even where the policy would allow it; a policy can be
    stricter than the tool, not laxer.
    """
    decision = None if policy is None else policy(checked)
    if decision is None or isinstance(decision, Allow):
        return Ask() if checked.tool.approval else None
    return decision
