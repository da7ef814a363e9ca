"""Anthropic's refusals, over HTTP and inside of streams, into VendorError."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import msgspec

from rightcall.errors import VendorError
from rightcall.wire.anthropic.tables import LASTING_CODES, RETRYABLE_STATUSES, STATUSES

_EXCERPT = 200
_HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The refusal in a reply that was not 200. The body may be anything, or nothing."""
    lowered = {name.lower(): value for name, value in headers.items()}
    try:
        content: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = body.decode(errors="replace")
    return refused(content, status=status, headers=lowered)


def refused(
    content: object, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal that a JSON value or a text tells of. ``headers`` have lower-case names."""
    headers = headers or {}
    kind, cause, message, request_id = _facts(content)
    status = STATUSES.get(kind) if status in (None, 200) else status
    return VendorError(
        message or (f"HTTP status {status}, without a reason" if status else "refused without a reason"),
        status=status,
        vendor_code=kind,
        retryable=_is_retryable(status, cause, headers),
        retry_after=_retry_after(headers),
        request_id=headers.get("request-id") or headers.get("x-request-id") or request_id,
    )


def is_refusal(content: Mapping[str, Any]) -> bool:
    """Whether a body that should hold a reply holds an error instead."""
    return content.get("type") == "error" or (bool(content.get("error")) and "content" not in content)


def _facts(content: object) -> tuple[str, str, str, str]:
    """Kind, cause, message and request id; each empty if it is not told."""
    if not isinstance(content, dict):
        text = content if isinstance(content, str) else ""
        return "", "", _excerpt(text), ""
    # {"type": "error", "error": {"type", "message", "details"}, "request_id"} is the agreed form; hosts
    # that imitate it also send {"error": "…"}, {"message": "…"} and {"detail": "…"}.
    inner = content.get("error")
    facts = inner if isinstance(inner, dict) else content
    details = facts.get("details")
    told = [inner, facts.get("message"), facts.get("detail"), facts.get("msg")]
    kind = facts.get("type") if facts.get("type") != "error" else None
    return (
        _text(kind) or _text(facts.get("code")),
        _text(details.get("error_code")) if isinstance(details, dict) else "",
        next((text for text in map(_text, told) if text), ""),
        _text(content.get("request_id")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _is_retryable(status: int | None, cause: str, headers: Mapping[str, str]) -> bool:
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    if status is None or cause in LASTING_CODES:
        return False
    return status in RETRYABLE_STATUSES or status >= 500  # noqa: PLR2004 (the server's fault)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None:
        return seconds
    # A date is only worth something beside the server's own clock: there is none here.
    until, now = _date(given), _date(headers.get("date"))
    return max((until - now).total_seconds(), 0.0) if until and now else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _date(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", _HTTP_DATE).replace(tzinfo=UTC)
    except ValueError:
        return None
