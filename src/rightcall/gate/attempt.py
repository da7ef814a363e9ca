"""One checked call into its outcome: run under its deadline, and again where the tool says so."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.handler import CallProgress, Context, Handler, ignore
from rightcall.core.outcome import Cancelled, Failed, Outcome, Returned, TimedOut
from rightcall.core.parts import Usage
from rightcall.core.ports import Clock
from rightcall.errors import ToolFailure
from rightcall.gate.deadline import CancelledInside, DeadlinePassed, WrappedBaseException, within
from rightcall.gate.failure import failed
from rightcall.gate.threads import Job, current
from rightcall.log import tool_logger


class SystemClock:
    """The machine's own time."""

    now = staticmethod(monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Setting(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What a call is run with beside its arguments."""

    dependencies: Any = None
    key: str | None = None
    """Names the call on every attempt at it; its own id unless given."""
    run: str = ""
    spend: Callable[[Usage], None] = ignore
    """Told what the call itself spends on models."""
    tell: Callable[[CallProgress], None] = ignore
    """Told how far the call is, in the event loop."""
    dry_run: bool = False


class Tries(Struct, frozen=True, eq=False, gc=False):
    """The outcome of the last attempt, and how many there were."""

    outcome: Outcome
    count: int


async def retry(
    checked: CheckedCall, failed: Failed, setting: Setting, clock: Clock, started: float
) -> Tries:
    """Try again after a first attempt that failed in a retryable way, as the tool's limits allow."""
    limits = checked.tool.limits
    outcome: Outcome = failed
    count = 1
    while isinstance(outcome, Failed) and outcome.retryable and count <= limits.retries:
        # 2.0**1023 is the largest power that a float holds; only next to no backoff comes that far.
        pause = limits.backoff * 2.0 ** min(count - 1, 1023)
        left = limits.timeout - (clock.now() - started) - pause
        if left <= 0:
            break
        await clock.sleep(pause)
        count += 1
        outcome = await attempt(checked, setting, count, left)
    return Tries(outcome, count)


async def attempt(checked: CheckedCall, setting: Setting, number: int, seconds: float) -> Outcome:
    """Run a call for the ``number``-th time, within so many seconds.

    Whatever the tool raises is a failure, SystemExit included. Raises nothing but cancellation, Ctrl-C
    and what the program's own signal handlers raise.
    """
    handler = checked.tool.invocation
    if handler is None:
        return Returned(checked.bound)
    job = None if handler.is_async else Job()
    context = None
    if handler.context is not None:
        context = _context(checked, setting, number, job)
    try:
        return Returned(await within(seconds, _call(handler, checked.bound, context, job)))
    except ToolFailure as failure:
        return Failed(str(failure), retryable=failure.retryable)
    except DeadlinePassed as passed:
        abandoned = passed.abandoned or (job is not None and job.is_abandoned())
        if abandoned:
            tool_logger.warning("%s could not be stopped at its deadline; abandoned", checked.tool.name)
        return TimedOut(checked.tool.limits.timeout, abandoned=abandoned)
    except CancelledInside:
        return Cancelled()
    except Exception as error:  # the tool's body: whatever it raises is data
        raised = error.__cause__ if isinstance(error, WrappedBaseException) else error
        again = isinstance(raised, checked.tool.limits.retry_on)
        outcome = replace(failed(raised or error, checked.tool), retryable=again)
        tool_logger.warning("%s raised %s", checked.tool.name, outcome.cause, exc_info=raised)
        return outcome


async def _call(
    handler: Handler, bound: Mapping[str, Any], context: Context[Any] | None, job: Job | None
) -> Any:
    if job is None:
        return await handler.call(bound, context)
    value = await current().run(partial(handler.call, bound, context), job)
    return await value if isawaitable(value) else value


def _context(checked: CheckedCall, setting: Setting, number: int, job: Job | None) -> Context[Any]:
    return Context(
        call_id=checked.call.id,
        tool=checked.tool.name,
        attempt=number,
        key=checked.call.id if setting.key is None else setting.key,
        run=setting.run,
        dependencies=setting.dependencies,
        dry_run=setting.dry_run,
        spend=setting.spend,
        is_cancelled=bool if job is None else job.is_abandoned,
        tell=setting.tell if job is None else _from_thread(setting.tell),
    )


def _from_thread(tell: Callable[[CallProgress], None]) -> Callable[[CallProgress], None]:
    """The same, said in another thread; nobody listens once the loop is closed."""
    loop = asyncio.get_running_loop()

    def send(progress: CallProgress) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, progress)

    return send
