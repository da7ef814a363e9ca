"""A server's tool names into names that every model's vendor takes: the same ones every time."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_INVALID_CHARACTER = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64
_MARK = 8


def fit(name: str) -> str:
    """The name as it is, or as near to it as is allowed; a long one ends in a mark of its own."""
    if _VALID.fullmatch(name):
        return name
    cleaned = _INVALID_CHARACTER.sub("_", name)
    if not cleaned or cleaned[0] in "-0123456789":
        cleaned = f"_{cleaned}"
    return cleaned if len(cleaned) <= _LONGEST else _marked(cleaned, name)


def fit_all(names: Sequence[str]) -> dict[str, str]:
    """Each name and the one it has here. Two that would have the same are told apart by marks."""
    fitted = {name: fit(name) for name in names}
    counts = Counter(fitted.values())
    return {
        name: here if here == name or counts[here] == 1 else _marked(here, name)
        for name, here in fitted.items()
    }


def _marked(cleaned: str, name: str) -> str:
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{cleaned[: _LONGEST - _MARK - 1]}_{mark}"
