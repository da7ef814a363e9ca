"""An answer in a code fence into the answer alone, as it streams."""

import re

_OPEN = re.compile(r"\s*```[a-zA-Z]*[ \t]*\r?\n")
_OPEN_SO_FAR = re.compile(r"\s*(?:`{0,2}|```[a-zA-Z]*[ \t]*\r?)")
_TICKS = "```"
_CLOSE = re.compile(r"\s*```\s*\Z")
_MAX_OPEN = 64


class Fence:
    """Feed it text, cut anywhere. Without a fence at the beginning, everything stays."""

    __slots__ = ("_held", "_is_fenced")

    def __init__(self) -> None:
        self._held = ""
        self._is_fenced: bool | None = None

    def feed(self, text: str) -> str:
        """What is certainly part of the answer."""
        text = self._held + text
        self._held = ""
        if self._is_fenced is None:
            opening = _OPEN.match(text, 0, _MAX_OPEN)
            if opening is None and len(text) < _MAX_OPEN and _OPEN_SO_FAR.fullmatch(text):
                self._held = text
                return ""
            self._is_fenced = opening is not None
            text = text[opening.end() :] if opening is not None else text
        if not self._is_fenced:
            return text
        bare = text.rstrip()
        ticks = len(bare) - len(bare.rstrip("`"))
        at = len(bare[: len(bare) - ticks].rstrip()) if ticks <= len(_TICKS) else len(bare)
        self._held = text[at:]
        return text[:at]

    def finish(self) -> str:
        """What was held back and is no fence."""
        held, self._held = self._held, ""
        return "" if self._is_fenced and _CLOSE.fullmatch(held) else held
