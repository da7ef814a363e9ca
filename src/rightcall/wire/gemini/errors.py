"""Gemini's refusals, over HTTP and within streams, for ``wire.refusal``, with Google's details."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.google import TRANSIENT, with_details
from rightcall.wire.refusal import Refusals, readable

# https://ai.google.dev/gemini-api/docs/troubleshooting; for errors that come without a status.
REFUSALS = Refusals(code=("status", "code", "error"), transient=TRANSIENT)


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return refused(readable(body), status=status, headers=headers)


def refused(
    value: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal in a decoded body, completed from Google's details."""
    return with_details(REFUSALS.inside(value, status=status, headers=headers), value)
