"""Converts an error to what a client receives: a status, a message, and how long to wait.

The inverse of ``refusal``, which parses vendors' errors. The kind of failure decides, not the vendor's
name for it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

import msgspec

from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Reply, Unknown
from rightcall.core.parts import TEXT_MEMBER, Call
from rightcall.core.request import ErrorResponse, ListedModel
from rightcall.errors import (
    EncodeError,
    ErrorKind,
    LimitReached,
    RightcallError,
    UsageError,
    VendorError,
    kind_of_status,
)
from rightcall.wire.payload import mapping

REFUSED = "The model refused to answer."
"""The text of a refusal for which the model gave no reason."""


_encode = msgspec.json.Encoder().encode


def json_bytes(value: object) -> bytes:
    """The value as JSON. A lone surrogate, which JSON cannot hold, becomes a question mark."""
    try:
        data = _encode(value)
    except UnicodeEncodeError:
        data = _encode(_whole_text(value))
    if data.isascii():
        return data
    return _LINES.sub(_escape, data)


_LINES = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Characters besides those of SSE that Python takes as line ends; Google's SDK does too, within
events."""


def _escape(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())


def _whole_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {key: _whole_text(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_text(each) for each in value]
    return value


def refusal_in(reply: Reply) -> str:
    """The model's words of refusal, which are not part of the reply's text; empty if there are none."""
    for part in reply.content:
        if isinstance(part, Unknown):
            for bag in part.vendor.values():
                said = mapping(bag)
                words = said.get("refusal") or mapping(said.get("part")).get("refusal")
                if isinstance(words, str):
                    return words
    return ""


def without_place(reply: Reply) -> Iterator[str]:
    """Parts of a reply that only some dialects have a field for."""
    yield from (f"{part.media_type} made by the model" for part in reply.media)
    yield from ["citations"] if reply.citations else []
    yield from ["logprobs"] if reply.logprobs else []


def input_of(call: Call) -> str:
    """The input text of a call, for a tool that takes text."""
    if call.form == "text":
        return call.arguments
    try:
        value = parse(call.arguments)
    except JsonError:
        return call.arguments
    text = mapping(value).get(TEXT_MEMBER)
    if isinstance(text, str):
        return text
    return call.arguments


def models_of_openai(models: Sequence[ListedModel]) -> bytes:
    """The list of models in the format of OpenAI's two dialects."""
    data = [
        {"id": each.name, "object": "model", "created": each.created, "owned_by": each.owner}
        for each in models
    ]
    return json_bytes({"object": "list", "data": data})


def format_time(seconds: int) -> str:
    """A time in RFC 3339 format."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


JSON = {"content-type": "application/json"}

WAIT = 1
"""Seconds to wait if no delay is known: Codex gives up without one."""

STATUSES: Mapping[ErrorKind, int] = {
    "auth": 401,
    "quota": 429,
    "rate_limit": 429,
    "overloaded": 503,
    "context_overflow": 400,
    "bad_request": 400,
    "not_found": 404,
    "filtered": 400,
    "timeout": 504,
    "cancelled": 500,
    "server": 500,
    "connection": 502,
    "protocol": 502,
}
"""The HTTP status for each kind of failure, whatever the vendor's own status was."""

_BUSY: tuple[ErrorKind, ...] = ("rate_limit", "overloaded")
_TOO_LARGE = 413


def kind_of(error: RightcallError) -> ErrorKind:
    """The kind of failure that a client is told."""
    if isinstance(error, UsageError | EncodeError):
        return "bad_request"
    if isinstance(error, LimitReached):
        return "quota"
    kind: ErrorKind = getattr(error, "kind", "server")
    return kind


def is_too_large(error: RightcallError) -> bool:
    """Whether the request has too many bytes (not too many tokens)."""
    return kind_of(error) == "bad_request" and getattr(error, "status", None) == _TOO_LARGE


def status_of(error: RightcallError) -> int:
    """The HTTP status of an error."""
    if is_too_large(error):
        return _TOO_LARGE
    return STATUSES[kind_of(error)]


def error_message(error: RightcallError) -> str:
    """The message of an error."""
    if isinstance(error, VendorError):
        return error.message
    return str(error) or error.code


def overflow_message(error: RightcallError, saying: str) -> str:
    """The message for an overlong prompt; clients that find ``saying`` in it shorten the prompt."""
    words = error_message(error)
    if saying in words.lower():
        return words
    return f"{saying}: {words}"


OPENAI_ERRORS: Mapping[ErrorKind, tuple[str, str]] = {
    "auth": ("authentication_error", "invalid_api_key"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "server_overloaded"),
    "context_overflow": ("invalid_request_error", "context_length_exceeded"),
    "bad_request": ("invalid_request_error", "invalid_request_error"),
    "not_found": ("invalid_request_error", "model_not_found"),
    "filtered": ("invalid_request_error", "content_filter"),
    "timeout": ("server_error", "timeout"),
}
"""The type and code of an error in OpenAI's two dialects; a missing kind is a server error."""


def openai_error(error: RightcallError) -> dict[str, Any]:
    """The error object of OpenAI's two dialects."""
    kind = kind_of(error)
    what, code = OPENAI_ERRORS.get(kind, ("server_error", "server_error"))
    words = error_message(error)
    if kind == "context_overflow":
        words = overflow_message(error, "maximum context length")
    return {"message": words, "type": what, "param": None, "code": code}


def error_response(error: RightcallError, status: int, body: object) -> ErrorResponse:
    """A refusal, with a delay if waiting helps."""
    headers = dict(JSON)
    if kind_of_status(status) in _BUSY:
        wait = getattr(error, "retry_after", None)
        headers["retry-after"] = str(ceil(WAIT if wait is None else wait))
    return ErrorResponse(status=status, headers=headers, body=json_bytes(body))


def broken_reply_error(reply: Reply) -> VendorError:
    """The error for a reply that was cut off, so that a client does not take it for complete."""
    why = reply.fault or reply.stop_word or "no reason was given"
    return VendorError(f"the model's reply broke off: {why}", kind="server", status=502, retryable=True)
