"""Finds where a schema that failed for its depth nests too deep, or contains itself."""

from collections.abc import Iterator

from rightcall.core.problem import Problem

MOST_LEVELS = 128
"""The most levels of a schema; beyond them its depth is reported as the problem."""

_SHOWN = 6
"""How many steps of a path are shown."""


def too_deep(document: object) -> Problem | None:
    """Returns the first place that is too deep, or that contains itself; None if there is none."""
    inside = {id(document): "$"}
    path = ["$"]
    open_: list[tuple[object, Iterator[tuple[str, object]]]] = [(document, _children(document))]
    while open_:
        found = next(open_[-1][1], None)
        if found is None:
            del inside[id(open_.pop()[0])]
            path.pop()
            continue
        step, child = found
        if not isinstance(child, dict | list | tuple):
            continue
        where = _shown([*path, step])
        if id(child) in inside:
            return Problem(where, f"contains itself: it is the same object as {inside[id(child)]}")
        if len(open_) >= MOST_LEVELS:
            return Problem(where, f"nests deeper than {MOST_LEVELS} levels")
        inside[id(child)] = where
        path.append(step)
        open_.append((child, _children(child)))
    return None


def _children(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        return ((f".{key}", child) for key, child in value.items())
    if isinstance(value, list | tuple):
        return ((f"[{at}]", child) for at, child in enumerate(value))
    return iter(())


def _shown(path: list[str]) -> str:
    return "".join(path if len(path) <= _SHOWN else [*path[:_SHOWN], "…"])
