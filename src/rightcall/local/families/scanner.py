"""Scans text that arrives in pieces: finds markers and the ends of JSON values, writes JSON strings."""

import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, TypeAlias

_Trie: TypeAlias = dict[str, Any]
_NEVER = re.compile(r"(?!)")
_IN_STRING = re.compile(r'["\\]')
# No JSON text has a "<" outside of its strings, and many a marker begins with one.
_OUTSIDE = re.compile(r'["{}\[\]<]')
_AFTER_SCALAR = re.compile(r"[\s,}\]<]")


class Scanner:
    """A compiled set of markers. The leftmost one counts, and at one position the longest."""

    __slots__ = ("_marker", "_partial", "longest", "markers")

    def __init__(self, markers: Iterable[str]) -> None:
        self.markers = tuple(sorted({marker for marker in markers if marker}, key=len, reverse=True))
        self.longest = len(self.markers[0]) if self.markers else 0
        beginnings = _beginnings(_trie(self.markers))
        self._marker = re.compile("|".join(map(re.escape, self.markers))) if self.markers else _NEVER
        self._partial = re.compile(rf"(?:{beginnings})\Z") if beginnings else _NEVER

    def find(self, text: str, *, is_last: bool = False) -> tuple[int, str]:
        """The position of the first marker, and which; or, with "", how much of the text has none.

        The rest might still become a marker, or a longer one; not if this ``is_last``.
        """
        match = self._marker.search(text)
        if match is None:
            return len(text) if is_last else self._free(text), ""
        if not is_last and len(text) - match.start() < self.longest:
            free = self._free(text)
            if free <= match.start():
                return free, ""
        return match.start(), match[0]

    def at_start(self, text: str, *, is_last: bool = False) -> str | None:
        """The marker at the beginning of the text, "" for none, or None if that is not certain yet."""
        match = self._marker.match(text)
        if not is_last and len(text) < self.longest:
            partial = self._partial.match(text)
            if partial is not None:
                return None
        return match[0] if match is not None else ""

    def _free(self, text: str) -> int:
        partial = self._partial.search(text, max(0, len(text) - self.longest + 1))
        return len(text) if partial is None else partial.start()


def _trie(markers: Iterable[str]) -> _Trie:
    root: _Trie = {}
    for marker in markers:
        node = root
        for character in marker:
            node = node.setdefault(character, {})
    return root


def _beginnings(node: Mapping[str, Any]) -> str:
    """A pattern for any prefix of a marker, and its continuation."""
    branches: list[str] = []
    for character, rest in node.items():
        if rest:
            more = _beginnings(rest)
            branches.append(re.escape(character) + (f"(?:{more})?" if more else ""))
    return "|".join(branches)


class JsonEnd:
    """Finds the end of one value by its brackets and quotes, reading each character once.

    It does not validate the value.
    """

    __slots__ = ("_begun", "_depth", "_escaped", "_in_string", "is_over")

    def __init__(self) -> None:
        self._begun = False
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.is_over = False

    def feed(self, text: str) -> int:
        """How much of ``text``, which continues the last, belongs to the value."""
        at = 0
        if not self._begun and text:
            self._begun = True
            if text[0] not in '"{[':
                self._depth = -1
        if self._depth < 0:
            return self._scalar(text)
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            match = (_IN_STRING if self._in_string else _OUTSIDE).search(text, at)
            if match is None:
                return len(text)
            at = match.end()
            if match[0] == "<":
                self.is_over = True
                return match.start()
            if self._mark(match[0]):
                self.is_over = True
                return at
        return len(text)

    def _mark(self, mark: str) -> bool:
        """Whether the value ends with this character."""
        if self._in_string:
            if mark == "\\":
                self._escaped = True
                return False
            self._in_string = False
        elif mark == '"':
            self._in_string = True
            return False
        else:
            self._depth += 1 if mark in "{[" else -1
        return self._depth <= 0

    def _scalar(self, text: str) -> int:
        match = _AFTER_SCALAR.search(text)
        if match is None:
            return len(text)
        self.is_over = True
        return match.start()


def quoted(text: str) -> str:
    """A string as JSON."""
    written = encode_basestring(text)
    if written.isascii() or not any("\ud800" <= character <= "\udfff" for character in written):
        return written
    # Half a surrogate pair cannot be encoded, but escaped; the gate will refuse it.
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in written)


def inner(text: str) -> str:
    """A piece of a string, escaped for a JSON string."""
    return quoted(text)[1:-1]
