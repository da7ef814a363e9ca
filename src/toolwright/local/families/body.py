"""What reads a call once its opening marker has been seen: the one shape of all of them.

A body takes text as it comes and gives its findings to the draft. It may turn out that there is no call;
that it can only say before the call has started, and the text is then given back.
"""

from typing import Literal, Protocol, TypeAlias

MAX_HEAD = 512
"""A name or key longer than this is none."""

Verdict: TypeAlias = Literal["more", "done", "none"]


class Body(Protocol):
    """One call being read."""

    rest: str
    """After ``done`` and ``none``: what was fed and does not belong to it."""
    has_started: bool
    """Whether the call is certain, and its beginning told."""

    def feed(self, text: str) -> Verdict:
        """Take text. ``done``: the call has ended before ``rest``. ``none``: it is no call."""
        ...

    def finish(self) -> None:
        """Nothing more comes. A call that has started is ended, or cut off."""
        ...
