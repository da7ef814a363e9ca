"""Text as it streams into thoughts and answer, for models that write ``<think>…</think>`` first.

Only the very beginning of a reply can be a thought; the same marker later on is text. What may turn out
to be a marker is held back until it is one or is not, so that any cut gives the same.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["thought", "text"]
Piece: TypeAlias = tuple[Kind, str]

MARKERS = ("<think>", "</think>")


class ThinkFilter:
    """Feed it text, cut anywhere. ``opening`` and ``closing`` are the markers found, with their space.

    ``opening + thought + closing + text`` is what was fed, once it has finished.
    """

    def __init__(self, markers: tuple[str, str] = MARKERS) -> None:
        self._open, self._close = markers
        self._read = self._before
        self._held = ""
        self.opening = ""
        self.closing = ""

    @property
    def is_over(self) -> bool:
        """Whether all that follows is text."""
        return self._read == self._after

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are now certain; none of them empty."""
        return self._read(text) if text else []

    def finish(self) -> list[Piece]:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        kind: Kind = "thought" if self._read == self._inside else "text"
        if self._read == self._before:
            self._read = self._after
        return [(kind, held)] if held else []

    def _before(self, text: str) -> list[Piece]:
        text = self._held + text
        bare = text.lstrip()
        if bare.startswith(self._open):
            at = len(text) - len(bare) + len(self._open)
            self.opening, self._held = text[:at], ""
            self._read = self._inside
            return self.feed(text[at:])
        if self._open.startswith(bare):
            self._held = text
            return []
        self._held = ""
        self._read = self._after
        return [("text", text)]

    def _inside(self, text: str) -> list[Piece]:
        text = self._held + text
        at = text.find(self._close)
        if at >= 0:
            self.closing, self._held = self._close, ""
            self._read = self._between
            thought: list[Piece] = [("thought", text[:at])] if at else []
            return [*thought, *self.feed(text[at + len(self._close) :])]
        keep = _overlap(text, self._close)
        self._held = text[len(text) - keep :]
        sure = text[: len(text) - keep]
        return [("thought", sure)] if sure else []

    def _between(self, text: str) -> list[Piece]:
        """The space after a thought belongs to neither."""
        bare = text.lstrip()
        self.closing += text[: len(text) - len(bare)]
        if not bare:
            return []
        self._read = self._after
        return [("text", bare)]

    @staticmethod
    def _after(text: str) -> list[Piece]:
        return [("text", text)]


def _overlap(text: str, marker: str) -> int:
    """How much of the end of ``text`` could be the beginning of ``marker``."""
    longest = min(len(marker) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(marker[:size])), 0)
