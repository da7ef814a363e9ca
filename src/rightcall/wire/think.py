"""Separates thoughts between markers from text, in pieces that are split anywhere.

Models that have no other field for thoughts write ``<think>…</think>`` into the answer: at its
beginning, between two paragraphs, or after thoughts in a separate field. An answer may also mention the
markers. So

- inside code, between backticks in a line or in a fence of three or more, a marker is text;
- a thought at the beginning is emitted as it arrives, and is one even if it never ends;
- one that follows text, or thoughts in a separate field, is emitted once it is closed. If it never is,
  it was text, unless the reply was cut off in it.

Inline code ends with its line at the latest; after a fence that is never closed, markers are text.
"""

import re
from functools import cache
from typing import Literal, TypeAlias

from rightcall.core.options import check_keywords

Kind: TypeAlias = Literal["open", "thought", "close", "text"]
Piece: TypeAlias = tuple[Kind, str]

MARKERS = ("<think>", "</think>")

_Mode: TypeAlias = Literal["start", "text", "thought", "late", "after"]
_FENCE = 3


class ThinkFilter:
    """Splits text into thoughts and text. The pieces do not depend on how the input is cut.

    A piece is its kind and its text, never empty: ``thought`` and ``text`` are content; ``open`` and
    ``close`` are the markers, with the whitespace around them that belongs to neither. Joined, the
    pieces are the input.
    """

    @check_keywords("rc.wire.ThinkFilter")
    def __init__(self, markers: tuple[str, str] = MARKERS) -> None:
        self._open, self._close = markers
        self._token = _token(self._open)
        self.is_sure = True
        """Whether a thought at the beginning is one even if it never ends. False if the model has a
        separate field for thoughts."""
        self._begin()

    def _begin(self) -> None:
        self._mode: _Mode = "start"
        self._held = ""
        """Input that may be the beginning of a marker, or the whitespace before one."""
        self._opened = ""
        self._late: list[str] = []
        """An unclosed thought that may still be text, with its opening marker."""
        self._has_text = False
        self._code = 0
        """How many backticks opened the current code; 0 outside of code."""
        self._ticks = 0
        """How many backticks the input ends with so far; more may follow."""
        self.is_plain = False
        """Whether text without a backtick and without a marker's first character can be passed through
        as is."""
        self.is_open = False
        """Whether input is held back, or a thought is open."""

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain so far."""
        if not text:
            return []
        if (
            (self.is_plain or (self._mode == "start" and not self._held and not text.isspace()))
            and "`" not in text
            and self._open[0] not in text
        ):
            # The common case.
            self._mode = "text"
            self._has_text = True
            self.is_plain = True
            return [("text", text)]
        code = self._code and not self._ticks and "`" not in text
        if code and (self._code >= _FENCE or "\n" not in text):
            # Most long text is code.
            return [("text", text)]
        pieces: list[Piece] = []
        while text:
            text = self._step(text, pieces)
        self.is_plain = self._mode == "text" and not (self._held or self._code or self._ticks)
        self.is_open = bool(self._held) or self._mode in ("thought", "late")
        return pieces

    def finish(self, *, cut: bool = False) -> list[Piece]:
        """The pieces held back, when the text has ended; resets the filter.

        ``cut``: the text was truncated, so that an open thought may be incomplete.
        """
        held = self._held
        late = "".join(self._late)
        mode = self._mode
        pieces: list[Piece]
        if mode == "late" and cut:
            pieces = [("open", self._opened), ("thought", late + held)]
        elif mode == "late":
            pieces = [("text", self._opened + late + held)]
        else:
            pieces = [("thought" if mode == "thought" else "text", held)]
        self._begin()
        return [piece for piece in pieces if piece[1]]

    def _step(self, text: str, pieces: list[Piece]) -> str:
        """Consume input up to the next change of mode; returns the rest."""
        text = self._held + text
        self._held = ""
        match self._mode:
            case "start":
                return self._start(text, pieces)
            case "text":
                found = self._opening(text)
                if found < 0:
                    if self._code or self._ticks:
                        keep = 0
                    else:
                        keep = _overlap(text, self._open)
                    found = len(text) - keep
                    self._held = text[found:]
                    rest = None
                else:
                    rest = text[found + len(self._open) :]
                if found:
                    pieces.append(("text", text[:found]))
                    self._has_text = True
                if rest is not None:
                    self._think(self._open, pieces)
                return rest or ""
            case "after":
                return self._after(text, pieces)
            case _:
                return self._thought(text, pieces)

    def _start(self, text: str, pieces: list[Piece]) -> str:
        bare = text.lstrip()
        if bare.startswith(self._open):
            at = len(text) - len(bare) + len(self._open)
            self._think(text[:at], pieces)
            return text[at:]
        if self._open.startswith(bare):
            self._held = text
            return ""
        self._mode = "text"
        return text

    def _think(self, opened: str, pieces: list[Piece]) -> None:
        if self._has_text or not self.is_sure:
            self._mode = "late"
            self._opened = opened
            self._late = []
        else:
            self._mode = "thought"
            pieces.append(("open", opened))

    def _opening(self, text: str) -> int:
        """The index at which a thought opens; -1 if none does. Tracks code on the way."""
        at = 0
        if self._ticks:
            at = len(text) - len(text.lstrip("`"))
            self._ticks += at
            if at == len(text):
                return -1
            self._fence(self._ticks)
            self._ticks = 0
        for token in self._token.finditer(text, at):
            word = token.group()
            if word == "\n":
                self._code = self._code if self._code >= _FENCE else 0
            elif word[0] != "`":
                if not self._code:
                    return token.start()
            elif token.end() == len(text):
                self._ticks = len(word)
            else:
                self._fence(len(word))
        return -1

    def _fence(self, ticks: int) -> None:
        """Handle a run of backticks, which begins code, ends it, or is part of it."""
        if not self._code:
            self._code = ticks
        elif ticks == self._code or ticks > self._code >= _FENCE:
            self._code = 0

    def _thought(self, text: str, pieces: list[Piece]) -> str:
        at = text.find(self._close)
        keep = _overlap(text, self._close) if at < 0 else 0
        sure = text[:at] if at >= 0 else text[: len(text) - keep]
        if self._mode == "late":
            self._late.append(sure)
        elif sure:
            pieces.append(("thought", sure))
        if at < 0:
            self._held = text[len(text) - keep :]
            return ""
        if self._mode == "late":
            thought = "".join(self._late)
            pieces.append(("open", self._opened))
            if thought:
                pieces.append(("thought", thought))
            self._late = []
        pieces.append(("close", self._close))
        self._mode = "after"
        return text[at + len(self._close) :]

    def _after(self, text: str, pieces: list[Piece]) -> str:
        """Whitespace after a thought belongs neither to it nor to the text."""
        bare = text.lstrip()
        if len(bare) < len(text):
            pieces.append(("close", text[: len(text) - len(bare)]))
        if bare:
            self._mode = "text"
        return bare


@cache
def _token(marker: str) -> re.Pattern[str]:
    """A pattern for what matters in text: backticks, line ends, the marker."""
    return re.compile(rf"`+|\n|{re.escape(marker)}")


def _overlap(text: str, marker: str) -> int:
    """The length of the longest suffix of ``text`` that is a prefix of ``marker``."""
    longest = min(len(marker) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(marker[:size])), 0)
