"""What a tool returns, as the parts a model can read."""

import dataclasses
import datetime
import decimal
import enum
import io
import itertools
import json
import pathlib
import re
import types
import uuid
from collections import UserDict, deque
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, field_serializer

import rightcall as rc
from rightcall.core.limits import Limits
from rightcall.core.parts import Media, Text, sniff
from rightcall.gate.render import Unshowable, cut, encode

LIMITS = Limits()


class Weather(BaseModel):
    city: str
    degrees: float


@dataclasses.dataclass
class Pair:
    left: int
    right: "Pair | None" = None


class Node(msgspec.Struct):
    name: str
    next: "Node | None" = None


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


class Array:
    def tolist(self) -> list[int]:
        return [1, 2]


@pytest.mark.parametrize(
    "text", ["", "plain", "naïve 🌍", '{"a": 1}', "line\nline", "</tool>", "\x00"], ids=ascii
)
def test_a_string_is_shown_as_it_is(text):
    assert encode(text, LIMITS) == (Text(text),)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (2, "2"),
        (2**70, "1180591620717411303424"),
        (0.5, "0.5"),
        (float("nan"), '"NaN"'),
        ([1.0, float("-inf")], '[1.0,"-Infinity"]'),
        ([], "[]"),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ((1, "a"), '[1,"a"]'),
        ({3}, "[3]"),
        (frozenset("x"), '["x"]'),
        (deque([1]), "[1]"),
        (range(3), "[0,1,2]"),
        ({"a": 1}.keys(), '["a"]'),
        ({"a": 1}.values(), "[1]"),
        (types.MappingProxyType({"a": 1}), '{"a":1}'),
        (UserDict(a=1), '{"a":1}'),
        ({1: "a", None: "b"}, '{"1":"a","None":"b"}'),
        (Point(1, 2), "[1,2]"),
        (Weather(city="Paris", degrees=21.5), '{"city":"Paris","degrees":21.5}'),
        ([Weather(city="Oslo", degrees=3)], '[{"city":"Oslo","degrees":3.0}]'),
        (Pair(1, Pair(2)), '{"left":1,"right":{"left":2,"right":null}}'),
        (Node("a", Node("b")), '{"name":"a","next":{"name":"b","next":null}}'),
        ({"nodes": [Node("a")]}, '{"nodes":[{"name":"a","next":null}]}'),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), '"2026-01-02T03:04:00Z"'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        (datetime.timedelta(hours=1), '"PT1H"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (pathlib.Path("/a/b"), '"/a/b"'),
        (Colour.RED, '"red"'),
        (Word.YES, "yes"),
        (SecretStr("hunter2"), '"**********"'),
        (Array(), "[1,2]"),
        ({"raw": b"\x00\xff"}, '{"raw":"AP8="}'),
        ({"name": "caf\udce9"}, '{"name":"caf?"}'),
        ("caf\udce9", "caf?"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() else type(value).__name__,
)
def test_everything_else_is_shown_as_compact_json(value, shown):
    assert encode(value, LIMITS) == (Text(shown),)


def test_a_string_enum_becomes_a_plain_string():
    (part,) = encode(Word.YES, LIMITS)
    assert isinstance(part, Text)
    assert type(part.text) is str


PNG, JPEG = b"\x89PNG\r\n\x1a\n...", b"\xff\xd8\xff\xe0..."


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"RIFF\x00\x00\x00\x00AVI ", "application/octet-stream"),
        (b"%PDF-1.7", "application/pdf"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS\x00", "audio/ogg"),
        (b"hello", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
    ids=ascii,
)
def test_bytes_are_media_whose_type_their_beginning_tells(data, media_type):
    assert sniff(data) == media_type
    for value in (data, bytearray(data), memoryview(data)):
        assert encode(value, LIMITS) == (Media(data, media_type),)


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("chart.png", PNG, "image/png"),
        ("table.csv", b"a,b", "text/csv"),
        ("strange.zzz", JPEG, "image/jpeg"),
        ("empty", b"", "application/octet-stream"),
    ],
)
def test_an_open_file_is_read_and_closed_and_keeps_its_name(tmp_path, name, content, media_type):
    (tmp_path / name).write_bytes(content)
    file = (tmp_path / name).open("rb")
    assert encode(file, LIMITS) == (Media(content, media_type, name),)
    assert file.closed


def test_files_in_memory_and_text_files_are_media_too(tmp_path):
    (tmp_path / "note.txt").write_text("naïve", encoding="utf-8")
    opened = (tmp_path / "note.txt").open(encoding="utf-8")
    assert encode(opened, LIMITS) == (Media("naïve".encode(), "text/plain", "note.txt"),)
    assert encode(io.BytesIO(PNG), LIMITS) == (Media(PNG, "image/png"),)
    assert encode(io.StringIO("a"), LIMITS) == (Media(b"a"),)


def test_media_among_other_values_keep_their_place():
    chart = Media(b"...", "image/svg+xml", "chart.svg")
    assert encode(["before", chart, {"n": 1}, [PNG, "after"]], LIMITS) == (
        Text("before"),
        chart,
        Text('{"n":1}'),
        Media(PNG, "image/png"),
        Text("after"),
    )


