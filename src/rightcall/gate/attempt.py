"""Runs one checked call under its deadline, with its tool's retries, and returns the outcome."""

import asyncio
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from time import monotonic
from types import FunctionType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.handler import CallProgress, Context, Handler, ignore
from rightcall.core.outcome import Cancelled, Failed, Outcome, Returned, TimedOut
from rightcall.core.parts import Result, Usage
from rightcall.core.ports import Clock
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure
from rightcall.gate.deadline import (
    GRACE,
    CancelledInside,
    DeadlinePassed,
    WrappedBaseException,
    within,
)
from rightcall.gate.failure import cause_of, failed
from rightcall.gate.render import cut, render
from rightcall.gate.size import TooLarge, Unshowable, check_size, is_small
from rightcall.gate.threads import Job, current
from rightcall.log import tool_logger, whole

_LONGEST_ERROR = 64 * 1024
"""The most bytes of a traceback that are kept."""
_LONGEST_WORDS = 1024 * 1024
"""The most bytes of a ToolFailure's message that are kept; the tool's limits cut it further for the
model."""


class SystemClock:
    """The system's monotonic clock."""

    now = staticmethod(monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Setting(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """Everything that a call is run with except its arguments."""

    dependencies: Any = None
    key: str | None = None
    """Identifies the call, the same on every attempt; the call's id by default."""
    run: str = ""
    spend: Callable[[Usage], None] = ignore
    """Called with the tokens and cost that the call itself spends on models."""
    tell: Callable[[CallProgress], None] = ignore
    """Called on the event loop with the call's progress."""
    dry_run: bool = False
    begins: Callable[[], object] | None = None
    """Called when nothing is left to wait for, and the tool is about to be called."""


class Shown(Struct, frozen=True, eq=False, gc=False):
    """The outcome of an attempt, and the result for the model if it is rendered already."""

    outcome: Outcome
    result: Result | None = None


class Tries(Struct, frozen=True, eq=False, gc=False):
    """The last attempt's outcome, and the number of attempts."""

    shown: Shown
    count: int


async def retry(
    checked: CheckedCall, failed: Shown, setting: Setting, clock: Clock, started: float
) -> Tries:
    """Retry a call whose first attempt failed in a retryable way, as the tool's limits allow."""
    limits = checked.tool.limits
    shown = failed
    count = 1
    while isinstance(shown.outcome, Failed) and shown.outcome.retryable and count <= limits.retries:
        # 2.0**1023 is the largest power of two that a float holds; only a tiny backoff gets that far.
        pause = limits.backoff * 2.0 ** min(count - 1, 1023)
        left = limits.timeout - (clock.now() - started) - pause
        if left <= 0:
            words = "%s raised %s, and there is no time to try again" + whole(shown.outcome.error)
            tool_logger.warning(words, checked.tool.name, shown.outcome.cause)
            break
        await clock.sleep(pause)
        count += 1
        shown = await attempt(checked, setting, count, left)
    return Tries(shown, count)


async def attempt(checked: CheckedCall, setting: Setting, number: int, seconds: float) -> Shown:
    """Run a call for the ``number``-th time and render what it returned, within ``seconds``.

    Anything that the tool raises is a failure, SystemExit included, and so is anything that its value
    raises while it is rendered. This raises only cancellation, Ctrl-C and what the program's own signal
    handlers raise.
    """
    handler = checked.tool.invocation
    job = None if handler is None or handler.is_async else Job()
    context = None
    if handler is not None and handler.context is not None:
        context = _context(checked, setting, number, job)
    writing = Job()
    try:
        return await within(seconds, _call(checked, handler, context, job, writing))  # type: ignore[no-any-return]
    except ToolFailure as failure:
        return Shown(await _failed(failure, checked.tool, number))
    except DeadlinePassed as passed:
        abandoned = passed.abandoned or writing.is_abandoned()
        abandoned = abandoned or (job is not None and job.is_abandoned())
        if abandoned:
            tool_logger.warning("%s could not be stopped at its deadline; abandoned", checked.tool.name)
        return Shown(TimedOut(checked.tool.limits.timeout, abandoned=abandoned))
    except CancelledInside:
        return Shown(Cancelled())
    except Exception as error:  # noqa: BLE001 - the tool's body: whatever it raises is data
        raised = error.__cause__ if isinstance(error, WrappedBaseException) else error
        return Shown(await _failed(raised or error, checked.tool, number))


async def _call(
    checked: CheckedCall,
    handler: Handler | None,
    context: Context[Any] | None,
    job: Job | None,
    writing: Job,
) -> Shown:
    value: Any
    if handler is None:
        value = checked.bound
    elif job is None:
        value = await handler.call(checked.bound, context)
    else:
        given = await current().run(partial(_call_here, checked, handler, context), job)
        if isinstance(given, Shown):
            return given
        value = await given
    if is_small(value) and (type(value) is str or "pydantic_core" in sys.modules):
        return show(checked, value)
    # A large value takes long, and so does loading pydantic's core for the first that is no text.
    return await current().run(partial(show_in_thread, checked, value), writing)  # type: ignore[no-any-return]


def _call_here(checked: CheckedCall, handler: Handler, context: Context[Any] | None) -> Any:
    """Call a blocking function, and render its value while this still has a thread."""
    value = handler.call(checked.bound, context)
    return value if isawaitable(value) else show_in_thread(checked, value)


def show(checked: CheckedCall, value: object) -> Shown:
    """Returns the outcome and the result of a call that returned a small plain value."""
    outcome = Returned(value)
    try:
        return Shown(outcome, render(checked.call, outcome, checked.tool))
    except Unshowable as error:
        return _unshowable(checked, "cannot be shown", error)


def show_in_thread(checked: CheckedCall, value: object) -> Shown:
    """Returns the outcome and the result of a call that returned any value. Not for the event loop.

    Rendering may run the developer's own serialisers, which can do anything; a large value takes long.
    """
    try:
        check_size(value, checked.tool.limits)
        return show(checked, value)
    except TooLarge as large:
        return _unshowable(checked, f"is too large to be shown: {large}. Ask for less of it", large)
    except BaseException as error:  # noqa: BLE001 - no signal reaches this thread: it is the value's
        return _unshowable(checked, "cannot be shown", error)


def _unshowable(checked: CheckedCall, why: str, error: BaseException) -> Shown:
    """Returns the failure of a call that ran but whose value cannot be rendered."""
    words = f"{checked.tool.name} ran, but what it returned {why}."
    tool_logger.warning("%s", words, exc_info=error)
    trace = cut("".join(traceback.format_exception(error)), _LONGEST_ERROR)
    outcome = Failed(words, error=trace, cause=cause_of(error))
    # Rendered without the tool: the message is ours and needs no envelope, even for an untrusted tool.
    return Shown(outcome, render(checked.call, outcome))


async def _failed(error: BaseException, tool: Tool, number: int) -> Failed:
    """Returns the failure of a call's ``number``-th attempt.

    The exception's ``__str__`` may be the tool's own code, so it then runs in a thread with a timeout.
    """
    if not _has_own_words(error):
        return _told(error, tool, number)
    try:
        return await within(GRACE, current().run(partial(_told, error, tool, number), Job()))  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - again the tool's
        kind = type(error).__qualname__
        tool_logger.warning("%s raised %s, whose words could not be had", tool.name, kind)
        again = _is_retryable(error, tool)
        return Failed(error=f"{kind}, whose words could not be had", cause=kind, retryable=again)


def _told(error: BaseException, tool: Tool, number: int) -> Failed:
    again = _is_retryable(error, tool)
    if isinstance(error, ToolFailure):
        return Failed(cut(str(error), _LONGEST_WORDS), retryable=again, own=error.own)
    outcome = failed(error, tool)
    if again and number <= tool.limits.retries:
        # The traceback is logged once, for the last attempt.
        most = tool.limits.retries + 1
        tool_logger.info("%s raised %s (attempt %d of %d)", tool.name, outcome.cause, number, most)
    else:
        tool_logger.warning("%s raised %s", tool.name, outcome.cause, exc_info=error)
    return replace(outcome, error=cut(outcome.error, _LONGEST_ERROR), retryable=again)


def _is_retryable(error: BaseException, tool: Tool) -> bool:
    if isinstance(error, ToolFailure):
        return error.retryable
    return isinstance(error, tool.limits.retry_on)


def _has_own_words(error: BaseException | None) -> bool:
    """Whether formatting the exception, or one in its chain, runs code that is not Python's own."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if not is_small(error.args) or isinstance(type(error).__str__, FunctionType):
            return True
        error = error.__cause__ or error.__context__
    return False


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
    """Returns ``tell`` for use from another thread; does nothing once the event loop is closed."""
    loop = asyncio.get_running_loop()

    def send(progress: CallProgress) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, progress)

    return send
