"""A name that no tool has into the names that are most like it, of however many there are."""

import difflib
from collections.abc import Sequence

from rightcall.core.outcome import UnknownTool

FEW = 30
"""So many names are told whole; of more, those that are most like the one that was asked for."""
_CLOSE = 10
_NEAREST = 3
_LONGEST_NAME = 100
_COMPARED = 40
"""Names that are compared letter by letter: to do so with hundreds takes a tool's time."""


def unknown(name: str, names: Sequence[str]) -> UnknownTool:
    """What to say of a name that no tool has."""
    available = tuple(names)
    folded = {_fold(each): each for each in available}
    whole = _fold(name[:_LONGEST_NAME])
    # Models prefix names with namespaces of their own: functions.search, default_api:search.
    tail = _fold(name.replace(":", ".").rpartition(".")[2][:_LONGEST_NAME])
    exact = [tail] if tail in folded else []
    among = list(folded) if len(folded) <= _COMPARED else _alike(whole, list(folded))[:_COMPARED]
    similar = [each for text in (whole, tail) for each in difflib.get_close_matches(text, among)]
    nearest = list(dict.fromkeys(exact + similar))
    close = [] if len(available) <= FEW else list(dict.fromkeys(nearest + among))[:_CLOSE]
    return UnknownTool(
        name,
        tuple(folded[each] for each in nearest[:_NEAREST]),
        available,
        close=tuple(folded[each] for each in close),
    )


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """The names by how many pairs of letters they share with this one, the most first."""
    pairs = {name[at : at + 2] for at in range(len(name) - 1)}

    def unlike(other: str) -> float:
        own = {other[at : at + 2] for at in range(len(other) - 1)}
        return -2 * len(own & pairs) / (len(own) + len(pairs) + 1)

    return sorted(names, key=unlike)


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")
