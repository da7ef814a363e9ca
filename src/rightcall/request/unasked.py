"""Leaves out what the library requests on its own account and a vendor refuses.

The user did not ask for it, so a request must not fail because of it. Vendors say only when they get
them which schemas are too complex together: Anthropic answers 400, "Schema is too complex for
compilation" or "The compiled grammar is too large". OpenAI refuses a summary of the reasoning to
organizations that are not verified: https://github.com/continuedev/continue/issues/9854
"""

from collections.abc import Mapping
from typing import Any
from weakref import finalize

from msgspec.structs import replace

from rightcall.core.pattern import pattern
from rightcall.core.request import Request
from rightcall.errors import RightcallError, VendorError
from rightcall.log import request_logger

_REFUSED = 400
_TOO_MUCH = pattern(r"(?i)\b(?:schemas?|grammar)\b[^.]*\b(?:too (?:complex|large)|compil)")
_NO_SUMMARY = pattern(r"(?i)reasoning[._ ]summar")


class Unasked:
    """What a model's vendor has refused so far."""

    def __init__(self) -> None:
        self._loose: set[int] = set()
        """The ids of conversations that continue without strict tools; by id, as all of them compare
        equal. Removed when the conversation is garbage-collected."""
        self._unsummarised = False
        """Whether the account gets no summaries; that applies to all its conversations."""

    def left_out(self, request: Request) -> Request:
        """Returns the request without what the vendor refuses."""
        if self._loose and id(request.conversation) in self._loose:
            request = replace(request, options={**request.options, "strict": False})
        if self._unsummarised and "reasoning" in request.options:
            extra = _members(request.options.get("extra"))
            told = {"summary": None, **_members(extra.get("reasoning"))}
            options = {**request.options, "extra": {**extra, "reasoning": told}}
            request = replace(request, options=options)
        return request

    def learns(self, request: Request, error: RightcallError) -> bool:
        """Whether the vendor refused something that the user did not ask for, so a retry may succeed."""
        if not isinstance(error, VendorError) or error.status != _REFUSED:
            return False
        return self._learns_strict(request, error) or self._learns_summary(request, error)

    def _learns_strict(self, request: Request, error: VendorError) -> bool:
        is_asked = request.options.get("strict", "auto") not in ("auto", None)
        if is_asked or id(request.conversation) in self._loose or not _TOO_MUCH.search(error.message):
            return False
        self._loose.add(id(request.conversation))
        finalize(request.conversation, self._loose.discard, id(request.conversation)).atexit = False
        request_logger.warning(
            "%s; from here on only tools with strict=True are sent strict in this conversation", error
        )
        return True

    def _learns_summary(self, request: Request, error: VendorError) -> bool:
        own = _members(_members(request.options.get("extra")).get("reasoning"))
        is_sent = "reasoning" in request.options and not own.get("summary")
        if self._unsummarised or not is_sent or not _NO_SUMMARY.search(error.message + error.body):
            return False
        self._unsummarised = True
        request_logger.warning("%s; from here on no summary of the reasoning is asked for", error)
        return True


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
