"""Ollama's refusals, over HTTP and inside of streams, for ``wire.refusal``."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals

_BROKE = "stream_error"
# There is a message and a status. An error inside a stream is the server's: a runner that stopped, a
# model that did not fit.
REFUSALS = Refusals(code=("code",), transient=frozenset([_BROKE]))


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return REFUSALS.over_http(status, headers, body)


def refused(value: Any) -> VendorError:
    """The refusal that came in place of a reply, or in the middle of one."""
    told = value.get("error") if isinstance(value, dict) else value
    return REFUSALS.inside({"error": {"message": told, "code": _BROKE}})
