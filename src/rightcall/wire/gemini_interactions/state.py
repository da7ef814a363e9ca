"""Interactions that Google stores.

https://ai.google.dev/gemini-api/docs/interactions
"""

from rightcall.errors import VendorError
from rightcall.wire import gemini_interactions
from rightcall.wire.kept import KeptDialect

_NOT_FOUND = 404


def kept_at(place: str) -> KeptDialect:
    """The dialect for a place that stores conversations."""
    return KeptDialect(gemini_interactions, place, _forgot)


def _forgot(refusal: VendorError) -> bool:
    # The error for a lost interaction is undocumented; retrying once with everything settles it.
    return refusal.status == _NOT_FOUND or "previous_interaction" in refusal.body
