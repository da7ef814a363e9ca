"""Evals: ask a model questions with known correct calls, without running anything.

``load_cases`` reads them, ``evaluate`` asks, ``compare`` tests whether one configuration is worse than
another, and ``trajectory`` judges whole runs that a journal holds.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.evals import checks
    from rightcall.evals.asking import evaluate
    from rightcall.evals.case import Case, Expected
    from rightcall.evals.cases_file import load_cases, parameters
    from rightcall.evals.catalogue import load_catalogue, with_distractors
    from rightcall.evals.comparing import Comparison, compare
    from rightcall.evals.intervals import Share, mcnemar
    from rightcall.evals.page import html_report
    from rightcall.evals.recorded_runs import (
        Check,
        Trajectory,
        check_runs,
        trajectories,
        trajectory,
    )
    from rightcall.evals.rules_trial import Trial, TriedCall, try_rules
    from rightcall.evals.scores import Scores
    from rightcall.evals.verdict import Verdict, judge

__all__ = [
    "Case",
    "Check",
    "Comparison",
    "Expected",
    "Scores",
    "Share",
    "Trajectory",
    "Trial",
    "TriedCall",
    "Verdict",
    "check_runs",
    "checks",
    "compare",
    "evaluate",
    "html_report",
    "judge",
    "load_cases",
    "load_catalogue",
    "mcnemar",
    "parameters",
    "trajectories",
    "trajectory",
    "try_rules",
    "with_distractors",
]

lazily(
    __name__,
    {
        "Case": "evals.case",
        "Check": "evals.recorded_runs",
        "Comparison": "evals.comparing",
        "Expected": "evals.case",
        "Scores": "evals.scores",
        "Share": "evals.intervals",
        "Trajectory": "evals.recorded_runs",
        "Trial": "evals.rules_trial",
        "TriedCall": "evals.rules_trial",
        "Verdict": "evals.verdict",
        "check_runs": "evals.recorded_runs",
        "checks": "evals.checks",
        "compare": "evals.comparing",
        "evaluate": "evals.asking",
        "html_report": "evals.page",
        "judge": "evals.verdict",
        "load_cases": "evals.cases_file",
        "load_catalogue": "evals.catalogue",
        "mcnemar": "evals.intervals",
        "parameters": "evals.cases_file",
        "trajectories": "evals.recorded_runs",
        "trajectory": "evals.recorded_runs",
        "try_rules": "evals.rules_trial",
        "with_distractors": "evals.catalogue",
    },
)
