"""Fits the transcript of one run into its model's window, turn by turn.

Most runs stay far below their window to the end. For those the messages are only measured, which takes
half as long as counting their tokens; the window looks at a transcript once that no longer settles
it.
"""

from rightcall.core.entry import Entry, StepDone
from rightcall.core.message import Transcript
from rightcall.core.tokens import estimate_tokens, most_tokens
from rightcall.loop.setup import Setup
from rightcall.loop.window import View, Window, look, needs_summary, sent, with_summary


class Fitting:
    """What is sent of one run's transcript."""

    __slots__ = ("_most", "_seen", "_view", "_window")

    def __init__(self) -> None:
        self._window: Window | None = None
        self._view: View | None = None
        """What the window lets through, once the transcript may not fit."""
        self._seen, self._most = 0, 0
        """How many messages were measured, and how many tokens they have at the most."""

    @property
    def is_repeatable(self) -> bool:
        """Whether another run with these messages would send the same: no summary was made for it."""
        return self._view is None or not self._view.summary

    async def messages(self, setup: Setup, transcript: Transcript, turn: int) -> Transcript:
        """Returns the part of the transcript that is sent, so that it fits."""
        window = setup.window
        if window != self._window:
            # The last run of this conversation may have asked another model.
            self._window, self._view, self._seen, self._most = window, None, 0, 0
        if window is None or (self._view is None and self._is_far_below(window, setup, transcript)):
            return transcript
        self._view = look(self._view, transcript, window, setup.count)
        fallen = needs_summary(self._view)
        if fallen and setup.summarise is not None:
            key, summarise = f"t{turn}.summary", setup.summarise

            async def body() -> Entry:
                return StepDone(key=key, value=await summarise(fallen))

            entry = await setup.steps.step(key, body)
            assert isinstance(entry, StepDone)
            self._view = with_summary(self._view, entry.value, setup.count)
        return sent(self._view, transcript)

    def _is_far_below(self, window: Window, setup: Setup, transcript: Transcript) -> bool:
        """Whether the transcript fits by any estimate. A user's own count is always asked."""
        if setup.count is not estimate_tokens:
            return False
        for message in transcript[self._seen :]:
            self._most += most_tokens(message)
            if self._most > window.tokens:
                # The rest of a long history need not be measured: the window counts it.
                return False
        self._seen = len(transcript)
        return True
