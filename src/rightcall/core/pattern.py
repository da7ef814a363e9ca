"""Regular expressions that are compiled when they are first used.

Compiling takes a hundred times as long as most searches, and a process never needs most patterns.
"""

import re
from typing import Any, cast


class _Pattern:
    """Stands for a compiled pattern; each method is looked up there once."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Python caches compiled patterns itself, so that a second method does not compile it again.
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Returns something with the methods of a compiled pattern. A wrong one raises when it is used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
