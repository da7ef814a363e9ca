"""Takes a client's call through the gate, records it as a run of its own, and runs it in its turn.

The client's request is recorded in the place of a model's reply, so that everything that reads the
records of agents can read these. The protocol's side, with requests and results, is in ``requests``.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine as awaitable
from typing import Any, Generic, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import CLIENT_CANNOT_ASK, Deny, FinalDecision, nobody_answered
from rightcall.core.entry import (
    CallFinished,
    Entry,
    ReplyReceived,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.message import Reply
from rightcall.core.outcome import Cancelled, Failed
from rightcall.core.parts import Call, Usage
from rightcall.core.ports import AsyncJournal, Journal, Tools
from rightcall.core.proposal import Proposal
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import ToolFailure
from rightcall.gate.attempt import Setting
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Approve, Gate, Policy
from rightcall.gate.hooks import NO_HOOKS, HookChain
from rightcall.mcp.server.remote_client import QUESTION, Caller, ProgressSender, decision_from, form_for
from rightcall.record.steps import JournalSteps, append

T = TypeVar("T")


class Handover(Generic[T]):
    """Runs a coroutine. If its caller is cancelled, ``task`` goes on with it, cancelled once.

    The SDK's cancellation is repeated at every await, and no tool could clean up under that. A task for
    every call would protect it too, but takes two more turns of the event loop, and few are cancelled.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self.task: asyncio.Task[T] | None = None

    async def run(self) -> T:
        """The coroutine's value. Raises CancelledError if the caller was cancelled."""
        return await self._steps(None)

    async def _resume(self, error: asyncio.CancelledError) -> T:
        return await self._steps(error)

    @awaitable
    def _steps(self, error: BaseException | None) -> Generator[Any, Any, T]:
        """Run the coroutine step by step, the first of which may begin with an exception."""
        while True:
            try:
                if error is None:
                    waiting = self._work.send(None)
                else:
                    waiting = self._work.throw(error)
            except StopIteration as end:
                value: T = end.value
                return value
            error = None
            try:
                yield waiting
            except asyncio.CancelledError as cancelled:
                # The SDK's scope cancels the caller again at every await. So the rest of the work moves
                # to a task of its own, which gets the one cancellation that was meant for it.
                caller = asyncio.current_task()
                if self.task is None and caller is not None and caller.cancelling():
                    self.task = asyncio.get_running_loop().create_task(self._resume(cancelled))
                    raise
                # What it waits for was cancelled, or its own task.
                error = cancelled
            except BaseException as raised:  # noqa: BLE001 - what it waits for has failed
                error = raised


class SerialLock:
    """Lets calls run concurrently, and those of serial tools alone, in the order they came.

    Belongs to one event loop.
    """

    def __init__(self) -> None:
        self._running = 0
        self._is_alone = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def acquire(self, *, alone: bool) -> None:
        """Wait until a call may run, alone or beside others."""
        if self._waiting or not self._is_free(alone=alone):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append((waiter, alone))
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self.release()
                else:
                    with suppress(ValueError):
                        self._waiting.remove((waiter, alone))
                    self._wake()
                raise
        else:
            self._begin(alone=alone)

    def release(self) -> None:
        """Let the next ones run."""
        self._running -= 1
        self._is_alone = False
        self._wake()

    def _is_free(self, *, alone: bool) -> bool:
        return not self._is_alone and not (alone and self._running)

    def _begin(self, *, alone: bool) -> None:
        self._running += 1
        self._is_alone = alone

    def _wake(self) -> None:
        while self._waiting and self._is_free(alone=self._waiting[0][1]):
            waiter, alone = self._waiting.popleft()
            if not waiter.done():
                self._begin(alone=alone)
                waiter.set_result(None)


class ServedCallRecord:
    """Records one call, besides what the gate records. Does nothing without a journal."""

    def __init__(self, journal: Journal | AsyncJournal | None, run: str, call: Call) -> None:
        self._journal = journal
        self._run = run
        self._call = call
        self._is_over = False
        # A call that is made again with its client's answers starts over: no steps are remembered.
        self.steps = None if journal is None else JournalSteps(journal, run)
        self.key = f"t1.0.{call.name}"
        self.spent: list[Usage] = []
        """The usage of models by the call itself."""

    @property
    def idempotency_key(self) -> str:
        """Identifies the call, and stays the same when it is made again with a client's answers."""
        return f"{self._run}.{self.key}"

    async def write_start(self, tool: Tool | None, who: Caller) -> None:
        """Record that the client asked for the call, and for which user, if that is known."""
        if self._journal is None:
            return
        specs = () if tool is None else (tool.spec,)
        await self._append(RunStarted(messages=(), budget=Budget(), specs=specs))
        asking = f"mcp {who.name}".rstrip() + (f" for {who.user}" if who.user else "")
        reply = Reply((self._call,), "calls", model=asking)
        await self._append(ReplyReceived(key="t1.model", reply=reply, seconds=0.0))

    async def write_pause(self) -> None:
        """Record that the call waits for the client's answers."""
        await self._append(RunPaused(key=f"{self.key}.asked", call_ids=(self._call.id,)))

    async def write_resume(self) -> None:
        """Record that the client made the call again, with answers."""
        await self._append(RunResumed(decisions={}))

    async def write_end(self, execution: Execution) -> None:
        """Record the call's result, and with it the end of the run. Only the first end counts."""
        if self._is_over or self._journal is None:
            return
        self._is_over = True
        outcome = execution.outcome
        finished = CallFinished(
            key=self.key,
            result=replace(execution.result, call_id=self._call.id),
            seconds=execution.seconds,
            attempts=execution.attempts,
            usage=sum(self.spent, Usage()) if self.spent else None,
            error=outcome.error if isinstance(outcome, Failed) else "",
            cause=outcome.cause if isinstance(outcome, Failed) else "",
        )
        with anyio.CancelScope(shield=True):
            await self._append(finished)
            await self._append(RunEnded(stop=Stop("end")))

    async def _append(self, entry: Entry) -> None:
        if self._journal is not None:
            await append(self._journal, self._run, entry)


