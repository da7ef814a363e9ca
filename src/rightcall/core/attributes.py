"""Refuses attributes of other libraries' agents and results, with the name of ours in the message."""

from collections.abc import Callable, Mapping
from typing import Any


def other_words(words: Mapping[str, str]) -> Callable[[object, str], Any]:
    """Returns a ``__getattr__`` whose errors give our name for other libraries' attributes."""

    def missing(self: object, name: str) -> Any:
        if name in words:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r} (here it is {words[name]})")
        # Look it up again, to raise Python's own message, or that of a property that failed.
        return object.__getattribute__(self, name)

    return missing
