"""The gate for a client's call: checked, decided, asked about, run in its turn, recorded.

It is the way that a call takes inside an agent; what differs is who asks for it and who is asked. The
protocol's side, which is requests and results, is in ``requests``.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget, Stop
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import (
    Allow,
    Answer,
    Ask,
    Decision,
    Deny,
    FinalDecision,
    Proposal,
    Rewrite,
)
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply
from rightcall.core.outcome import Cancelled, Denied, Failed, Outcome, Returned
from rightcall.core.ports import Journal, Tools
from rightcall.core.tool import Tool
from rightcall.core.usage import Usage
from rightcall.errors import ToolFailure
from rightcall.execute.check import check
from rightcall.execute.executor import Execution, Executor, not_run
from rightcall.execute.run import Setting
from rightcall.mcp.server.client_questions import QUESTION, decision_from, form_for
from rightcall.mcp.server.remote_client import Caller, ProgressSender


class Turns:
    """Gives calls their turn. Belongs to one event loop."""

    def __init__(self) -> None:
        self._running = 0
        self._is_alone = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def take(self, *, alone: bool) -> None:
        """Take a turn for one call, alone or beside others, waiting for it."""
        if self._waiting or not self._is_free(alone=alone):
            await self._wait(alone=alone)
        else:
            self._begin(alone=alone)

    def give(self) -> None:
        """Give a turn back."""
        self._running -= 1
        self._is_alone = False
        self._wake()

    def _is_free(self, *, alone: bool) -> bool:
        return not self._is_alone and not (alone and self._running)

    def _begin(self, *, alone: bool) -> None:
        self._running += 1
        self._is_alone = alone

    async def _wait(self, *, alone: bool) -> None:
        come = asyncio.get_running_loop().create_future()
        self._waiting.append((come, alone))
        try:
            await come
        except asyncio.CancelledError:
            if come.done() and not come.cancelled():
                self.give()
            else:
                with suppress(ValueError):
                    self._waiting.remove((come, alone))
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._is_free(alone=self._waiting[0][1]):
            come, alone = self._waiting.popleft()
            if not come.done():
                self._begin(alone=alone)
                come.set_result(None)


_MODEL = "t1.model"


class Record:
    """What is written of one call. Without a journal, nothing."""

    def __init__(self, journal: Journal | None, run: str, call: Call) -> None:
        self._journal = journal
        self._run = run
        self._call = call
        self._key = f"t1.0.{call.name}"
        self._is_over = False
        self.spent: list[Usage] = []
        """What the call itself spends on models."""

    @property
    def key(self) -> str:
        """Names the call, and stays the same when it is made again with a client's answers."""
        return f"{self._run}.{self._key}"

    def began(self, tool: Tool | None, client: str, user: str) -> None:
        """The client asked for the call, on behalf of a user where that is known."""
        if self._journal is None:
            return
        specs = () if tool is None else (tool.spec,)
        self._append(RunStarted(messages=(), budget=Budget(), specs=specs))
        asking = f"mcp {client}".rstrip() + (f" for {user}" if user else "")
        reply = Reply((self._call,), "calls", model=asking)
        self._append(ReplyReceived(key=_MODEL, reply=reply, seconds=0.0))

    def checked(self, verdict: CheckedCall | Outcome) -> None:
        """The call went through the gate."""
        if self._journal is None:
            return
        refused = None if isinstance(verdict, CheckedCall) else verdict.kind
        repairs = verdict.repairs if isinstance(verdict, CheckedCall) else ()
        self._append(CallChecked(key=self._key, call_id=self._call.id, refused=refused, repairs=repairs))

    def decided(self, decision: FinalDecision, *, by_person: bool) -> None:
        """A policy or a person decided about it."""
        by = "person" if by_person else "policy"
        self._append(
            CallDecided(key=self._key, call_id=self._call.id, decision=decision, by=by)  # type: ignore[arg-type]
        )

    def started(self) -> None:
        """It is about to run."""
        self._append(CallStarted(key=self._key, call_id=self._call.id))

    def paused(self) -> None:
        """It waits for what the client was asked."""
        self._append(RunPaused(key=f"{self._key}.asked", call_ids=(self._call.id,)))

    def resumed(self) -> None:
        """The client made the call again, with answers."""
        self._append(RunResumed(decisions={}))

    def finished(self, execution: Execution) -> None:
        """It has its result, and with that the run its end. Only the first end counts."""
        if self._journal is None or self._is_over:
            return
        self._is_over = True
        outcome = execution.outcome
        self._append(
            CallFinished(
                key=self._key,
                result=replace(execution.result, call_id=self._call.id),
                seconds=execution.seconds,
                attempts=execution.attempts,
                usage=sum(self.spent, Usage()) if self.spent else None,
                error=outcome.error if isinstance(outcome, Failed) else "",
            )
        )
        self._append(RunEnded(stop=Stop("end")))

    def _append(self, entry: Entry) -> None:
        if self._journal is not None:
            self._journal.append(self._run, entry)


Policy: TypeAlias = Callable[[CheckedCall], Decision | None]
"""Says what is to become of a call; None leaves it to whoever is next, and in the end allows it."""

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool]]
"""Asks a person about a proposal, here and now, in place of the client."""


class No(Protocol):
    """A hook's veto."""

    @property
    def reason(self) -> str:
        """Why, for the model."""
        ...


class ToolHooks(Protocol):
    """What is watched and vetoed around a tool; an agent's ``Hooks`` are such."""

    @property
    def before_tool(self) -> Callable[[CheckedCall], Awaitable[No | None]] | None:
        """Sees a call before it runs, and may deny it."""
        ...

    @property
    def after_tool(self) -> Callable[[Execution], Awaitable[No | None]] | None:
        """Sees what became of it, and may withhold the result."""
        ...


