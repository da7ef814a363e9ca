"""What is found to be answer or thought into the draft, as the caller wants to have it."""

from rightcall.local.families.draft import Draft
from rightcall.local.families.fence import Fence


class Voice:
    """With ``reasoning`` off, thoughts are said like the rest, with their markers around them."""

    __slots__ = ("_draft", "_fence", "_pending", "_reasoning", "at_line_start")

    def __init__(self, draft: Draft, *, reasoning: bool, fenced: bool) -> None:
        self._draft = draft
        self._reasoning = reasoning
        self._fence = Fence() if fenced else None
        self._pending = ""
        """The marker of a thought that the prompt opened, as long as nothing was thought."""
        self.at_line_start = True

    def say(self, text: str) -> None:
        """A piece of the answer."""
        if not text:
            return
        is_space = text.isspace()
        self.at_line_start = text[-1] == "\n" or (is_space and (self.at_line_start or "\n" in text))
        self._draft.text(text if self._fence is None else self._fence.feed(text))

    def ponder(self, text: str) -> None:
        """A piece of a thought."""
        if self._reasoning:
            self._draft.thought(text)
        elif self._pending and (not text or text.isspace()):
            self._pending += text
        else:
            self.say(self._pending + text)
            self._pending = ""

    def open_thought(self, marker: str, *, in_prompt: bool) -> None:
        """A thought begins."""
        if self._reasoning:
            return
        if in_prompt:
            self._pending = marker
        else:
            self.say(marker)

    def close_thought(self, marker: str, *, in_prompt: bool) -> None:
        """A thought was closed. One that the prompt both opens and closes has no words."""
        if not self._reasoning and not (in_prompt and self._pending):
            self.say(self._pending + marker)
        self._pending = ""

    def leave_thought(self) -> None:
        """A thought is over without having been closed."""
        self._pending = ""

    def stray(self, marker: str, *, in_prompt: bool) -> None:
        """The end of a thought, outside of any.

        At the beginning it closes one that the prompt opened; later on it is just text.
        """
        if not self._draft.is_empty or not (self._reasoning or in_prompt):
            self.say(marker)

    def finish(self) -> None:
        """Nothing more comes."""
        if self._fence is not None:
            self._draft.text(self._fence.finish())
