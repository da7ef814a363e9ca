"""The vendor as a process, on a core of its own where there is one, and how much it can answer."""

import multiprocessing
import os
import resource
import socket
import time
from multiprocessing.connection import Connection

from floor import Conversation
from script import SCRIPTS
from vendor import Book, serve

HAMMERS = 3
WIRES = 4
SECONDS = 2.0
FORK = multiprocessing.get_context("fork")


class Standing:
    """A vendor that answers at ``url``."""

    def __init__(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process = FORK.Process(target=serve, args=(self._listener,), daemon=True)
        self._process.start()
        self.pinned = self._pin()

    def _pin(self) -> str:
        *others, last = sorted(os.sched_getaffinity(0))
        if not others:
            return "vendor and clients share the only core"
        os.sched_setaffinity(self._pid, {last})
        os.sched_setaffinity(0, others)
        return f"vendor on core {last}, clients on {', '.join(map(str, others))}"

    @property
    def _pid(self) -> int:
        assert self._process.pid
        return self._process.pid

    def cpu(self) -> float:
        """The seconds of CPU that it has used so far."""
        scheduled = 2  # the kernel's clock of what a process ran, see clock_getcpuclockid(3)
        return time.clock_gettime((~self._pid << 3) | scheduled)

    def end(self) -> None:
        self._process.terminate()

    def capacity(
        self, work: str, *, streamed: bool, hammers: int = HAMMERS, wires: int = WIRES
    ) -> dict[str, float]:
        """How many first requests of a kind of work it answers, when that is all that is asked."""
        book, body = Book(SCRIPTS[work], b"chat"), Conversation(streamed=streamed).request()
        size = len(book.joined[0] if streamed else book.whole[0])
        head = f"POST /{work}/v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        ends = []
        for _ in range(hammers):
            mine, theirs = FORK.Pipe()
            given = (self._port, head.encode() + body, size, wires, theirs)
            FORK.Process(target=_hammer, args=given, daemon=True).start()
            ends.append(mine)
        for end in ends:
            end.recv()
        start, cpu = time.perf_counter(), self.cpu()
        for end in ends:
            end.send(None)
        answered = sum(end.recv() for end in ends)
        took, used = time.perf_counter() - start, self.cpu() - cpu
        return {"per_second": answered / took, "cpu": used / answered, "busy": used / took}


def _hammer(port: int, request: bytes, size: int, wires: int, end: Connection) -> None:
    """Ask the same again and again, over several connections, and look at no answer."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(wires)]

    def once() -> int:
        for each in sockets:
            each.sendall(request)
        for each in sockets:
            missing = size
            while missing:
                missing -= len(each.recv(missing))
        return wires

    once()
    end.send(None)
    end.recv()
    answered, until = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        answered += once()
    end.send(answered)
