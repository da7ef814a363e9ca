"""One run: carries out what ``decide`` says, until it says that the run is over.

Every effect goes through ``setup.steps`` by its key; everything else is the pure functions of ``decide``
and ``state``. Repeated over the same recorded steps, it ends the same way.
"""

from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall.core.budget import Stop
from rightcall.core.decision import FinalDecision, Proposal
from rightcall.core.entry import (
    CallDropped,
    CallFinished,
    Entry,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.events import Emit, TurnStart, both
from rightcall.core.message import Reply, Transcript
from rightcall.core.parts import Usage
from rightcall.core.request import Request
from rightcall.errors import JournalError, RightcallError
from rightcall.gate.gate import Gate
from rightcall.log import run_logger
from rightcall.loop.around import inherited, segment, segment_end, traced
from rightcall.loop.ask import Question, ask
from rightcall.loop.calls import Answering
from rightcall.loop.carried import NO_CARRYOVER, Carryover
from rightcall.loop.decide import AnswerCalls, AskModel, Finish, JudgeText, Tell, decide
from rightcall.loop.grant import ask_for_grant, read_grant, with_grant
from rightcall.loop.hooked import through_hooks
from rightcall.loop.nested import is_inside
from rightcall.loop.offering import Finding
from rightcall.loop.result import CallRecord, RunResult, complaint, dropped_in, last_line
from rightcall.loop.setup import Setup, output_schema, possible_choice
from rightcall.loop.shown import guard_of, show
from rightcall.loop.speculate import Speculation
from rightcall.loop.state import Spent, State, given, judged, once, paused, replied, told
from rightcall.loop.time_limit import TimeLimits
from rightcall.record.steps import LiveSteps, WatchedSteps, recorded, showing
from rightcall.trust.stakes import weightiest_first

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

_BLANK = Request(messages=())
"""The request that a run's requests are copied from: a copy skips the check of names and takes an eighth
of the time."""


class Run:
    """One run, from an input to an answer, a limit or a pause."""

    def __init__(
        self,
        setup: Setup,
        state: State,
        *,
        begins: int = 0,
        emit: Emit | None = None,
        decisions: Mapping[str, FinalDecision] | None = None,
        earlier: tuple[CallRecord, ...] = (),
        dropped: tuple[CallRecord, ...] = (),
        carryover: Carryover = NO_CARRYOVER,
    ) -> None:
        if state.system is not None and state.system != setup.system:
            setup = replace(setup, system=state.system)
        if setup.plan is not None:
            setup = setup.plan.applied(setup)
        if (watching := inherited(setup)) is not setup.around:
            setup = replace(setup, around=watching)
        if setup.observers:
            tell = showing(setup.observers, setup.run)
            setup = replace(setup, steps=WatchedSteps(setup.steps, tell))
            emit = tell if emit is None else both(emit, tell)
        self._setup = setup
        self._state = state
        self._begins = begins
        self._emit = emit
        decisions = {**state.decisions, **(decisions or {})}
        self._decisions = {id_: each for id_, each in decisions.items() if not is_inside(id_)}
        self._inside = {id_: each for id_, each in decisions.items() if is_inside(id_)}
        """Decisions about calls of inner runs."""
        self._earlier = earlier
        self._finished: list[CallFinished] = []
        self._dropped_earlier = dropped
        self._dropped: list[CallDropped] = []
        self._pending: tuple[Proposal, ...] = ()
        self._carryover = carryover
        self._carried = carryover.begin(state.messages, begins)
        self._approvals = list(state.approvals)
        self._hooked = {entry.key.removesuffix(".before_tool"): entry for entry in state.hooked}
        self._guard = guard_of(setup, state.grant)
        self._shown = 0
        """How many messages the guard has seen."""
        self._finding = Finding(setup.offered) if setup.offered or setup.follow else None
        self._speculation = self._speculate(0)
        self._limits = TimeLimits()
        self._records = type(setup.steps) is not LiveSteps
        """Whether steps are recorded or watched: notes are not made for nobody."""
        self.has_acted = False
        """Whether calls have been run, so that repeating this would run them twice."""

    def go(self, first: RunStarted | RunResumed | None = None) -> Coroutine[Any, Any, RunResult[Any]]:
        """Run until the end or a pause. The start and the end are recorded, errors too."""
        return self._watched(first) if self._setup.around else self._go(first)

    async def _watched(self, first: RunStarted | RunResumed | None) -> RunResult[Any]:
        before = self._state
        with segment(self._setup, before, first) as watched:
            if watched.trace:
                self._state = replace(before, traces=(*before.traces, watched.trace))
            result = await self._go(traced(first, watched.trace))
            watched.ended(segment_end(before, self._state, result.stop))
        return result

    async def _go(self, first: RunStarted | RunResumed | None) -> RunResult[Any]:
        steps = self._setup.steps
        try:
            # A run that has ended does not start again; it only returns its result again.
            if self._records and first is not None and recorded(steps, "run.ended") is None:
                # A run may be resumed after each of its turns.
                resumed = f"t{self._state.progress.turns}.resumed{self._last_wait()}"
                await steps.note("run.started" if isinstance(first, RunStarted) else resumed, first)
            stop = await self.until_stop()
            if self._records and stop.reason != "pending":
                await steps.note("run.ended", RunEnded(stop=stop))
            self._carryover.keep(self._carried, self._state.messages)
            run_logger.info("run %s: ended with %s", self._setup.run, stop.reason)
        except RightcallError as error:
            error.result = self.result(Stop("error", detail=str(error)))
            run_logger.info("run %s: broke off: %s", self._setup.run, error)
            if self._records and not isinstance(error, JournalError):
                await steps.note("run.failed", RunFailed(code=error.code, message=str(error)))
            raise
        return self.result(stop)

    def _last_wait(self) -> str:
        """Returns a suffix that tells a pause inside a call from others of the same turn."""
        return "".join(f".{each.call_id}" for call in self._state.paused for each in call.pending)

    async def until_stop(self) -> Stop:
        """Run until the end or a pause, and return why it stopped."""
        try:
            while True:
                stop = await self._next()
                if stop is not None:
                    if self._speculation.early:
                        await self._speculation.drop()
                    return stop
        finally:
            self._limits.close()
            if self._speculation.early:
                await self._speculation.cancel()

    def result(self, stop: Stop) -> RunResult[Any]:
        """Returns the run's result so far."""
        state, begins = self._state, self._begins
        calls = {c.id: c for m in state.messages[begins:] if isinstance(m, Reply) for c in m.calls}
        records = [
            CallRecord(
                call=calls[entry.result.call_id],
                result=entry.result,
                seconds=entry.seconds,
                attempts=entry.attempts,
                error=entry.cause or last_line(entry.error),
            )
            for entry in self._finished
        ]
        return RunResult(
            run=self._setup.run,
            stop=stop,
            state=state,
            begins=begins,
            calls=(*self._earlier, *records),
            dropped=(*self._dropped_earlier, *dropped_in(self._dropped)),
            pending=self._pending,
        )

    async def _next(self) -> Stop | None:
        if self._guard is not None:
            await self._show(self._guard)
        match decide(self._state):
            case AskModel() as action:
                return await self._ask(action)
            case AnswerCalls() as action:
                return await self._answer(action)
            case JudgeText() as action:
                self._state = judged(self._state, await self._judge(action))
            case Tell(message, slip):
                self._state = told(self._state, message, slip)
            case Finish(stop):
                return stop
        return None

    async def _show(self, guard: "Guard") -> None:
        """Show the guard the messages since it last looked, which may be a long history."""
        fresh, history = self._state.messages[self._shown :], self._begins - self._shown
        # The calls have been answered, so early ones that the reply did not contain can be dropped.
        await show(guard, fresh, history=history, alone=self._speculation.drop)
        self._shown = len(self._state.messages)

    async def _ask(self, action: AskModel) -> Stop | None:
        if self._speculation.early:
            # Calls of the last reply that were started early and then not run.
            await self._speculation.drop()
        if self._emit is not None:
            self._emit(TurnStart(action.turn))
        if self._guard is not None:
            await self._fix_grant(self._guard)
        messages = await self._carried.fitting.messages(self._setup, self._state.messages, action.turn)
        if self._finding is not None:
            await self._look_at_tools(self._finding, action.turn)
        self._speculation = self._speculate(action.turn)
        steps = self._setup.steps
        request = self._request(action, messages)
        if self._setup.hooks.has("before_model"):
            hooked = await through_hooks(self._setup, action.turn, request)
            for note in hooked.notes:
                self._state = told(self._state, note)
            if hooked.veto is not None:
                return Stop("veto", detail=hooked.veto)
            if self._guard is not None:
                await self._show(self._guard)
            request = hooked.request
        question = self._question(action.key, request)
        if self._records:
            sending = RequestSent(key=question.key, messages=len(request.messages))
            await steps.note(f"{question.key}.sent", sending)
            entry = await steps.step(question.key, partial(ask, self._setup, question))
        else:
            entry = await ask(self._setup, question)
        if isinstance(entry, StepDone):
            return Stop("veto", detail=entry.value)
        assert isinstance(entry, ReplyReceived)
        self._carried.call_ids.update(call.id for call in entry.reply.calls)
        self._state = replied(self._state, entry.reply, entry.seconds, entry.notes)
        return None

    def _request(self, action: AskModel, messages: Transcript) -> Request:
        setup = self._setup
        return replace(
            _BLANK,
            messages=messages,
            system=setup.system,
            specs=setup.specs,
            choice=possible_choice(action.choice, setup),
            output=output_schema(setup, self._state.wanted),
            max_tokens=setup.max_tokens,
            options=setup.options,
            conversation=self._carried.conversation,
        )

    def _question(self, key: str, request: Request) -> Question:
        return Question(
            key=key,
            request=request,
            seconds=self._seconds_left(),
            limits=self._limits,
            emit=self._emit,
            speculation=self._speculation,
            position=len(self._state.messages),
            ids=self._carried.call_ids,
            tainted=None if self._guard is None else self._guard.tainted,
        )

    def _speculate(self, turn: int) -> Speculation:
        calls = self._state.budget.calls
        most = None if calls is None else calls - self._state.progress.calls
        return Speculation(
            self._setup,
            turn,
            self._dropped,
            most=most,
            guard=self._guard,
            emit=self._emit,
            dry_run=self._state.dry_run,
        )

    async def _look_at_tools(self, finding: Finding, turn: int) -> None:
        """Offer the tools that exist now, and those that the model has found."""
        follow = self._setup.follow
        changed = None if follow is None else follow()
        offered = finding.look(self._state.messages, changed)
        if offered is None:
            return
        self._setup = replace(self._setup, tools=offered.tools, specs=offered.specs)
        if self._guard is not None:
            self._guard.tools = offered.tools
        key = f"t{turn}.tools"
        await self._setup.steps.note(key, ToolsChanged(key=key, specs=offered.specs))

    async def _fix_grant(self, guard: "Guard") -> None:
        """Set the grant, if the rules leave it to the model."""
        if guard.rules.grant != "model" or guard.grant is not None:
            return
        granting = partial(ask_for_grant, self._setup, self._state.messages, self._seconds_left())
        entry = await self._setup.steps.step("grant", granting)
        assert isinstance(entry, StepDone)
        granted = read_grant(entry)
        guard.grant = granted.grant
        self._state = with_grant(self._state, granted)

    def _gate(self) -> Gate:
        setup = self._setup
        return Gate(
            tools=setup.tools,
            policy=setup.policy,
            approve=setup.approve,
            hooks=setup.hooks,
            guard=self._guard,
            steps=setup.steps if self._records else None,
            hooked=self._hooked,
            decisions=self._decisions,
            approvals=self._approvals,
            dry_run=self._state.dry_run,
        )

    async def _answer(self, action: AnswerCalls) -> Stop | None:
        answering = Answering(
            setup=self._setup,
            gate=self._gate(),
            action=action,
            speculation=self._speculation,
            seconds=self._seconds_left(),
            limits=self._limits,
            emit=self._emit,
            state=self._state,
            decisions=self._inside,
            finished={entry.key: entry for entry in self._state.finished},
            paused={call.key: call for call in self._state.paused},
        )
        verdicts = await answering.judge()
        if len(self._approvals) > len(self._state.approvals):
            self._state = replace(self._state, approvals=tuple(self._approvals))
        proposals = tuple([verdict for verdict in verdicts if isinstance(verdict, Proposal)])
        if proposals:
            return await self._pause(action, proposals)
        self.has_acted = True
        answered = await answering.run(verdicts)
        if answered.waiting:
            waiting = answered.pauses
            self._state = paused(self._state, answered.ends, waiting, answered.seconds)
            pending = tuple([proposal for call in waiting for proposal in call.pending])
            return await self._pause(action, pending)
        done = answered.ends
        self._pending = ()
        self._finished += done
        self._hooked = {}
        spent = Spent(
            ran=sum([(entry.attempts > 0) + entry.calls for entry in done]),
            seconds=answered.seconds,
            usage=sum([entry.usage for entry in done if entry.usage], Usage()),
            notes=once([note for entry in done for note in entry.notes]),
        )
        self._state = given(self._state, tuple([entry.result for entry in done]), spent, action.limit)
        return None

    async def _pause(self, action: AnswerCalls, pending: tuple[Proposal, ...]) -> Stop:
        """Pause for a person; the state keeps the answers and decisions about this reply's calls."""
        await self._speculation.drop()
        pending = weightiest_first(pending, self._setup.tools)
        self._pending = pending
        ids = {call.id for call in action.calls}
        decided = {id_: each for id_, each in self._decisions.items() if id_ in ids}
        hooked = tuple(self._hooked.values())
        self._state = replace(self._state, hooked=hooked, decisions=decided)
        call_ids = tuple(proposal.call_id for proposal in pending)
        inner = ",".join(filter(is_inside, call_ids))
        key = f"t{action.turn}.paused{inner and f'.{inner}'}"
        await self._setup.steps.note(key, RunPaused(key=key, call_ids=call_ids))
        return Stop("pending")

    async def _judge(self, action: JudgeText) -> str:
        """Returns the message for the model about an invalid answer; empty if it is valid."""

        async def body() -> Entry:
            assert self._setup.answer is not None
            return StepDone(key=action.key, value=complaint(self._setup.answer, action.text))

        entry = await self._setup.steps.step(action.key, body)
        assert isinstance(entry, StepDone)
        return entry.value

    def _seconds_left(self) -> float | None:
        budget = self._state.budget.seconds
        return None if budget is None else max(budget - self._state.progress.seconds, 0.0)
