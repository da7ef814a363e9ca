"""Reading a text takes time in its length, whatever is in it."""

import time
from collections.abc import Callable

import pytest

import rightcall as rc
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.trust.words.spelling import (
    accounts,
    active,
    grouped,
    loose,
    plain,
    scan,
    unmarked,
    unnumbered,
)

SINGLE = "中あ가ｱกकاЖéß１1aA_.-@/\\%&<>{[(\"'*+:;#=\n \t。．😀\u200b\u0301ﬁ`~|^$?!,"  # noqa: RUF001 - scripts
MIXED = [
    "中.",
    "中-",
    "中@",
    "中1",
    "a中",
    "中~",
    "中/",
    "中%",
    "a.",
    "a-",
    "a@",
    "1.",
    "1-",
    "1,",
    "a/",
    "a\\",
    "a~",
    "a%",
    "a+",
    "1+",
    "&#",
    "&a",
    "&#1;",
    "&lt;",
    "%2",
    "%41",
    "<a",
    "<>",
    "{[",
    "[{",
    "](",
    "[a](",
    "a*",
    "*a",
    "//",
    "a:",
    "a:/",
    "http:",
    "www.",
    "x@y",
    "-.",
    "_.",
    "key=",
    "1:",
    "1:1",
    "..a",
    "~/",
    "\\u",
    "(1",
    "0x",
    "bc1",
    "GB11",
    "中。",
    "@a.",
    "//a",
    "a//",
]
SPACED = (
    "1 ",
    "* ",
    "\n1",
    "\n*",
    "\n-",
    "may 1",
    "1 may ",
    "a b",
    "a. B",
    "中 ",
    "1 中",
    " and ",
    "'s ",
)
SHORT = 2_000
FLOOR = 0.001
"""Seconds of CPU time below which nothing can be told."""


def read(text: str) -> None:
    said = plain(text)
    scan(said)
    for reader in (active, grouped, accounts, loose):
        for _ in reader(text):
            pass
    unmarked(unnumbered(said))


def least(function: Callable[[str], None], text: str, tries: int = 3) -> float:
    found = []
    for _ in range(tries):
        began = time.thread_time()
        function(text)
        found.append(time.thread_time() - began)
    return min(found)


def is_steep(piece: str) -> bool:
    short = piece * (SHORT // len(piece))
    took = least(read, short * 4)
    return took > FLOOR and took > 6 * least(read, short)


@pytest.mark.parametrize("piece", [*SINGLE, *MIXED, *SPACED])
def test_four_times_the_text_takes_about_four_times_as_long(piece):
    # What is steep by itself is so each time.
    assert not all(is_steep(piece) for _ in range(4))


SAID = [
    *(" ", "\n", "../", "\u2026", "? ", "! ", "; ", "\n1. ", ". 1) ", "\n* "),
    *("if ", "when ", "not if ", "cancel it if ", "if it is not available ", "prefer ", "larger "),
    *("only if it costs less than 5 ", "the cheapest ", "can anyone ", "mail from ", "balance is 5 "),
    *(
        "call the ",
        "undo my ",
        "get my money ",
        ", do not ship a b c ",
        "drop my ",
        "send the pdf not the ",
    ),
    *("pay 5, it cost 5", "it cost 5. ", "twenty ", ", it is "),
    *(
        "did Ann ",
        "\nhas ",
        "search for my ",
        "Ann is not a ",
        "Ann isn't ",
        "old e-mail ",
        "mail von der ",
    ),
]


@pytest.mark.parametrize("piece", SAID)
def test_what_a_user_pasted_is_read_in_no_long_time(piece):
    guard = Guard(Rules(), rc.Toolbox([]))
    began = time.thread_time()
    guard.see(rc.User((rc.Text(piece * (15_000 // len(piece))),)))
    assert time.thread_time() - began < 3


def test_a_long_word_is_no_address_from_each_of_its_letters():
    guard = Guard(Rules(), rc.Toolbox([]))
    began = time.thread_time()
    guard.see(rc.User((rc.Text(f"{'a' * 30_000} wrote, did it scam any?"),)))
    assert time.thread_time() - began < 3
