"""A vendor on loopback that answers from bytes made beforehand, so that the client is what is measured.

The path names the work and the dialect; how many results the request holds says which turn it is. Each
event of a stream is an HTTP chunk of its own, as vendors send them. Connections are kept.
"""

import asyncio
import re
import socket

from script import SCRIPTS, Script, chat_frames, chat_whole, messages_frames, messages_whole

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
STREAMED = re.compile(rb'"stream": ?true')
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


def chunk(frame: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(frame), frame)


class Book:
    """Every answer, by work, dialect, turn and whether it is streamed."""

    def __init__(self, script: Script, dialect: bytes) -> None:
        chat = dialect == b"chat"
        frames, whole = (chat_frames, chat_whole) if chat else (messages_frames, messages_whole)
        turns = range(script.turns + 1)
        self.script = script
        self.mark = b'"tool_call_id"' if chat else b'"tool_use_id"'
        self.streamed = [
            [chunk(each) for each in frames(script, turn)] + [b"0\r\n\r\n"] for turn in turns
        ]
        self.joined = [HEAD + b"".join(each) for each in self.streamed]
        self.whole = [WHOLE % (len(body), body) for body in (whole(script, turn) for turn in turns)]

    def turn(self, body: bytes) -> int:
        return body.count(self.mark) // self.script.calls


class Vendor(asyncio.Protocol):
    """One connection."""

    def __init__(self, books: dict[tuple[bytes, bytes], Book]) -> None:
        self._books = books
        self._held = bytearray()
        self._wanted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        if len(self._held) < self._wanted:
            return
        head = self._held.find(b"\r\n\r\n") + 4
        if head < 4:
            return
        length = LENGTH.search(self._held, 0, head)
        self._wanted = head + (int(length[1]) if length else 0)
        if len(self._held) >= self._wanted:
            line, body = bytes(self._held[: self._held.index(b"\r\n")]), bytes(self._held[head:])
            self._held.clear()
            self._wanted = 0
            self._answer(line.split(b" ")[1].split(b"/"), body)

    def _answer(self, path: list[bytes], body: bytes) -> None:
        book = self._books[path[1], b"messages" if path[-1].startswith(b"messages") else b"chat"]
        turn = book.turn(body)
        if not STREAMED.search(body):
            self._transport.write(book.whole[turn])
        elif turn == 0 and book.script.seconds:
            self._pace(book.streamed[0], book.script)
        else:
            self._transport.write(book.joined[turn])

    def _pace(self, chunks: list[bytes], script: Script) -> None:
        """Send the calls at once and what comes after them little by little."""
        loop, last = asyncio.get_running_loop(), 20
        self._transport.write(HEAD + b"".join(chunks[:-last]))
        for n, each in enumerate(chunks[-last:]):
            loop.call_later(script.seconds * (n + 1) / last, self._transport.write, each)


def serve(listener: socket.socket) -> None:
    """Answer until the process is ended."""
    books = {
        (work.encode(), dialect): Book(script, dialect)
        for work, script in SCRIPTS.items()
        for dialect in (b"chat", b"messages")
    }

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Vendor(books), sock=listener, backlog=4096)
        await server.serve_forever()

    asyncio.run(main())
