"""Text into the first marker in it, or into as much of it as cannot belong to one."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

_Trie: TypeAlias = dict[str, Any]
_NEVER = re.compile(r"(?!)")


class Scanner:
    """A set of markers, compiled. The leftmost one counts, and of several at one place the longest."""

    __slots__ = ("_marker", "_partial", "longest", "markers")

    def __init__(self, markers: Iterable[str]) -> None:
        self.markers = tuple(sorted({marker for marker in markers if marker}, key=len, reverse=True))
        self.longest = len(self.markers[0]) if self.markers else 0
        beginnings = _beginnings(_trie(self.markers))
        self._marker = re.compile("|".join(map(re.escape, self.markers))) if self.markers else _NEVER
        self._partial = re.compile(rf"(?:{beginnings})\Z") if beginnings else _NEVER

    def find(self, text: str, *, is_last: bool = False) -> tuple[int, str]:
        """Where the first marker is, and which; or, with "", how much of the text is free of any.

        What follows that much might still become a marker, or a longer one; not when this ``is_last``.
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
        """The marker that the text begins with, "" for none, or None when that cannot be told yet."""
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
    """A pattern for whatever a marker can begin with and go on after."""
    branches: list[str] = []
    for character, rest in node.items():
        if rest:
            more = _beginnings(rest)
            branches.append(re.escape(character) + (f"(?:{more})?" if more else ""))
    return "|".join(branches)
