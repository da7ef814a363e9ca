"""Text that somebody else wrote, on its way to a terminal."""

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.cli.formatting import one_line, write
from rightcall.core.sanitize import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 漢字, 🎈\n\ttab", "plain, naïve, 漢字, 🎈\n\ttab"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x9b2J", "\\x9b2J"),
        ("over\rwritten\r\n", "overwritten\n"),
        ("back\x08space\x7f", "back␈space\\x7f"),
        ("rm \u202etxt.exe\u2066", "rm \\u202etxt.exe\\u2066"),
        ("half \ud83d", "half \\ud83d"),
    ],
    ids=["text", "colour", "clipboard", "c1", "carriage", "backspace", "direction", "surrogate"],
)
def test_what_a_terminal_would_obey_is_shown_instead(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)), st.integers(0, 40))
def test_nothing_is_left_to_obey_and_a_cut_anywhere_gives_the_same(text, at):
    shown = printable(text)
    assert printable(text[:at]) + printable(text[at:]) == shown
    assert [each for each in shown if unicodedata.category(each) == "Cc" and each not in "\n\t"] == []
    assert shown.encode().decode() == shown


@pytest.mark.parametrize(
    ("text", "most", "line"),
    [
        ("one\n two\tthree ", 20, "one two three"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("a" * 10**6, 6, "aaaaa…"),
        (" " * 100 + "a", 6, "…"),
        ("\x1b[2J", 20, "␛[2J"),
    ],
)
def test_one_line_is_short_and_printable(text, most, line):
    assert one_line(text, most) == line


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_the_text_itself_and_a_screen_what_it_can_be_shown():
    pipe, screen = io.StringIO(), Screen()
    write("\x1b[2J", pipe)
    write("\x1b[2J", screen)
    assert (pipe.getvalue(), screen.getvalue()) == ("\x1b[2J\n", "␛[2J\n")
