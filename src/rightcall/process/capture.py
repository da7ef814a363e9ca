"""An output of any length into its beginning and its end, in bounded memory."""

from rightcall.process.command import Captured

_TAIL_PART = 3
"""A third of what is kept is the end: where programs say what went wrong."""
_SLACK = 64 * 1024


class Capture:
    """Takes chunks, and keeps as many bytes as it may."""

    def __init__(self, most: int) -> None:
        self._tail_room = most // _TAIL_PART
        self._head_room = most - self._tail_room
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._size += len(chunk)
        if room := self._head_room - len(self._head):
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Not with every chunk: moving the tail by a byte costs as much as moving it by a page.
        if len(self._tail) > self._tail_room + _SLACK + len(chunk):
            self._trim()

    def finish(self) -> Captured:
        """What was kept."""
        self._trim()
        return Captured(bytes(self._head), bytes(self._tail), self._size)

    def _trim(self) -> None:
        del self._tail[: max(len(self._tail) - self._tail_room, 0)]
