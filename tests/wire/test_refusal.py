"""A refusal means the same in every dialect: one body, one header, one answer."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import ProtocolError, RightcallError, VendorError, is_retried
from rightcall.wire.dialects import DIALECTS, load
from rightcall.wire.refusal import excerpt, readable, retry_after
from wire.recorded import fed

DOCS = Path(__file__).parents[2] / "docs" / "models.md"
DEEP = 100_000
every_dialect = pytest.mark.parametrize("dialect", [load(name) for name in DIALECTS], ids=DIALECTS)

WAITS = {
    "seconds": ({"Retry-After": "7"}, 7.0),
    "parts of a second": ({"retry-after": " 2.5 "}, 2.5),
    "milliseconds first": ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    "a date": (
        {"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        30.0,
    ),
    "a date gone by": (
        {"Retry-After": "Wed, 21 Oct 2026 07:27:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        0.0,
    ),
    "a date and no clock": ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    "nan": ({"retry-after": "nan"}, None),
    "a year beyond all": (
        {"retry-after": f"Wed, 21 Oct {10**19} 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"},
        None,
    ),
    "nan milliseconds": ({"retry-after-ms": "NaN", "retry-after": "3"}, 3.0),
    "endless": ({"retry-after": "inf"}, None),
    "endless digits": ({"retry-after": "9" * 400}, None),
    "endless by its power": ({"retry-after": "1e999"}, None),
    "negative": ({"retry-after": "-1"}, None),
    "words": ({"retry-after": "soon"}, None),
    "nothing": ({}, None),
}


@every_dialect
@pytest.mark.parametrize(("headers", "seconds"), WAITS.values(), ids=WAITS)
def test_how_long_a_vendor_asks_to_wait(dialect, headers, seconds):
    assert dialect.error(429, headers, b"{}").retry_after == seconds


@given(st.text(max_size=20))
def test_a_wait_is_a_number_that_can_be_waited(text):
    seconds = retry_after({"retry-after": text, "date": text})
    assert seconds is None or 0 <= seconds < float("inf")


def documented() -> tuple[set[int], set[int]]:
    """The statuses that the page on models says are tried again: those named, and whole hundreds."""
    (row,) = [line for line in DOCS.read_text().splitlines() if "retried with jitter" in line]
    said = row.split("|")[1]
    return set(map(int, re.findall(r"\b\d{3}\b", said))), set(map(int, re.findall(r"\b(\d)xx\b", said)))


@every_dialect
def test_the_statuses_that_are_tried_again_are_those_of_the_docs(dialect):
    named, hundreds = documented()
    tried = {status for status in range(400, 600) if dialect.error(status, {}, b"").retryable}
    assert tried == named | {status for status in range(400, 600) if status // 100 in hundreds}
    assert named == {status for status in range(400, 500) if is_retried(status)}


@every_dialect
@pytest.mark.parametrize("status", [400, 429, 500])
@pytest.mark.parametrize(("said", "retryable"), [("true", True), (" False ", False)])
def test_a_vendor_that_says_whether_to_try_again_is_heard(dialect, status, said, retryable):
    assert dialect.error(status, {"X-Should-Retry": said}, b"{}").retryable is retryable


@every_dialect
def test_a_status_that_is_final_is_not_overruled_by_a_code(dialect):
    said = b'{"error": {"message": "Too large", "type": "tokens", "code": "rate_limit_exceeded"}}'
    assert not dialect.error(413, {}, said).retryable
    assert dialect.error(429, {}, said).retryable


@every_dialect
@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b"", b" \n", b'""'])
def test_a_refusal_without_a_reason_is_worded_alike(dialect, body):
    assert str(dialect.error(429, {}, body)) == "HTTP 429, and the vendor did not say why"


PAGE = 'a web page that says "{}"; this is no answer of an API: check the address'
REASONS = {
    "the vendors' form": (b'{"error": {"message": "Oops"}}', "Oops"),
    "in a list": (b'[{"error": {"message": "Oops"}}]', "Oops"),
    "a text": (b'{"error": "Oops"}', "Oops"),
    "outside": (b'{"message": "Oops"}', "Oops"),
    "FastAPI's": (b'{"detail": "Oops"}', "Oops"),
    "FastAPI's list": (b'{"detail": [{"loc": ["body"], "msg": "Oops"}]}', "Oops"),
    "OAuth's": (b'{"error": "no", "error_description": "Oops"}', "Oops"),
    "a message of its own form": (b'{"error": {"message": {"a": [1]}}}', '{"a":[1]}'),
    "another form": (b'{"a": 1}', '{"a":1}'),
    "a page": (
        b"<!DOCTYPE html><style>p{a:b}</style>\n<p>Bad\n gateway</p>",
        PAGE.format("Bad gateway"),
    ),
    "a page with a title": (
        b"<html><head><title>\n 404 &amp; gone </title></head><body>" + b"<p>x" * 9999,
        PAGE.format("404 & gone"),
    ),
    "an empty page": (
        b"<html></html>",
        "an empty web page; this is no answer of an API: check the address",
    ),
    "markup that is no page": (b"<?xml?><Error><Code>Denied</Code></Error>", "Denied"),
    "text": (b"upstream < died >", "upstream < died >"),
    "no text": (b"\xff\xfe", "\ufffd\ufffd"),
    "half": (b'{"error": {"mess', '{"error": {"mess'),
}


@every_dialect
@pytest.mark.parametrize(("body", "message"), REASONS.values(), ids=REASONS)
def test_a_reason_is_found_in_any_form(dialect, body, message):
    assert dialect.error(400, {}, body).message == message


@every_dialect
@pytest.mark.parametrize(
    "body", [b"x" * 1_000_000, b"<" * 1_000_000, b"<script" * 200_000, b"<p>x" * 9999]
)
def test_a_long_page_is_cut_short_and_soon(dialect, body):
    assert len(str(dialect.error(502, {}, body))) <= 240


@every_dialect
@pytest.mark.parametrize("text", ["x" * 1_000_000, "too long: " * 100_000])
def test_long_words_of_a_vendor_are_cut_short(dialect, text):
    body = msgspec.json.encode({"error": {"message": text, "code": text, "type": text}})
    error = dialect.error(400, {}, body)
    assert error.message.startswith(text[:1000])
    assert len(str(error)) <= 4000
    assert len(error.vendor_code) <= 200


@every_dialect
@pytest.mark.parametrize(
    "header",
    [
        "Request-Id",
        "x-request-id",
        "X-Goog-Request-Id",
        "apim-request-id",
        "x-amzn-RequestId",
        "cf-ray",
    ],
)
def test_the_request_is_named(dialect, header):
    assert dialect.error(500, {header: "r1"}, b"{}").request_id == "r1"


@every_dialect
def test_amazon_names_the_kind_in_a_header_whatever_is_spoken_behind_it(dialect):
    headers = {"x-amzn-ErrorType": "ModelNotReadyException:http://internal.amazon.com/coral/"}
    refusal = dialect.error(429, headers, b'{"message": "Loading"}')
    assert (refusal.vendor_code, refusal.kind) == ("ModelNotReadyException", "overloaded")
    assert (refusal.message, refusal.body) == ("Loading", '{"message":"Loading"}')


@every_dialect
def test_a_body_in_place_of_a_stream_has_an_end(dialect, monkeypatch):
    for module in (dialect.decoder().feed.__func__.__module__, "rightcall.core.sse"):
        monkeypatch.setattr(sys.modules[module], "MAX_EVENT_BYTES", 1000)
    with pytest.raises(ProtocolError, match="1,000 bytes"):
        fed(dialect.decoder(), *[b'{"a": "'] * 1000)


def deep(at: str, depth: int = DEEP) -> bytes:
    """JSON that nests without end, in a member or alone."""
    nested = "[" * depth + "]" * depth
    return nested.encode() if not at else f'{{"type": "{at}", "{at}": {nested}}}'.encode()


PLACES = [
    "", "error", "choices", "candidates", "usage", "delta", "response", "item", "message",
    "message_delta", "content", "content_block", "content_block_start", "content_block_delta",
    "response.completed", "output", "any",
]  # fmt: skip


@every_dialect
@pytest.mark.parametrize("place", PLACES)
def test_bottomless_json_is_the_vendors_fault_wherever_it_comes(dialect, place):
    body = deep(place)
    refusal = dialect.error(500, {}, body)
    assert (type(refusal), refusal.retryable) == (VendorError, True)
    assert len(refusal.message) <= 200
    with pytest.raises((ProtocolError, VendorError)):
        dialect.decode(body)
    for frame in (b"data: %s\n\n", b"event: error\ndata: %s\n\n", b"%s"):
        # A member that nobody reads may be passed over, however deep it is.
        assert is_refused(dialect, frame % body) or not is_refused(dialect, frame % deep(place, 1))


def is_refused(dialect, sent: bytes) -> bool:
    try:
        fed(dialect.decoder(), sent)
    except RightcallError:
        return True
    return False


@every_dialect
@pytest.mark.parametrize("depth", [50, 200, 400, 700, 900, 1000, 1100])
def test_json_near_the_bottom_is_read_or_refused(dialect, depth):
    for name in ("error", "choices", "delta", "any"):
        body = f'{{"{name}": {{"message": {"[" * depth}{"]" * depth}}}}}'.encode()
        assert isinstance(dialect.error(500, {}, body), VendorError)
        for sent in (b"data: " + body + b"\n\n", body):
            with pytest.raises(RightcallError):
                fed(dialect.decoder(), sent)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "detail", "message", "code", "type", "status", "details", "x"]),
            inner,
        )
    ),
    max_leaves=12,
)


@every_dialect
@given(ANY, st.integers(100, 599))
def test_any_json_becomes_a_refusal(dialect, value: Any, status):
    refusal = dialect.error(status, {}, json.dumps(value).encode())
    assert isinstance(refusal, VendorError)
    assert str(refusal)


def test_the_parts_of_the_reading():
    assert readable(b'{"a": 1}') == {"a": 1}
    assert readable(b"{a") == "{a"
    assert excerpt(b"a\n  b") == "a b"
    assert excerpt("x" * 99, most=10) == "x" * 9 + "…"
