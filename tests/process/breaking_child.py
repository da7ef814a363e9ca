"""A child whose every answer fails in the way that its request names."""

import signal
from socket import socket

from rightcall.bounded_child import answer_requests


def fail(line: socket, request: bytes) -> None:
    if request == b"memory":
        raise MemoryError
    if request == b"memory, as compile() says it":
        raise SystemError("<built-in function compile> returned NULL without setting an exception")
    signal.raise_signal(signal.SIGABRT)


def main() -> None:
    answer_requests(fail)
