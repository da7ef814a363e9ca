"""How large a JSON value is, and a part of it that stands for the whole."""

from itertools import islice

from rightcall.core.jsontext import JsonValue

_LONG = 1000


def size_of(value: JsonValue, most: int) -> tuple[int, int]:
    """How many values there are in a value, and how deep; counted no further than ``most``.

    A long text counts as several: whatever is wrong with it, a copy of it is made.
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
    """A value with the first items and members of all in it; ``cuts`` says where some are gone."""
    if isinstance(value, list | tuple | dict) and len(value) > kept:
        cuts.append(steps)
    if isinstance(value, dict):
        return {key: cut_down(value[key], kept, (*steps, key), cuts) for key in islice(value, kept)}
    if isinstance(value, list | tuple):
        return [cut_down(each, kept, (*steps, at), cuts) for at, each in enumerate(value[:kept])]
    return value
