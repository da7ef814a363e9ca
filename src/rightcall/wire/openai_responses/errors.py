"""The vendor's refusals, as HTTP replies and inside streams, into VendorErrors."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from rightcall.errors import VendorError
from rightcall.wire.openai_responses.tables import FINAL, REQUEST_IDS, RETRY_STATUSES, TRANSIENT

_EXCERPT = 300
_FAULTS = 500


def error(status: int, headers: Mapping[str, str], body: bytes) -> VendorError:
    """The vendor's refusal. Any body will do: JSON of several shapes, HTML, text or nothing."""
    found = {name.lower(): value for name, value in headers.items()}
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        value = None
    message, code, kind = _told(value)
    if not message:
        text = " ".join(body[: 4 * _EXCERPT].decode(errors="replace").split())
        message = text[:_EXCERPT] or f"HTTP status {status} without a word"
    should = found.get("x-should-retry", "").strip().lower()
    return VendorError(
        message,
        status=status,
        vendor_code=code or kind,
        retryable=should == "true" if should in ("true", "false") else _retryable(status, code, kind),
        retry_after=retry_after(found),
        request_id=next((found[name] for name in REQUEST_IDS if found.get(name)), ""),
    )


def refusal(value: Any, fallback: str) -> VendorError:
    """A refusal that came with status 200: in a stream's event, or as the body."""
    message, code, kind = _told(value)
    status = _status(value)
    return VendorError(
        message or fallback,
        status=status,
        vendor_code=code or kind,
        retryable=_retryable(status, code, kind),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from headers in lower case. A date is counted from the reply's own date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max((until - parsedate_to_datetime(headers["date"])).total_seconds(), 0.0)
    except (KeyError, ValueError, TypeError):
        return None


def _retryable(status: int | None, code: str, kind: str) -> bool:
    if code in FINAL or kind in FINAL:
        return False
    if code in TRANSIENT or kind in TRANSIENT:
        return True
    return status is not None and (status in RETRY_STATUSES or status >= _FAULTS)


def _told(value: Any) -> tuple[str, str, str]:
    """Message, code and type. ``{"error": {…}}`` is OpenAI's, the other shapes are gateways'."""
    if isinstance(value, list) and value:
        return _told(value[0])
    if isinstance(value, str):
        return value, "", ""
    if not isinstance(value, dict):
        return "", "", ""
    for key in ("error", "detail", "errors"):
        inner = value.get(key)
        if inner:
            message, code, kind = _told(inner)
            return message or _word(value.get("message")), code or _word(value.get("code")), kind
    message = _word(value.get("message")) or _word(value.get("msg"))
    kind = _word(value.get("type"))
    return message, _word(value.get("code")), "" if kind == "error" else kind


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _status(value: Any) -> int | None:
    """The HTTP status that some hosts write into the event, also as its code (OpenRouter)."""
    while isinstance(value, dict):
        for key in ("status", "status_code", "code"):
            number = value.get(key)
            if isinstance(number, int) and 400 <= number < 600:  # noqa: PLR2004
                return number
        value = value.get("error")
    return None
