"""Fails when rightcall has become heavier: to import, to get ready, or to run one tool turn with.

Modules are counted everywhere. Instructions are counted by valgrind's callgrind, where it is installed
and the recorded counts are of this Python and this kind of machine: they are the same whatever else the
machine is doing. ``--record`` writes down what there is now, for a change that is worth its weight.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "guard.json"
GROWTH = 1.1
"""What a count may be, at the most, in times of the recorded one."""
FEW, MANY = 20, 60
"""Runs of two processes; what one run takes is the difference between them."""
FORBIDDEN = {
    "import rightcall": ("asyncio", "pydantic", "jsonschema_rs", "aiohttp", "httptools"),
    "an agent ready": (
        "aiohttp",
        "httptools",
        "pydantic",
        "pydantic_core",
        "jsonschema_rs",
        "rightcall.trust.facts",
        "jinja2",
        "mcp",
        "rich",
        "httpx",
        "httpx2",
        "genai_prices",
        "opentelemetry",
        "requests",
        "rightcall.trust.guard",
    ),
}
"""What must not be loaded by then."""
COMMANDS = {
    "nothing": ["-c", "pass"],
    "import rightcall": ["-c", "import rightcall"],
    "an agent ready": [str(HERE / "one_turn.py"), "0"],
    "few": [str(HERE / "one_turn.py"), str(FEW)],
    "many": [str(HERE / "one_turn.py"), str(MANY)],
}
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"}


def modules(command: list[str]) -> set[str]:
    """What a command loads."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        check=True,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    return {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}


def instructions(command: list[str]) -> int:
    """What the machine executes for a command."""
    counted = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *command],
        check=True,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", counted.stderr)
    assert found, counted.stderr
    return int(found[1])


def counts() -> dict[str, int]:
    """Instructions of each thing that is watched, without those of Python itself."""
    # Once before, so that nothing is compiled while it is counted.
    subprocess.run([sys.executable, *COMMANDS["few"]], check=True, env=ENVIRONMENT)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        taken = dict(zip(COMMANDS, pool.map(instructions, COMMANDS.values()), strict=True))
    return {
        "import rightcall": taken["import rightcall"] - taken["nothing"],
        "an agent ready": taken["an agent ready"] - taken["nothing"],
        "one tool turn": (taken["many"] - taken["few"]) // (MANY - FEW),
    }


def place() -> str:
    """What instructions can be compared on."""
    version = ".".join(platform.python_version_tuple()[:2])
    return f"{platform.python_implementation()} {version} {platform.machine()}"


def too_heavy(kind: str, now: dict[str, int], before: dict[str, int]) -> list[str]:
    """What has grown by more than it may."""
    return [
        f"{name} takes {count:,} {kind}, {count / before[name]:.2f} times the {before[name]:,} recorded"
        for name, count in now.items()
        if count > before[name] * GROWTH
    ]


def main() -> None:
    loaded = {name: modules(COMMANDS[name]) for name in FORBIDDEN}
    wrong = [
        f"{name} loads {each}"
        for name, heavy in FORBIDDEN.items()
        for each in heavy
        if each in loaded[name]
    ]
    sizes = {name: len(each) for name, each in loaded.items()}
    recorded = json.loads(RECORD.read_text())
    if "--record" in sys.argv:
        recorded = {"place": place(), "modules": sizes, "instructions": counts()}
        RECORD.write_text(json.dumps(recorded, indent=1) + "\n")
    wrong += too_heavy("modules", sizes, recorded["modules"])
    if shutil.which("valgrind") is None:
        print("guard: modules only, as valgrind is not installed")
    elif recorded["place"] != place():
        print(f"guard: modules only, as instructions were recorded on {recorded['place']}")
    else:
        now = counts()
        wrong += too_heavy("instructions", now, recorded["instructions"])
        print("guard:", ", ".join(f"{name} {count / 1e6:.2f}M" for name, count in now.items()))
    if wrong:
        sys.exit("\n".join(f"guard: {each}" for each in wrong))


if __name__ == "__main__":
    main()
