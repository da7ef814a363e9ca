"""What servers here stand on: a socket that listens, and a uvicorn that leaves signals to others."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from rightcall.errors import UsageError

_BACKLOG = 128


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at an address. UsageError where there can be none: uvicorn would end the process."""
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    # asyncio turns off Nagle's algorithm only where the protocol is named, which create_server does not;
    # with it, every second response waits 40 ms for an acknowledgement.
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
    """Where a browser finds it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Listener(uvicorn.Server):
    """A server that whoever runs the event loop ends.

    uvicorn's own would end the process by the signal that ended it, before what is left was written.
    """

    should_exit = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def end(self) -> None:
        """Take no more requests, and let streams end; the second time, do not wait for them."""
        self.force_exit = self.should_exit
        self.should_exit = True
