import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCNotification
from pydantic import ValidationError

from rightcall.mcp.jsonrpc_lines import Lines, OverlongLine, decode_message, encode_message


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
        (b"0123456789x\nb\n", [OverlongLine(), b"b"]),
        (b"0123456789x", [OverlongLine()]),
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


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_bytes_cut_at_many_places_give_the_same_lines(data, cuts):
    lines, found, at = Lines(1000), [], 0
    for cut in [*sorted(cuts), len(data)]:
        found += lines.feed(data[at:cut])
        at = max(at, cut)
    assert found == [line for line in data.split(b"\n")[:-1] if line.strip()]


@pytest.mark.parametrize("pieces", [[b"x" * 11], [b"x" * 6, b"x" * 5], [b"ok\n" + b"x" * 11 + b"\n"]])
def test_a_line_beyond_its_bound_is_refused_before_it_ends(pieces):
    lines = Lines(10)
    assert [line for piece in pieces for line in lines.feed(piece)][-1] == OverlongLine()
    assert Lines(10).feed(b"x" * 10 + b"\n") == [b"x" * 10]


def test_a_line_beyond_its_bound_is_told_of_once():
    lines = Lines(10)
    assert [lines.feed(b"x" * 11), lines.feed(b"x" * 11), lines.feed(b"x\nok\n")] == [
        [OverlongLine()],
        [],
        [b"ok"],
    ]


def test_a_message_is_a_line_and_a_line_a_message():
    line = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    item = decode_message(line)
    assert isinstance(item.message, JSONRPCNotification)
    assert encode_message(item) == line
    with pytest.raises(ValidationError):
        decode_message(b"{}")
