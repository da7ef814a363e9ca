"""Executes allowed calls, each in a slot of its tool; and ``run_calls``, the gate without an agent."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial, wraps
from logging import INFO
from typing import Any, Self, TypeAlias, TypeVar, cast

from rightcall.core.decision import NOBODY_TO_ASK
from rightcall.core.options import check_keywords, known_options, show_options
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome
from rightcall.core.parts import Call
from rightcall.core.ports import Clock, Tools
from rightcall.core.proposal import Proposal
from rightcall.core.tool import CheckedCall
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.gate import call_check
from rightcall.gate.attempt import Setting, SystemClock, attempt
from rightcall.gate.concurrency import RUN_CONCURRENCY, CallSlots, wait_for_rate
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.gate import Approve, Gate
from rightcall.gate.render import render
from rightcall.log import tool_logger, whole

Stage: TypeAlias = list[tuple[int, CheckedCall]]
"""Calls that run at the same time, each with its position among all calls."""


ExecutorKind = TypeVar("ExecutorKind", bound="Executor")
AsyncFunction = TypeVar("AsyncFunction", bound=Callable[..., Any])


def checked_async(place: str, *, say: str = "") -> Callable[[AsyncFunction], AsyncFunction]:
    """Check the keyword arguments of an async function, as ``check_keywords`` does for plain ones."""

    def decorate(function: AsyncFunction) -> AsyncFunction:
        check = known_options(function, place, say=say).check

        @wraps(function)
        async def wrapper(*args: Any, **options: Any) -> Any:
            if options:
                check(options)
            return await function(*args, **options)

        show_options(wrapper)
        return cast("AsyncFunction", wrapper)

    return decorate


def stages(calls: Sequence[object]) -> list[Stage]:
    """Returns the stages in the model's order: a serial call is a barrier.

    Only checked calls are in a stage.
    """
    found: list[Stage] = []
    barrier = True
    for position, call in enumerate(calls):
        if isinstance(call, CheckedCall):
            if barrier or call.tool.serial:
                found.append([])
            found[-1].append((position, call))
            barrier = call.tool.serial
    return found


class Executor:
    """Runs calls under their tools' limits and its own. Keep one to share its own across calls."""

    __slots__ = ("_approve", "_clock", "_slots")

    @check_keywords("rc.gate.Executor")
    def __init__(
        self,
        *,
        concurrency: int = RUN_CONCURRENCY,
        approve: Approve | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not concurrency > 0:
            raise UsageError(f"concurrency must be more than 0, not {concurrency!r}: no call would run")
        self._slots = CallSlots(concurrency)
        self._approve = approve
        self._clock = clock or SystemClock()

    def for_run(self) -> Self:
        """Returns an executor for another run, with run slots of its own."""
        return _make_executor(type(self), self._slots.for_run(), self._approve, self._clock)

    @checked_async("rc.gate.Executor.execute")
    async def execute(
        self,
        calls: Sequence[Call],
        tools: Tools,
        *,
        dependencies: Any = None,
        dry_run: bool = False,
    ) -> tuple[Execution, ...]:
        """Check every call and run those that pass. N calls give N executions, in the same order.

        With ``dry_run`` calls of tools that do more than look are not run, and nobody is asked about
        them. Cancelling this cancels every call that was started, and waits until they have stopped.
        """
        setting = Setting(dependencies=dependencies, dry_run=dry_run)
        return await self._execute(calls, tools, setting)

    async def _execute(
        self, calls: Sequence[Call], tools: Tools, setting: Setting
    ) -> tuple[Execution, ...]:
        if isinstance(calls, Call) or not all(isinstance(call, Call) for call in calls):
            raise UsageError(
                'calls are a list of rc.Call(id="…", name="…", arguments="{…}"), also of one'
            )
        gate = Gate(tools=tools, approve=self._approve, dry_run=setting.dry_run)
        verdicts = [await gate.judge(call, call.id) for call in calls]
        execute = partial(self.run, setting=setting)
        done: dict[int, Execution] = {}
        for stage in stages(verdicts):
            if len(stage) == 1:
                # The usual case, a single call, needs no task of its own.
                ((position, checked),) = stage
                done[position] = await gate.run_between_hooks(checked, checked.call.id, execute)
                continue
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = {
                        position: group.create_task(
                            gate.run_between_hooks(checked, checked.call.id, execute)
                        )
                        for position, checked in stage
                    }
            except ExceptionGroup as errors:
                # Raised by a tool whose exceptions are to be seen, as one call would raise it.
                raise errors.exceptions[0] from None
            for position, checked in stage:
                task = tasks[position]
                # A tool can cancel the task that it runs in; that is not a cancellation by the caller.
                if task.cancelled():
                    call = checked.call
                    cancelled = Cancelled()
                    done[position] = Execution(
                        call=call, outcome=cancelled, result=render(call, cancelled), attempts=1
                    )
                else:
                    done[position] = task.result()
        for position, verdict in enumerate(verdicts):
            if isinstance(verdict, Proposal):
                done[position] = not_run(calls[position], Denied(NOBODY_TO_ASK))
            elif not isinstance(verdict, CheckedCall):
                done[position] = not_run(calls[position], verdict)
        return tuple([done[position] for position in range(len(calls))])

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        """Run a call that was allowed, as soon as its slots and its rate permit."""
        tool = checked.tool
        clock = self._clock
        slot = self._slots.of(tool)
        if not slot.acquire_free():
            await slot.acquire()
        if tool.limits.rate is not None:
            # The slots are free for others until the tool's rate lets the call start.
            while wait := wait_for_rate(tool, clock.now()):
                slot.release()
                await clock.sleep(wait)
                await slot.acquire()
        attempts = 1
        started = clock.now()
        if setting.begins is not None:
            setting.begins()
        try:
            limits = tool.limits
            shown = await attempt(checked, setting, 1, limits.timeout)
            outcome = shown.outcome
            while type(outcome) is Failed and outcome.retryable and attempts <= limits.retries:
                # 2.0**1023 is the largest power of two that a float holds; only a tiny backoff gets
                # that far.
                pause = limits.backoff * 2.0 ** min(attempts - 1, 1023)
                left = limits.timeout - (clock.now() - started) - pause
                if left <= 0:
                    words = "%s raised %s, and there is no time to try again" + whole(outcome.error)
                    tool_logger.warning(words, tool.name, outcome.cause)
                    break
                await clock.sleep(pause)
                attempts += 1
                shown = await attempt(checked, setting, attempts, left)
                outcome = shown.outcome
        finally:
            slot.release()
        seconds = clock.now() - started
        result = shown.result
        if result is None:
            result = render(checked.call, outcome, tool)
        if tool_logger.isEnabledFor(INFO):
            tool_logger.info("%s: %s in %.3f s", tool.name, outcome.kind, seconds)
        return Execution(
            call=checked.call,
            outcome=outcome,
            result=result,
            seconds=seconds,
            attempts=attempts,
            repairs=checked.repairs,
        )


@check_keywords("rc.gate.check")
def check(call: Call, tools: ToolSource) -> CheckedCall | Outcome:
    """Check one call without running it: a checked call, or the outcome that says why not."""
    return call_check.check(call, _toolbox(tools))


@checked_async("rc.run_calls")
async def run_calls(
    calls: Sequence[Call],
    tools: ToolSource,
    *,
    dependencies: Any = None,
    approve: Approve | None = None,
    dry_run: bool = False,
) -> tuple[Execution, ...]:
    """Check and run a model's calls: one execution for each, in the same order.

    ``dependencies`` reach the tools through ``Context``. ``approve`` is asked about calls of tools that
    need approval, as with an agent; without it they are denied. With ``dry_run`` only reading tools
    run. At most 16 calls run at once; keep an ``Executor`` to share such a limit across several.
    """
    setting = Setting(dependencies=dependencies, dry_run=dry_run)
    executor = _make_executor(Executor, CallSlots(RUN_CONCURRENCY), approve, SystemClock())
    return await executor._execute(calls, _toolbox(tools), setting)  # noqa: SLF001


def _make_executor(
    kind: type[ExecutorKind], slots: CallSlots, approve: Approve | None, clock: Clock
) -> ExecutorKind:
    # Without a check of options, which were checked already.
    made = object.__new__(kind)
    made._slots = slots
    made._approve = approve
    made._clock = clock
    return made


def _toolbox(tools: ToolSource) -> Toolbox:
    if isinstance(tools, Toolbox):
        return tools
    return Toolbox(tools)
