"""The refusals of the Responses API, over HTTP and within streams, for ``wire.refusal``."""

from rightcall.wire.refusal import Refusals

_TRANSIENT = frozenset([
    "server_error", "internal_error", "internal_server_error", "api_error", "rate_limit_exceeded",
    "rate_limit_error", "too_many_requests", "overloaded", "overloaded_error", "server_overloaded",
    "slow_down", "service_unavailable", "service_unavailable_error", "timeout",
    "vector_store_timeout", "previous_response_not_ready",
])  # fmt: skip
_FINAL = frozenset([
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated",
    "usage_limit_reached", "context_length_exceeded",
])  # fmt: skip

REFUSALS = Refusals(
    code=("code", "type"),
    transient=_TRANSIENT,
    final=_FINAL,
)

error, refused = REFUSALS.over_http, REFUSALS.inside
