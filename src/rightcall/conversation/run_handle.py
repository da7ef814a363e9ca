"""A run that goes on by itself, and what can be done with it from outside."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any, Generic

from msgspec.structs import replace

from rightcall.conversation.inbox import Inbox, is_stopped
from rightcall.core.budget import Stop
from rightcall.core.events import Emit, StreamEvent
from rightcall.core.history import mend
from rightcall.core.message import User
from rightcall.core.options import check_keywords
from rightcall.declare.attachment import Prompt
from rightcall.gate.executor import checked_async
from rightcall.loop.events import Event
from rightcall.loop.result import Out, RunEnd, RunResult, require_output


class RunHandle(Generic[Out]):
    """A run that was started: ``run = agent.start("…")``. It goes on whoever watches it, or leaves.

    ``await run`` is its result.
    """

    def __init__(
        self,
        run: str,
        start: Callable[[Inbox, Emit], Coroutine[Any, Any, RunResult[Out]]],
        give_up: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self.run = run
        """The run's name."""
        self.inbox = Inbox()
        """Where its messages are added; pass it to ``agent.resume`` if the run waits for a person."""
        self._give_up = give_up
        """Ends its wait in its conversation."""
        self._stopped: RunResult[Out] | None = None
        """Its result, if it was stopped while it waited for a person."""
        self._watchers: list[asyncio.Queue[StreamEvent | None]] = []
        self._task = asyncio.get_running_loop().create_task(start(self.inbox, self._emit))
        self._task.add_done_callback(self._end)

    @checked_async("run.say")
    async def say(self, prompt: Prompt, *, now: bool = False, id: str = "") -> None:  # noqa: A002
        """Add a message, which the model reads before it is asked next.

        ``now``: the reply that streams is cut off, and so are calls of pure and read tools, so that the
        model is asked at once. ``id``: a message of an id that was said before is not added again.
        Raises RunStopped if the run is over.
        """
        await self.inbox.begun()
        await self.inbox.say(prompt, now=now, id=id)

    async def stop(self) -> RunResult[Out]:
        """Stop the run with what there is: its result, in which every call has its result.

        A run that waits for a person waits no longer: to resume it raises RunStopped.
        """
        if not self._task.done():
            await self.inbox.begun()
            await self.inbox.stop()
        result = await self._end_of_run()
        if not result.pending:
            return result
        if not is_stopped(self.inbox.queued, result.state.said):
            await self.inbox.stop()
        self.inbox.end()
        state = replace(result.state, messages=mend(result.transcript).messages)
        self._stopped = replace(result, stop=Stop("stopped"), state=state, pending=())
        await self._give_up()
        return self._stopped

    async def _end_of_run(self) -> RunResult[Out]:
        result = await asyncio.shield(self._task)
        return self._stopped or result

    @property
    def unread(self) -> tuple[User, ...]:
        """The messages that wait to be delivered."""
        return self.inbox.unread

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, or waits for a person."""
        return self._task.done()

    async def result(self) -> RunResult[Out]:
        """The run's result. Whoever stops waiting for it does not stop the run.

        Raises NoOutput as ``agent.run`` does; ``stop`` and ``events`` give what there is.
        """
        return require_output(await self._end_of_run())

    def __await__(self) -> Generator[Any, None, RunResult[Out]]:
        return self.result().__await__()

    @check_keywords("run.events")
    async def events(self) -> AsyncIterator[Event]:
        """The events from now on; RunEnd is the last. Any number may watch, and leave."""
        seen: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._watchers.append(seen)
        try:
            while not self._task.done() or not seen.empty():
                event = await seen.get()
                if event is not None:
                    yield event
            yield RunEnd(await self._end_of_run())
        finally:
            self._watchers.remove(seen)

    def _emit(self, event: StreamEvent) -> None:
        for seen in self._watchers:
            seen.put_nowait(event)

    def _end(self, task: "asyncio.Task[RunResult[Out]]") -> None:
        if task.cancelled() or task.exception() is not None or not task.result().pending:
            self.inbox.end()
        for seen in self._watchers:
            seen.put_nowait(None)

    def __repr__(self) -> str:
        return f"RunHandle({self.run!r})"
