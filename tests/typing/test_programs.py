"""Typed programs under mypy --strict and pyright: all of ``right.py`` pass, and each of ``wrong.py`` fails."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RIGHT = HERE / "right.py"
WRONG = HERE / "wrong.py"
LONGEST = 600
"""The most characters of what a type checker says of one mistake."""
OPTIONS = ["w19", "w20", *[f"w{number}" for number in range(28, 40)]]
"""The programs with a mistyped option."""
LONG = ["w19", "w20", "w38"]
"""Those where mypy prints every overload, of rc.Output and @rc.tool."""


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command, str(RIGHT), str(WRONG)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def by_mypy() -> list[tuple[str, int, str]]:
    pytest.importorskip("mypy")
    found = []
    for line in run("mypy", "--strict", "--no-error-summary").splitlines():
        file, number, words = line.split(":", 2)
        found.append((Path(file).name, int(number), words))
    return found


def by_pyright() -> list[tuple[str, int, str]]:
    pytest.importorskip("pyright")
    told = json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable))
    found = []
    for each in told["generalDiagnostics"]:
        line = each["range"]["start"]["line"] + 1
        found.append((Path(each["file"]).name, line, f"{each['message']} ({each.get('rule')})"))
    return found


def program_at(line: int) -> str:
    names = [re.match(r"(?:async )?def (\w+)", text) for text in WRONG.read_text().splitlines()[:line]]
    return [found[1] for found in names if found][-1]


def test_there_are_sixty_and_forty():
    programs = [
        re.findall(r"^(?:async )?def ([pw]\d\d)\(", each.read_text(), re.MULTILINE)
        for each in (RIGHT, WRONG)
    ]
    assert [len(set(each)) for each in programs] == [60, 40]
    assert WRONG.read_text().count("  # wrong") == 40


@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_programs_that_are_right_pass_and_every_wrong_one_is_found(checker):
    found = checker()
    assert [each for each in found if each[0] == RIGHT.name] == []
    marked = {
        at for at, line in enumerate(WRONG.read_text().splitlines(), 1) if line.endswith("# wrong")
    }
    assert {line for _, line, _ in found} == marked
    long = {}
    for at in sorted(marked):
        said = "\n".join(words for _, line, words in found if line == at)
        if len(said) > LONGEST and program_at(at) in OPTIONS:
            long[program_at(at)] = len(said)
    assert long.keys() <= set(LONG if checker is by_mypy else []), long
