"""Checks the keyword arguments of async functions, as ``checked`` does for plain ones."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from rightcall.core.options import known_of, show_options

F = TypeVar("F", bound=Callable[..., Any])


def checked_async(place: str, *, say: str = "") -> Callable[[F], F]:
    """Check the keyword arguments of an async function, as ``checked`` does for plain ones."""

    def decorate(function: F) -> F:
        check = known_of(function, place, say=say).check

        @wraps(function)
        async def wrapper(*args: Any, **options: Any) -> Any:
            if options:
                check(options)
            return await function(*args, **options)

        show_options(wrapper)
        return cast("F", wrapper)

    return decorate
