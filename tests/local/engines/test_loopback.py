"""The small HTTP client for the model's process, against a server that sends what a test says."""

import socket
import threading
from contextlib import suppress

import pytest

from rightcall.local.engines.llamacpp import Loopback, Malformed

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Server:
    """Answers one request with given bytes, cut into pieces, and keeps what it was asked."""

    def __init__(self, answer: bytes, size: int) -> None:
        self._pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.asked = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection, self._listening:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.asked = connection.recv(65_536)
            with suppress(OSError):  # a client that has all it wants hangs up
                for piece in self._pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1024):
                    pass

    def join(self) -> None:
        self._thread.join(5)


@pytest.fixture
def exchange():
    servers = []

    def exchanged(answer, body=None, size=7):
        server = Server(answer, size)
        servers.append(server)
        with Loopback("127.0.0.1", server.port, "secret", 5.0).ask("/path", body) as found:
            pieces = list(found.pieces())
        server.join()
        return found.status, pieces, server.asked

    yield exchanged
    for server in servers:
        server.join()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunks_come_out_as_they_were_made_however_they_arrive(exchange, size):
    answer = CHUNKED + b"5\r\nab\r\nc\r\n1a\r\n" + b"x" * 26 + b"\r\n0\r\n\r\n"
    assert exchange(answer, size=size)[:2] == (200, [b"ab\r\nc", b"x" * 26])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_with_a_length_ends_there(exchange, size):
    answer = b"HTTP/1.1 404 Not Found\r\nCONTENT-LENGTH: 3\r\nX: y\r\n\r\nabcdef"
    assert exchange(answer, size=size)[:2] == (404, [b"abc"])


def test_a_request_has_the_key_and_its_body(exchange):
    answer = OK + b"Content-Length: 0\r\n\r\n"
    assert exchange(answer)[2].startswith(b"GET /path HTTP/1.1\r\nHost: 127.0.0.1:")
    asked = exchange(answer, {"a": 1})[2]
    assert asked.startswith(b"POST /path HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer secret\r\n" in asked
    assert asked.endswith(b'\r\nContent-Length: 7\r\n\r\n{"a":1}')


@pytest.mark.parametrize(
    "answer",
    [b"", OK, CHUNKED + b"5\r\nab", CHUNKED + b"2\r\nab\r\n", OK + b"Content-Length: 3\r\n\r\nab"],
    ids=["nothing", "half a head", "half a chunk", "no last chunk", "half a body"],
)
def test_an_answer_that_breaks_off_is_an_error(exchange, answer):
    with pytest.raises(ConnectionResetError, match="it closed the connection"):
        exchange(answer)


@pytest.mark.parametrize(
    "answer",
    [b"SSH-2.0-OpenSSH\r\n\r\n", OK + b"\r\n", CHUNKED + b"no\r\n", b"x" * 70_000],
    ids=["no status", "no length", "no size", "no end"],
)
def test_what_is_not_http_is_an_error(exchange, answer):
    with pytest.raises(Malformed):
        exchange(answer, size=1000)


def test_nobody_there_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        Loopback("127.0.0.1", port, "secret", 5.0).ask("/path")
