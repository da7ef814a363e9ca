"""Event streams: the recorded format cases, whole, byte by byte and at every cut."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core import sse
from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder
from rightcall.errors import ProtocolError


def decode(*chunks: bytes, finish: bool = True) -> list[ServerEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *(decoder.finish() if finish else ())]


def cases_in(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def cuts(body: bytes):
    yield [body]
    yield [body[at : at + 1] for at in range(len(body))]
    for at in range(len(body)):
        yield [body[:at], body[at:]]


SAMPLES = {
    "lf": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "cr": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "mixed": (b"data: a\r\n\rdata: b\n\r\n", [b"a", b"b"]),
    "several data lines": (b"data: a\ndata: b\ndata\n\n", [b"a\nb\n"]),
    "comments and unknown fields": (b": hi\nfoo: bar\ndata:a\n:\n\n", [b"a"]),
    "line separators are data": (
        "data: a\u2028b\u2029\x0b\x0c\x85\n\n".encode(),
        ["a\u2028b\u2029\x0b\x0c\x85".encode()],
    ),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "no blank line at the end": (b"data: a\n\ndata: b", [b"a", b"b"]),
    "no line end at the end": (b"data: [DONE]", [b"[DONE]"]),
    "only one space is taken": (b"data:  a\n\n", [b" a"]),
    "one line and two lines of data": (b"event: x\ndata: a\n\ndata: b\ndata: c\n\n", [b"a", b"b\nc"]),
    "a comment that looks like data": (b": data: x\n\ndata: a\n\n", [b"a"]),
    "named and alone": (b"data: a\n\nevent: x\ndata: b\n\ndata: c\n\n", [b"a", b"b", b"c"]),
    "more blank lines than needed": (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
    "events without data": (b"event: ping\n\ndata: a\n\n", [b"a"]),
}


@pytest.mark.parametrize(("body", "expected"), SAMPLES.values(), ids=SAMPLES)
def test_events_are_the_same_at_every_cut(body, expected):
    for chunks in cuts(body):
        assert [event.data for event in decode(*chunks)] == expected
        decoder = SseDecoder()
        payloads = [data for chunk in chunks for data in decoder.payloads(chunk)]
        assert [*payloads, *(event.data for event in decoder.finish())] == expected


def test_names_and_ids_belong_to_their_events():
    body = b"event: a\nid: 1\ndata: x\n\ndata: y\n\nid\ndata: z\n\n"
    assert decode(body) == [
        ServerEvent(b"x", "a", "1"),
        ServerEvent(b"y", "", "1"),
        ServerEvent(b"z", "", ""),
    ]


def test_a_line_without_end_is_refused_and_not_held(monkeypatch):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    decoder = SseDecoder()
    for _ in range(100):
        decoder.feed(b"x")
    with pytest.raises(ProtocolError, match="longer than 100 bytes"):
        decoder.feed(b"x")


@given(st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b)), st.data())
def test_any_data_comes_back_whole_from_any_chunking(values, data):
    body = b"".join(b"data: " + value + b"\r\n\r\n" for value in values)
    chunks = []
    while body:
        size = data.draw(st.integers(1, len(body)))
        chunks.append(body[:size])
        body = body[size:]
    assert [event.data for event in decode(*chunks)] == values


def test_the_web_platform_cases_agree(shared_data):
    cases = cases_in(shared_data / "sse" / "wpt.jsonl")
    assert len(cases) == 21
    for case in cases:
        body = case["body_latin1"].encode("latin-1")
        for chunks in cuts(body) if len(body) < 500 else [[body]]:
            decoder = SseDecoder()
            events = [event for chunk in chunks for event in decoder.feed(chunk)]
            assert [event.data.decode(errors="replace") for event in events] == case["data"], case[
                "name"
            ]
            if "retry" in case:
                assert decoder.retry == case["retry"], case["name"]


def test_the_eventsource_parser_cases_agree(shared_data):
    cases = cases_in(shared_data / "sse" / "eventsource_parser.jsonl")
    assert len(cases) == 21
    for case in cases:
        # Some byte order marks were recorded as the three characters their bytes are in Latin-1.
        chunks = [chunk.replace("\u00ef\u00bb\u00bf", "\ufeff").encode() for chunk in case["chunks"]]
        for pieces in (chunks, [b"".join(chunks)]):
            got = [(event.name, event.data.decode()) for event in decode(*pieces, finish=False)]
            assert got == [
                (e.get("event") or "", e["data"]) for e in case["events"] if e["type"] == "event"
            ], case["name"]


LONG = {
    "comments": b": ping\n" * 30_000 + b"data: x\n\n",
    "lines of data": b"event: e\nid: 7\n" + b"data: x\n" * 30_000 + b"data\n\n",
    "empty data": b"data:\n" * 40_000 + b"\n",
    "names": b"event: a\n" * 20_000 + b"event: b\ndata: x\n\n",
    "a long line among them": b"data: x\ndata: " + b"y" * 200_000 + b"\ndata: z\n\n",
    "only comments": b": ping\n" * 30_000 + b"\n",
    "CRLF": b"data: x\r\n" * 20_000 + b"\r\n",
    "CR": b"data: x\r" * 20_000 + b"\r",
    "a byte order mark": b"\xef\xbb\xbf" + b"data: x\n" * 20_000 + b"\n",
    "no end": b"data: x\n" * 30_000,
    "no end of the line": b"data: x\n" * 30_000 + b"data: y",
}


@pytest.mark.parametrize("stream", LONG.values(), ids=LONG)
def test_the_lines_of_a_long_event_are_read_as_they_come(stream):
    stream += b"data: after\n\n: x\n\n" * stream.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
    plain = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = plain.split(b"\n")
    expected = []
    data, name = [], ""
    for line in (*lines, b""):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode()
        elif not line and data:
            expected.append((b"\n".join(data), name))
            data, name = [], ""
        elif not line:
            name = ""
    for size in (7, 1_000, 65_536, 70_001, len(stream)):
        decoder = SseDecoder()
        events = []
        for at in range(0, len(stream), size):
            events += decoder.feed(stream[at : at + size])
        events += decoder.finish()
        assert [(event.data, event.name) for event in events] == expected, size
        decoder = SseDecoder()
        payloads = []
        for at in range(0, len(stream), size):
            payloads += decoder.payloads(stream[at : at + size])
        payloads += [event.data for event in decoder.finish()]
        assert payloads == [data for data, _ in expected], size


@pytest.mark.parametrize("line", [b": ping\n", b"data: x\n", b"data:\n", b"event: a\n"])
def test_the_end_of_a_long_event_takes_no_longer_than_any_other_piece(line):
    decoder = SseDecoder()
    piece = line * (64_000 // len(line))
    for _ in range(150):
        decoder.feed(piece)
    began = time.process_time()
    decoder.feed(b"\n\n")
    assert time.process_time() - began < 0.05


def test_a_long_event_of_many_lines_is_refused_as_one_of_one_line_is():
    decoder = SseDecoder()
    piece = b"data: x\n" * 100_000
    pieces = [piece] * (MAX_EVENT_BYTES // len(piece) + 1)
    with pytest.raises(ProtocolError, match="longer than"):
        list(map(decoder.feed, pieces))
