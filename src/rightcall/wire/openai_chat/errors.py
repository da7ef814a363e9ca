"""The refusals of OpenAI and its imitators, over HTTP and within streams, for ``wire.refusal``."""

from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals

_TRANSIENT = frozenset([
    "rate_limit_exceeded", "rate_limit_error", "server_error", "internal_server_error", "timeout",
    "service_unavailable", "service_unavailable_error", "overloaded", "overloaded_error",
    "engine_overloaded", "timeout_error", "internal_error", "api_error", "unavailable_error",
])  # fmt: skip

REFUSALS = Refusals(
    code=("code", "type", "status"),
    transient=_TRANSIENT,
    # OpenAI sends these with 429, and waiting does not help.
    final=frozenset(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]),
)

error = REFUSALS.over_http


def refusal_in(value: Any) -> VendorError | None:
    """The error that came with status 200 instead of a reply or a chunk; None if there is none."""
    if not isinstance(value, dict):
        return None
    # vLLM and Mistral: {"object": "error", "message": …}; FastAPI's own: {"detail": …}.
    is_said = "error" in (value.get("object"), value.get("type")) or value.get("detail")
    if value.get("error") or (is_said and "choices" not in value):
        return REFUSALS.inside(value)
    return None
