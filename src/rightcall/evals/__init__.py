"""Evals: ask a model questions with known correct calls, without running anything.

``load_cases`` reads them, ``evaluate`` asks, ``compare`` tests whether one configuration is worse than
another, and ``trajectory`` judges whole runs that a journal holds.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.evals import checks as checks
    from rightcall.evals.eval_files import load_cases as load_cases
    from rightcall.evals.eval_files import load_catalogue as load_catalogue
    from rightcall.evals.eval_files import parameters as parameters
    from rightcall.evals.eval_files import with_distractors as with_distractors
    from rightcall.evals.evaluation import evaluate as evaluate
    from rightcall.evals.judgement import Case as Case
    from rightcall.evals.judgement import Expected as Expected
    from rightcall.evals.judgement import Verdict as Verdict
    from rightcall.evals.judgement import judge as judge
    from rightcall.evals.recorded_runs import Check as Check
    from rightcall.evals.recorded_runs import Trajectory as Trajectory
    from rightcall.evals.recorded_runs import check_runs as check_runs
    from rightcall.evals.recorded_runs import trajectories as trajectories
    from rightcall.evals.recorded_runs import trajectory as trajectory
    from rightcall.evals.report import html_report as html_report
    from rightcall.evals.rules_trial import Trial as Trial
    from rightcall.evals.rules_trial import TriedCall as TriedCall
    from rightcall.evals.rules_trial import try_rules as try_rules
    from rightcall.evals.scores import Comparison as Comparison
    from rightcall.evals.scores import Scores as Scores
    from rightcall.evals.scores import Share as Share
    from rightcall.evals.scores import compare as compare
    from rightcall.evals.scores import mcnemar as mcnemar

_HOMES = {
    "evals.checks": ("checks",),
    "evals.eval_files": ("load_cases", "load_catalogue", "parameters", "with_distractors"),
    "evals.evaluation": ("evaluate",),
    "evals.judgement": ("Case", "Expected", "Verdict", "judge"),
    "evals.recorded_runs": ("Check", "Trajectory", "check_runs", "trajectories", "trajectory"),
    "evals.report": ("html_report",),
    "evals.rules_trial": ("Trial", "TriedCall", "try_rules"),
    "evals.scores": ("Comparison", "Scores", "Share", "compare", "mcnemar"),
}
lazily(__name__, index_homes(_HOMES))
