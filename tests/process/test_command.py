"""How a command ended, what is kept of its output, and the text that it is."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.process.command import (
    Capture,
    Captured,
    Crowded,
    Exited,
    Lost,
    NotStarted,
    Signalled,
    TimedOut,
    decode,
    describe,
)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (Exited(2), "ended with exit code 2"),
        (Signalled(11), "was ended by SIGSEGV"),
        (Signalled(48), "was ended by signal 48"),
        (TimedOut(1.5), "did not finish within 1.5 s and was stopped"),
        (Crowded(128), "started more than 128 processes and was stopped"),
        (NotStarted("/x cannot be started: no"), "was not run: /x cannot be started: no"),
        (Lost(), "was lost with the process that watched over it; it may have done part of its work"),
    ],
)
def test_every_end_has_its_words(end, words):
    assert describe(end) == words


@given(st.lists(st.binary(max_size=40)), st.integers(1, 100))
def test_cut_anywhere_it_keeps_the_same(chunks, most):
    whole = b"".join(chunks)
    capture = Capture(most)
    for chunk in chunks:
        capture.feed(chunk)
    tail = most // 3
    head = whole[: most - tail]
    rest = whole[len(head) :]
    assert capture.finish() == Captured(head, rest[max(len(rest) - tail, 0) :], len(whole))


@pytest.mark.parametrize(
    ("size", "kept"), [(0, 0), (1, 1), (99, 99), (100, 100), (101, 100), (10_000, 100)]
)
def test_as_much_is_kept_as_may_be(size, kept):
    capture = Capture(100)
    capture.feed(b"x" * size)
    found = capture.finish()
    assert (len(found.head) + len(found.tail), found.left_out) == (kept, size - kept)


@pytest.mark.parametrize("size", [1, 64 * 1024])
def test_memory_is_bounded_whatever_the_chunks(size):
    tracemalloc.start()
    try:
        capture = Capture(100_000)
        for _ in range(20_000_000 // size if size > 1 else 200_000):
            capture.feed(b"x" * size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


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
