"""Refusals of the Interactions API, over HTTP and within streams, for ``wire.refusal``."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.google import TRANSIENT, with_details
from rightcall.wire.refusal import Refusals, readable

# Over HTTP Google's usual codes, in a stream others, such as ``gateway_timeout``:
# https://ai.google.dev/gemini-api/docs/interactions/streaming#error
REFUSALS = Refusals(
    code=("status", "code", "error"),
    transient=TRANSIENT
    | frozenset(word.lower() for word in TRANSIENT)
    | {"gateway_timeout", "internal_error", "rate_limit_exceeded", "service_unavailable"},
)


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return refused(readable(body), status=status, headers=headers)


def refused(
    value: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal that came in place of a reply, or in the middle of one."""
    return with_details(REFUSALS.inside(value, status=status, headers=headers), value)
