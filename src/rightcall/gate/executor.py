"""A model's calls through the gate, without an agent: one execution each, in the model's order."""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from logging import INFO
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import NOBODY_TO_ASK, Proposal
from rightcall.core.options import checked
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome
from rightcall.core.ports import Clock, Tools
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.gate import check as gate_check
from rightcall.gate.attempt import Setting, SystemClock, attempt, retry
from rightcall.gate.checked_async import checked_async
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.gate import Approve, Gate, Verdict
from rightcall.gate.render import render
from rightcall.gate.stages import stages
from rightcall.log import tool_logger


class Semaphore:
    """So many slots, given out in the order they were asked for. Belongs to one event loop.

    asyncio's has no way to acquire without a coroutine, which every call of a tool would pay for.
    """

    __slots__ = ("free", "waiting")

    def __init__(self, size: int) -> None:
        self.free = size
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Take a slot, waiting for it."""
        if self.free and not self.waiting:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, to whoever has waited longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class CallSlot:
    """What a call needs to run: a slot of its tool's, and one of those that all tools share.

    To acquire and release it costs no coroutine while nobody waits, which is nearly always.
    """

    __slots__ = ("_all", "_own")

    def __init__(self, own: Semaphore, everyone: Semaphore) -> None:
        self._own = own
        self._all = everyone

    def acquire_free(self) -> bool:
        """Take both if they are free now."""
        own, everyone = self._own, self._all
        if own.free and everyone.free and not own.waiting and not everyone.waiting:
            own.free -= 1
            everyone.free -= 1
            return True
        return False

    async def acquire(self) -> None:
        """Take both, waiting for them."""
        await self._own.acquire()
        try:
            await self._all.acquire()
        except asyncio.CancelledError:
            self._own.release()
            raise

    def release(self) -> None:
        """Give both back."""
        own, everyone = self._own, self._all
        if own.waiting or everyone.waiting:
            everyone.release()
            own.release()
        else:
            own.free += 1
            everyone.free += 1


class Pace:
    """At most ``calls`` starts in any ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._starts: deque[float] = deque()

    def start(self, now: float) -> float:
        """Start a call now and say 0, or say how long to wait before asking again."""
        if len(self._starts) == self._calls:
            wait = self._starts[0] + self._seconds - now
            if wait > 0:
                return wait
            self._starts.popleft()
        self._starts.append(now)
        return 0.0


class Slots:
    """The slots of an executor: so many in all, and so many for each tool.

    Each event loop has its own; paces are plain arithmetic and hold across loops.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopSlots] = WeakKeyDictionary()
        self._last: tuple[ReferenceType[Any] | None, _LoopSlots] = (None, _LoopSlots(0))
        self._paces: dict[str, Pace] = {}

    def of(self, tool: Tool) -> CallSlot:
        """The slot for a tool, on this event loop."""
        loop = asyncio.get_running_loop()
        last, slots = self._last
        if last is None or last() is not loop:
            slots = self._loops.setdefault(loop, _LoopSlots(self._concurrency))
            self._last = ref(loop), slots
        slot = slots.by_tool.get(tool.name)
        if slot is None:
            own = Semaphore(tool.limits.concurrency)
            # A call that is a run waits for calls of its own, which need those that all tools share.
            everyone = Semaphore(tool.limits.concurrency) if tool.delegates else slots.everyone
            slot = slots.by_tool[tool.name] = CallSlot(own, everyone)
        return slot

    def wait_for(self, tool: Tool, now: float) -> float:
        """Start a call as far as the tool's rate goes: 0, or seconds to wait before asking again."""
        if tool.limits.rate is None:
            return 0.0
        pace = self._paces.get(tool.name)
        if pace is None:
            pace = self._paces[tool.name] = Pace(*tool.limits.rate)
        return pace.start(now)


class _LoopSlots:
    def __init__(self, concurrency: int) -> None:
        self.everyone = Semaphore(concurrency)
        self.by_tool: dict[str, CallSlot] = {}


_PLAIN = Setting()


