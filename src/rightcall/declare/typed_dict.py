"""``typing.TypedDict`` before Python 3.12, as pydantic reads it.

There pydantic takes only the one of ``typing_extensions``: the other did not keep which keys of a base
class are required. Classes that people write are the same in both, so they are made again.
"""

import sys
from functools import reduce
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_DEEPEST = 20
"""Levels of a type that are read: it may contain itself."""


def readable(hint: Any, depth: int = 0) -> Any:
    """A type, with every ``typing.TypedDict`` in it as one that pydantic takes."""
    if sys.version_info >= (3, 12) or depth > _DEEPEST:
        return hint
    if is_typeddict(hint) and type(hint).__module__ == "typing":
        return _made_again(hint, depth)
    origin, args = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[(readable(args[0], depth + 1), *args[1:])]
    inner = tuple([readable(each, depth + 1) for each in args])
    if inner == args:
        return hint
    return reduce(or_, inner) if origin in (Union, UnionType) else origin[inner]


def _made_again(hint: Any, depth: int) -> Any:
    from typing_extensions import TypedDict  # noqa: PLC0415 - only before Python 3.12

    fields = dict[str, Any]()
    for name, each in get_type_hints(hint, include_extras=True).items():
        told = get_args(each)[0] if get_origin(each) in (Required, NotRequired) else each
        inner = readable(told, depth + 1)
        fields[name] = NotRequired[inner] if name in hint.__optional_keys__ else inner
    made: Any = TypedDict(hint.__name__, fields)  # type: ignore[misc] # its name is known only here
    made.__doc__ = hint.__doc__
    made.__module__ = hint.__module__
    return made
