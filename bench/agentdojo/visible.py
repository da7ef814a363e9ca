"""What a model was shown into whether a given text can be read in it.

Results reach a model quoted, escaped and folded, often more than once, so that text is compared by its
letters and digits alone, after every escape is undone. A plain search finds almost none of it.
"""

import re

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_DEEPEST = 5
"""Envelopes within envelopes that are opened."""


def squashed(text: str) -> str:
    """The letters and digits of a text, in lower case: what no quoting or folding changes."""
    return "".join(filter(str.isalnum, unescaped(text).lower()))


def unescaped(text: str) -> str:
    """A text without the backslashes of the JSON or YAML strings it sits in, however deep."""
    for _ in range(_DEEPEST):
        plain = _ESCAPE.sub(_read, text)
        if plain == text:
            break
        text = plain
    return text


def _read(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _PLAIN.get(match[2], match[2])


def words(text: str) -> frozenset[str]:
    """The words, numbers and addresses in a text, as they would be typed."""
    return frozenset(re.findall(r"[\w@]+(?:[.@-]\w+)*", unescaped(text).lower()))
