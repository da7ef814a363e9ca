"""Adds messages to a run while it goes on, in the process that runs it."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from rightcall.core.entry import MessageQueued
from rightcall.core.message import User
from rightcall.core.parts import Text
from rightcall.core.ports import Steps
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.errors import RunStopped, UsageError
from rightcall.gate.executor import checked_async

_OVER = "it takes no more messages; begin another run with this one"


class Inbox:
    """Messages to a run that goes on: ``agent.run("…", inbox=inbox)``, and ``await inbox.say("…")``.

    A message is in the run's journal, if there is one, when ``say`` returns. It is delivered once, in
    order, before the model is asked next; after a crash, ``agent.recover`` delivers what still waits.
    What is said before the run begins is delivered at its first turn. An inbox is for one run, and for
    the event loop of that run.
    """

    def __init__(self) -> None:
        self.run = ""
        """The run's name, once it has begun."""
        self.urgent = asyncio.Event()
        """Set while a message waits that what is under way is cancelled for."""
        self._queued: list[MessageQueued] = []
        self._early: list[MessageQueued] = []
        """What was said before the run began; it has no numbers yet."""
        self._delivered = 0
        self._steps: Steps | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_attached = asyncio.Event()
        self._writing = asyncio.Lock()
        self._is_over = False

    @property
    def queued(self) -> Sequence[MessageQueued]:
        """All that was said to the run since it began."""
        return tuple(self._queued)

    @property
    def unread(self) -> tuple[User, ...]:
        """The messages that wait to be delivered."""
        waiting: list[User] = []
        for each in (*self._queued, *self._early):
            if (not each.number or each.number > self._delivered) and each.message is not None:
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
        if not any(not isinstance(part, Text) or part.text.strip() for part in message.content):
            raise UsageError("there is nothing in what is said to the run")
        await self._add(message, now=now, name=id)

    async def stop(self) -> None:
        """Stop the run before its next turn, with what there is. What ``now`` cuts off is cut off."""
        await self._add(None, now=True)

    async def _add(self, message: User | None, *, now: bool, name: str = "") -> None:
        async with self._writing:
            if name and any(each.id == name for each in (*self._queued, *self._early)):
                return
            if self._is_over:
                raise RunStopped(self.run, "over", _OVER)
            entry = MessageQueued(key="", number=0, message=message, now=now, id=name)
            if self._steps is None:
                self._early.append(entry)
            else:
                await self._queue(entry, self._steps)
            if now:
                self.urgent.set()

    async def _queue(self, said: MessageQueued, steps: Steps) -> None:
        """Give a message its number, and record it."""
        number = self._delivered + 1
        if self._queued:
            number = max(number, self._queued[-1].number + 1)
        entry = replace(said, key=f"said.{number}", number=number)
        try:
            await steps.note(entry.key, entry)
        except asyncio.CancelledError:
            # It may have been written: then it must be delivered, and its number is taken.
            self._queued.append(entry)
            raise
        self._queued.append(entry)

    # What the run does with it.

    async def begun(self) -> None:
        """Wait until the run has begun, or is over."""
        await self._is_attached.wait()

    def restore(self, queued: Sequence[MessageQueued], after: int) -> None:
        """Take what is known of a run that goes on after a pause or a crash.

        ``after`` is the number of the last message that was delivered.
        """
        self._delivered = max(self._delivered, after)
        known = {each.number for each in self._queued}
        self._queued.extend([each for each in queued if each.number not in known])
        self._queued.sort(key=lambda each: each.number)

    async def attach(self, run: str, steps: Steps) -> None:
        """Begin to take messages for a run that has these steps."""
        if self._is_over or self.run not in ("", run):
            raise UsageError(f"an inbox is for one run; this one is of {self.run!r}")
        self.run = run
        self._steps = steps
        self._loop = asyncio.get_running_loop()
        _of_runs.pop(run, None)
        _of_runs[run] = self
        if len(_of_runs) > _MOST:
            del _of_runs[next(iter(_of_runs))]
        async with self._writing:
            while self._early:
                await self._queue(self._early[0], steps)
                del self._early[0]
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
            _of_runs.pop(self.run, None)
            return True

    def end(self) -> None:
        """The run is over, however it ended: those who wait to say something are told."""
        self._is_over = True
        self._is_attached.set()
        if not is_stopped(self._queued, self._delivered):
            _of_runs.pop(self.run, None)


_MOST = 10_000
_of_runs: dict[str, Inbox] = {}
"""The inboxes of runs of this process that go on or wait for a person, at most so many, the latest ones:
without a journal nothing else knows what was said while a run waited, or that it was stopped."""


def inbox_of(run: str) -> Inbox | None:
    """The inbox of a run that waits in this process; None if it has none."""
    found = _of_runs.get(run)
    if found is None or found._loop is asyncio.get_running_loop():  # noqa: SLF001 - its own module
        return found
    # An inbox is for one event loop. Both have the one list, so that nothing that is said is lost.
    another = Inbox()
    another._queued = found._queued  # noqa: SLF001 - its own module
    return another


def is_stopped(queued: Sequence[MessageQueued], after: int) -> bool:
    """Whether somebody stopped the run, after what was delivered last."""
    return any(each.message is None and each.number > after for each in queued)
