"""Refusals, as HTTP bodies and inside of streams, into VendorError."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from rightcall.errors import VendorError
from rightcall.wire.openai_chat.tables import FINAL_CODES, RETRYABLE_CODES, RETRYABLE_STATUS

_EXCERPT = 300
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-groq-request-id", "cf-ray")
_LOWEST_STATUS, _HIGHEST_STATUS = 400, 599


def authorize(key: str) -> Mapping[str, str]:
    """The headers that carry the key; none for a server that wants none."""
    return {"authorization": f"Bearer {key}"} if key else {}


def error(status: int, headers: Mapping[str, str], body: bytes) -> VendorError:
    """The vendor's refusal. The body may be anything, or nothing."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = body.decode(errors="replace").strip()
    return _refusal(value, status=status, headers=lower)


def refusal_in(value: Any) -> VendorError | None:
    """The error that a 200 holds in place of a reply or a chunk; None when there is none."""
    if not isinstance(value, Mapping):
        return None
    found = value.get("error")
    if found:
        return _refusal(value)
    if "choices" in value:
        return None
    # vLLM and Mistral: {"object": "error", "message": …}; FastAPI's own: {"detail": …}.
    if value.get("object") == "error" or value.get("detail") or value.get("type") == "error":
        return _refusal(value)
    return None


def _refusal(
    value: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    headers = headers or {}
    detail = _detail(value)
    code = _word(detail, "code", "type", "status")
    if status is None:
        status = _status(detail)
    retryable = status in RETRYABLE_STATUS if status is not None else code in RETRYABLE_CODES
    if FINAL_CODES & {code, _word(detail, "type")}:
        retryable = False
    message = _message(detail) or (
        f"HTTP {status}" if status else "the vendor sent an error without words"
    )
    return VendorError(
        message,
        status=status,
        vendor_code=code,
        retryable=retryable,
        retry_after=_retry_after(headers),
        request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), "")
        or _word(value if isinstance(value, Mapping) else {}, "request_id"),
    )


def _detail(value: Any) -> Any:
    """The part of a body that describes the error."""
    if isinstance(value, list) and len(value) == 1:
        # Google's compatible endpoint wraps its errors in an array.
        value = value[0]
    if isinstance(value, Mapping):
        inner = value.get("error")
        if isinstance(inner, Mapping):
            return inner
        if isinstance(inner, str) and inner:
            return {**value, "message": value.get("message") or inner}
    return value


def _message(detail: Any) -> str:
    if isinstance(detail, Mapping):
        for name in ("message", "detail", "error_description", "msg"):
            found = detail.get(name)
            if isinstance(found, str) and found:
                return found
            if found:
                return msgspec.json.encode(found).decode()[:_EXCERPT]
        return msgspec.json.encode(detail).decode()[:_EXCERPT] if detail else ""
    text = detail if isinstance(detail, str) else "" if detail is None else str(detail)
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _word(detail: Any, *names: str) -> str:
    if not isinstance(detail, Mapping):
        return ""
    found = (detail.get(name) for name in names)
    return next(
        (str(value) for value in found if isinstance(value, str | int) and value not in ("", 0)), ""
    )


def _status(detail: Any) -> int | None:
    """The HTTP status that an error inside of a stream would have had."""
    if isinstance(detail, Mapping):
        for name in ("status_code", "status", "code"):
            found = detail.get(name)
            if isinstance(found, str) and found.isdigit():
                found = int(found)
            if isinstance(found, int) and _LOWEST_STATUS <= found <= _HIGHEST_STATUS:
                return found
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        try:
            return max(float(text) * unit, 0.0)
        except ValueError:
            continue
    try:
        # A date is read against the server's own clock, which is the one that set it.
        wait = parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])
        return max(wait.total_seconds(), 0.0)
    except (KeyError, TypeError, ValueError):
        return None
