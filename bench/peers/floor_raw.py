"""The floor on bare sockets: an asyncio protocol that knows just enough HTTP for this vendor."""

import asyncio
from urllib.parse import urlsplit

from client import Job, Run, main
from floor import Conversation


class Wire(asyncio.Protocol):
    """A connection that is kept, for one request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self, head: bytes, body: bytes) -> "asyncio.Future[bytes]":
        self._done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pieces: list[bytes] = []
        self._missing = -1
        self.transport.write(b"%s%d\r\n\r\n%s" % (head, len(body), body))
        return self._done

    def data_received(self, data: bytes) -> None:
        if not self._pieces:
            head, _, data = data.partition(b"\r\n\r\n")
            if b"chunked" not in head:
                self._missing = int(head.rsplit(b": ", 1)[1])
        self._pieces.append(data)
        if self._missing >= 0:
            self._missing -= len(data)
        ended = b"".join(self._pieces[-2:]).endswith(END) if self._missing < 0 else not self._missing
        if ended:
            self._done.set_result(b"".join(self._pieces))


END = b"\r\n0\r\n\r\n"
"""What a body in chunks ends with."""


def joined(body: bytes) -> bytes:
    """The chunks of a body, together."""
    pieces: list[bytes] = []
    at = 0
    while True:
        line = body.index(b"\r\n", at)
        size = int(body[at:line], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[line + 2 : line + 2 + size])
        at = line + 4 + size


async def prepare(job: Job) -> Run:
    place = urlsplit(job.base)
    host, port = place.hostname or "", place.port or 0
    path = f"{place.path}/chat/completions"
    head = (
        f"POST {path} HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
        "content-length: "
    ).encode()
    idle: list[Wire] = []
    loop = asyncio.get_running_loop()

    async def run() -> str:
        wire = idle.pop() if idle else None
        if wire is None:
            _, wire = await loop.create_connection(Wire, host, port)
        talk = Conversation(streamed=job.streamed)
        while not talk.answer:
            body = await wire.ask(head, talk.request())
            if job.streamed:
                talk.feed(joined(body))
            else:
                talk.whole(body)
            await talk.step()
        idle.append(wire)
        return talk.answer

    return run


if __name__ == "__main__":
    main(prepare)
