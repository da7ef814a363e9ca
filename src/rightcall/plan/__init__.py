"""Plan mode: a program written before any untrusted text is read, whose values know their sources."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.plan.checking import PlannedCall, Program, check
    from rightcall.plan.parse import PlanProblem

__all__ = ["PlanProblem", "PlannedCall", "Program", "check"]

lazily(
    __name__,
    {
        "PlanProblem": "plan.parse",
        "PlannedCall": "plan.checking",
        "Program": "plan.checking",
        "check": "plan.checking",
    },
)
