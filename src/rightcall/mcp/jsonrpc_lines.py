"""Bytes into lines of bounded length, and lines into JSON-RPC messages and back. Does no I/O.

This is the framing of MCP over standard input and output, at either end.
"""

from types import TracebackType
from typing import Self, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from msgspec import Struct


class OverlongLine(Struct, frozen=True):
    """Stands for a line that is longer than the limit, and is dropped."""


Line: TypeAlias = bytes | OverlongLine


class Lines:
    """Frames lines, however the bytes are cut into chunks. Blank lines are left out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """The lines that these bytes complete. A line that is too long is reported as soon as it is."""
        *whole, rest = data.split(b"\n")
        lines: list[Line] = []
        for piece in whole:
            lines += self._add(piece)
            lines += self.finish()
        return lines + self._add(rest)

    def finish(self) -> list[Line]:
        """The last line, if it has no line feed."""
        line = bytes(self._rest)
        self._rest.clear()
        self._is_skipping = False
        if line.strip():
            return [line]
        return []

    def _add(self, piece: bytes) -> list[Line]:
        if self._is_skipping:
            return []
        if len(self._rest) + len(piece) > self._limit:
            self._is_skipping = True
            self._rest.clear()
            return [OverlongLine()]
        self._rest += piece
        return []


class MessageStream:
    """The SDK's interface of a message stream, without the one method that receives or sends."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message; EndOfStream when there are no more."""
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Close it."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()


def encode_message(item: SessionMessage) -> bytes:
    """A message as a line."""
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def decode_message(line: bytes) -> SessionMessage:
    """A line as a message. Raises pydantic's ValidationError if it is not one."""
    return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
