"""Bedrock's refusals, over HTTP and within streams, for ``wire.refusal``; a header names the kind."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals, readable

REFUSALS = Refusals(
    code=("code", "__type"),
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
    statuses={
        "ValidationException": 400,
        "AccessDeniedException": 403,
        "ResourceNotFoundException": 404,
        "ModelTimeoutException": 408,
        "ModelErrorException": 424,
        "ThrottlingException": 429,
        "ModelNotReadyException": 429,
        "InternalServerException": 500,
        "ServiceUnavailableException": 503,
    },
    # Its status, 424, refers to the model behind Bedrock; a retry of the stream may succeed.
    transient=frozenset(["ModelStreamErrorException"]),
)

_FOR_THE_DAY = "tokens per day"


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return refused(readable(body), status=status, headers=headers)


def refused(
    value: Any, kind: str = "", *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal of this kind in a JSON value or a text."""
    typed = value.get("__type") if isinstance(value, dict) else ""
    named = kind or (typed if isinstance(typed, str) else "")
    refusal = REFUSALS.inside(value, status=status, headers=headers, code=named)
    if refusal.kind == "rate_limit" and _FOR_THE_DAY in refusal.message:
        # "Too many tokens per day, please wait before trying again.": a short wait will not help.
        refusal.kind, refusal.retryable = "quota", False
    return refusal