class Executor:
    """Runs calls under their tools' limits and its own. Keep one, and the limits hold across calls."""

    @checked("rc.Executor")
    def __init__(
        self, *, concurrency: int = 32, approve: Approve | None = None, clock: Clock | None = None
    ) -> None:
        if not concurrency > 0:
            raise UsageError(f"concurrency must be more than 0, not {concurrency!r}: no call would run")
        self._slots = Slots(concurrency)
        self._approve = approve
        self._clock = clock or SystemClock()

    @checked_async("rc.Executor.execute")
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
        is_plain = dependencies is None and not dry_run
        setting = _PLAIN if is_plain else Setting(dependencies=dependencies, dry_run=dry_run)
        return await self._execute(calls, tools, setting)

    async def _execute(
        self, calls: Sequence[Call], tools: Tools, setting: Setting
    ) -> tuple[Execution, ...]:
        gate = Gate(tools=tools, approve=self._approve, dry_run=setting.dry_run)
        verdicts = [await gate.judge(call, call.id) for call in calls]
        execute = partial(self.run, setting=setting)
        done: dict[int, Execution] = {}
        for stage in stages(verdicts):
            if len(stage) == 1:
                # Nearly every turn: no task of its own.
                ((position, checked),) = stage
                done[position] = await gate.run(checked, checked.call.id, execute)
                continue
            async with asyncio.TaskGroup() as group:
                tasks = {
                    position: group.create_task(gate.run(checked, checked.call.id, execute))
                    for position, checked in stage
                }
            for position, checked in stage:
                task = tasks[position]
                # A tool can cancel the task it runs in, which is nobody's wish but its own.
                done[position] = _cancelled(checked.call) if task.cancelled() else task.result()
        return tuple([done.get(at) or _refused(call, verdicts[at]) for at, call in enumerate(calls)])

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        """Run a call that may run, when its rate and its slots allow it."""
        tool, clock = checked.tool, self._clock
        slot = self._slots.of(tool)
        if not slot.acquire_free():
            await slot.acquire()
        if tool.limits.rate is not None:
            await self._pace(tool, slot)
        attempts, started = 1, clock.now()
        try:
            shown = await attempt(checked, setting, 1, tool.limits.timeout)
            outcome = shown.outcome
            if type(outcome) is Failed and outcome.retryable:
                tries = await retry(checked, shown, setting, clock, started)
                shown, attempts = tries.shown, tries.count
        finally:
            slot.release()
        seconds = clock.now() - started
        outcome, result = shown.outcome, shown.result
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

    async def _pace(self, tool: Tool, slot: CallSlot) -> None:
        """Wait until the tool's rate lets a call start, leaving the slots to others meanwhile."""
        while wait := self._slots.wait_for(tool, self._clock.now()):
            slot.release()
            await self._clock.sleep(wait)
            await slot.acquire()


def _refused(call: Call, verdict: Verdict) -> Execution:
    assert not isinstance(verdict, CheckedCall)
    return not_run(call, Denied(NOBODY_TO_ASK) if isinstance(verdict, Proposal) else verdict)


def _cancelled(call: Call) -> Execution:
    outcome = Cancelled()
    return Execution(call=call, outcome=outcome, result=render(call, outcome), attempts=1)


@checked("rc.check")
def check(call: Call, tools: ToolSource) -> CheckedCall | Outcome:
    """Judge one call without running it: a checked call, or the outcome that says why not."""
    return gate_check.check(call, _toolbox(tools))


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

    ``dependencies`` reach the tools through ``Context``. ``approve`` is asked about calls of tools
    that require approval, as an agent's is; without it they are denied. With ``dry_run`` what does more
    than look is not run. Limits on rate and concurrency hold within one execution; keep an ``Executor``
    to make them hold across several.
    """
    setting = Setting(dependencies=dependencies, dry_run=dry_run)
    executor = Executor() if approve is None else Executor(approve=approve)
    return await executor._execute(calls, _toolbox(tools), setting)  # noqa: SLF001


def _toolbox(tools: ToolSource) -> Toolbox:
    return tools if isinstance(tools, Toolbox) else Toolbox(tools)
