"""Finds the tool names most similar to a name that no tool has, among any number of tools."""

import difflib
from collections.abc import Sequence

from rightcall.core.outcome import UnknownTool

FEW = 30
"""Up to this many names are all listed for the model; of more, only the most similar ones."""
_CLOSE = 10
_NEAREST = 3
_LONGEST_NAME = 100
_COMPARED = 40
"""The most names that are compared letter by letter: hundreds would take as long as running a tool."""


def unknown(name: str, names: Sequence[str]) -> UnknownTool:
    """Returns the outcome for a name that no tool has."""
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
    """Returns the names sorted by how many pairs of letters they share with this one, the most first."""
    pairs = {name[at : at + 2] for at in range(len(name) - 1)}

    def unlike(other: str) -> float:
        own = {other[at : at + 2] for at in range(len(other) - 1)}
        return -2 * len(own & pairs) / (len(own) + len(pairs) + 1)

    return sorted(names, key=unlike)


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")
