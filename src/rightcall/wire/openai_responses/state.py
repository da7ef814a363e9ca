"""Responses that OpenAI keeps.

https://platform.openai.com/docs/guides/conversation-state
"""

from rightcall.errors import VendorError
from rightcall.wire import openai_responses
from rightcall.wire.kept import KeptDialect

_FORGOTTEN = "previous_response_not_found"


def kept_at(place: str) -> KeptDialect:
    """The dialect, for a place that keeps what was said."""
    return KeptDialect(openai_responses, place, _forgot)


def _forgot(refusal: VendorError) -> bool:
    return refusal.vendor_code == _FORGOTTEN or "previous_response_id" in refusal.body
