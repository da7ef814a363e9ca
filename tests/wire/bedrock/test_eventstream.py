"""Bedrock's framing: messages as they were written, cut anywhere; what breaks the form is said to."""

from itertools import pairwise
from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import ProtocolError
from rightcall.wire.bedrock.eventstream import (
    MAX_HEADERS,
    MAX_MESSAGE,
    EventStreamDecoder,
    StreamMessage,
)
from wire.bedrock.frames import header, message

HEADERS = header(":message-type", "event") + header(":event-type", "é")
KNOWN = {":message-type": "event", ":event-type": "é"}
MESSAGES = message(HEADERS, b"{}") + message(b"", b"") + message(HEADERS, b"\x00" * 300)
READ = [StreamMessage(KNOWN, b"{}"), StreamMessage({}, b""), StreamMessage(KNOWN, b"\x00" * 300)]


def fed(*chunks: bytes) -> list[StreamMessage]:
    decoder = EventStreamDecoder()
    return [each for chunk in chunks for each in decoder.feed(chunk)]


def test_messages_are_the_same_at_every_cut():
    assert fed(MESSAGES) == READ
    assert fed(*[MESSAGES[at : at + 1] for at in range(len(MESSAGES))]) == READ
    for at in range(len(MESSAGES)):
        assert fed(MESSAGES[:at], b"", MESSAGES[at:]) == READ


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(0, 400), max_size=6))
def test_any_payloads_in_any_pieces(payloads, cuts):
    body = b"".join(message(HEADERS, payload) for payload in payloads)
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[one:other] for one, other in pairwise(places)]
    assert [each.payload for each in fed(*pieces)] == payloads


def test_a_stream_is_between_messages_only_where_one_ends():
    one = message(HEADERS, b"x")
    for end in range(len(one) + 1):
        decoder = EventStreamDecoder()
        decoder.feed(one[:end])
        assert decoder.is_between is (end in (0, len(one)))


def test_a_long_message_in_small_pieces_is_put_together_once():
    body = message(HEADERS, b"x" * 4_000_000)
    decoder, joined = EventStreamDecoder(), 0
    for at in range(0, len(body), 500):
        joined += len(decoder.feed(body[at : at + 500]))
        assert len(decoder._pieces) <= at // 500 + 1
    assert joined == 1
    assert decoder.is_between


def with_lengths(length: int, headers: int, rest: bytes = b"") -> bytes:
    lengths = pack(">II", length, headers)
    return lengths + pack(">I", crc32(lengths)) + rest


def flipped(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


ONE = message(HEADERS, b'{"a": 1}')


@pytest.mark.parametrize("at", range(len(ONE)))
def test_no_bit_can_be_changed_unnoticed(at):
    with pytest.raises(ProtocolError, match="checksum"):
        fed(flipped(ONE, at), bytes(1000))


LENGTHS = {
    "longer than any": (MAX_MESSAGE + 1, 0),
    "longest number": (2**32 - 1, 0),
    "headers beyond all": (MAX_MESSAGE, MAX_HEADERS + 1),
    "headers beyond the message": (40, 25),
    "shorter than itself": (15, 0),
    "nothing": (0, 0),
}


@pytest.mark.parametrize(("length", "headers"), LENGTHS.values(), ids=LENGTHS)
def test_lengths_that_cannot_be_are_refused_before_anything_is_held(length, headers):
    with pytest.raises(ProtocolError, match="at the most"):
        fed(with_lengths(length, headers))


def test_the_largest_message_is_waited_for():
    decoder = EventStreamDecoder()
    assert decoder.feed(with_lengths(MAX_MESSAGE, MAX_HEADERS)) == []


@pytest.mark.parametrize("text", [b"data: {}\n\n", b"<html><body>", b"[1, 2, 3, 4, 5]"])
def test_another_format_is_told_from_this_one(text):
    with pytest.raises(ProtocolError, match="checksum"):
        fed(text * 3)


def other(name: str, kind: int, value: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([kind]) + value


def test_headers_that_are_no_texts_are_passed_over():
    numbers = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)]
    odd = b"".join(other(f"h{kind}", kind, bytes(size)) for kind, size in numbers)
    odd += other("bytes", 6, pack(">H", 3) + b"abc")
    assert fed(message(odd + HEADERS, b"")) == [StreamMessage(KNOWN, b"")]
    assert fed(message(HEADERS + odd, b"")) == [StreamMessage(KNOWN, b"")]


BROKEN = {
    "a name without an end": b"\x0bname",
    "no kind": b"\x01n",
    "an unknown kind": other("n", 12, b""),
    "a text without an end": other("n", 7, pack(">H", 9) + b"abc"),
    "half a length": other("n", 7, b"\x00"),
    "a number cut off": other("n", 5, bytes(7)),
    "no text": other("n", 7, pack(">H", 1) + b"\xff"),
}


@pytest.mark.parametrize("headers", BROKEN.values(), ids=BROKEN)
def test_headers_that_cannot_be_read_are_refused(headers):
    with pytest.raises(ProtocolError, match="headers"):
        fed(message(headers, b""))


def test_ever_new_headers_are_not_all_remembered():
    decoder = EventStreamDecoder()
    for number in range(500):
        (got,) = decoder.feed(message(header("n", str(number)), b""))
        assert got.headers == {"n": str(number)}
    assert len(decoder._known) <= 64
