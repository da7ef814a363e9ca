"""One thing wrong with a call's arguments: where, and what, in words a model can act on."""

import re
from collections.abc import Iterable

from msgspec import Struct

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 100
_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(32)},
    **str.maketrans(
        {"\\": "\\\\", "'": "\\'", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    ),
}


class Problem(Struct, frozen=True, gc=False):
    """What is wrong at one place of a JSON document."""

    path: str
    """Where, as a JSON path: ``$.items[2].name``; ``$`` is the whole document."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def json_path(steps: Iterable[str | int]) -> str:
    """The steps from the root of a document, written as a JSON path (RFC 9535).

    A key that is too long for a sentence is cut, with an ellipsis.
    """
    return "$" + "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > _LONGEST_KEY:
        step = step[: _LONGEST_KEY - 1] + "…"
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    return f"['{step.translate(_ESCAPES)}']"
