"""Compressed bodies: the same at every cut, several in a row, and never much at once."""

import gzip
import random
import zlib

import pytest

from rightcall.errors import ProtocolError
from rightcall.transport.http1 import Unpacker, unpacker

TEXT = b"".join(b"data: %d\n\n" % number for number in range(200))


def raw(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-zlib.MAX_WBITS)


PACKED = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "x-gzip": ("X-Gzip ", gzip.compress(TEXT)),
    "several in a row": ("gzip", b"".join(map(gzip.compress, [TEXT[:100], b"", TEXT[100:]]))),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate without a header": ("deflate", raw(TEXT)),
}  # fmt: skip


def unpacked(unpack: Unpacker, pieces: list[bytes]) -> bytes:
    plain = []
    for piece in pieces:
        unpack.feed(piece)
        while unpack.has_more:
            plain.append(unpack.take())
            assert len(plain[-1]) <= 64 * 1024
    return b"".join(plain)


@pytest.mark.parametrize(("encoding", "data"), PACKED.values(), ids=PACKED)
def test_a_body_is_the_same_at_every_cut(encoding, data):
    for at in range(1, len(data)):
        unpack = unpacker(encoding, 100)
        assert unpacked(unpack, [data[:at], data[at:]]) == TEXT
        assert unpack.is_ended


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 131_072, 1_000_000])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_so_is_a_long_one(encoding, size):
    noise = random.Random(7).randbytes(size // 2)
    plain = noise + bytes(size - len(noise))
    data = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    for pieces in ([data], [data[:70_000], data[70_000:]]):
        unpack = unpacker(encoding, 100)
        assert unpacked(unpack, pieces) == plain
        assert unpack.is_ended


@pytest.mark.parametrize(("encoding", "data"), PACKED.values(), ids=PACKED)
def test_a_body_that_is_cut_is_not_ended(encoding, data):
    unpack = unpacker(encoding, 100)
    unpacked(unpack, [data[:-1]])
    assert not unpack.is_ended


def test_a_bomb_unpacks_step_by_step_and_is_refused():
    bomb = gzip.compress(bytes(50_000_000))
    unpack = unpacker("gzip", 100)
    unpack.feed(bomb)
    assert unpack.take() == bytes(64 * 1024)
    with pytest.raises(ProtocolError, match=r"more than 100 times its size: 1,\d\d\d,\d\d\d bytes from"):
        unpacked(unpack, [b""])


@pytest.mark.parametrize("encoding", ["", "identity", "utf-8", "none"])
def test_what_is_not_compressed_needs_no_unpacking(encoding):
    assert unpacker(encoding, 100) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "BR"])
def test_a_compression_that_was_not_asked_for_is_refused(encoding):
    with pytest.raises(ValueError, match="not asked for"):
        unpacker(encoding, 100)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_only_says_that_it_is_compressed_is_refused(encoding):
    unpack = unpacker(encoding, 100)
    unpack.feed(b"\x78 this is not packed at all")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack.take()
