"""Text with thoughts between markers, cut anywhere, into thoughts and text.

Models that have no other place for their thoughts write ``<think>…</think>`` into the answer: at its
beginning, between two paragraphs, after thoughts that came by themselves. An answer may also speak of
the markers. So

- inside of code, in a line between backticks or in a fence of three and more, a marker is text;
- a thought at the beginning is given as it comes, and is one even if it never ends;
- one that follows text, or thoughts that came by themselves, is given once it is closed. If it never is,
  it was text, unless the reply was cut off in it.

An inline span of code ends with its line at the latest; a fence that is never closed keeps markers text.
"""

import re
from functools import cache
from typing import Literal, TypeAlias

from rightcall.core.options import checked

Kind: TypeAlias = Literal["open", "thought", "close", "text"]
Piece: TypeAlias = tuple[Kind, str]

MARKERS = ("<think>", "</think>")

_Mode: TypeAlias = Literal["start", "text", "thought", "late", "after"]
_FENCE = 3


class ThinkFilter:
    """Feed it text, cut anywhere; it gives pieces, none empty, and any cut gives the same of them.

    A piece is its kind and its text: ``thought`` and ``text`` are what they say; ``open`` and ``close``
    are the markers, with the space around them that belongs to neither. Joined, the pieces are what was
    fed.
    """

    @checked("rc.wire.ThinkFilter")
    def __init__(self, markers: tuple[str, str] = MARKERS) -> None:
        self._open, self._close = markers
        self._token = _token(self._open)
        self.is_sure = True
        """Whether a thought at the beginning is one even if it never ends. Not so where a model has
        another place for its thoughts."""
        self._begin()

    def _begin(self) -> None:
        self._mode: _Mode = "start"
        self._held = ""
        """What may turn out to be a marker, or the space before one."""
        self._opened = ""
        self._late: list[str] = []
        """A thought that may be text, as long as it is not closed, and what opened it."""
        self._has_text = False
        self._code = 0
        """How many backticks the code began with that the text is in; 0 outside."""
        self._ticks = 0
        """Backticks at the very end of what was fed, which more may follow."""
        self.is_plain = False
        """Whether text without a backtick and without the first character of a marker is only text."""
        self.is_open = False
        """Whether something is held back, or a thought goes on."""

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are now certain."""
        if not text:
            return []
        if (
            (self.is_plain or (self._mode == "start" and not self._held and not text.isspace()))
            and "`" not in text
            and self._open[0] not in text
        ):
            # Nearly everything that is said.
            self._mode, self._has_text, self.is_plain = "text", True, True
            return [("text", text)]
        code = self._code and not self._ticks and "`" not in text
        if code and (self._code >= _FENCE or "\n" not in text):
            # Most of what is long is code.
            return [("text", text)]
        pieces: list[Piece] = []
        while text:
            text = self._step(text, pieces)
        self.is_plain = self._mode == "text" and not (self._held or self._code or self._ticks)
        self.is_open = bool(self._held) or self._mode in ("thought", "late")
        return pieces

    def finish(self, *, cut: bool = False) -> list[Piece]:
        """What was held back, when nothing more comes; what is fed next begins anew.

        ``cut``: the text was broken off, so that a thought in it may not have come to its end.
        """
        held, late, mode = self._held, "".join(self._late), self._mode
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
        """Take what is fed up to the next change of mode; gives back the rest."""
        text, self._held = self._held + text, ""
        match self._mode:
            case "start":
                return self._start(text, pieces)
            case "text":
                return self._text(text, pieces)
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

    def _text(self, text: str, pieces: list[Piece]) -> str:
        found = self._opening(text)
        if found < 0:
            keep = 0 if self._code or self._ticks else _overlap(text, self._open)
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

    def _think(self, opened: str, pieces: list[Piece]) -> None:
        """A thought begins."""
        if self._has_text or not self.is_sure:
            self._mode, self._opened, self._late = "late", opened, []
        else:
            self._mode = "thought"
            pieces.append(("open", opened))

    def _opening(self, text: str) -> int:
        """Where in the text a thought opens; -1 if nowhere. Keeps account of code on the way."""
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
        """So many backticks begin code, or end it, or are part of it."""
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
        """The space after a thought belongs to neither."""
        bare = text.lstrip()
        if len(bare) < len(text):
            pieces.append(("close", text[: len(text) - len(bare)]))
        if bare:
            self._mode = "text"
        return bare


@cache
def _token(marker: str) -> re.Pattern[str]:
    """What matters in text: backticks, the end of a line, the marker."""
    return re.compile(rf"`+|\n|{re.escape(marker)}")


def _overlap(text: str, marker: str) -> int:
    """How much of the end of ``text`` could be the beginning of ``marker``."""
    longest = min(len(marker) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(marker[:size])), 0)
