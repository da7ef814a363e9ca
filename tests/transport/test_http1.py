"""HTTP/1.1 as bytes: the same reply wherever its bytes are cut, and requests that say one thing."""

import gc
import weakref

import pytest

from rightcall.errors import TransportError, UsageError
from rightcall.transport.http1 import ResponseParser, request_head

REPLIES = {
    "a length": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 11\r\n\r\nhello world",
        (200, {"content-type": "text/plain", "content-length": "11"}, b"hello world", True),
    ),
    "chunks with extensions and trailers": (
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
            b'5;a=b;c="d"\r\nhello\r\n00006\r\n world\r\n0;last\r\nx-sum: 1\r\nx-more: 2\r\n\r\n'
        ),
        (200, {"transfer-encoding": "Chunked"}, b"hello world", True),
    ),
    "news before it": (
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\nlink: </b>\r\n\r\n"
            b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok"
        ),
        (201, {"content-length": "2"}, b"ok", True),
    ),
    "no content": (
        b"HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n",
        (204, {"x-a": "1"}, b"", True),
    ),
    "not modified, with the length of what it is not": (
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
        (304, {"content-length": "5"}, b"", True),
    ),
    "an empty body": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        (200, {"content-length": "0"}, b"", True),
    ),
    "two headers of one name": (
        b"HTTP/1.1 200 \r\nvia: a\r\nVia:b  \r\ncontent-length: 1\r\n\r\nx",
        (200, {"via": "a, b", "content-length": "1"}, b"x", True),
    ),
    "two cookies": (
        b"HTTP/1.1 204 \r\nset-cookie: a=1; expires=Thu, 01 Jan 2099\r\nSet-Cookie: b=2\r\n\r\n",
        (204, {"set-cookie": "a=1; expires=Thu, 01 Jan 2099\nb=2"}, b"", True),
    ),
    "bytes beyond ASCII": (
        b"HTTP/1.1 200 OK\r\nx-a: caf\xe9\r\ncontent-length: 1\r\n\r\n\xff",
        (200, {"x-a": "café", "content-length": "1"}, b"\xff", True),
    ),
    "lines that end without CR": (
        b"HTTP/1.1 200 OK\nx-a: 1\ncontent-length: 2\n\nok",
        (200, {"x-a": "1", "content-length": "2"}, b"ok", True),
    ),
    "lines that are folded": (
        b"HTTP/1.1 200 OK\r\nx-a: 1\r\n 2\r\n\t3\r\ncontent-length: 2\r\n\r\nok",
        (200, {"x-a": "1 2 3", "content-length": "2"}, b"ok", True),
    ),
    "characters that end lines elsewhere": (
        b"HTTP/1.1 200 OK\r\nx-a: 1\0\x0b2\r\ncontent-length: 2\r\n\r\nok",
        (200, {"x-a": "1 2", "content-length": "2"}, b"ok", True),
    ),
    "spaces after the size of a chunk": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2  \r\nok\r\n0 \r\n\r\n",
        (200, {"transfer-encoding": "chunked"}, b"ok", True),
    ),
    "one that says that it is the last": (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        (200, {"connection": "close", "content-length": "2"}, b"ok", False),
    ),
    "one of HTTP/1.0": (
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        (200, {"content-length": "2"}, b"ok", False),
    ),
}
UNTIL_CLOSED = {
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "HTTP/1.1": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello",
    "HTTP/1.1 without a word": b"HTTP/1.1 200 OK\r\n\r\nhello",
}


def fed(*parts: bytes) -> ResponseParser:
    replies = ResponseParser()
    replies.expect()
    for part in parts:
        replies.feed(memoryview(part))
    return replies


def found(replies: ResponseParser) -> tuple[int, dict[str, str], bytes, bool]:
    assert replies.is_complete
    return replies.status, replies.headers, replies.take(), replies.keeps_alive


@pytest.mark.parametrize(("data", "expected"), REPLIES.values(), ids=REPLIES)
def test_a_reply_is_the_same_at_every_cut(data, expected):
    assert found(fed(data)) == expected
    for at in range(1, len(data)):
        assert found(fed(data[:at], data[at:])) == expected
    one_by_one = ResponseParser()
    one_by_one.expect()
    for at in range(len(data)):
        assert not one_by_one.is_complete, "complete before its end"
        one_by_one.feed(memoryview(data)[at : at + 1])
    assert found(one_by_one) == expected


@pytest.mark.parametrize("data", UNTIL_CLOSED.values(), ids=UNTIL_CLOSED)
def test_a_reply_without_a_length_ends_with_the_connection(data):
    for at in range(1, len(data)):
        replies = fed(data[:at], data[at:])
        assert not replies.is_complete
        replies.end()
        assert (replies.is_complete, replies.keeps_alive, replies.take()) == (True, False, b"hello")


