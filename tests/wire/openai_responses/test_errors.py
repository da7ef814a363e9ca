"""The refusals of the Responses API and of what stands before it."""

import json

import pytest

from rightcall.wire.openai_responses import error

OOPS = json.dumps({"error": {"message": "Oops", "type": "t", "param": None, "code": "c"}}).encode()

BODIES = {
    "the vendor's": (OOPS, "Oops", "c"),
    "no code": (b'{"error": {"message": "Oops", "type": "t", "code": null}}', "Oops", "t"),
    "a number as code": (b'{"error": {"message": "Oops", "code": 400}}', "Oops", "400"),
    "only text": (b'{"error": "Oops"}', "Oops", ""),
    "xai": (b'{"code": "bad", "error": "Oops"}', "Oops", "bad"),
    "a detail": (b'{"detail": "Oops"}', "Oops", ""),
    "details": (b'{"detail": [{"loc": ["body"], "msg": "Oops", "type": "missing"}]}', "Oops", "missing"),
    "azure's gateway": (b'{"statusCode": 401, "message": "Oops"}', "Oops", ""),
    "a list": (b'[{"error": {"message": "Oops", "code": "c"}}]', "Oops", "c"),
    "html": (
        b"<html>\n <b>Oops</b></html>",
        'a web page that says "Oops"; this is no answer of an API: check the address',
        "",
    ),
    "empty": (b"", "HTTP 418, and the vendor did not say why", ""),
    "null": (b"null", "HTTP 418, and the vendor did not say why", ""),
    "bytes": (b"\xff\xfe", "\ufffd\ufffd", ""),
    "half": (b'{"error": {"mess', '{"error": {"mess', ""),
}


@pytest.mark.parametrize(("body", "message", "code"), BODIES.values(), ids=BODIES)
def test_any_body_becomes_an_error(body, message, code):
    made = error(418, {}, body)
    assert (
        made.message,
        made.status,
        made.vendor_code,
        made.retryable,
        made.retry_after,
        made.request_id,
    ) == (
        message,
        418,
        code,
        False,
        None,
        "",
    )


def test_a_long_page_is_cut_short():
    assert len(str(error(500, {}, b"<p>" * 100_000))) <= 300


RETRIES = {
    "bad request": (400, "invalid_value", {}, False),
    "bad key": (401, "invalid_api_key", {}, False),
    "not found": (404, "model_not_found", {}, False),
    "timeout": (408, "c", {}, True),
    "conflict": (409, "c", {}, True),
    "rate": (429, "rate_limit_exceeded", {}, True),
    "money": (429, "insufficient_quota", {}, False),
    "fault": (500, "server_error", {}, True),
    "overload": (529, "c", {}, True),
    "told not to": (500, "c", {"X-Should-Retry": "false"}, False),
    "told to": (400, "c", {"x-should-retry": "true"}, True),
}


@pytest.mark.parametrize(("status", "code", "headers", "expected"), RETRIES.values(), ids=RETRIES)
def test_whether_to_try_again(status, code, headers, expected):
    body = json.dumps({"error": {"message": "Oops", "code": code}}).encode()
    assert error(status, headers, body).retryable is expected


WAITS = {
    "seconds": ({"Retry-After": "2.5"}, 2.5),
    "milliseconds first": ({"retry-after-ms": "150", "retry-after": "1"}, 0.15),
    "a date": (
        {"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        30.0,
    ),
    "a date gone by": (
        {"Retry-After": "Wed, 21 Oct 2026 07:27:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
        0.0,
    ),
    "a date without a clock": ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    "nonsense": ({"retry-after": "soon", "retry-after-ms": "-5"}, None),
    "for ever": ({"retry-after": "inf"}, None),
    "not a number": ({"retry-after": "nan"}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("headers", "expected"), WAITS.values(), ids=WAITS)
def test_how_long_to_wait(headers, expected):
    assert error(429, headers, OOPS).retry_after == pytest.approx(expected)


@pytest.mark.parametrize("header", ["X-Request-ID", "apim-request-id"])
def test_the_request_is_named(header):
    assert error(500, {header: "req_1"}, OOPS).request_id == "req_1"
