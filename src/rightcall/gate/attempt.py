"""Runs one attempt of a checked call under its deadline, and returns the outcome.

The tool's coroutine runs in a task of its own. When time is up the task is cancelled; one that ignores
its cancellation is abandoned after a grace period, and the caller goes on.
"""

import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from inspect import isawaitable
from time import monotonic
from traceback import walk_tb
from types import FunctionType
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.blank_context import BLANK
from rightcall.core.handler import CallProgress, Context, Handler, HandlerMisuse, ignore, unwrap
from rightcall.core.outcome import Cancelled, Failed, Outcome, Returned, TimedOut
from rightcall.core.parts import Result, Usage
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import ToolFailure, UsageError
from rightcall.gate.concurrency import (
    AbandonableJob,
    WrappedBaseException,
    leave_if_forked,
    tool_threads,
)
from rightcall.gate.render import cause_of, cut, failure_from_exception, render
from rightcall.gate.size import SHORT_TEXT, Unshowable, ValueTooLarge, check_size, is_small
from rightcall.log import tool_logger

GRACE = 1.25
"""Seconds that a cancelled coroutine has to clean up: more than the 1 second that a command has to
end."""

Task: TypeAlias = asyncio.Task[Any]
_adrift: set[Task] = set()
_ORDINARY = (Exception, asyncio.CancelledError)
"""What a task may end with, and the event loop goes on. StopIteration is one: it ends every call."""
_LONGEST_ERROR = 64 * 1024
"""The most bytes of a traceback that are kept."""
_LONGEST_WORDS = 1024 * 1024
"""The most bytes of a ToolFailure's message that are kept; the tool's limits cut it further for the
model."""


