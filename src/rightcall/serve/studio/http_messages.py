"""Values into answers of the API: JSON whose every text is safe to display, and errors as text."""

import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rightcall.core.decision import Allow, Answer, Deny, Rewrite
from rightcall.errors import AlreadyDecided, JournalError, RightcallError, RunHeld
from rightcall.serve.studio.run_actions import NoAgent, NotFitting
from rightcall.serve.studio.run_reader import NoRun
from rightcall.serve.studio.search import RunFilter
from rightcall.serve.studio.to_json import Json, decision_json, make_visible

_NO_AGENT = "This needs an agent: start the studio with --agent module:agent."


class RefusedRequest(Exception):
    """A request that is refused, and why."""

    def __init__(self, status: int, code: str, words: str, **more: Any) -> None:
        super().__init__(words)
        self.status = status
        self.code = code
        self.words = words
        self.more = more


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON answer that a browser cannot take for anything else."""
    text = json.dumps(make_visible(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type="application/json")


def refusal_response(error: RefusedRequest) -> Response:
    """An error as the API sends it."""
    return json_response(
        {"error": {"code": error.code, "message": error.words, **error.more}}, error.status
    )


_DECIDED: Mapping[type, str] = {
    Allow: "allowed",
    Deny: "denied",
    Rewrite: "allowed with other arguments",
    Answer: "answered",
}


def refusal_from_error(error: Exception) -> RefusedRequest | None:
    """The answer to an error; None for an unexpected one."""
    match error:
        case RefusedRequest():
            return error
        case NoRun():
            return RefusedRequest(404, "not_found", "There is no such run.")
        case NoAgent():
            return RefusedRequest(409, "no_agent", _NO_AGENT)
        case NotFitting(problems=problems):
            listed = [{"path": each.path, "message": each.message} for each in problems]
            return RefusedRequest(400, "bad_request", str(error), problems=listed)
        case AlreadyDecided(decisions=decisions):
            stands = {}
            each_one = []
            for call_id, decision in decisions.items():
                stands[call_id] = decision_json(decision)
                each_one.append(f"{call_id} was {_DECIDED[type(decision)]}")
            told = "Somebody was faster, and the run goes on."
            if each_one:
                told = f"Somebody was faster: {', '.join(each_one)}."
            words = "Somebody has decided already, and what they said stands."
            return RefusedRequest(409, "already_decided", words, stands=stands, told=told)
        case RunHeld(holder=holder):
            words = f"Somebody else is at this run: {holder}."
            return RefusedRequest(409, "run_held", words, holder=holder)
        case JournalError():
            return RefusedRequest(409, "damaged", f"The record cannot be read: {error}")
        case RightcallError():
            return RefusedRequest(400, "bad_request", str(error))
        case _:
            return None


LARGEST = 2 * 1024 * 1024
"""Bytes of a body."""
_LONGEST = 4000
"""Characters of a parameter."""


def text_parameter(request: Request, name: str, otherwise: str | None = None) -> str:
    """A text parameter."""
    value = request.query_params.get(name, otherwise)
    if value is None:
        raise RefusedRequest(400, "bad_request", f"The parameter {name} is missing.")
    if len(value) > _LONGEST:
        raise RefusedRequest(400, "bad_request", f"The parameter {name} is too long.")
    return value


def whole_parameter(request: Request, name: str, otherwise: int, most: int | None = None) -> int:
    """An integer parameter, not below 0."""
    value = request.query_params.get(name)
    if value is None or not value:
        return otherwise
    if not value.isascii() or not value.isdigit() or len(value) > 15:  # noqa: PLR2004 - what a float holds
        raise RefusedRequest(400, "bad_request", f"The parameter {name} is a whole number.")
    return int(value) if most is None else min(int(value), most)


def number_parameter(request: Request, name: str) -> float | None:
    """A number parameter; None if it is missing."""
    value = request.query_params.get(name)
    if not value:
        return None
    with suppress(ValueError):
        if isfinite(number := float(value)):
            return number
    raise RefusedRequest(400, "bad_request", f"The parameter {name} is a number.")


def list_parameter(request: Request, name: str) -> tuple[str, ...]:
    """A parameter that may be given several times."""
    return tuple(value for value in request.query_params.getlist(name)[:50] if value)


def parse_filter(request: Request) -> RunFilter:
    """The filters of a request for runs."""
    before = request.query_params.get("before")
    return RunFilter(
        q=text_parameter(request, "q", ""),
        agents=list_parameter(request, "agent"),
        models=list_parameter(request, "model"),
        tools=list_parameter(request, "tool"),
        outcomes=list_parameter(request, "outcome"),
        stops=list_parameter(request, "stop"),
        states=list_parameter(request, "state"),
        min_cost=number_parameter(request, "min_cost"),
        max_cost=number_parameter(request, "max_cost"),
        since=number_parameter(request, "since"),
        until=number_parameter(request, "until"),
        parent=request.query_params.get("parent"),
        before=whole_parameter(request, "before", 0) if before else None,
        count=whole_parameter(request, "count", 50),
    )


class RequestBody:
    """The object in a request's body."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = members

    def text(self, name: str, *, needed: bool = False, most: int = LARGEST) -> str:
        """A text member; empty if it is null or missing."""
        value = self._members.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            raise RefusedRequest(400, "bad_request", f'"{name}" is text.')
        if len(value) > most:
            raise RefusedRequest(413, "too_large", f'"{name}" is too long.')
        return value

    def flag(self, name: str) -> bool:
        """A boolean member; false if it is missing."""
        value = self._members.get(name, False)
        if not isinstance(value, bool):
            raise RefusedRequest(400, "bad_request", f'"{name}" is true or false.')
        return value

    def whole(self, name: str) -> int | None:
        """An integer member; None if it is null or missing."""
        value = self._members.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise RefusedRequest(400, "bad_request", f'"{name}" is a whole number.')
        return value

    def object(self, name: str) -> dict[str, Any] | None:
        """An object member; None if it is null or missing."""
        value = self._members.get(name)
        if value is not None and not isinstance(value, dict):
            raise RefusedRequest(400, "bad_request", f'"{name}" is an object.')
        return value


async def read_body(request: Request) -> RequestBody:
    """The body of a request, read only up to its limit."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise RefusedRequest(413, "too_large", f"A request has at most {LARGEST:,} bytes.")
    with suppress(ValueError, RecursionError):
        members = json.loads(data)
        if isinstance(members, dict):
            return RequestBody(members)
    raise RefusedRequest(400, "bad_request", "The body is an object of JSON.")
