"""What shows a run to whoever watches, and how a run is watched."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, redirect_stdout
from typing import Protocol, TextIO, cast

from rightcall.cli.summary import Progress, Summary
from rightcall.core.message import Transcript
from rightcall.errors import RightcallError
from rightcall.loop.events import Event

PATIENCE = 0.5
"""Seconds without an event after which somebody who watches is told that it goes on."""


class View(Protocol):
    """Shows one run."""

    @property
    def people(self) -> TextIO:
        """Where a person would read a question."""
        ...

    def show(self, event: Event) -> None:
        """Show what just happened."""
        ...

    def waiting(self) -> None:
        """Nothing has happened for a while."""
        ...

    def hush(self) -> None:
        """Leave the screen alone until the next event: somebody is being asked something."""
        ...

    def end(self, summary: Summary) -> None:
        """Show what the run came to."""
        ...


class Watch:
    """One run from its first event to its summary."""

    def __init__(self, view: View, prompt: str, history: Transcript = ()) -> None:
        self._view = view
        self._progress = Progress(prompt, history)
        self._started = time.monotonic()

    async def watch(self, events: AsyncIterator[Event]) -> Summary:
        """Show the run until it ends. An error that ends it is in the summary."""
        error = None
        try:
            # What a tool prints is for whoever watches; the answer's stream is the answer's.
            with redirect_stdout(self._view.people):
                await self._follow(cast("AsyncGenerator[Event, None]", events))
        except RightcallError as problem:
            error = problem
        return self._finished(self._progress.ended(self._seconds(), error))

    def interrupted(self) -> Summary:
        """The run was cancelled; show how far it came."""
        return self._finished(self._progress.interrupted(self._seconds()))

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        loop, view = asyncio.get_running_loop(), self._view
        waiting = loop.call_later(PATIENCE, view.waiting)
        try:
            async with aclosing(events):
                async for event in events:
                    waiting.cancel()
                    self._progress.see(event)
                    view.show(event)
                    waiting = loop.call_later(PATIENCE, view.waiting)
        finally:
            waiting.cancel()
            view.hush()

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _finished(self, summary: Summary) -> Summary:
        self._view.end(summary)
        return summary
