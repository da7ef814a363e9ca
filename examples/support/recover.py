"""Go on with a run whose process died: python recover.py RUN"""

import sys

import rightcall as rc
from desk import make_desk

with rc.record.SqliteJournal("runs.db") as journal:
    result = make_desk(journal=journal).recover_sync(sys.argv[1])
for each in result.calls:
    print(f"  {each.name} -> {each.outcome}: {each.result.text}")
print(result.text)
