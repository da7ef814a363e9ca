"""Several processes at one run: one does the work, and the others are told so, or find it done."""

from chaos.worker import Job
from chaos.workers import Figures, RunFiles, judge
from rightcall.core.entry import Entry

SLOW = 0.01
"""Seconds that a tool takes, so that processes meet."""
REFUSALS = ("run_held: the run 'r' is held by ", "usage: the journal holds a run 'r' already")
DECIDED = "already_decided: "


def race(run: RunFiles, begun: list[Entry], *jobs: Job) -> tuple[Figures, int]:
    """Set processes on a run that was cut; what came of it, and how many of them were refused."""
    run.begin_from(begun)
    ends = run.start_all(*({"slow": SLOW, **job} for job in jobs))
    assert [end.code for end in ends] == [0] * len(jobs), ends
    went = [end.said for end in ends if end.said.startswith("end:")]
    refused = [end.said for end in ends if end.said.startswith((*REFUSALS, DECIDED))]
    assert len(went) + len(refused) == len(jobs), ends
    assert went, f"nobody came through: {ends}"
    assert len(set(went)) == 1, f"two came to different ends: {ends}"
    return judge(run), len(refused)
