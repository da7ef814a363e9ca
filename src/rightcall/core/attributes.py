"""Attributes that other libraries' agents and results have, refused with what they are called here."""

from collections.abc import Callable, Mapping
from typing import Any


def other_words(words: Mapping[str, str]) -> Callable[[object, str], Any]:
    """A ``__getattr__`` that knows what other libraries' words are here."""

    def missing(self: object, name: str) -> Any:
        if name in words:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r} (here it is {words[name]})")
        # Again, for Python's own words, or for those of a property that failed.
        return object.__getattribute__(self, name)

    return missing
