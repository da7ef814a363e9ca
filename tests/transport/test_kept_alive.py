"""Connections between two requests: who closes them when, and what that does to the next request."""

import socket
import threading

import pytest

from request.server import serving, whole
from transport.raw import posted

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Hasty:
    """Answers one request on each connection, and closes it without a word: a server in a thread."""

    def __init__(self, connections: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections = connections
        self.closed = threading.Semaphore(0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._listener:
            for _ in range(self._connections):
                connection, _ = self._listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(OK)
                self.closed.release()


async def test_a_connection_that_was_closed_while_the_loop_was_busy_is_not_used_again(transport):
    server = Hasty(3)
    for _ in range(3):
        assert await posted(transport, server.url) == (200, b"ok")
        # The loop reads nothing meanwhile, as if a tool kept it busy.
        assert server.closed.acquire(timeout=5)


KEPT = {
    "timeout=1": 3,
    "timeout=0": 3,
    "Timeout=1, max=100": 3,
    "Timeout=5, max=100": 1,
    "max=100": 1,
    "timeout=soon": 1,
}


@pytest.mark.parametrize(("told", "connections"), KEPT.items(), ids=KEPT)
async def test_a_connection_is_left_before_the_server_closes_it(told, connections, transport):
    async with serving(whole(b"{}", keep_alive=told)) as server:
        for _ in range(3):
            await posted(transport, server.url)
    assert server.connections == connections
