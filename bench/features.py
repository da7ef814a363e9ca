"""What rightcall's own features cost: histories, journals, trust, many tools, MCP, calls started early.

Each part is a module beside this one, whose ``figures()`` measures it once, in a process of its own and
seconds; rounds alternate. ``peers/table.py`` shows what is saved here. Part of
``make bench WHAT=peers``.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

PARTS = {
    "histories": 3,
    "journals": 3,
    "trust": 3,
    "many_tools": 3,
    "mcp_client": 3,
    "mcp_server": 3,
    "speculation": 2,
}
"""The modules, and how often each is measured."""
RESULTS = Path(__file__).parents[1] / ".bench" / "features.json"
PATIENCE = 300.0


def once(part: str) -> dict[str, float]:
    """The figures of one part, measured in a process of its own."""
    command = [sys.executable, __file__, "--part", part]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=PATIENCE)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="measure this one here, once, and print it")
    parser.add_argument("--rounds", type=int, default=max(PARTS.values()), help="at the most")
    parser.add_argument("--save", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(importlib.import_module(given.part).figures()))
        return
    found: dict[str, dict[str, list[float]]] = {part: {} for part in PARTS}
    for number in range(given.rounds):
        for part in (part for part, rounds in PARTS.items() if number < rounds):
            began = time.perf_counter()
            for name, seconds in once(part).items():
                found[part].setdefault(name, []).append(seconds)
            took = time.perf_counter() - began
            print(f"features: round {number + 1} {part} in {took:.1f} s", file=sys.stderr, flush=True)
    given.save.parent.mkdir(parents=True, exist_ok=True)
    about = {"load": os.getloadavg()[0], "mcp": version("mcp")}
    given.save.write_text(json.dumps({**about, "parts": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
