"""What a run does with messages that are added to it while it goes on: deliver them, and make room.

A queued message is delivered before the request of the next turn, as a step with the turn's key. That
step is the only thing that says what was delivered: a run that is recovered delivers what its record has
at each turn, and looks into its inbox only where the record ends. So a message is delivered once, or it
still waits.

A message that is to be delivered at once cuts off the reply that streams, and the calls of pure and read
tools; other calls are waited for, and those that have not begun do not begin. Every call has a result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from rightcall.core.entry import Entry, MessageQueued, MessagesDelivered, ReplyReceived
from rightcall.core.events import Emit, MessageEnd, ModelEvent, StreamEvent
from rightcall.core.facts import EFFECT_FREE
from rightcall.core.outcome import Cancelled
from rightcall.core.parts import Usage
from rightcall.core.ports import RunInbox, Signal, Steps
from rightcall.core.tool import CheckedCall
from rightcall.gate.execution import Execution, not_run
from rightcall.loop.ask import ModelQuestion, ReplyDraft, ask
from rightcall.loop.calls import CallRunner
from rightcall.loop.settings import Setup
from rightcall.loop.state import INTERRUPTED
from rightcall.record.steps import recorded_entry

AskFunction: TypeAlias = Callable[[Setup, ModelQuestion], Awaitable[Entry]]
"""Asks the model, and returns its reply as an entry."""


class RecordedInbox:
    """The inbox of a run that is replayed: what was delivered is in its record, and nothing else is."""

    def __init__(self) -> None:
        self.urgent = asyncio.Event()
        """Never set."""

    def restore(self, _: Sequence[MessageQueued], _after: int) -> None:
        """Do nothing."""

    async def attach(self, _: str, _steps: Steps) -> None:
        """Do nothing."""

    async def waiting(self, _: int) -> Sequence[MessageQueued]:
        """Returns nothing."""
        return ()

    async def close(self, _: int) -> bool:
        """Always true."""
        return True

    def end(self) -> None:
        """Do nothing."""


async def deliver(
    inbox: RunInbox, steps: Steps, turn: int, last: int, emit: Emit | None
) -> MessagesDelivered | None:
    """Returns the queued messages that come before the request of a turn, as a step; None without any.

    ``last`` is the number of the last one that was delivered before.
    """
    key = f"t{turn}.said"
    entry = recorded_entry(steps, key)
    if entry is None:
        if recorded_entry(steps, f"t{turn}.model") is not None:
            # The model was asked without any: what waits comes before a later turn.
            return None
        queued = await inbox.waiting(last)
        if not queued and hasattr(steps, "recorded"):
            return None
        # Steps that cannot tell what they have recorded must be asked each time.
        entry = await steps.step(key, partial(_delivery, key, last, queued))
    assert isinstance(entry, MessagesDelivered)
    if entry.last == last:
        return None
    if emit is not None:
        for message in entry.messages:
            emit(MessageEnd(message))
    return entry


async def _delivery(key: str, last: int, queued: Sequence[MessageQueued]) -> Entry:
    return MessagesDelivered(
        key=key,
        last=queued[-1].number if queued else last,
        messages=tuple([each.message for each in queued if each.message is not None]),
        stop=any(each.message is None for each in queued),
    )


class InterruptibleAsk:
    """Asks the model as ``ask`` does, until a message cuts the reply off."""

    def __init__(self, urgent: Signal) -> None:
        self._urgent = urgent

    async def __call__(self, setup: Setup, question: ModelQuestion) -> Entry:
        """Returns the reply as an entry; of one that was cut off, what there is."""
        started = setup.clock.now()
        draft = ReplyDraft()
        emit = question.emit

        def follow(event: StreamEvent) -> None:
            # While a model is asked, the events are its own.
            draft.add(cast("ModelEvent", event))
            if emit is not None:
                emit(event)

        asking = asyncio.ensure_future(ask(setup, replace(question, emit=follow)))
        if await _finish_first(asking, self._urgent):
            return asking.result()
        reply = draft.broken_reply(INTERRUPTED)
        reply = replace(reply, tainted=question.tainted)
        return ReplyReceived(
            key=question.key,
            reply=reply,
            seconds=setup.clock.now() - started,
            passed_over=draft.passed_over,
            offer=question.offer,
        )


class InterruptibleRunner(CallRunner):
    """Runs calls until a message cuts them off."""

    __slots__ = ("_clock", "_urgent")

    def __init__(self, setup: Setup, emit: Emit | None, *, dry_run: bool) -> None:
        super().__init__(setup, emit, dry_run=dry_run)
        assert setup.inbox is not None
        self._urgent = setup.inbox.urgent
        self._clock = setup.clock

    async def run(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None = None
    ) -> Execution:
        """Run the call; one that is cut off, or does not begin, is cancelled."""
        if self._urgent.is_set():
            return not_run(checked.call, Cancelled(began=False))
        if checked.tool.effect not in EFFECT_FREE:
            return await super().run(checked, key, ledger, began)
        started = self._clock.now()
        running = asyncio.ensure_future(super().run(checked, key, ledger, began))
        if await _finish_first(running, self._urgent):
            return running.result()
        cancelled = not_run(checked.call, Cancelled())
        return replace(cancelled, attempts=1, seconds=self._clock.now() - started)


async def _finish_first(work: "asyncio.Future[Any]", urgent: Signal) -> bool:
    """Wait for the work, or cancel it when a message is urgent; returns whether it came to its end."""
    waiting = asyncio.ensure_future(urgent.wait())
    try:
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
            if not work.cancelled():
                # What it came to is read below, or belongs to nobody: then it must not be logged.
                work.exception()
    return not work.cancelled()
