"""Shows a run's messages to its guard, in a thread if that takes long.

Only one thread at a time uses a guard. The caller waits until the guard has processed a message, and
must make sure that nothing else uses the guard meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from rightcall.core.message import Message, Results, User
from rightcall.loop.settings import Setup
from rightcall.record.waits import off_loop
from rightcall.trust.rules import Rules
from rightcall.trust.task_intents import TaskIntents

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

_TURN = 0.01
"""Seconds for which messages are processed before the event loop gets a turn."""
_LONG = 4096
"""Characters that take some milliseconds to process, if they are mostly names and numbers."""


def make_guard(setup: Setup, rules: Rules, intents: TaskIntents | None) -> "Guard":
    """Returns the guard of a run that has trust rules."""
    if setup.plan is not None:
        return setup.plan.guard(setup, rules, intents)
    from rightcall.trust.guard import Guard  # noqa: PLC0415 - it takes long to load

    return Guard(rules, setup.tools, system=setup.system, intents=intents, above=setup.above)


async def show_messages(
    guard: "Guard", messages: Sequence[Message], *, history: int, alone: Callable[[], Awaitable[None]]
) -> None:
    """Show a guard some messages, of which the first ``history`` are from another run.

    ``alone`` is awaited before a message goes to a thread; after it nothing else may use the guard.
    """
    turned = monotonic()
    for at, message in enumerate(messages):
        seeing = partial(_see, guard, message, is_history=at < history)
        if is_long(message):
            await alone()
            await off_loop(seeing, "trust")
        else:
            seeing()
        if monotonic() - turned > _TURN:
            await asyncio.sleep(0)
            turned = monotonic()


def is_long(message: Message) -> bool:
    """Whether a guard may take long to process a message."""
    match message:
        case Results(results):
            return sum([len(each.text) for each in results]) > _LONG
        case User():
            return len(message.text) > _LONG
        case _:
            return False


def _see(guard: "Guard", message: Message, *, is_history: bool) -> None:
    guard.see(guard.recall(message) if is_history else message)
