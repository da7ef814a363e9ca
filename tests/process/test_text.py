"""Bytes become text that is safe to read, or are called binary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.process.command import Captured, decode


def whole(data: bytes) -> Captured:
    return Captured(data, b"", len(data))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param("naïve 🦆\n\tplain\n".encode(), "naïve 🦆\n\tplain\n", id="text"),
        pytest.param(b"a\r\nb\rc", "a\nb\nc", id="line-ends"),
        pytest.param(b"\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param(
            b"\x1b]0;title\x07body\x1b]8;;http://x\x1b\\link", "bodylink", id="titles-and-links"
        ),
        pytest.param(b"\x1b(B\x1bMx\x1b", "x", id="short-escapes"),
        pytest.param(b"\x1b]never ends", "", id="an-endless-title"),
        pytest.param(b"a\x08b\x07\x7f\xc2\x9bc", "abc", id="controls"),
        pytest.param(
            b"caf\xe9 au lait, s'il vous plait\n", "caf� au lait, s'il vous plait\n", id="latin-1"
        ),
        pytest.param(b"\x7fELF\x02\x01\x01\x00\x00", "[binary output: 9 bytes]", id="NUL"),
        pytest.param(bytes(range(128, 256)) * 10, "[binary output: 1,280 bytes]", id="not-UTF-8"),
    ],
)
def test_output_is_decoded_safely(data, text):
    assert decode(whole(data)) == text


def test_what_was_left_out_is_marked():
    output = Captured(b"the beginning", b"the end", 1_000_020)
    assert decode(output) == "the beginning\n[… 1,000,000 of 1,000,020 bytes left out here …]\nthe end"


def test_a_character_that_was_cut_in_two_is_dropped_on_both_sides():
    duck = "🦆".encode()
    output = Captured(b"head " + duck[:2], duck[3:] + b" tail", 100)
    assert decode(output) == "head \n[… 87 of 100 bytes left out here …]\n tail"


@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(0, 1000))
def test_no_bytes_break_it_and_no_control_gets_through(head, tail, more):
    text = decode(Captured(head, tail, len(head) + len(tail) + more))
    assert text.encode().decode() == text
    assert [each for each in text if each < " " and each not in "\n\t"] == []
