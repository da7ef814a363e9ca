"""What every library is asked, and how it tells what came of it.

Standard library only: every peer's environment reads this file.
"""

import json
import sys

LIMIT = "Call it badly, with one turn allowed."
PROMPTS = {
    "bad": "Call it badly.",
    "bad twice": "Call it badly twice.",
    "unknown": "Call a tool that is not there.",
    "raises": "Call it.",
    "limit": LIMIT,
}


def find_order(number: int) -> str:
    """Where an order is."""
    raise ValueError(f"no order {number} in shop.example")


def main(ask):
    """Prints the answer to each prompt, or the class of what was raised."""
    said = {}
    for name, prompt in PROMPTS.items():
        try:
            said[name] = ask(prompt)
        except Exception as error:
            said[name] = f"raises {type(error).__name__}"
    sys.stdout.write(json.dumps(said))