class DeadlinePassed(Exception):
    """The deadline passed. ``abandoned`` is true when the work could not be stopped."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__()
        self.abandoned = abandoned


class WrongDecision(UsageError):
    """The program's own approver answered a tool's question with no decision. That ends the run."""


class CancelledInside(Exception):
    """The coroutine raised CancelledError, though its caller was not cancelled."""


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


class AttemptResult(Struct, frozen=True, eq=False, gc=False):
    """The outcome of an attempt, and the result for the model if it is rendered already."""

    outcome: Outcome
    result: Result | None = None


async def attempt(checked: CheckedCall, setting: Setting, number: int, seconds: float) -> AttemptResult:
    """Run a call for the ``number``-th time and render what it returned, within ``seconds``.

    Anything that the tool raises is a failure, SystemExit included, and so is anything that its value
    raises while it is rendered. This raises only cancellation, Ctrl-C and what the program's own signal
    handlers raise.
    """
    handler = checked.tool.invocation
    job = None
    if handler is not None and not handler.is_async:
        job = AbandonableJob()
    context = None
    if handler is not None and handler.context is not None:
        context = Context(
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
    writing = AbandonableJob()
    try:
        return await within(seconds, _call(checked, handler, context, job, writing))  # type: ignore[no-any-return]
    except ToolFailure as failure:
        return AttemptResult(await _describe_failure(failure, checked.tool, number))
    except DeadlinePassed as passed:
        abandoned = passed.abandoned or writing.is_abandoned()
        abandoned = abandoned or (job is not None and job.is_abandoned())
        if abandoned:
            tool_logger.warning("%s could not be stopped at its deadline; abandoned", checked.tool.name)
        return AttemptResult(TimedOut(checked.tool.limits.timeout, abandoned=abandoned))
    except CancelledInside:
        return AttemptResult(Cancelled())
    except (WrongDecision, HandlerMisuse):
        raise
    except Exception as error:  # noqa: BLE001 - the tool's body: whatever it raises is data
        if isinstance(error, WrappedBaseException):
            raised = error.__cause__
        else:
            raised = error
        if is_raised(checked.tool):
            is_again = _is_retryable(raised or error, checked.tool)
            if not is_again or number > checked.tool.limits.retries:
                raise raised or error from None
        return AttemptResult(await _describe_failure(raised or error, checked.tool, number))


def is_raised(tool: Tool) -> bool:
    """Whether what a tool raises ends its run, because it or a test says so."""
    return tool.errors == "raise" or bool(_raising)


_raising: list[None] = []
"""One item for each test that wants what tools raise; whatever thread their runs are in."""


@contextmanager
def raise_tool_errors() -> Iterator[None]:
    """In this context a tool that raises ends its run with that exception, whatever the tool says.

    For tests of tools. A ToolFailure is still a result for the model: the tool expects that failure.
    """
    _raising.append(None)
    try:
        yield
    finally:
        _raising.pop()


async def _call(
    checked: CheckedCall,
    handler: Handler | None,
    context: Context[Any] | None,
    job: AbandonableJob | None,
    writing: AbandonableJob,
) -> AttemptResult:
    value: Any
    if handler is None:
        value = checked.bound
    elif job is None:
        value = await handler.call(checked.bound, context)
    else:
        given = await tool_threads().run(partial(_call_here, checked, handler, context), job)
        if isinstance(given, AttemptResult):
            return given
        value = await given
    if type(value) is str and len(value) <= SHORT_TEXT:
        return show(checked, value)
    if is_small(value) and "pydantic_core" in sys.modules:
        return show(checked, value)
    # A large value takes long, and so does loading pydantic's core for the first that is no text.
    return await tool_threads().run(partial(show_in_thread, checked, value), writing)  # type: ignore[no-any-return]


def _call_here(checked: CheckedCall, handler: Handler, context: Context[Any] | None) -> Any:
    """Call a blocking function, and render its value while this still has a thread."""
    value = handler.call(checked.bound, context)
    if isawaitable(value):
        return value
    return show_in_thread(checked, value)


def show(checked: CheckedCall, value: object) -> AttemptResult:
    """Returns the outcome and the result of a call that returned a small plain value."""
    outcome = Returned(value)
    try:
        return AttemptResult(outcome, render(checked.call, outcome, checked.tool))
    except Unshowable as error:
        return _unshowable(checked, "cannot be shown", error)


def show_in_thread(checked: CheckedCall, value: object) -> AttemptResult:
    """Returns the outcome and the result of a call that returned any value. Not for the event loop.

    Rendering may run the developer's own serialisers, which can do anything; a large value takes long.
    """
    try:
        check_size(value, checked.tool.limits)
        return show(checked, value)
    except ValueTooLarge as large:
        return _unshowable(checked, f"is too large to be shown: {large}. Ask for less of it", large)
    except BaseException as error:  # noqa: BLE001 - no signal reaches this thread: it is the value's
        return _unshowable(checked, "cannot be shown", error)


def _unshowable(checked: CheckedCall, why: str, error: BaseException) -> AttemptResult:
    """Returns the failure of a call that ran but whose value cannot be rendered."""
    words = f"{checked.tool.name} ran, but what it returned {why}."
    tool_logger.warning("%s", words, exc_info=error)
    trace = cut("".join(traceback.format_exception(error)), _LONGEST_ERROR)
    outcome = Failed(words, error=trace, cause=cause_of(error))
    # Rendered without the tool: the message is ours and needs no envelope, even for an untrusted tool.
    return AttemptResult(outcome, render(checked.call, outcome))


async def _describe_failure(error: BaseException, tool: Tool, number: int) -> Failed:
    """Returns the failure of a call's ``number``-th attempt.

    The exception's ``__str__`` may be the tool's own code, so it then runs in a thread with a timeout.
    """
    if not _has_own_words(error):
        return _build_failure(error, tool, number)
    try:
        words: Failed = await within(
            GRACE, tool_threads().run(partial(_build_failure, error, tool, number), AbandonableJob())
        )
        return words  # noqa: TRY300
    except Exception:  # noqa: BLE001 - again the tool's
        kind = type(error).__qualname__
        tool_logger.warning("%s raised %s, whose words could not be had", tool.name, kind)
        again = _is_retryable(error, tool)
        return Failed(error=f"{kind}, whose words could not be had", cause=kind, retryable=again)


def _build_failure(error: BaseException, tool: Tool, number: int) -> Failed:
    again = _is_retryable(error, tool)
    if isinstance(error, ToolFailure):
        return Failed(cut(str(error), _LONGEST_WORDS), retryable=again, own=error.own)
    outcome = failure_from_exception(error, tool)
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


def _from_thread(tell: Callable[[CallProgress], None]) -> Callable[[CallProgress], None]:
    """Returns ``tell`` for use from another thread; does nothing once the event loop is closed."""
    loop = asyncio.get_running_loop()

    def send(progress: CallProgress) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, progress)

    return send


def adrift() -> int:
    """Returns how many coroutines that ignored their cancellation are still running."""
    return len(_adrift)


async def within(seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await a coroutine and return its value; raise DeadlinePassed after so many seconds.

    If the caller is cancelled, the coroutine is cancelled too and has the rest of its time to clean up.
    The caller then raises CancelledError, whatever the coroutine did with its own.
    """
    work = _Work(coroutine)
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    try:
        cancelled = await _wait(task, work, seconds)
        expired = not task.done()
        if expired:
            again = await _stop(task, work)
            cancelled = cancelled or again
            del again
        if cancelled is not None:
            _take_exception(task)
            is_over = task.done() and not task.cancelled()
            # What ends the program goes before a cancellation.
            if not is_over or not isinstance(task.exception(), _Leaves):
                # The caller's own: anyio's cancel scopes recognise theirs by its message.
                raise cancelled
        return _result(task, expired=expired)
    finally:
        # The task's exception refers to this frame; without these references there is no cycle.
        del task, cancelled


