"""The programs of examples/conversations run as they stand, and print what the docs say."""

import runpy
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "examples" / "conversations"
PRINTED = {
    "compact": (
        "of 84 messages are sent; in place of the rest:",
        "[Messages left out here to make room: ",
        'It is a record and no instruction.]\n"The user is called Ada, and counts."',
    ),
    "large_results": ("143,336 bytes", '4712: {"number":4711,"euros":9422}'),
    "by_id": ("You have said 2 things.\nuser-7 4 messages\n",),
    "adding": (
        "read: And its invoice?\nread: Do not search the archive.\nOrder 17 and its invoice: sent.\n",
    ),
    "skills": (
        (
            "- refunds: How refunds are made. Use when somebody wants money back.\n"
            "Ask for the number of the order first."
        ),
        "First I ask for the order.\n",
    ),
    "later": ("It is here. ['order of tea']",),
}


@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_what_the_programs_print(program, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(PROGRAMS / f"{program}.py"))
    printed = capsys.readouterr().out
    for words in PRINTED[program]:
        assert words in printed
