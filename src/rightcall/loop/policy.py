"""What is to become of a checked call, before anyone is asked."""

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Allow, Answer, Ask, Deny, Rewrite
from rightcall.loop.setup import Policy
from rightcall.trust.guard import Finding, Guard


def decision_for(
    checked: CheckedCall, policy: Policy | None, guard: Guard | None = None, *, early: bool = False
) -> Finding:
    """The tool's own wish, the policy's word and the rules of trust; the strictest of them counts.

    A tool that requires approval is asked about even where the policy would allow it; a policy can be
    stricter than the tool, not laxer. What is rewritten is looked at again, as it will be run.
    """
    decision = None if policy is None else policy(checked)
    if isinstance(decision, Deny | Answer | Rewrite):
        return Finding(decision=decision)
    finding = Finding() if guard is None else guard.judge(checked, early=early)
    if isinstance(finding.decision, Deny | Ask | Rewrite):
        return finding
    if isinstance(decision, Ask) or checked.tool.approval:
        asked = decision if isinstance(decision, Ask) else Ask()
        return Finding(decision=asked, reason=asked.reason, evidence=finding.evidence)
    return finding


def reviewed(checked: CheckedCall, guard: Guard | None) -> Finding:
    """What is to become of a call whose arguments a policy has put in place."""
    finding = Finding() if guard is None else guard.review(checked)
    if checked.tool.approval and isinstance(finding.decision, Allow | None):
        return Finding(decision=Ask(), evidence=finding.evidence)
    return finding
