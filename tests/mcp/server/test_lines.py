import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.mcp.server.lines import Lines, TooLong


def framed(pieces, limit=10):
    lines = Lines(limit)
    found = [line for piece in pieces for line in lines.feed(piece)]
    return found + lines.finish()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\n", [b"a"]),
        (b"a", [b"a"]),
        (b"a\r\nb\n", [b"a\r", b"b"]),
        (b"\n \n\t\r\n", []),
        (b"0123456789\n", [b"0123456789"]),
        (b"0123456789x\nb\n", [TooLong(), b"b"]),
        (b"0123456789x", [TooLong()]),
        (b"\xe2\x80\xa8\n", [b"\xe2\x80\xa8"]),
    ],
    ids=[
        "nothing",
        "one",
        "no end",
        "windows",
        "blank",
        "at the limit",
        "beyond",
        "beyond, no end",
        "2028",
    ],
)
def test_lines_end_at_newlines_and_nowhere_else(data, expected):
    assert framed([data]) == expected
    assert framed([bytes([byte]) for byte in data]) == expected


@given(st.lists(st.binary(max_size=15)), st.integers(0, 200))
def test_the_same_bytes_cut_anywhere_give_the_same_lines(pieces, at):
    whole = b"\n".join(pieces)
    assert framed([whole[:at], whole[at:]]) == framed([whole])
