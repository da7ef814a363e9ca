"""What Google's dialects share: keys, file URLs, the signature of foreign calls, levels, refusals."""

import re
from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.payload import items_in
from rightcall.wire.refusal import seconds_in

FILES = "https://generativelanguage.googleapis.com/v1beta/"
"""The base URL of uploaded files, which are named ``files/…``."""

# A call that Gemini did not make has no signature. Gemini 3 refuses the first call of a step without
# one, except for this value: https://ai.google.dev/gemini-api/docs/thought-signatures#faqs (in base64,
# as the field holds bytes).
FOREIGN_SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

TRANSIENT = frozenset(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"])
"""Error codes that a retry may resolve."""

# Flash refuses "minimal" from 3.7 on, "Allowed values are: medium, low, high" (kiss-translator #1048,
# https://github.com/coder/xum/pull/4060), and Pro always did; Flash-Lite accepts it.
# https://ai.google.dev/gemini-api/docs/generate-content/thinking#thinking-levels
_MINIMAL = re.compile(r"(?:^|/)gemini-(?:3(?:\.[0-6])?-flash|[\d.]+-flash-lite|flash-lite-latest)")


def thinks_minimally(model: str) -> bool:
    """Whether a model has the thinking level ``minimal``; all models since Gemini 3 have ``low``."""
    return _MINIMAL.search(model) is not None


def key_headers(key: str) -> Mapping[str, str]:
    """The headers that carry a key: an API key, or an access token of Google Cloud."""
    if key.startswith("ya29."):
        return {"authorization": f"Bearer {key}"}
    return {"x-goog-api-key": key}


def add_details(refusal: VendorError, value: Any) -> None:
    """Complete a refusal from the details in its body."""
    # The details of an error. https://cloud.google.com/apis/design/errors#error_details.
    said = value[0] if isinstance(value, list) and value else value
    facts = said.get("error") if isinstance(said, dict) else None
    if isinstance(facts, dict):
        details = items_in(facts.get("details"))
    else:
        details = []
    for detail in details:
        if refusal.retry_after is None:
            refusal.retry_after = seconds_in(detail.get("retryDelay"))
        refusal.request_id = refusal.request_id or str(detail.get("requestId") or "")
        if any("PerDay" in str(each.get("quotaId")) for each in items_in(detail.get("violations"))):
            # A daily quota is used up: a short wait will not help.
            refusal.retryable = False
            refusal.kind = "quota"
        if str(detail.get("reason")).startswith("API_KEY"):
            refusal.kind = "auth"
