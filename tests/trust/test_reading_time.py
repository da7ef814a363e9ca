"""Reading a text takes time in its length, whatever is in it."""

import time
from collections.abc import Callable

import pytest

import rightcall as rc
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.trust.words.accounts import accounts
from rightcall.trust.words.plain import plain
from rightcall.trust.words.spelling import active, grouped, loose, scan, unmarked, unnumbered

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


@pytest.mark.parametrize("character", ["\ufdfa", "\ufdfb", "\u3316", "\u337f"])
def test_what_grows_when_it_is_normalised_is_limited(character):
    many = 100_000
    assert len(plain(character * many)) < 2.5 * many
    guard = Guard(Rules(), rc.Toolbox([]))
    began = time.thread_time()
    guard.see(rc.User((rc.Text(character * 30_000),)))
    assert time.thread_time() - began < 5


class TestWhatIsNotNormalised:
    """After very many such characters, an address with one is still an address, and no other one."""

    FLOOD = "\u3316 " * 3000
    ADDRESSES = ("\u3316.example", "evil\ufdf2.example/a", "evil.\u3316/a")

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_it_is_found(self, address):
        assert len([*active(self.FLOOD + address)]) == 1

    def test_a_host_still_ends_where_the_script_changes(self):
        assert "evil.example" in [*active(f"{self.FLOOD}evil.example\u3316")]

    def test_who_is_written_to_is_found_with_their_host(self):
        found = [*active(f"{self.FLOOD}\u3316@evil.example")]
        assert "evil.example" in found
        assert len(found) == 2

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_it_vouches_for_no_other(self, address):
        flooded = {*active(self.FLOOD + address)}
        others = [
            address,
            plain(address),
            address.replace("\u3316", "\u3317"),
            "evil.example",
            "example",
        ]
        for other in others:
            assert flooded.isdisjoint([*active(other)])
        swapped = address.replace("\u3316", "\u3315").replace("\ufdf2", "\ufdf4")
        assert flooded.isdisjoint([*active(self.FLOOD + swapped)])

    def test_reading_it_twice_changes_nothing(self):
        once = plain(self.FLOOD + "".join(self.ADDRESSES))
        assert plain(once) == once

    def test_as_many_as_anybody_writes_are_normalised(self):
        assert plain("\u3316" * 1000) == "\u30ad\u30ed\u30e1\u30fc\u30c8\u30eb" * 1000


def test_a_long_word_is_no_address_from_each_of_its_letters():
    guard = Guard(Rules(), rc.Toolbox([]))
    began = time.thread_time()
    guard.see(rc.User((rc.Text(f"{'a' * 30_000} wrote, did it scam any?"),)))
    assert time.thread_time() - began < 3
