"""A conversation that outlives the program: each start goes on where the last one ended.

python examples/history.py "My name is Ann."
python examples/history.py "What is my name?"
"""

import sys
from pathlib import Path

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
SAVED = Path("conversation.json")


def main(text: str) -> None:
    agent = rc.Agent(MODEL, instructions="You are a friendly assistant.")
    # A result holds all messages so far, and reads back what it wrote. History from anywhere is mended:
    # a call without its result would poison the conversation for good.
    history = rc.RunResult.from_json(SAVED.read_bytes()).transcript if SAVED.exists() else ()
    result = agent.run_sync(text, history=history)
    SAVED.write_bytes(result.to_json())
    print(result.text)
    print(f"({len(result.transcript)} messages in {SAVED})")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "My name is Ann.")
