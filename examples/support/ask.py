"""Ask the desk something: python ask.py RUN QUESTION"""

import sys

import rightcall as rc
from desk import make_desk

run, question = sys.argv[1:]
with rc.record.SqliteJournal("runs.db") as journal:
    result = make_desk(journal=journal).run_sync(question, run=run)
for each in result.calls:
    print(f"  {each.name} {each.arguments} -> {each.outcome}")
for proposal in result.pending:
    print(rc.trust.question(proposal))
print(result.text if result.stop.is_answer else f"{run}: {result.stop}")
