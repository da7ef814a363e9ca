"""Gemini's refusals into VendorErrors, from HTTP and from inside a stream."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from rightcall.errors import VendorError
from rightcall.wire.gemini.tables import RETRYABLE_CODES, RETRYABLE_STATUS

_EXCERPT = 300
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s?")
_REQUEST_IDS = ("x-goog-request-id", "x-request-id", "request-id", "x-cloud-trace-context")


def error(status: int, headers: Mapping[str, str], body: bytes) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    try:
        payload: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        payload = body.decode(errors="replace")
    return refusal(payload, status=status, headers=headers)


def refusal(
    payload: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal that a decoded body holds. A stream's body is a list of them."""
    fields = {key.lower(): value for key, value in (headers or {}).items()}
    said = _object(payload[0] if isinstance(payload, list) and payload else payload)
    facts = _object(said.get("error")) or said
    status = status if status is not None else _status(facts)
    code = facts.get("status") or facts.get("code") or said.get("error") or ""
    code = str(code) if isinstance(code, str | int) else ""
    details = [_object(detail) for detail in facts.get("details") or () if detail]
    return VendorError(
        _message(facts, said, payload, status),
        status=status,
        vendor_code=code,
        retryable=(status in RETRYABLE_STATUS or code in RETRYABLE_CODES) and not _is_daily(details),
        retry_after=_retry_after(fields, details),
        request_id=_request_id(fields, details),
    )


def _message(facts: Mapping[str, Any], said: Mapping[str, Any], payload: Any, status: int | None) -> str:
    for words in (facts.get("message"), said.get("error_description"), said.get("error")):
        if isinstance(words, str) and words:
            return words
    if isinstance(payload, str):
        text = " ".join(re.sub(r"<(script|style)[\s\S]*?</\1>|<[^>]*>", " ", payload).split())
    else:
        text = msgspec.json.encode(payload).decode() if payload else ""
    return f"HTTP {status}" + (f": {text[:_EXCERPT]}" if text else "")


def _status(facts: Mapping[str, Any]) -> int | None:
    code = facts.get("code")
    return code if isinstance(code, int) else None


def _is_daily(details: list[dict[str, Any]]) -> bool:
    """Whether a quota for the whole day is used up; waiting a little will not help."""
    violations = [_object(each) for detail in details for each in detail.get("violations") or ()]
    return any("PerDay" in str(each.get("quotaId", "")) for each in violations)


def _retry_after(fields: Mapping[str, str], details: list[dict[str, Any]]) -> float | None:
    milliseconds = _SECONDS.fullmatch(fields.get("retry-after-ms", ""))
    if milliseconds:
        return float(milliseconds[1]) / 1000
    said = fields.get("retry-after", "").strip()
    if seconds := _SECONDS.fullmatch(said):
        return float(seconds[1])
    if said and (wait := _until(said, fields.get("date", ""))) is not None:
        return wait
    for detail in details:
        if delay := _SECONDS.fullmatch(str(detail.get("retryDelay", ""))):
            return float(delay[1])
    return None


def _until(moment: str, now: str) -> float | None:
    """Seconds from the response's own date to ``moment``; there is no clock here to ask."""
    try:
        return max((parsedate_to_datetime(moment) - parsedate_to_datetime(now)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _request_id(fields: Mapping[str, str], details: list[dict[str, Any]]) -> str:
    named = [fields[key] for key in _REQUEST_IDS if fields.get(key)]
    named += [str(detail["requestId"]) for detail in details if detail.get("requestId")]
    return named[0] if named else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
