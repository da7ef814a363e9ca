"""An operator's patterns, such as ``*@example.com`` or ``api.example.com/*``, into what they match.

A star takes no spaces, and before a link's path no slash and no at sign, so that no pattern matches an
address of somebody else's that merely contains what the operator wrote.
"""

import re
from functools import lru_cache

from rightcall.trust.words import canonical, plain

_NUMERIC = re.compile(r"\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*")
_STAR = "\ue000"
_INSIDE = r"[^\s/?#@:,;\\<>\"']*"
_PATH = r"[^\s,;\\<>\"']*"


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # A mark that no text holds, so that the star is not taken for the end of a sentence.
    head, slash, path = canonical(plain(pattern).replace("*", _STAR)).partition("/")
    told = _INSIDE.join(re.escape(piece) for piece in head.split(_STAR))
    if slash:
        rest = _PATH.join(re.escape(piece) for piece in path.split(_STAR))
        told += f"(?:/{rest})" + ("?" if path == _STAR else "")
    return re.compile(told)


def matches(pattern: str, text: str) -> bool:
    """Whether a value is one of those that a pattern means; an address's spelling does not count."""
    text = canonical(plain(text).strip())
    return ".." not in text and _compiled(pattern).fullmatch(text) is not None


def compares(pattern: str, text: str) -> bool:
    """The same, where a pattern may also be a bound for a number: ``<= 100``."""
    bound = _NUMERIC.fullmatch(pattern)
    if bound is None:
        return matches(pattern, text)
    try:
        left, right = float(text), float(bound[2])
    except ValueError:
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}.get(
        bound[1], left == right
    )
