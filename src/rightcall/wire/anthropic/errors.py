"""Anthropic's refusals, over HTTP and inside of streams, as a table for ``wire.refusal``."""

from collections.abc import Mapping
from typing import Any

from rightcall.wire.refusal import Refusals

REFUSALS = Refusals(
    code=("type", "code"),
    # https://platform.claude.com/docs/en/api/errors
    statuses={
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    },
    final=frozenset(["enforced_spend_limit_reached"]),
)

error, refused = REFUSALS.over_http, REFUSALS.inside


def is_refusal(content: Mapping[str, Any]) -> bool:
    """Whether a body that should hold a reply holds an error."""
    return content.get("type") == "error" or (bool(content.get("error")) and "content" not in content)