@pytest.mark.parametrize("name", ["a length", "chunks with extensions and trailers", "news before it"])
def test_a_reply_that_is_cut_is_never_complete(name):
    data, _ = REPLIES[name]
    for at in range(len(data)):
        replies = fed(data[:at])
        replies.end()
        assert not replies.is_complete


def test_replies_follow_each_other():
    replies = ResponseParser()
    for data, expected in REPLIES.values():
        replies.expect()
        replies.feed(memoryview(data))
        assert found(replies) == expected
        if not expected[-1]:
            break
    assert not replies.keeps_alive


def test_bytes_after_a_reply_leave_it_whole_and_end_the_connection():
    data, (status, headers, body, _) = REPLIES["a length"]
    replies = fed(data + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
    assert found(replies) == (status, headers, body, False)


BAD = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    "a length and chunks": b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    "a length that is none": b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "a chunk's length that is none": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "a chunk that is longer than it says": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n"
    ),
    "a compressed transfer": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    "a name with a space": b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
    "a thousand headers": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000,
    "another protocol from here on": (
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
    ),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_is_no_http_is_an_error(data):
    with pytest.raises(TransportError, match=r"the reply is not HTTP: [^ ]+ [^ ]+"):
        fed(data)


ENDLESS = {
    "head": (b"HTTP/1.1 200 OK\r\n", b"x-a: %s\r\n" % (b"a" * 10_000)),
    "one header": (b"HTTP/1.1 200 OK\r\nx-a: ", b"a" * 1000),
    "news": (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n"),
    "extension": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=", b"a" * 1000),
    "trailers": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
        b"x-a: %s\r\n" % (b"a" * 1000),
    ),
}


@pytest.mark.parametrize(("begin", "more"), ENDLESS.values(), ids=ENDLESS)
def test_what_never_gets_to_the_body_is_given_up(begin, more):
    with pytest.raises(TransportError, match=r"more than 131,072 bytes of headers"):
        fed(begin, *[more] * 10_000)


def test_a_long_body_is_no_long_head():
    data = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    replies = fed(data, *[b"4\r\nabcd\r\n"] * 100_000, b"0\r\n\r\n")
    assert found(replies)[2] == b"abcd" * 100_000


def test_the_parser_is_freed_without_a_collection():
    class Watched(ResponseParser):
        __slots__ = ("__weakref__",)

    gc.disable()
    try:
        replies = Watched()
        gone = weakref.ref(replies)
        replies.close()
        del replies
        assert gone() is None
    finally:
        gc.enable()


USUAL = b"host: h\r\naccept: */*\r\naccept-encoding: gzip, deflate\r\n"
HEADS = {
    "none": ({}, USUAL),
    "headers": ({"X-Key": "k"}, USUAL + b"X-Key: k\r\n"),
    "ones of its own": (
        {"Host": "other", "Accept": "text/plain", "Accept-Encoding": "identity"},
        b"Host: other\r\nAccept: text/plain\r\nAccept-Encoding: identity\r\n",
    ),
    "letters beyond ASCII": ({"x-a": "é"}, USUAL + "x-a: é\r\n".encode()),
    "an empty value": ({"x-a": ""}, USUAL + b"x-a: \r\n"),
}


@pytest.mark.parametrize(("headers", "fields"), HEADS.values(), ids=HEADS)
def test_a_request_has_the_headers_that_it_needs_once(headers, fields):
    head = request_head("POST", "/v1/a?b=%2F", "h", headers)
    assert head == b"POST /v1/a?b=%2F HTTP/1.1\r\n" + fields


INJECTED = [
    {"x-a": "b\r\nx-key: stolen"},
    {"x-a": "b\nx-key: stolen"},
    {"x-a": "b\rx-key: stolen"},
    {"x-a": "b\0"},
    {"x-a\r\nx-key": "stolen"},
    {"x-a: b\r\nx-key": "stolen"},
    {"x a": "b"},
    {"x-a:": "b"},
    {"": "b"},
    {"x-é": "b"},
]


@pytest.mark.parametrize("headers", INJECTED, ids=repr)
def test_a_header_that_would_be_two_is_refused_without_its_value(headers):
    with pytest.raises(UsageError, match="not a header") as caught:
        request_head("POST", "/", "h", {"x-good": "fine", **headers})
    ((name, value),) = headers.items()
    assert f"not a header: {name!r};" in str(caught.value)
    assert "stolen" not in value or "stolen" not in str(caught.value)


@pytest.mark.parametrize(
    "headers", [{"Content-Length": "4"}, {"transfer-encoding": "chunked"}, {"content-length": ""}]
)
def test_where_the_body_ends_is_not_for_headers_to_say(headers):
    with pytest.raises(UsageError, match="follow from the body"):
        request_head("POST", "/", "h", headers)
