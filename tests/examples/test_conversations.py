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
    "later": ("It is here. ['order of tea']",),
}


@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_what_the_programs_print(program, capsys):
    runpy.run_path(str(PROGRAMS / f"{program}.py"))
    printed = capsys.readouterr().out
    for words in PRINTED[program]:
        assert words in printed
