"""Converts an error to what a client receives: a status, a message, and how long to wait.

The inverse of ``refusal``, which parses vendors' errors. The kind of failure decides, not the vendor's
name for it.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.served import Refused
from rightcall.errors import (
    EncodeError,
    ErrorKind,
    LimitReached,
    RightcallError,
    UsageError,
    VendorError,
)
from rightcall.wire.writing import json_bytes

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

_WAITED = (429, 503, 529)
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
    return _TOO_LARGE if is_too_large(error) else STATUSES[kind_of(error)]


def words_of(error: RightcallError) -> str:
    """The message of an error."""
    return error.message if isinstance(error, VendorError) else str(error) or error.code


def worded_overflow(error: RightcallError, saying: str) -> str:
    """The message for an overlong prompt; clients that find ``saying`` in it shorten the prompt."""
    words = words_of(error)
    return words if saying in words.lower() else f"{saying}: {words}"


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
    words = words_of(error)
    if kind == "context_overflow":
        words = worded_overflow(error, "maximum context length")
    return {"message": words, "type": what, "param": None, "code": code}


def refused(error: RightcallError, status: int, body: object) -> Refused:
    """A refusal, with a delay if waiting helps."""
    headers = dict(JSON)
    if status in _WAITED:
        wait = getattr(error, "retry_after", None)
        headers["retry-after"] = str(ceil(WAIT if wait is None else wait))
    return Refused(status=status, headers=headers, body=json_bytes(body))


def broken(reply: Reply) -> VendorError:
    """The error for a reply that was cut off, so that a client does not take it for complete."""
    why = reply.fault or reply.stop_word or "no reason was given"
    return VendorError(f"the model's reply broke off: {why}", kind="server", status=502, retryable=True)
