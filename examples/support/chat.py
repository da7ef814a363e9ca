"""Talk to the desk; each customer has a conversation: python chat.py ann "Where is order 17?" """

import sys
from pathlib import Path

import rightcall as rc
from desk import make_desk

customer, question = sys.argv[1:]
kept = Path(f"{customer}.json")
history = rc.RunResult.from_json(kept.read_bytes()).transcript if kept.exists() else ()
result = make_desk().run_sync(question, history=history)
kept.write_bytes(result.to_json())
print(f"{result.text} ({len(result.calls)} calls)")
