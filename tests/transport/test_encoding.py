"""Compressed bodies: the same at every cut, several in a row, and never more at once than asked for."""

import gzip
import zlib

import pytest

from rightcall.transport.encoding import Unpacker, unpacker

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


def unpacked(unpack: Unpacker, pieces: list[bytes], room: int) -> bytes:
    plain = []
    for piece in pieces:
        unpack.feed(piece)
        while more := unpack.take(room):
            assert len(more) <= room
            plain.append(more)
    return b"".join(plain)


@pytest.mark.parametrize(("encoding", "data"), PACKED.values(), ids=PACKED)
def test_a_body_is_the_same_at_every_cut(encoding, data):
    for at in range(1, len(data)):
        unpack = unpacker(encoding)
        assert unpacked(unpack, [data[:at], data[at:]], 256 * 1024) == TEXT
        assert unpack.is_ended


@pytest.mark.parametrize("room", [1, 7, 100, 256, len(TEXT)])
@pytest.mark.parametrize(("encoding", "data"), PACKED.values(), ids=PACKED)
def test_no_more_is_unpacked_at_once_than_asked_for(encoding, data, room):
    unpack = unpacker(encoding)
    assert unpacked(unpack, [data], room) == TEXT
    assert unpack.is_ended


@pytest.mark.parametrize(("encoding", "data"), PACKED.values(), ids=PACKED)
def test_a_body_that_is_cut_is_not_ended(encoding, data):
    unpack = unpacker(encoding)
    unpacked(unpack, [data[:-1]], 1024)
    assert not unpack.is_ended


def test_a_bomb_unpacks_piece_by_piece():
    bomb = gzip.compress(bytes(50_000_000))
    unpack = unpacker("gzip")
    unpack.feed(bomb)
    assert unpack.take(1000) == bytes(1000)
    assert len(unpack._data) <= len(bomb)


@pytest.mark.parametrize("encoding", ["", "identity", "utf-8", "none"])
def test_what_is_not_compressed_needs_no_unpacking(encoding):
    assert unpacker(encoding) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "BR"])
def test_a_compression_that_was_not_asked_for_is_refused(encoding):
    with pytest.raises(ValueError, match="not asked for"):
        unpacker(encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_only_says_that_it_is_compressed_is_refused(encoding):
    unpack = unpacker(encoding)
    unpack.feed(b"\x78 this is not packed at all")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack.take(100)
