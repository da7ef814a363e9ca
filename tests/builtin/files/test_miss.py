"""Words for a text that is not in a file, or too often."""

from time import perf_counter

import pytest

from rightcall.builtin.files.change import explain_many, explain_miss, line_of

FILE = """\
def first():
\treturn 1


def second(name):
    print(“hello”, name)
    return 2
"""
MISSING = "The text to replace is not in the file."


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (
            "     1\tdef first():\n     2\t\treturn 1",
            "It begins with line numbers, which are not part of the file. Leave them out.",
        ),
        (
            "def first():  \n\treturn 1",
            (
                "Only white space at the end of lines set it apart from lines 1 to 2:\n"
                '     1\t"def first():"\n     2\t"\\treturn 1"'
            ),
        ),
        (
            "def first():\n    return 1",
            (
                "Only white space, such as tabs for spaces or another indentation set it apart "
                'from lines 1 to 2:\n     1\t"def first():"\n     2\t"\\treturn 1"'
            ),
        ),
        (
            'print("hello", name)',
            (
                "Only characters that look alike, such as quotes, dashes or spaces set it apart "
                'from line 6:\n     6\t"    print(“hello”, name)"'
            ),
        ),
        (
            "DEF SECOND(NAME):",
            'Only upper and lower case set it apart from line 5:\n     5\t"def second(name):"',
        ),
        (
            "def second(names):\n    return 2",
            (
                'The nearest is at lines 5 to 6:\n     5\t"def second(name):"\n'
                '     6\t"    print(“hello”, name)"'
            ),
        ),
        ("class Entirely:\n    other = []", "Nothing in it is like it. Read the file again."),
        ("\n\n\n\n\n", "Nothing in it is like it. Read the file again."),
    ],
    ids=[
        "numbers",
        "trailing",
        "indentation",
        "look-alikes",
        "case",
        "nearest",
        "nothing",
        "only line ends",
    ],
)
def test_a_miss_is_explained(old, words):
    assert explain_miss(FILE, old, "new") == f"{MISSING} {words}"


def test_an_edit_that_was_made_already_is_recognised():
    assert explain_miss(FILE, "    return 3", "    return 2") == (
        f"{MISSING} The new text is, at line 7: the edit may have been made already."
    )


def test_too_many_are_counted_and_placed():
    text = "x\n" * 30
    starts = range(0, 60, 2)
    assert explain_many(text, starts, 1) == (
        "The text to replace is in the file 30 times, not once: at line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 "
        "and 20 more. Give more of the lines around the one that is meant."
    )
    assert explain_many("x\nx", [0, 2], 3).startswith(
        "The text to replace is in the file 2 times, not 3 times"
    )


def test_a_long_file_and_a_long_text_take_a_bounded_time():
    text = "".join(f"value_{number} = compute({number})\n" for number in range(100_000))
    old = "".join(f"valeu_{number} = compute({number}, {number})\n" for number in range(3000))
    started = perf_counter()
    assert explain_miss(text, old, "new").startswith(MISSING)
    assert perf_counter() - started < 5


def test_long_lines_are_cut():
    words = explain_miss("x" * 1000 + "!", "x" * 1000 + "?", "new")
    assert words == f'{MISSING} The nearest is at line 1:\n     1\t"{"x" * 200}"…'


def test_lines_are_counted_from_one():
    assert [line_of("a\nb\nc", at) for at in (0, 1, 2, 4)] == [1, 1, 2, 3]
