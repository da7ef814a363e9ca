"""The picture in the README is what its commands print today, and loads nothing from elsewhere."""

import re
from xml.etree import ElementTree

import pytest

from docs import picture


@pytest.mark.timeout(300)
def test_the_picture_is_what_the_commands_print():
    made = picture.drawn(picture.session())
    assert made == picture.PICTURE.read_text(), "make picture draws another one"


def test_the_picture_needs_nothing_from_elsewhere():
    text = picture.PICTURE.read_text()
    ElementTree.fromstring(text)
    assert re.findall(r"https?://[^\"\s]+|url\([^)]*\)|@import|href", text) == [
        "http://www.w3.org/2000/svg"
    ]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("\x1b[?25l. loading\r\x1b[2K.. loading\r\n\x1b[?25h\r\x1b[1A\x1b[2Kfound\r\n", ["found"]),
        ("rightcall: loaded m.gguf in 0.8 s\r\nfound\r\n", ["found"]),
        ("\x1b[32m← refund 0.1 s 40 euros\x1b[0m\r\n", ["\x1b[32m← refund 40 euros\x1b[0m"]),
        ("\x1b[2m6.3 s, 2 turns\x1b[0m\r\n", ["\x1b[2m2 turns\x1b[0m"]),
    ],
)
def test_what_is_left_on_a_screen(said, left):
    assert picture.screen(said) == left
