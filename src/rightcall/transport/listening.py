"""The base of servers: a listening socket, and a uvicorn that leaves signals to the caller."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from rightcall.errors import UsageError

_BACKLOG = 128


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Returns a listening socket. Raises UsageError if it cannot bind: uvicorn would end the process."""
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    # asyncio turns off Nagle's algorithm only if the socket's protocol is given, and create_server gives
    # none; with Nagle, every second response waits 40 ms for an acknowledgement.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((plain, port))
        except (OSError, OverflowError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot listen on {host}:{port}: {words}") from error
        bound.listen(_BACKLOG)
        yield bound


def url_of(host: str, port: int) -> str:
    """Returns the URL for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Listener(uvicorn.Server):
    """A server that the owner of the event loop ends.

    uvicorn's own would end the process with the signal that it got, before the rest was written.
    """

    should_exit = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    def end(self) -> None:
        """Accept no more requests, and let streams end; on the second call, do not wait for them."""
        self.force_exit = self.should_exit
        self.should_exit = True
