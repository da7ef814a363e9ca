"""Measures a JSON value, and cuts a large one down to a sample."""

from itertools import islice

from rightcall.core.jsontext import JsonValue

_LONG = 1000


def size_of(value: JsonValue, most: int) -> tuple[int, int]:
    """Returns how many values a value holds, and how deep it nests; counts only up to ``most``.

    A long text counts as several values: an error about it makes a copy of it.
    """
    level: list[JsonValue] = [value]
    count = depth = 0
    while level and count <= most:
        count += len(level)
        below: list[JsonValue] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list | tuple):
                below += each
            elif isinstance(each, str):
                count += len(each) // _LONG
        level = below
        depth += 1
    return count, max(depth - 1, 0)


def cut_down(
    value: JsonValue, kept: int, steps: tuple[str | int, ...], cuts: list[tuple[str | int, ...]]
) -> JsonValue:
    """Returns the value with only the first items and members of each; ``cuts`` lists where."""
    if isinstance(value, list | tuple | dict) and len(value) > kept:
        cuts.append(steps)
    if isinstance(value, dict):
        return {key: cut_down(value[key], kept, (*steps, key), cuts) for key in islice(value, kept)}
    if isinstance(value, list | tuple):
        return [cut_down(each, kept, (*steps, at), cuts) for at, each in enumerate(value[:kept])]
    return value
