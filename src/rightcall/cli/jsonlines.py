"""A run as lines of JSON: one object per event, the run's end last."""

from typing import TextIO

from rightcall.cli.described import event_object, line_of, summary_object
from rightcall.cli.summary import Summary
from rightcall.loop.events import Event


class JsonLinesView:
    """For programs."""

    def __init__(self, out: TextIO, people: TextIO) -> None:
        self.people = people
        self._out = out

    def show(self, event: Event) -> None:
        """Write the event's object, at once."""
        if (described := event_object(event)) is not None:
            self._out.write(line_of(described))
            self._out.flush()

    def waiting(self) -> None:
        """A program waits without being told to."""

    def hush(self) -> None:
        """Lines need no hushing."""

    def end(self, summary: Summary) -> None:
        """Write the last object."""
        self._out.write(line_of(summary_object(summary)))
        self._out.flush()
