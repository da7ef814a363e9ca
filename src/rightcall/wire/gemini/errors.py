"""Gemini's refusals, over HTTP and inside of streams, for ``wire.refusal``, and what its details add."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals, readable, seconds_in

REFUSALS = Refusals(
    code=("status", "code", "error"),
    # https://ai.google.dev/gemini-api/docs/troubleshooting; for errors that come without a status.
    transient=frozenset(
        ["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"]
    ),
)


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return refused(readable(body), status=status, headers=headers)


def refused(
    value: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal that a decoded body holds, with what Google's details add to it."""
    refusal = REFUSALS.inside(value, status=status, headers=headers)
    for detail in _details(value):
        if refusal.retry_after is None:
            refusal.retry_after = seconds_in(detail.get("retryDelay"))
        refusal.request_id = refusal.request_id or str(detail.get("requestId") or "")
        if any("PerDay" in str(each.get("quotaId")) for each in _objects(detail.get("violations"))):
            # A quota for the whole day is used up: waiting a little will not help.
            refusal.retryable = False
            refusal.kind = "quota"
        if str(detail.get("reason")).startswith("API_KEY"):
            refusal.kind = "auth"
    return refusal


def _details(value: Any) -> list[dict[str, Any]]:
    """What else an error says. https://cloud.google.com/apis/design/errors#error_details."""
    said = value[0] if isinstance(value, list) and value else value
    facts = said.get("error") if isinstance(said, dict) else None
    return _objects(facts.get("details")) if isinstance(facts, dict) else []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
