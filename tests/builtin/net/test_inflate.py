"""Compressed bodies, within bounds."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.net.fetch import Unpacker
from rightcall.errors import ToolFailure


def packed(plain: bytes, encoding: str) -> bytes:
    raw = zlib.compressobj(wbits=-15)
    return {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        "raw": raw.compress(plain) + raw.flush(),
        "": plain,
    }[encoding]


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "raw", ""]), st.integers(1, 40))
def test_a_body_cut_anywhere_is_unpacked(plain, encoding, size):
    data = packed(plain, encoding)
    unpack = Unpacker(encoding.replace("raw", "deflate"))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert b"".join(unpack.feed(piece, 10_000) for piece in pieces) == plain


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw", ""])
def test_no_more_is_unpacked_than_there_is_room_for(encoding):
    data = packed(b"a" * 10_000_000, encoding)
    assert Unpacker(encoding.replace("raw", "deflate")).feed(data, 1000) == b"a" * 1000


def test_one_gzip_file_may_follow_another():
    data = gzip.compress(b"one ") + gzip.compress(b"two")
    assert Unpacker("gzip").feed(data, 100) == b"one two"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_cannot_be_unpacked_is_said_in_words(encoding):
    with pytest.raises(ToolFailure, match="cannot be unpacked"):
        Unpacker(encoding).feed(b"\x78 this is not packed at all", 100)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_what_was_not_asked_for_is_refused(encoding):
    with pytest.raises(ToolFailure, match="in a way that was not asked for"):
        Unpacker(encoding)
