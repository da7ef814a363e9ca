"""The parameters and the body of a request, parsed and validated."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from starlette.requests import Request

from rightcall.serve.studio.answers import Refused
from rightcall.serve.studio.search import Wanted

LARGEST = 2 * 1024 * 1024
"""Bytes of a body."""
_LONGEST = 4000
"""Characters of a parameter."""


def text(request: Request, name: str, otherwise: str | None = None) -> str:
    """A text parameter."""
    value = request.query_params.get(name, otherwise)
    if value is None:
        raise Refused(400, "bad_request", f"The parameter {name} is missing.")
    if len(value) > _LONGEST:
        raise Refused(400, "bad_request", f"The parameter {name} is too long.")
    return value


def whole(request: Request, name: str, otherwise: int, most: int | None = None) -> int:
    """An integer parameter, not below 0."""
    value = request.query_params.get(name)
    if value is None or not value:
        return otherwise
    if not value.isascii() or not value.isdigit() or len(value) > 15:  # noqa: PLR2004 - what a float holds
        raise Refused(400, "bad_request", f"The parameter {name} is a whole number.")
    return int(value) if most is None else min(int(value), most)


def number(request: Request, name: str) -> float | None:
    """A number parameter; None if it is missing."""
    value = request.query_params.get(name)
    if not value:
        return None
    try:
        found = float(value)
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise Refused(400, "bad_request", f"The parameter {name} is a number.")
    return found


def several(request: Request, name: str) -> tuple[str, ...]:
    """A parameter that may be given several times."""
    return tuple(value for value in request.query_params.getlist(name)[:50] if value)


def wanted(request: Request) -> Wanted:
    """The filters of a request for runs."""
    before = request.query_params.get("before")
    return Wanted(
        q=text(request, "q", ""),
        agents=several(request, "agent"),
        models=several(request, "model"),
        tools=several(request, "tool"),
        outcomes=several(request, "outcome"),
        stops=several(request, "stop"),
        states=several(request, "state"),
        min_cost=number(request, "min_cost"),
        max_cost=number(request, "max_cost"),
        since=number(request, "since"),
        until=number(request, "until"),
        parent=request.query_params.get("parent"),
        before=whole(request, "before", 0) if before else None,
        count=whole(request, "count", 50),
    )


class Body:
    """The object in a request's body."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = members

    def text(self, name: str, *, needed: bool = False, most: int = LARGEST) -> str:
        """A text member; empty if it is null or missing."""
        value = self._members.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            raise Refused(400, "bad_request", f'"{name}" is text.')
        if len(value) > most:
            raise Refused(413, "too_large", f'"{name}" is too long.')
        return value

    def flag(self, name: str) -> bool:
        """A boolean member; false if it is missing."""
        value = self._members.get(name, False)
        if not isinstance(value, bool):
            raise Refused(400, "bad_request", f'"{name}" is true or false.')
        return value

    def whole(self, name: str) -> int | None:
        """An integer member; None if it is null or missing."""
        value = self._members.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise Refused(400, "bad_request", f'"{name}" is a whole number.')
        return value

    def object(self, name: str) -> dict[str, Any] | None:
        """An object member; None if it is null or missing."""
        value = self._members.get(name)
        if value is not None and not isinstance(value, dict):
            raise Refused(400, "bad_request", f'"{name}" is an object.')
        return value


async def body(request: Request) -> Body:
    """The body of a request, read only up to its limit."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise Refused(413, "too_large", f"A request has at most {LARGEST:,} bytes.")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "bad_request", "The body is an object of JSON.")
    return Body(found)
