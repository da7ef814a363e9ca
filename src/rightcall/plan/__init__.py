"""Plan mode: a program written before any untrusted text is read, whose values know their sources."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.plan.parse import PlanProblem as PlanProblem
    from rightcall.plan.plan_check import PlannedCall as PlannedCall
    from rightcall.plan.plan_check import Program as Program
    from rightcall.plan.plan_check import check as check

_HOMES = {
    "plan.parse": ("PlanProblem",),
    "plan.plan_check": ("PlannedCall", "Program", "check"),
}
lazily(__name__, index_homes(_HOMES))