class Setup(Struct, frozen=True, kw_only=True, eq=False):
    """What every call of a server is run with."""

    executor: Executor
    turns: Turns
    policy: Policy | None = None
    approve: Approve | None = None
    hooks: ToolHooks | None = None
    journal: Journal | None = None
    dependencies: Any = None
    grace: float
    running: set["asyncio.Task[Execution]"]
    """Calls that run now, also those that were given up and would not stop."""


class AwaitsClient(Exception):
    """The call cannot go on before the client has answered; ``Caller.open`` holds the questions."""


class Passage(Struct, frozen=True, kw_only=True, eq=False):
    """One call, and everything it needs on its way."""

    setup: Setup
    tools: Tools
    call: Call
    who: Caller
    record: Record

    async def go(self) -> Execution:
        """What became of the call. Raises AwaitsClient when the client must ask a person first."""
        try:
            return await self._go()
        except asyncio.CancelledError:
            self.record.finished(not_run(self.call, Cancelled()))
            raise

    async def _go(self) -> Execution:
        verdict: CheckedCall | Outcome = check(self.call, self.tools)
        self.record.checked(verdict)
        if isinstance(verdict, CheckedCall):
            verdict = await self._decide(verdict)
        if isinstance(verdict, CheckedCall):
            return await self._watch(verdict)
        return not_run(self.call, verdict)

    async def _decide(self, checked: CheckedCall) -> CheckedCall | Outcome:
        policy, by_person = self.setup.policy, False
        decision = None if policy is None else policy(checked)
        if isinstance(decision, Rewrite) and checked.tool.approval:
            # The tool wants a person's yes, and to what will be run.
            rewritten = self._carry_out(checked, decision)
            if not isinstance(rewritten, CheckedCall):
                return rewritten
            checked, decision = rewritten, Ask()
        if decision is None or isinstance(decision, Allow):
            # A policy can be stricter than the tool, not laxer.
            decision = Ask() if checked.tool.approval else None
        if isinstance(decision, Ask):
            decision, by_person = await self._ask(checked, decision), True
        if decision is None:
            return checked
        self.record.decided(decision, by_person=by_person)
        return self._carry_out(checked, decision)

    async def _ask(self, checked: CheckedCall, ask: Ask) -> FinalDecision:
        proposal = Proposal(
            call_id=self.call.id,
            name=checked.tool.name,
            arguments=checked.arguments,
            reason=ask.reason,
        )
        if self.setup.approve is not None:
            answer = await self.setup.approve(proposal)
            if isinstance(answer, FinalDecision):
                return answer
            return Allow() if answer is True else Deny()
        form = form_for(proposal)
        if not self.who.can(form):
            return Deny("a person must approve it, and the client has no way to ask one")
        try:
            answers = await self.who.ask(**{QUESTION: form})
        except ToolFailure as failure:
            if self.who.open:
                raise AwaitsClient from None
            return Deny(f"a person must approve it, and nobody did. {failure}")
        return decision_from(answers[QUESTION])

    def _carry_out(self, checked: CheckedCall, decision: FinalDecision) -> CheckedCall | Outcome:
        match decision:
            case Allow():
                return checked
            case Deny(reason):
                return Denied(reason)
            case Answer(text):
                return Returned(text)
            case Rewrite(arguments):
                return check(replace(checked.call, arguments=dump(arguments)), self.tools)

    async def _watch(self, checked: CheckedCall) -> Execution:
        """Run the call, with what watches it before and after."""
        hooks = self.setup.hooks
        if hooks is None:
            return await self._run(checked)
        if hooks.before_tool is not None and (veto := await hooks.before_tool(checked)):
            return not_run(self.call, Denied(veto.reason))
        execution = await self._run(checked)
        # A call that waits for its client has not come to its end.
        is_over = not self.who.open
        if is_over and hooks.after_tool is not None and (veto := await hooks.after_tool(execution)):
            denied = not_run(self.call, Denied(veto.reason, ran=True))
            execution = replace(execution, outcome=denied.outcome, result=denied.result)
        return execution

    async def _run(self, checked: CheckedCall) -> Execution:
        """Run the call in a task of its own, which is cancelled once and given time to clean up.

        The SDK's cancellation comes again at every step, and no tool's cleaning up survives that.
        """
        if checked.tool.effect != "pure":
            self.record.started()
        progress = ProgressSender(self.who.progress)
        task = asyncio.get_running_loop().create_task(self._execute(checked, progress))
        self.setup.running.add(task)
        task.add_done_callback(self.setup.running.discard)
        try:
            await asyncio.wait({task})
            await progress.finish()
        except asyncio.CancelledError:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await progress.stop()
                await asyncio.wait({task}, timeout=self.setup.grace)
            self.record.finished(self._end_of(task))
            raise
        return self._end_of(task)

    def _end_of(self, task: "asyncio.Task[Execution]") -> Execution:
        if task.done() and not task.cancelled():
            return task.result()
        # A tool can cancel the task it runs in, too, which is nobody's wish but its own.
        return not_run(self.call, Cancelled())

    async def _execute(self, checked: CheckedCall, progress: ProgressSender) -> Execution:
        setting = Setting(
            dependencies=self.setup.dependencies,
            key=self.record.key,
            spend=self.record.spent.append,
            tell=progress.tell,
        )
        await self.setup.turns.take(alone=checked.tool.serial)
        try:
            return await self.setup.executor.run(checked, setting)
        finally:
            self.setup.turns.give()
