"""An output of any length is kept in bounded memory, beginning and end."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.process.command import Capture, Captured


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
