"""One checked call into its outcome: invoked under its deadline, tried again where the tool says so."""

import asyncio
import logging
import traceback
from collections.abc import Callable
from functools import partial
from inspect import isawaitable
from time import monotonic
from typing import Any

from msgspec import Struct

from toolwright.core.call import CheckedCall
from toolwright.core.context import Context
from toolwright.core.handler import Handler
from toolwright.core.outcome import Cancelled, Failed, Outcome, Returned, TimedOut
from toolwright.core.ports import Clock
from toolwright.errors import ToolFailure
from toolwright.execute.drive import CancelledInside, DeadlinePassed, drive
from toolwright.execute.threads import Job, Threads, current, leave_if_forked

logger = logging.getLogger("toolwright")


class SystemClock:
    """The machine's own time."""

    now = staticmethod(monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Ran(Struct, frozen=True, eq=False, gc=False):
    """An outcome, and what it took."""

    outcome: Outcome
    attempts: int = 1
    seconds: float = 0.0


async def run(checked: CheckedCall, *, dependencies: Any, clock: Clock) -> Ran:
    """Run a call to its outcome. Raises nothing but cancellation and what may not be caught."""
    handler = checked.tool.invocation
    if handler is None:
        return Ran(Returned(checked.bound))
    limits = checked.tool.limits
    started, left = clock.now(), limits.timeout
    attempt = 1
    while True:
        outcome = await _attempt(checked, handler, dependencies, attempt, left)
        if type(outcome) is not Failed or not outcome.retryable or attempt > limits.retries:
            return Ran(outcome, attempt, clock.now() - started)
        pause = limits.backoff * 2 ** (attempt - 1)
        left = limits.timeout - (clock.now() - started) - pause
        if left <= 0:
            return Ran(outcome, attempt, clock.now() - started)
        await clock.sleep(pause)
        attempt += 1


async def _attempt(
    checked: CheckedCall, handler: Handler, dependencies: Any, attempt: int, seconds: float
) -> Outcome:
    job = None if handler.is_async else Job()
    context = None
    if handler.context is not None:
        context = _context(checked, dependencies, attempt, job)
    threads = current()
    try:
        if job is None:
            work = handler(checked.bound, context)
        else:
            work = _in_thread(threads, partial(handler, checked.bound, context), job)
        return Returned(await drive(work, seconds))
    except ToolFailure as failure:
        return Failed(str(failure), retryable=failure.retryable)
    except DeadlinePassed as passed:
        abandoned = passed.abandoned or (job is not None and job.is_abandoned())
        if abandoned:
            logger.warning("%s could not be stopped at its deadline; abandoned", checked.tool.name)
        return TimedOut(checked.tool.limits.timeout, abandoned=abandoned)
    except CancelledInside:
        return Cancelled()
    except Exception:  # noqa: BLE001 - the tool's body: whatever it raises is data
        return Failed(error=traceback.format_exc())
    finally:
        leave_if_forked(threads)


def _context(
    checked: CheckedCall, dependencies: Any, attempt: int, job: Job | None
) -> Context[Any]:
    return Context(
        call_id=checked.call.id,
        tool=checked.tool.name,
        attempt=attempt,
        key=checked.call.id,
        dependencies=dependencies,
        is_cancelled=bool if job is None else job.is_abandoned,
    )


async def _in_thread(threads: Threads, function: Callable[[], Any], job: Job) -> Any:
    value = await threads.run(function, job)
    return await value if isawaitable(value) else value

