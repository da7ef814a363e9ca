"""Cohere's refusals, over HTTP and inside of streams, for ``wire.refusal``."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals

# Over HTTP there is a message and a status; a stream that fails ends with one of two codes.
REFUSALS = Refusals(
    code=("code", "finish_reason"),
    transient=frozenset(["ERROR", "TIMEOUT"]),
)


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return REFUSALS.over_http(status, headers, body)


def refused(value: Any) -> VendorError:
    """The refusal that came in place of a reply, or in the middle of one."""
    return REFUSALS.inside(value)
