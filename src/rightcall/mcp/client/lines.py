"""Bytes into lines, each of bounded length. Does no I/O; the same bytes cut anywhere give the same."""


class LineTooLong(Exception):
    """A line has more bytes than one may have."""


class Lines:
    """Takes bytes, and gives the lines that they complete."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete, without their ends. Raises LineTooLong."""
        *complete, rest = data.split(b"\n")
        lines = []
        for piece in complete:
            self._hold(piece)
            lines.append(b"".join(self._pieces))
            self._pieces.clear()
            self._held = 0
        self._hold(rest)
        return lines

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._most:
            raise LineTooLong
        if piece:
            self._pieces.append(piece)
