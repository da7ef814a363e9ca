"""Bytes into lines, none of them longer than a limit."""

from typing import TypeAlias

from msgspec import Struct


class TooLong(Struct, frozen=True):
    """A line that was longer than the limit, and is not kept."""


Line: TypeAlias = bytes | TooLong


class Lines:
    """Frames lines, without I/O: the same bytes cut anywhere give the same. Blank lines are left out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """The lines that these bytes complete."""
        *whole, rest = data.split(b"\n")
        lines: list[Line] = []
        for piece in whole:
            self._add(piece)
            lines += self._take()
        self._add(rest)
        return lines

    def finish(self) -> list[Line]:
        """The last line, if it has no end."""
        return self._take()

    def _add(self, piece: bytes) -> None:
        if not self._is_skipping and len(self._rest) + len(piece) > self._limit:
            self._is_skipping = True
            self._rest = bytearray()
        if not self._is_skipping:
            self._rest += piece

    def _take(self) -> list[Line]:
        if self._is_skipping:
            self._is_skipping = False
            return [TooLong()]
        line = bytes(self._rest)
        self._rest.clear()
        return [line] if line.strip() else []
