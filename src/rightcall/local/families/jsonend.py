"""A JSON text that arrives in pieces into the place where it ends. Looks at each character once."""

import re

_IN_STRING = re.compile(r'["\\]')
# No JSON text has a "<" outside of its strings, and many a marker begins with one.
_OUTSIDE = re.compile(r'["{}\[\]<]')
_AFTER_SCALAR = re.compile(r"[\s,}\]<]")


class JsonEnd:
    """Finds the end of one value, by its brackets and quotes alone: whether it is valid is not asked."""

    __slots__ = ("_begun", "_depth", "_escaped", "_in_string", "is_over")

    def __init__(self) -> None:
        self._begun = False
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.is_over = False

    def feed(self, text: str) -> int:
        """How much of ``text``, which goes on where the last ended, belongs to the value."""
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
        """Whether the value ends with this one."""
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
