"""Responses that OpenAI stores.

https://platform.openai.com/docs/guides/conversation-state
"""

from rightcall.errors import VendorError
from rightcall.wire import openai_responses
from rightcall.wire.kept import KeptDialect

_FORGOTTEN = "previous_response_not_found"
_NOT_FOUND = 404


def kept_at(place: str) -> KeptDialect:
    """The dialect for a place that stores conversations."""
    return KeptDialect(openai_responses, place, _forgot)


def _forgot(refusal: VendorError) -> bool:
    is_lost = refusal.status == _NOT_FOUND and "onversation" in refusal.body
    return is_lost or refusal.vendor_code == _FORGOTTEN or "previous_response_id" in refusal.body
