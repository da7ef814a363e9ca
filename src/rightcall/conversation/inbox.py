"""Adds messages to a run while it goes on, in the process that runs it."""

import asyncio
from collections.abc import Sequence

from rightcall.core.entry import MessageQueued
from rightcall.core.message import User
from rightcall.core.ports import Steps
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.errors import RunStopped, UsageError
from rightcall.gate.executor import checked_async

_OVER = "it takes no more messages; begin another run with this one"


class Inbox:
    """Messages to a run that goes on: ``agent.run("…", inbox=inbox)``, and ``await inbox.say("…")``.

    A message is in the run's journal, if there is one, when ``say`` returns. It is delivered once, in
    order, before the model is asked next; after a crash, ``agent.recover`` delivers what still waits. An
    inbox is for one run, and for the event loop of that run.
    """

    def __init__(self) -> None:
        self.run = ""
        """The run's name, once it has begun."""
        self.urgent = asyncio.Event()
        """Set while a message waits that what is under way is cancelled for."""
        self._queued: list[MessageQueued] = []
        self._delivered = 0
        self._steps: Steps | None = None
        self._is_attached = asyncio.Event()
        self._writing = asyncio.Lock()
        self._is_over = False

    @property
    def unread(self) -> tuple[User, ...]:
        """The messages that wait to be delivered."""
        waiting: list[User] = []
        for each in self._queued:
            if each.number > self._delivered and each.message is not None:
                waiting.append(each.message)
        return tuple(waiting)

    @checked_async("inbox.say")
    async def say(self, prompt: Prompt, *, now: bool = False, id: str = "") -> None:  # noqa: A002
        """Add a message, which the model reads before it is asked next.

        ``now``: the reply that streams is cut off, and so are calls of pure and read tools, so that the
        model is asked at once. ``id``: a message of an id that was said before is not added again.
        Raises RunStopped if the run is over.
        """
        if reads_files(prompt):
            message = await asyncio.to_thread(message_of, prompt)
        else:
            message = message_of(prompt)
        await self._add(message, now=now, name=id)

    async def stop(self) -> None:
        """Stop the run before its next turn, with what there is. What ``now`` cuts off is cut off."""
        await self._add(None, now=True)

    async def _add(self, message: User | None, *, now: bool, name: str = "") -> None:
        await self._is_attached.wait()
        async with self._writing:
            if name and any(each.id == name for each in self._queued):
                return
            if self._is_over or self._steps is None:
                raise RunStopped(self.run, "over", _OVER)
            number = self._queued[-1].number + 1 if self._queued else 1
            key = f"said.{number}"
            entry = MessageQueued(key=key, number=number, message=message, now=now, id=name)
            try:
                await self._steps.note(key, entry)
            except asyncio.CancelledError:
                # It may have been written: then it must be delivered, and its number is taken.
                self._queued.append(entry)
                raise
            self._queued.append(entry)
            if now:
                self.urgent.set()

    # What the run does with it.

    def restore(self, queued: Sequence[MessageQueued]) -> None:
        """Take what is recorded of a run that goes on after a pause or a crash."""
        known = {each.number for each in self._queued}
        self._queued += [each for each in queued if each.number not in known]
        self._queued.sort(key=lambda each: each.number)

    async def attach(self, run: str, steps: Steps) -> None:
        """Begin to take messages for a run that has these steps."""
        if self._is_over or self.run not in ("", run):
            raise UsageError(f"an inbox is for one run; this one is of {self.run!r}")
        self.run = run
        self._steps = steps
        self._is_attached.set()

    async def waiting(self, after: int) -> Sequence[MessageQueued]:
        """The messages with a greater number, in order; ``urgent`` is no longer set."""
        async with self._writing:
            self._delivered = after
            self.urgent.clear()
            found = [each for each in self._queued if each.number > after]
            if found:
                self._delivered = found[-1].number
            return tuple(found)

    async def close(self, after: int) -> bool:
        """Take no more messages, unless one with a greater number waits; returns whether it closed."""
        async with self._writing:
            if self._queued and self._queued[-1].number > after:
                return False
            self._is_over = True
            return True

    def end(self) -> None:
        """The run is over, however it ended: those who wait to say something are told."""
        self._is_over = True
        self._is_attached.set()
