"""Answer what a run waits for: python decide.py RUN yes, or python decide.py RUN no WHY"""

import sys

import rightcall as rc
from desk import make_desk

run, answer, *words = sys.argv[1:]
decision = rc.Allow() if answer == "yes" else rc.Deny(" ".join(words) or "A person said no.")
with rc.record.SqliteJournal("runs.db") as journal:
    desk = make_desk(journal=journal)
    result = desk.recover_sync(run)  # as it waits; or its answer, if it has ended
    if result.pending:
        result = desk.resume_sync(result, {each.call_id: decision for each in result.pending})
print(result.text)