def test_media_over_the_limit_are_left_out_with_a_note(tmp_path):
    (tmp_path / "big.png").write_bytes(PNG * 1000)
    small = Limits(max_media_bytes=10)
    note = (Text("[image/png left out: more than 10 bytes]"),)
    assert encode(Media(b"x" * 10, "image/png"), small) == (Media(b"x" * 10, "image/png"),)
    assert encode(Media(b"x" * 11, "image/png"), small) == note
    assert encode((tmp_path / "big.png").open("rb"), small) == note


class Breaks(BaseModel):
    x: int = 1

    @field_serializer("x")
    def serialise(self, value: int) -> int:
        raise KeyError("hunter2")


class Hostile:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError("hunter2")


def circular() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


def circular_with_media() -> list[object]:
    value: list[object] = [PNG]
    value.append(value)
    return value


def circular_struct() -> Node:
    node = Node("a")
    node.next = node
    return node


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


def closed_file() -> io.BytesIO:
    file = io.BytesIO(b"x")
    file.close()
    return file


@pytest.mark.parametrize(
    "make",
    [
        object,
        lambda: print,
        Breaks,
        Hostile,
        circular,
        circular_with_media,
        circular_struct,
        deep,
        closed_file,
        lambda: ValueError("hunter2"),
        lambda: {"deep": object()},
    ],
    ids=lambda make: type(make()).__qualname__,
)
def test_what_cannot_be_shown_is_an_error_that_names_its_type_and_nothing_of_its_content(make):
    value = make()
    with pytest.raises(Unshowable) as caught:
        encode(value, LIMITS)
    assert str(caught.value) == f"{type(value).__qualname__} cannot be written for a model"
    assert caught.value.__cause__ is not None


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with (tmp_path / "out").open("wb") as file, pytest.raises(Unshowable, match="BufferedWriter"):
        encode(file, LIMITS)


async def numbers():
    yield 1


@pytest.mark.parametrize(
    "value",
    [(n for n in [1]), numbers(), itertools.count(), iter([1]), map(str, [1])],
    ids=lambda value: type(value).__name__,
)
def test_an_iterator_which_may_never_end_is_refused_unread(value):
    words = f"{type(value).__name__} holds no value until it is read; return a list"
    with pytest.raises(Unshowable, match=f"^{re.escape(words)}$"):
        encode(value, LIMITS)


MARKER = re.compile(r"\n\[… ([\d,]+) of ([\d,]+) bytes left out here …\]\n")
any_text = st.text() | st.text(alphabet="a") | st.text(alphabet="é€🌍", min_size=20)
long_text = st.builds(lambda text, times: text * times, any_text, st.integers(1, 50))


@given(long_text, st.integers(0, 400))
def test_a_cut_text_is_never_over_the_limit_and_never_less_than_it_must_be(text, limit):
    shown = cut(text, limit)
    assert len(shown.encode()) <= limit or shown == text
    assert (shown == text) == (len(text.encode()) <= limit)


@given(long_text, st.integers(60, 400))
def test_a_cut_text_is_its_head_its_tail_and_the_truth_about_the_rest(text, limit):
    shown = cut(text, limit)
    if shown == text:
        return
    head, left_out, size, tail = MARKER.split(shown)
    assert text.startswith(head)
    assert text.endswith(tail)
    whole = len(text.encode())
    assert int(size.replace(",", "")) == whole
    assert int(left_out.replace(",", "")) == whole - len(head.encode()) - len(tail.encode())
    # All but the last few bytes of the limit are used; a character is at most four bytes.
    assert len(shown.encode()) >= limit - 8


@pytest.mark.parametrize(
    ("limit", "shown"),
    [(0, ""), (1, "0"), (2, "01"), (3, "…"), (4, "0…"), (20, "01234567890123456…")],
)
def test_a_limit_with_no_room_for_the_truth_leaves_a_head_and_an_ellipsis(limit, shown):
    assert cut("0123456789" * 10, limit) == shown


def test_the_marker_reads_well():
    assert cut("a" * 40_000 + "z" * 60_000, 80) == (
        "a" * 20 + "\n[… 99,970 of 100,000 bytes left out here …]\n" + "z" * 10
    )


def test_json_of_a_value_reads_back_as_that_value():
    value = {"a": [1, 2.5, None, True, "é\n\u2028"], "b": {}}
    (part,) = encode(value, LIMITS)
    assert isinstance(part, Text)
    assert json.loads(part.text) == value


async def test_a_record_that_can_be_saved_is_no_picture_and_is_not_saved():
    saved = []

    class Row(BaseModel):
        """As an object of a database's is."""

        name: str

        def save(self, *_: object, **_more: object) -> None:
            saved.append(self.name)

    @rc.tool
    def find() -> Row:
        """Find."""
        return Row(name="ann")

    (done,) = await rc.run_calls([rc.Call(id="c", name="find")], find)
    assert (done.result.text, saved) == ('{"name":"ann"}', [])
