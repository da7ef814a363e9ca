"""A live view of a run on a terminal.

Text is printed as it arrives and is never redrawn, so a reply may be longer than the screen. Only while
nothing arrives is a spinner animated.
"""

import time
from collections import Counter
from typing import TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text

from rightcall.cli.formatting import cost_words, interruption_words, progress_words, result_line
from rightcall.cli.summary import INTERRUPTION, PATIENCE, OutputView, Summary
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    MessageEnd,
    OutputDelta,
    ReasoningDelta,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from rightcall.core.handler import CallProgress
from rightcall.core.parts import Result
from rightcall.core.sanitize import printable
from rightcall.loop.events import Event

MOST_ARGUMENTS = 2000
"""Characters of a call's arguments that are shown."""
_WAITING = "waiting for the model"
_TEXT = "none"
_REASONING = "dim"
_CALL = "cyan"
_GOOD = "green"
_BAD = "red"


class RichView(OutputView):
    """A live view for people. One view may show several runs, one after the other."""

    def __init__(self, people: TextIO, *, loading: str, reasoning: bool = False) -> None:
        super().__init__(people, reasoning=reasoning)
        self._console = Console(file=people, highlight=False, markup=False, emoji=False)
        self._plainly = not self._console.encoding.lower().startswith("utf")
        self._arrow = "->" if self._plainly else "→"
        self._loading = loading
        self._doing = loading
        self._running: dict[str, str] = {}
        """The calls that have no result yet, by id."""
        self._status: Status | None = None
        self._hushed = False
        self._style = ""
        """The style of the line that the cursor is in; empty at the start of a line."""
        self._calls: dict[int, str] = {}
        """The calls of this reply, by index."""
        self._written: Counter[int] = Counter()
        """Characters of their arguments that were printed."""
        self._at = -1
        """The call whose line the cursor is in."""
        self._thinking_since: float | None = None
        """When the hidden reasoning began."""

    def show(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, CallProgress):
            self._show_progress(event)
            return
        if isinstance(event, ReasoningDelta) and not self.reasoning:
            # Hidden reasoning: animate the spinner while it arrives.
            if self._thinking_since is None:
                self.hush()
                self._new_line()
                self._thinking_since = time.monotonic()
            self._hushed = False
            self._doing = "thinking"
            if time.monotonic() - self._thinking_since > PATIENCE:
                self.waiting()
            return
        self.hush()
        self._end_thinking()
        self._hushed = False
        match event:
            case TurnStart(turn):
                self._running = {}
                self._calls = {}
                self._doing = self._loading if turn == 1 else _WAITING
            case TextDelta(text) | OutputDelta(text, index=None):
                self._write(text, _TEXT)
            case ReasoningDelta(text):
                self._write(text, _REASONING)
            case CallStart(index, name):
                self._new_line()
                self._calls[index] = name
                self._written[index] = 0
                self._at = index
                self._write(f"{self._arrow} {name} ", _CALL)
            case CallDelta(index, text):
                self._arguments(index, text)
            case CallEnd(_, call):
                self._new_line()
                self._running[call.id] = call.name
                self._doing = self._running_words()
            case ReplyEnd():
                self._new_line()
                # A model that has answered is loaded.
                self._loading = _WAITING
            case ResultEnd(result, seconds):
                self._show_result(result, seconds)
            case MessageEnd(message):
                self._new_line()
                self._write(f"> {message.text}", _CALL)
                self._new_line()
            case _:
                pass

    def waiting(self) -> None:
        """Start the spinner, unless a line is unfinished."""
        if self._status is None and not self._style and not self._hushed:
            spinner = "line" if self._plainly else "dots"
            words = Text(printable(self._doing))
            self._status = Status(words, console=self._console, spinner=spinner)
            self._status.start()

    def hush(self) -> None:
        """Stop the spinner until the next event."""
        self._hushed = True
        if self._status is not None:
            self._status.stop()
            self._status = None

    def end(self, summary: Summary) -> None:
        """Show the cost, and if there is no answer, the reason."""
        self.hush()
        self._end_thinking()
        self._new_line()
        if summary.is_unsaid:
            self._write(f"{summary.text}\n", _TEXT)
        if summary.reason == INTERRUPTION:
            self._write(f"{interruption_words(summary)}\n", _BAD)
        elif summary.trouble:
            self._write(f"no answer: {summary.trouble}\n", _BAD)
        self._write(f"{cost_words(summary)}\n", _REASONING)

    def _end_thinking(self) -> None:
        if self._thinking_since is not None:
            seconds = time.monotonic() - self._thinking_since
            self._thinking_since = None
            self._doing = _WAITING
            self._write(f"thought for {seconds:.1f} s\n", _REASONING)

    def _show_result(self, result: Result, seconds: float) -> None:
        style = _GOOD
        head = f"{'<-' if self._plainly else '←'} {result.name}"
        if result.is_error:
            style = _BAD
            head = f"x {result.name} {result.outcome}"
        line = result_line(result, 2 * self._console.width)
        self._write(f"{head} {seconds:.1f} s {line}\n", style)
        if self._running.pop(result.call_id, None) is not None:
            self._doing = self._running_words()

    def _show_progress(self, progress: CallProgress) -> None:
        name = self._running.get(progress.call_id, "")
        self._doing = f"running {name}: {progress_words(progress)}"
        if self._status is None:
            self.waiting()
        else:
            self._status.update(Text(printable(self._doing)))

    def _running_words(self) -> str:
        return f"running {', '.join(self._running.values())}"

    def _arguments(self, index: int, text: str) -> None:
        if index not in self._calls or self._written[index] > MOST_ARGUMENTS:
            return
        if index != self._at:
            # Calls that are streamed at the same time take turns on the screen.
            self._new_line()
            self._at = index
            self._write(f"{self._arrow} {self._calls[index]} … ", _CALL)
        room = MOST_ARGUMENTS - self._written[index]
        self._written[index] += len(text)
        cut = text if len(text) <= room else text[:room] + "…"
        self._write(cut.replace("\n", " "), _CALL)

    def _write(self, text: str, style: str) -> None:
        if self._style and self._style != style:
            self._new_line()
        safe = printable(text)
        if safe:
            self._console.out(safe, style=style, end="")
            self._style = "" if safe.endswith("\n") else style
            self.people.flush()

    def _new_line(self) -> None:
        if self._style:
            self._console.out("")
            self._style = ""
