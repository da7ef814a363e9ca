"""A run as lines: the answer to one stream, what happened on the way to another."""

from typing import TextIO

from rightcall.cli.safe import ended, harmless, one_line, write
from rightcall.cli.summary import INTERRUPTION, Summary
from rightcall.cli.words import done, shortly, spent
from rightcall.core.events import CallEnd, ReplyEnd, ResultEnd, TurnStart
from rightcall.loop.events import Event

_WIDTH = 200


class PlainView:
    """For pipes, files, logs and terminals that only print.

    The answer is known as such when the run ends, so that is when it is written: what a model says on
    its way to a call is no part of it.
    """

    def __init__(self, out: TextIO, people: TextIO, *, loading: str, quiet: bool = False) -> None:
        self.people = people
        self._out = out
        self._loading = loading
        self._quiet = quiet
        self._begun = False

    def show(self, event: Event) -> None:
        """Say what was called and what came back."""
        self._begun = self._begun or not isinstance(event, TurnStart)
        match event:
            case CallEnd(_, call):
                self._say(f"call: {harmless(call.name)} {one_line(call.arguments, _WIDTH)}")
            case ResultEnd(result, seconds):
                self._say(
                    f"{result.outcome}: {harmless(result.name)} in {seconds:.1f} s: "
                    f"{shortly(result, _WIDTH)}"
                )
            case ReplyEnd(reply) if reply.calls and reply.text:
                self._say(f"said: {one_line(reply.text, _WIDTH)}")
            case _:
                pass

    def waiting(self) -> None:
        """Say once that the model is slow to begin, to somebody who is there."""
        if not self._begun and self.people.isatty():
            self._begun = True
            self._say(self._loading)

    def hush(self) -> None:
        """Lines need no hushing."""

    def end(self, summary: Summary) -> None:
        """The answer, and what it took; or why there is none."""
        if summary.text:
            write(ended(summary.text), self._out)
        self._out.flush()
        if summary.reason == INTERRUPTION:
            self._complain(done(summary))
        elif summary.trouble:
            self._complain(summary.trouble)
        self._say(spent(summary))

    def _say(self, line: str) -> None:
        if not self._quiet:
            print(line, file=self.people, flush=True)

    def _complain(self, words: str) -> None:
        print(f"rightcall: {harmless(words)}", file=self.people, flush=True)
