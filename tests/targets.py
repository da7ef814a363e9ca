"""What ``make test WHAT=…`` and ``make bench WHAT=…`` run, beyond plain pytest.

``targets.toml`` says what each needs and runs. One with packages of its own gets an environment of its
own, ``.venv-NAME``; the others run in the one that make has set up. Without a name, all are listed.
"""

# ruff: noqa: T201 - a program

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text()
)
PIP = "-m pip install --quiet --disable-pip-version-check"


def main(kind: str, name: str, arguments: str) -> int:
    """Run a suite; returns the exit code of the first command that fails, or 0."""
    suites = TARGETS[kind]
    if name not in suites:
        print(f"make {kind} WHAT=NAME, of:")
        for known, suite in suites.items():
            print(f"  {known:<16} {suite['about']}")
        return 0 if name in ("", "list") else 2
    suite = suites[name]
    python = Path(sys.executable)
    if "packages" in suite:
        python = environment(suite.get("environment", name), suite)
    words = {"python": python, "arguments": arguments or suite.get("arguments", "")}
    settings = {**os.environ, **suite.get("settings", {})}
    for command in suite["commands"]:
        ran = subprocess.run(command.format(**words), shell=True, cwd=ROOT, env=settings, check=False)
        if ran.returncode:
            return ran.returncode
    return 0


def environment(name: str, suite: dict[str, Any]) -> Path:
    """An environment with a suite's packages; returns its Python."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    held = "" if suite.get("is_free", False) else " -c constraints.txt"
    install = f"{python} {PIP}{held} {suite['packages']}"
    subprocess.run(install, shell=True, cwd=ROOT, check=True)
    return python


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
