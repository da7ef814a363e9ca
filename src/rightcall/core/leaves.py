"""A JSON value into the texts it holds, each with its place."""

from collections.abc import Iterator
from typing import TypeAlias

from rightcall.core.jsontext import JsonValue, dump

Place: TypeAlias = tuple[str | int, ...]


def leaves(value: JsonValue, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """What a value holds, as texts with their places: words, numbers, and the keys of objects.

    True, false and null say nothing that an outsider could have said.
    """
    todo: list[tuple[Place, JsonValue]] = [(path, value)]
    while todo:
        place, item = todo.pop()
        match item:
            case None | bool():
                pass
            case str():
                yield place, item
            case dict():
                yield from (((*place, key), key) for key in item)
                todo.extend(((*place, key), each) for key, each in reversed(item.items()))
            case list() | tuple():
                todo.extend(((*place, at), each) for at, each in reversed(list(enumerate(item))))
            case _:
                yield place, dump(item)
