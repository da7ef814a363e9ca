"""The gate that every call goes through: check -> decide -> run -> render."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core import outcome as outcome
    from rightcall.core.decision import Decision as Decision
    from rightcall.core.decision import FinalDecision as FinalDecision
    from rightcall.core.parts import Result as Result
    from rightcall.core.problem import Problem as Problem
    from rightcall.core.proposal import Proposal as Proposal
    from rightcall.core.tool import CheckedCall as CheckedCall
    from rightcall.gate.execution import Execution as Execution
    from rightcall.gate.executor import Executor as Executor
    from rightcall.gate.executor import check as check
    from rightcall.gate.hooks import Veto as Veto

lazily(
    __name__,
    {
        "CheckedCall": "core.tool",
        "Decision": "core.decision",
        "Execution": "gate.execution",
        "Executor": "gate.executor",
        "FinalDecision": "core.decision",
        "Problem": "core.problem",
        "Proposal": "core.proposal",
        "Result": "core.parts",
        "Veto": "gate.hooks",
        "check": "gate.executor",
        "outcome": "core.outcome",
    },
)