def _result(task: Task, *, expired: bool) -> Any:
    try:
        if not task.done():
            raise DeadlinePassed(abandoned=True)
        return task.result()
    except (TimeoutError, asyncio.CancelledError) as error:
        if expired:
            raise DeadlinePassed(abandoned=False) from None
        if isinstance(error, asyncio.CancelledError):
            raise CancelledInside from error
        raise
    except _Leaves as leaving:
        raise leaving.error from None
    finally:
        del task


async def _wait(task: Task, work: "_Work", seconds: float) -> asyncio.CancelledError | None:
    """Wait until a task ends or time is up; if the caller is cancelled, cancel the task.

    Returns the caller's CancelledError, if any. asyncio.wait handles several tasks and costs twice as
    much, which every tool call would pay.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    try:
        while True:
            waiter = work.waiter = loop.create_future()
            # A cancelled timer stays with the event loop for a while, and with it its context.
            timer = loop.call_at(end, work.wake, context=BLANK.context)
            try:
                await waiter
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
                task.cancel()
            except GeneratorExit:
                task.cancel()
                raise
            finally:
                timer.cancel()
            if task.done() or loop.time() >= end:
                return cancelled
    finally:
        del cancelled  # its traceback refers to this frame


async def _stop(task: Task, work: "_Work") -> asyncio.CancelledError | None:
    """Cancel a task, or abandon it; returns the caller's CancelledError, if it was cancelled."""
    cancelled: asyncio.CancelledError | None = None
    try:
        for grace in (GRACE, GRACE / 20):
            # Some tasks stop only at the second cancellation.
            task.cancel()
            again = await _wait(task, work, grace)
            cancelled = cancelled or again
            del again
            if task.done():
                return cancelled
        work.adrift = True
        task.set_name("rightcall: abandoned")
        _adrift.add(task)
        task.add_done_callback(_adrift.discard)
        task.add_done_callback(_take_exception)
        return cancelled
    finally:
        del cancelled


def _take_exception(task: Task) -> None:
    """Retrieve the exception, so that asyncio does not log it as never retrieved."""
    if task.done() and not task.cancelled():
        task.exception()


class _Leaves(Exception):
    """The coroutine raised an exception that ends the program: Ctrl-C or a signal handler's exit.

    It is raised again where the coroutine was awaited: raised in a task, it would stop the event loop at
    once, and nothing could clean up.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _Work(Coroutine[Any, Any, Any]):
    """Wraps a tool's coroutine, to check it at each step and to wake the waiter when it ends."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._process = os.getpid()
        self.adrift = False
        self.waiter: asyncio.Future[None] | None = None
        """The future that the caller waits on. It is set in the coroutine's last step itself: a done
        callback of the task would come one turn of the event loop later."""

    def wake(self) -> None:
        """Wake the waiter: the coroutine ended, or time is up."""
        waiter = self.waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def send(self, value: Any) -> Any:
        """Run one step. If the tool forked, the child process exits here."""
        try:
            return self._coroutine.send(value)
        except BaseException as raised:
            self._handle_end(raised)
            raise
        finally:
            leave_if_forked(self._process)

    def throw(self, *error: Any) -> Any:
        """Run one step that starts by raising an exception, mostly a cancellation."""
        try:
            waiting = self._coroutine.throw(*error)
        except BaseException as raised:
            self._handle_end(raised)
            raise
        finally:
            leave_if_forked(self._process)
            del error  # its traceback refers to this frame
        if self.adrift:
            # At its end asyncio.run cancels every task and waits until it has stopped. A task that
            # ignored its cancellation before would keep the process from ending.
            self.close()
            raise asyncio.CancelledError
        return waiting

    def _handle_end(self, raised: BaseException) -> None:
        """Wake the waiter, and wrap what is no Exception: asyncio would let it stop the event loop."""
        self.wake()
        if isinstance(raised, _ORDINARY) or self.adrift:
            return
        if _goes_up(raised):
            raise _Leaves(raised) from None
        raise WrappedBaseException from raised

    def close(self) -> None:
        """Close the coroutine where it is suspended."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Forwards other attributes: asyncio shows where the coroutine is, anyio asks if it started."""
        return getattr(self._coroutine, name)


def _goes_up(error: BaseException) -> bool:
    """Whether an exception is not the tool's own but Ctrl-C or a signal handler's exit.

    Python runs signal handlers in the main thread, in the middle of whatever runs there. A
    KeyboardInterrupt in that thread counts as Ctrl-C, because its default handler leaves no frame to
    recognise it by.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    if isinstance(error, KeyboardInterrupt):
        return True
    codes = set()
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler):
            codes.add(getattr(unwrap(handler), "__code__", None))
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))
