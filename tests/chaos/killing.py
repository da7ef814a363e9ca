"""A run that is killed at random times until it is done: what it came to, in figures."""

import random

from chaos.workers import KILLED, Figures, RunFiles, judge

TOOL_SECONDS = 0.004
LONGEST = 0.04
"""About what the run takes, so that kills fall everywhere in it."""
MOST_KILLS = 12


def kill_at_random(run: RunFiles, chance: random.Random) -> Figures:
    """Start a run, kill it, recover it, kill that; at last let it end."""
    kills = 0
    while True:
        is_last = kills >= MOST_KILLS
        # A process that was killed before its first entry has left no run to recover.
        what = "recover" if run.path.exists() and run.entries() else "run"
        options = {} if is_last else {"kill_in": chance.uniform(0.0, LONGEST)}
        end = run.start(what, slow=TOOL_SECONDS, **options)
        if end.code == KILLED:
            kills += 1
        else:
            assert end.code == 0, f"ended with {end.code}"
            assert end.said.startswith("end:"), end.said
            return judge(run, kills)