class ServedCallSetup(Struct, frozen=True, kw_only=True, eq=False):
    """What every call of a server is run with."""

    executor: Executor
    lock: SerialLock
    policy: Policy | None = None
    approve: Approve | None = None
    """Asks a person in place of the client."""
    hooks: HookChain = NO_HOOKS
    journal: Journal | AsyncJournal | None = None
    dependencies: Any = None
    grace: float
    running: set["asyncio.Task[Any]"]
    """Running calls, including those that were cancelled and did not stop."""


class AwaitsClient(Exception):
    """The call cannot continue before the client has answered; ``Caller.open`` holds the questions."""


class ServedCall(Struct, frozen=True, kw_only=True, eq=False):
    """One call of a client, and everything needed to run it."""

    setup: ServedCallSetup
    tools: Tools
    call: Call
    who: Caller
    record: ServedCallRecord

    async def run(self) -> Execution:
        """The execution of the call. Raises AwaitsClient if the client must answer first."""
        gate = Gate(
            tools=self.tools,
            policy=self.setup.policy,
            approve=self.setup.approve or self._ask_client,
            hooks=self.setup.hooks,
            steps=self.record.steps,
        )
        try:
            verdict = await gate.judge(self.call, self.record.key)
            if isinstance(verdict, CheckedCall):
                return await gate.run_between_hooks(verdict, self.record.key, self._execute)
        except asyncio.CancelledError:
            await self.record.write_end(not_run(self.call, Cancelled()))
            raise
        assert not isinstance(verdict, Proposal)  # an approver is always set
        return not_run(self.call, verdict)

    async def _ask_client(self, proposal: Proposal) -> FinalDecision:
        form = form_for(proposal)
        if not self.who.can(form):
            return Deny(CLIENT_CANNOT_ASK)
        try:
            answers = await self.who.ask(**{QUESTION: form})
        except ToolFailure as failure:
            if self.who.open:
                raise AwaitsClient from None
            return Deny(nobody_answered(str(failure)))
        return decision_from(answers[QUESTION])

    async def _execute(self, checked: CheckedCall) -> Execution:
        """Run the call. If it is cancelled, it is given time to clean up."""
        progress = ProgressSender(self.who.progress)
        running = self.setup.running
        work = Handover(self._run_in_turn(checked, progress))
        here = asyncio.current_task()
        assert here is not None
        running.add(here)
        execution: Execution | None = None
        try:
            execution = await work.run()
            await progress.finish()
        except asyncio.CancelledError:
            if work.task is None and execution is None:
                # Nobody cancelled it from outside.
                return not_run(self.call, Cancelled())
            # Give the cancelled call its time to stop, and record its end.
            task = work.task
            if task is not None:
                running.add(task)
                task.add_done_callback(running.discard)
            with anyio.CancelScope(shield=True):
                await progress.stop()
                if task is not None:
                    await asyncio.wait({task}, timeout=self.setup.grace)
            if task is not None and task.done() and not task.cancelled():
                execution = task.result()
            await self.record.write_end(execution or not_run(self.call, Cancelled()))
            raise
        finally:
            running.discard(here)
        if isinstance(execution.outcome, Failed) and self.who.open:
            # It has not ended: its tool asked the client something.
            raise AwaitsClient
        return execution

    async def _run_in_turn(self, checked: CheckedCall, progress: ProgressSender) -> Execution:
        """Run the call when it may."""
        setting = Setting(
            dependencies=self.setup.dependencies,
            key=self.record.idempotency_key,
            spend=self.record.spent.append,
            tell=progress.tell,
        )
        await self.setup.lock.acquire(alone=checked.tool.serial)
        try:
            return await self.setup.executor.run(checked, setting)
        finally:
            self.setup.lock.release()
