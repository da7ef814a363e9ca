"""What reads a call once its opening marker has been seen: the one shape of all of them.

A body takes text as it comes and gives its findings to the draft. It may turn out that there is no call;
that it can only say before the call has started, and the text is then given back.
"""

from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

MAX_HEAD = 512
"""A name or key longer than this is none."""

Verdict: TypeAlias = Literal["more", "done", "none"]


class Body(ABC):
    """One call being read, token by token."""

    __slots__ = ("_text", "has_started", "rest")

    def __init__(self) -> None:
        self._text = ""
        """What was fed and not used yet."""
        self.has_started = False
        """Whether the call is certain, and its beginning told."""
        self.rest = ""
        """After ``done`` and ``none``: what was fed and does not belong to it."""

    def feed(self, text: str) -> Verdict:
        """Take text. ``done``: the call has ended before ``rest``. ``none``: it is no call."""
        self._text += text
        while True:
            verdict = self._step()
            if verdict is not None:
                self.rest = self._text if verdict != "more" else ""
                return verdict

    @abstractmethod
    def finish(self) -> None:
        """Nothing more comes. A call that has started is ended, or cut off."""

    @abstractmethod
    def _step(self) -> Verdict | None:
        """Use up one token; None to go on."""
