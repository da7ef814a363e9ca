"""Conversations whose strict tools a vendor could not compile: they go on without.

Nobody asked for those to be strict, so that a request must not fail because of it. Which schemas are too
complex together, vendors tell only when they are sent: Anthropic answers 400, "Schema is too complex for
compilation" or "The compiled grammar is too large".
"""

import re
from weakref import finalize

from msgspec.structs import replace

from rightcall.core.request import Request
from rightcall.errors import RightcallError, VendorError
from rightcall.log import request_logger

_REFUSED = 400
_TOO_MUCH = re.compile(r"(?i)\b(?:schemas?|grammar)\b[^.]*\b(?:too (?:complex|large)|compil)")


class Unstrict:
    """Which conversations those are; they are forgotten when they are over."""

    def __init__(self) -> None:
        self._loose: set[int] = set()
        """By identity, as the encoders are: all conversations are equal."""

    def of(self, request: Request) -> Request:
        """The request, in such a conversation without strict tools but those that ask for it."""
        if not self._loose or id(request.conversation) not in self._loose:
            return request
        return replace(request, options={**request.options, "strict": False})

    def learns(self, request: Request, error: RightcallError) -> bool:
        """Whether this refusal is one of strict tools that nobody asked for, and worth another try."""
        is_asked = request.options.get("strict", "auto") not in ("auto", None)
        if not isinstance(error, VendorError) or error.status != _REFUSED or is_asked:
            return False
        if id(request.conversation) in self._loose or not _TOO_MUCH.search(error.message):
            return False
        self._loose.add(id(request.conversation))
        finalize(request.conversation, self._loose.discard, id(request.conversation)).atexit = False
        request_logger.warning(
            "%s; from here on only tools with strict=True are sent strict in this conversation", error
        )
        return True
