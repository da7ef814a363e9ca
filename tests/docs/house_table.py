"""The table of docs/design.md that says how large and how plain the house is."""

import json
from pathlib import Path

from docs.marked import table

RECORD = Path(__file__).parent / "house.json"


def house() -> str:
    """Each figure, in 0.2.0 and now."""
    recorded = json.loads(RECORD.read_text())
    rows = [
        (name, f"{recorded['0.2.0'][name]:,}", f"{figure:,}") for name, figure in recorded["now"].items()
    ]
    return table(("what", "0.2.0", "now"), rows)
