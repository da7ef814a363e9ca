"""The section of calls that a reply is in: its markers, and whether anything was called.

It decides which markers are text if no call follows, and which never are: those of an empty section that
was opened and closed, and special tokens before the end of the turn.
"""

import re
from typing import Literal

from rightcall.local.families.family import Family
from rightcall.local.families.marker_table import Kind, is_call_marker, is_fence, is_special
from rightcall.local.families.shapes import Specs

_MAX_GAP = 4096
"""The most white space before another call."""
_MAX_AGAIN = 4096
"""How many characters of a failed call are searched again for another call inside."""
_SPACE = re.compile(r"\s*")
_SEPARATORS = re.compile(r"[\s,;]*")


class Section:
    """One section, from its first marker on."""

    __slots__ = ("has_called", "is_open", "opener", "raw")

    def __init__(self, raw: str = "", *, is_open: bool = False, opener: str = "") -> None:
        self.raw = raw
        """What is text if no call follows: markers and separators."""
        self.is_open = is_open
        self.opener = "" if is_fence(opener) else opener
        """The marker that opened it, if calls must follow: a fence may contain an answer."""
        self.has_called = False

    def after_space(self, text: str) -> str:
        """Consume separators of calls; returns the rest."""
        pattern = _SEPARATORS if self.is_open else _SPACE
        size = pattern.match(text, 0, _MAX_GAP - len(self.raw)).end()  # type: ignore[union-attr]
        self.raw += text[:size]
        return text[size:]

    @property
    def is_lost(self) -> bool:
        """Whether there is too much text here for another call to follow."""
        return len(self.raw) >= _MAX_GAP

    def add(self, marker: str) -> "Section":
        """The section after another opening marker: the same, as long as there was no call."""
        if self.has_called or not self.raw:
            return Section(marker, is_open=True, opener=marker)
        self.raw += marker
        self.is_open = True
        return self

    def end(self, kind: Kind | Literal[""]) -> bool:
        """Consume a marker that closes a call or the section; returns whether it is this section's."""
        if not (self.has_called or (self.opener and self.is_open)):
            return False
        self.raw = ""
        self.is_open = self.is_open and kind == "call_end"
        return True

    def end_list(self, family: Family) -> bool:
        """Consume a closing bracket; returns whether it ends a list, or none in a section."""
        is_over = self.has_called or bool(self.opener)
        self.raw = "" if is_over else self.raw + "]"
        is_bare = family.is_bare and (self.has_called or not self.opener)
        self.is_open = bool(family.section.close) and not is_bare
        return is_over

    def end_empty(self, marker: str, family: Family) -> None:
        """Nothing was in it, or in a call of it."""
        self.raw = ""
        self.opener = self.opener or marker
        self.is_open = self.is_open and marker in family.call.close

    def not_called(self, tried: str, rest: str) -> tuple[str, str]:
        """A call was none after all: what of the text is output, and what is parsed again.

        ``rest`` is the end of ``tried`` that the call's parser did not consume.
        """
        raw, self.raw = self.raw, ""
        if len(tried) - len(rest) > _MAX_AGAIN:
            # Searching much of it again and again would take quadratic time.
            return raw + tried[: len(tried) - len(rest)], rest
        # Without a consumed marker, the same character would open the same call for ever.
        return (raw, tried) if raw else (tried[:1], tried[1:])

    def is_meant(self, name: str, specs: Specs) -> bool:
        """Whether a call is one: of a tool that was offered, or, if there are tools, marked as one."""
        return name in specs.names or (bool(specs.names) and is_call_marker(self.raw.strip()))

    @property
    def said(self) -> str:
        """The part of it that is text, if the turn ends here."""
        if is_special(self.opener):
            return ""
        return "" if self.has_called and not self.raw.strip(",; \n\r\t") else self.raw
