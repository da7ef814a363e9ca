"""Interactions that Google keeps.

https://ai.google.dev/gemini-api/docs/interactions
"""

from rightcall.errors import VendorError
from rightcall.wire import gemini_interactions
from rightcall.wire.kept import KeptDialect

_NOT_FOUND = 404


def kept_at(place: str) -> KeptDialect:
    """The dialect, for a place that keeps what was said."""
    return KeptDialect(gemini_interactions, place, _forgot)


def _forgot(refusal: VendorError) -> bool:
    # Nothing documents the words; asking once more with everything tells.
    return refusal.status == _NOT_FOUND or "previous_interaction" in refusal.body
