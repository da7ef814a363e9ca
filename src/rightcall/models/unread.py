"""Says once that a server leaves calls in the text of its replies, and which option reads them.

Without this, such a call looks like a strange answer: the run ends with it, and nothing tells why.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rightcall.core.call import Call
from rightcall.core.message import Reply
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.log import request_logger

if TYPE_CHECKING:
    from rightcall.local.families.family import Family

_MARKER = re.compile(r"[<\[][^\s\]]{0,40}(?:tool|function|invoke|python|plugin|channel)", re.IGNORECASE)
"""What the markers of calls have in common; the families' own are compared only where this is found."""


class UnreadCalls:
    """Looks at the whole replies of one connection that has no ``family``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._has_said = False

    def __call__(self, request: Request, reply: Reply) -> None:
        """Log a warning for the first reply whose text holds a call of an offered tool."""
        if self._has_said or not request.specs or request.choice == "none" or reply.calls:
            return
        text = reply.text
        if _MARKER.search(text) is None or (family := _family(text, request.specs)) is None:
            return
        self._has_said = True
        own = f' (or family="{family}")' if family else ""
        request_logger.warning(
            "%s left a call in its text: it does not parse the calls of this model. "
            'rc.connect(…, family="auto")%s reads them; or start the server with its tool parser.',
            self._name,
            own,
        )


def _family(text: str, specs: Sequence[Spec]) -> str | None:
    """The family in whose format the text has a call; "" if it may be several, None without a call."""
    from rightcall.local.families.known import FAMILIES, detect  # noqa: PLC0415 - light until used
    from rightcall.local.families.opening import answering  # noqa: PLC0415 - the same
    from rightcall.local.families.reader import Reader  # noqa: PLC0415 - the same

    names = {spec.name for spec in specs}
    likely = detect(text)
    marked = [each for each in FAMILIES.values() if any(map(text.__contains__, _openers(each)))]
    for family in (likely, *marked):
        reader = Reader(family, tuple(specs), tail=answering(family), offered=True)
        reader.feed(text)
        reader.finish()
        if any(isinstance(part, Call) and part.name in names for part in reader.content):
            return family.name if family is likely and family.name != "generic" else ""
    return None


def _openers(family: "Family") -> Iterator[str]:
    """The markers before a call; a code fence may hold an example."""
    channels = (family.channels.channel, family.channels.start) if family.channels else ()
    openers = (*family.section.open, *family.call.open, *channels)
    return (opener for opener in openers if opener and "`" not in opener)
