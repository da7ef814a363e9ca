"""One run: ask the model, check its calls, run them, append the results, decide what comes next.

What comes next is decided by the pure function ``decide``; what has become of the run is a ``State``.
If anything is recorded, every effect goes through ``setup.steps`` by its key, so that repeated over the
same recorded steps a run ends the same way. What a run does not use is left out when it is composed, in
``Run.__init__``: it is not in the lists of what is done before a request and to it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from itertools import count
from operator import is_
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from rightcall.core.budget import Stop
from rightcall.core.decision import FinalDecision
from rightcall.core.entry import (
    CallDropped,
    CallFinished,
    Entry,
    HookAnswered,
    ReplyReceived,
    RequestChange,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
    UnchangedMessages,
)
from rightcall.core.events import AgentChange, CompactionEnd, Emit, TurnStart, emit_to_both
from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.parts import Call, Usage
from rightcall.core.ports import RunInbox
from rightcall.core.proposal import Proposal
from rightcall.core.request import ANY_OBJECT, Request
from rightcall.errors import JournalError, RightcallError, VendorError
from rightcall.gate.approval import sort_by_stakes
from rightcall.gate.gate import Gate
from rightcall.gate.hooks import NO_HOOKS
from rightcall.log import run_logger
from rightcall.loop.ask import ModelQuestion, ask
from rightcall.loop.calls import Answering, CallRunner, judge_answer
from rightcall.loop.decide import AnswerCalls, AskModel, FinishRun, JudgeText, TellModel, decide
from rightcall.loop.delivery import AskFunction, InterruptibleAsk, InterruptibleRunner, deliver
from rightcall.loop.events import OutputEvents
from rightcall.loop.handoffs import (
    HANDED_OVER,
    RecordedAgent,
    check_guards,
    find_handoff,
    hand_over,
    join_guards,
    read_handed_over,
    with_handoff,
)
from rightcall.loop.inner_runs import is_inside, pause_key
from rightcall.loop.observers import segment, segment_end, with_trace
from rightcall.loop.result import CallRecord, RunResult, dropped_in, last_line
from rightcall.loop.run_guard import make_guard, show_messages
from rightcall.loop.settings import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.state import (
    CallSpending,
    State,
    add_compaction,
    add_delivered,
    add_message,
    add_reply,
    add_results,
    add_verdict,
    count_failures,
    tools_left_alone,
    unique_notes,
    with_pauses,
)
from rightcall.loop.time_limits import TimeLimits
from rightcall.loop.tool_offer import ToolDiscovery, offer_of
from rightcall.loop.window import NO_CARRYOVER, Carryover, Fitting
from rightcall.record.steps import UnrecordedSteps, WatchedSteps, recorded_entry, showing

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
            setup = setup.plan.plan_setup(setup)
        if setup.large_results is not None:
            setup = setup.large_results.store_setup(setup)
        if setup.observers:
            tell = showing(setup.observers, setup.run)
            setup = replace(setup, steps=WatchedSteps(setup.steps, tell))
            emit = tell if emit is None else emit_to_both(emit, tell)
        if emit is not None and setup.view is not None and state.wanted is not None:
            emit = OutputEvents(emit, state.wanted, setup.view)
        self._setup = setup
        self._state = state
        self._begins = begins
        self._emit = emit
        self._is_recorded = type(setup.steps) is not UnrecordedSteps
        """Whether steps are recorded or watched: notes are not made for nobody."""
        self._decisions = {**state.decisions, **(decisions or {})}
        self._inner_decisions: dict[str, FinalDecision] = {}
        """Decisions about calls of inner runs."""
        if self._decisions:
            self._inner_decisions = {at: each for at, each in self._decisions.items() if is_inside(at)}
            self._decisions = {at: each for at, each in self._decisions.items() if not is_inside(at)}
        self._approvals = list(state.approvals)
        self._hook_answers = {entry.key.removesuffix(".before_tool"): entry for entry in state.hooked}
        self._left_alone: Mapping[str, int] = {}
        """The tools that have failed too often in a row to be called again, and how often."""
        if state.progress.failures:
            self._left_alone = tools_left_alone(state)
        self._earlier = earlier
        self._finished: list[CallFinished] = []
        self._dropped_earlier = dropped
        self._dropped: list[CallDropped] = []
        self._pending: tuple[Proposal, ...] = ()
        self._carryover = carryover
        self._cache = carryover.take(state.messages, begins)
        self._limits = TimeLimits()
        self._runner = CallRunner(setup, emit, dry_run=state.dry_run)
        self._speculation: Speculation | None = None
        """The calls of the latest reply that were started early."""
        self._speculates = setup.speculate and not setup.hooks.changes_calls
        self._request_reply: AskFunction = ask
        self._delivered = 0
        """The turn before which queued messages were delivered last."""
        self.has_acted = False
        """Whether calls have been run, so that repeating this would run them twice."""

        self._guard: Guard | None = None
        self._earlier_guards: tuple[Guard, ...] = ()
        """The guards of the agents that handed the run over: they see and judge everything, too."""
        self._ask: Callable[[Run, AskModel], Awaitable[Stop | None]] = Run._ask_model
        self._after_calls: list[Callable[[Run, AnswerCalls, Sequence[CallFinished]], Awaitable[None]]]
        self._after_calls = []
        """What is done once the calls of a reply have their results."""
        self._before_request: list[Callable[[Run], Awaitable[None]]] = []
        """What is done before a turn's request is made. Functions, not bound methods: those would make a
        run a part of itself, to be freed only by the garbage collector."""
        self._request_steps: list[Callable[[Run, AskModel, Request], Awaitable[Request | Stop]]] = []
        """What is done to a request before it is sent; each may stop the run."""
        self._compose_steps()

    def _compose_steps(self) -> None:
        """Compose what is done in each turn of what the run uses, and nothing else."""
        setup = self._setup
        if setup.handoffs:
            self._after_calls.append(Run._hand_over)
        if setup.inbox is not None:
            self._runner = InterruptibleRunner(setup, self._emit, dry_run=self._state.dry_run)
            self._request_reply = InterruptibleAsk(setup.inbox.urgent)
            self._request_steps.append(Run._deliver_messages)
        if self._state.view is not None:
            self._request_steps.append(Run._show_view)
        if setup.trust is not None:
            self._guard = make_guard(setup, setup.trust, self._state.intents)
            self._shown = 0
            """How many messages the guard has seen."""
            self._begin_task(self._guard)
        if self._state.path and self._guard is not None:
            self._bind_to_earlier_agents(self._guard)
        if setup.compact is not None:
            self._compactor = setup.compact.compactor(setup)
            self._ask = Run._ask_compacting
            self._request_steps.append(Run._compact)
        if setup.window is not None:
            self._request_steps.append(Run._fit_window)
        if setup.offered is not None or setup.follow is not None:
            self._discovery = ToolDiscovery(setup.offered)
            self._request_steps.append(Run._discover_tools)
        if setup.hooks is not NO_HOOKS and setup.hooks.has("before_model"):
            self._request_steps.append(Run._apply_hooks)

    def go(self, first: RunStarted | RunResumed | None = None) -> Coroutine[Any, Any, RunResult[Any]]:
        """Run until the end or a pause. The start and the end are recorded, errors too."""
        if self._setup.around:
            return self._go_observed(first)
        return self._go(first)

    async def _go_observed(self, first: RunStarted | RunResumed | None) -> RunResult[Any]:
        before = self._state
        with segment(self._setup, before, first) as span:
            if span.trace:
                self._state = replace(before, traces=(*before.traces, span.trace))
            result = await self._go(with_trace(first, span.trace))
            span.set_end(segment_end(before, self._state, result.stop))
        return result

    async def _go(self, first: RunStarted | RunResumed | None) -> RunResult[Any]:
        try:
            if self._is_recorded and first is not None:
                await self._note_start(first)
            if self._setup.inbox is None:
                stop = await self.until_stop()
            else:
                stop = await self._until_stop_with(self._setup.inbox)
            if self._is_recorded and stop.reason != "pending":
                await self._setup.steps.note("run.ended", RunEnded(stop=stop))
            self._carryover.keep(self._cache, self._state.messages)
            run_logger.info("run %s: ended with %s", self._setup.run, stop.reason)
        except RightcallError as error:
            error.result = self.result(Stop("error", detail=str(error)))
            run_logger.info("run %s: broke off: %s", self._setup.run, error)
            if self._is_recorded and not isinstance(error, JournalError):
                failure = RunFailed(code=error.code, message=str(error))
                await self._setup.steps.note("run.failed", failure)
            raise
        return self.result(stop)

    async def _note_start(self, first: RunStarted | RunResumed) -> None:
        """Record the start. A run that has ended does not start again; it only returns its result."""
        steps = self._setup.steps
        if recorded_entry(steps, "run.ended") is not None:
            return
        if isinstance(first, RunStarted):
            await steps.note("run.started", first)
            return
        # A run may be resumed after each of its turns, and again in one whose calls pause inside.
        waits = "".join(f".{each.call_id}" for call in self._state.paused for each in call.pending)
        await steps.note(f"t{self._state.progress.turns}.resumed{waits}", first)

    async def until_stop(self) -> Stop:
        """Run until the end or a pause, and return why it stopped."""
        stop: Stop | None = None
        try:
            while stop is None:
                if self._guard is not None:
                    await self._show_messages(self._guard)
                match decide(self._state):
                    case AskModel() as action:
                        stop = await self._ask(self, action)
                    case AnswerCalls() as action:
                        stop = await self._answer_calls(action)
                    case JudgeText() as action:
                        self._state = add_verdict(self._state, await self._judge_text(action))
                    case TellModel(message, slip):
                        self._state = add_message(self._state, message, slip)
                    case FinishRun(reason):
                        stop = reason
                        if self._setup.inbox is not None and reason.is_answer:
                            stop = await self._finish_or_deliver(reason)
            await self._drop_early_calls()
            return stop
        finally:
            self._limits.close()
            if self._speculation is not None and self._speculation.early:
                await self._speculation.cancel()

    async def _ask_model(self, action: AskModel) -> Stop | None:
        """Send the transcript, and append the reply."""
        # Calls of the last reply may have been started early and then not run.
        await self._drop_early_calls()
        if self._emit is not None:
            self._emit(TurnStart(action.turn))
        for prepare in self._before_request:
            await prepare(self)
        request = self._request(action)
        for change in self._request_steps:
            changed = await change(self, action, request)
            if isinstance(changed, Stop):
                return changed
            request = changed
        offer = None
        if request.choice != "auto" or request.specs is not self._setup.specs:
            offer = offer_of(request, self._setup.specs, self._setup.tools)
        seconds = self._seconds_left()
        if self._speculates:
            self._speculation = self._speculate(action.turn, offer)
        question = ModelQuestion(
            key=action.key,
            request=request,
            seconds=seconds,
            limits=self._limits,
            emit=self._emit,
            speculation=self._speculation,
            position=len(self._state.messages),
            ids=self._cache.call_ids,
            offer=offer,
            tainted=None if self._guard is None else self._guard.tainted,
        )
        if self._is_recorded:
            steps = self._setup.steps
            sending = RequestSent(key=question.key, messages=len(request.messages))
            await steps.note(f"{question.key}.sent", sending)
            entry = await steps.step(question.key, partial(self._request_reply, self._setup, question))
        else:
            entry = await self._request_reply(self._setup, question)
        if isinstance(entry, StepDone):
            return Stop("veto", detail=entry.value)
        assert isinstance(entry, ReplyReceived)
        for part in entry.reply.content:
            if isinstance(part, Call):
                self._cache.call_ids.add(part.id)
        self._state = add_reply(self._state, entry.reply, entry.seconds, entry.notes, entry.offer)
        return None

    def _request(self, action: AskModel) -> Request:
        setup = self._setup
        choice = action.choice
        if choice != "auto" and not (choice == "none" or setup.model.profile.forced_choice):
            # The model cannot be made to follow it.
            choice = "auto"
        if not setup.specs:
            choice = "auto"
        wanted = self._state.wanted
        output = None
        if wanted is not None and setup.answer is not None:
            # The schema that the vendor enforces on the answer, if it can.
            if wanted.mode == "json":
                output = ANY_OBJECT
            elif wanted.mode == "native":
                output = setup.answer.parameters
        return replace(
            _BLANK,
            messages=self._state.messages,
            system=setup.system,
            specs=setup.specs,
            choice=choice,
            output=output,
            max_tokens=setup.max_tokens,
            options=setup.options,
            conversation=self._cache.conversation,
        )

    def _speculate(self, turn: int, offer: tuple[str, ...] | None) -> Speculation:
        most = self._state.budget.calls
        if most is not None:
            most -= self._state.progress.calls
        return Speculation(
            self._setup,
            turn,
            self._dropped,
            run_call=self._runner.run,
            most=most,
            guard=self._guard,
            offer=offer,
            left_alone=self._left_alone,
        )

    async def _answer_calls(self, action: AnswerCalls) -> Stop | None:
        """Check and run the calls of the last reply, and append their results; or pause for a person."""
        setup = self._setup
        gate = Gate(
            tools=setup.tools,
            offer=self._state.offer,
            left_alone=self._left_alone,
            policy=setup.policy,
            approve=setup.approve,
            hooks=setup.hooks,
            guard=self._guard,
            steps=setup.steps if self._is_recorded else None,
            hooked=self._hook_answers,
            decisions=self._decisions,
            approvals=self._approvals,
            dry_run=self._state.dry_run,
        )
        answering = Answering(
            setup=setup,
            gate=gate,
            action=action,
            runner=self._runner,
            speculation=self._speculation,
            seconds=self._seconds_left(),
            limits=self._limits,
            emit=self._emit,
            state=self._state,
            decisions=self._inner_decisions,
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
            self._state = with_pauses(self._state, answered.ends, waiting, answered.seconds)
            pending = tuple([proposal for call in waiting for proposal in call.pending])
            return await self._pause(action, pending)
        ends = answered.ends
        self._finished += ends
        self._hook_answers = {}
        failures = self._state.progress.failures
        if failures or any(entry.result.outcome != "returned" for entry in ends):
            failures = count_failures(failures, ends)
        spent = CallSpending(
            ran=sum([(entry.attempts > 0) + entry.calls for entry in ends]),
            seconds=answered.seconds,
            usage=sum([entry.usage for entry in ends if entry.usage], Usage()),
            notes=unique_notes([note for entry in ends for note in entry.notes]),
            failures=failures,
        )
        results = tuple([entry.result for entry in ends])
        self._state = add_results(self._state, results, spent, action.limit)
        if failures:
            self._left_alone = tools_left_alone(self._state)
        for follow in self._after_calls:
            await follow(self, action, ends)
        return None

    async def _pause(self, action: AnswerCalls, pending: tuple[Proposal, ...]) -> Stop:
        """Pause for a person; the state keeps the answers and decisions about this reply's calls."""
        await self._drop_early_calls()
        pending = sort_by_stakes(pending, self._setup.tools)
        self._pending = pending
        ids = {call.id for call in action.calls}
        decisions = {at: each for at, each in self._decisions.items() if at in ids}
        hooked = tuple(self._hook_answers.values())
        self._state = replace(self._state, hooked=hooked, decisions=decisions)
        call_ids = tuple(proposal.call_id for proposal in pending)
        key = pause_key(action.turn, call_ids)
        await self._setup.steps.note(key, RunPaused(key=key, call_ids=call_ids))
        return Stop("pending")

    async def _judge_text(self, action: JudgeText) -> str:
        """Returns the message for the model about an invalid answer; empty if it is valid."""

        async def body() -> Entry:
            return StepDone(key=action.key, value=await judge_answer(self._setup, action))

        entry = await self._setup.steps.step(action.key, body)
        assert isinstance(entry, StepDone)
        return entry.value

    async def _drop_early_calls(self) -> None:
        if self._speculation is not None and self._speculation.early:
            await self._speculation.drop()

    def _seconds_left(self) -> float | None:
        budget = self._state.budget.seconds
        if budget is None:
            return None
        return max(budget - self._state.progress.seconds, 0.0)

    def result(self, stop: Stop) -> RunResult[Any]:
        """Returns the run's result so far."""
        state = self._state
        records: list[CallRecord] = []
        if self._finished:
            replies = [m for m in state.messages[self._begins :] if isinstance(m, Reply)]
            calls = {call.id: call for reply in replies for call in reply.calls}
            for entry in self._finished:
                record = CallRecord(
                    call=calls[entry.result.call_id],
                    result=entry.result,
                    seconds=entry.seconds,
                    attempts=entry.attempts,
                    error=entry.cause or (last_line(entry.error) if entry.error else ""),
                )
                records.append(record)
        dropped = self._dropped_earlier
        if self._dropped:
            dropped = (*dropped, *dropped_in(self._dropped))
        return RunResult(
            run=self._setup.run,
            stop=stop,
            state=state,
            begins=self._begins,
            calls=(*self._earlier, *records),
            dropped=dropped,
            pending=self._pending,
        )

    # What only some runs do: the steps that __init__ composes.

    async def _show_messages(self, guard: "Guard") -> None:
        """Show the guard the messages since it last looked, which may be a long history."""
        fresh = self._state.messages[self._shown :]
        history = self._begins - self._shown
        # The calls have been answered, so early ones that the reply did not contain can be dropped.
        for each in (guard, *self._earlier_guards):
            await show_messages(each, fresh, history=history, alone=self._drop_early_calls)
        self._shown = len(self._state.messages)

    def _begin_task(self, guard: "Guard") -> None:
        """Have the run find out what it may do, before its first request, unless that is known."""
        for entry in self._state.finished:
            # Calls of a paused reply that ran before: what they did counts.
            guard.tally.reserve(entry.result.call_id, entry.result.uses)
        task = self._state.intents
        if task is not None:
            if task.resolutions is None:
                self._before_request.append(Run._state_intents)
        elif guard.rules.intents == "model" and guard.book is None:
            self._before_request.append(Run._state_intents)

    async def _state_intents(self) -> None:
        """Find out what the run may do, once, before the model reads what outsiders wrote."""
        assert self._guard is not None
        task = self._state.intents
        if task is not None and task.resolutions is not None:
            return
        from rightcall.loop.stated_intents import state_task  # noqa: PLC0415 - only some runs need it

        found = await state_task(
            self._setup, self._guard, self._state.messages, task, self._seconds_left()
        )
        self._guard.state(found.task)
        progress = self._state.progress
        progress = replace(progress, usage=progress.usage + found.usage)
        self._state = replace(self._state, intents=found.task, progress=progress)

    async def _hand_over(self, action: AnswerCalls, ends: Sequence[CallFinished]) -> None:
        """Have another agent go on, if a call has asked for it."""
        before = self._setup
        given = find_handoff(before.handoffs, [entry.result for entry in ends])
        if given is None or self._state.answered:
            return
        setup = given.agent.take_over(before)
        key = f"t{action.turn}{HANDED_OVER}"
        body = partial(hand_over, key, given, before.agent, setup, self._state.messages)
        entry = await before.steps.step(key, body)
        assert isinstance(entry, StepDone)
        handed = read_handed_over(entry)
        if not isinstance(given.agent, RecordedAgent):
            # Recovered, the agents may have been declared anew.
            check_guards(before.run, handed.guards, setup)
        setup = replace(setup, system=handed.system)
        self._state = with_handoff(self._state, handed)
        self._setup = setup
        self._carryover = NO_CARRYOVER
        self._cache = NO_CARRYOVER.take(self._state.messages, self._begins)
        self._runner = CallRunner(setup, self._emit, dry_run=self._state.dry_run)
        self._speculates = setup.speculate and not setup.hooks.changes_calls
        self._left_alone = {}
        self._ask = Run._ask_model
        self._request_reply = ask
        self._before_request = []
        self._request_steps = []
        self._after_calls = []
        self._compose_steps()
        if isinstance(self._emit, OutputEvents) and handed.wanted is not None:
            self._emit.change(handed.wanted)
        if self._emit is not None:
            self._emit(AgentChange(setup.agent, before.agent))

    def _bind_to_earlier_agents(self, guard: "Guard") -> None:
        """Have the rules of the agents that handed the run over apply, too: rights never widen."""
        rules = self._setup.earlier_rules
        earlier = [make_guard(self._setup, each, self._state.intents) for each in rules]
        self._earlier_guards = tuple(earlier)
        if earlier:
            self._setup = replace(self._setup, policy=join_guards(self._setup.policy, earlier))
        # They may have read what no guard of this agent sees, such as a tool's description.
        is_tainted = any(isinstance(each, Reply) and each.tainted for each in self._state.messages)
        for each in (guard, *earlier):
            each.tainted = each.tainted or is_tainted

    async def _show_view(self, _: AskModel, request: Request) -> Request:
        """Leave out what the agent that handed over did not want this one to see."""
        assert self._state.view is not None
        return replace(request, messages=self._state.view.show(request.messages))

    async def _discover_tools(self, action: AskModel, request: Request) -> Request:
        """Offer the tools that exist now, and those that the model has found."""
        follow = self._setup.follow
        changed = None if follow is None else follow()
        offered = self._discovery.look(self._state.messages, changed)
        if offered is None:
            return request
        self._setup = replace(self._setup, tools=offered.tools, specs=offered.specs)
        if self._guard is not None:
            self._guard.tools = offered.tools
        key = f"t{action.turn}.tools"
        await self._setup.steps.note(key, ToolsChanged(key=key, specs=offered.specs))
        return replace(self._request(action), messages=request.messages)

    async def _until_stop_with(self, inbox: RunInbox) -> Stop:
        """Run until the end or a pause, with an inbox that takes messages until the end."""
        await inbox.attach(self._setup.run, self._setup.steps)
        try:
            stop = await self.until_stop()
        except RightcallError:
            inbox.end()
            raise
        if stop.reason != "pending":
            inbox.end()
        return stop

    async def _deliver_messages(self, action: AskModel, request: Request) -> Request | Stop:
        """Give the model what was added to the run since it was asked last."""
        if await self._take_messages(action.turn):
            request = replace(request, messages=self._state.messages)
        if self._state.stopped:
            return Stop("stopped")
        return request

    async def _finish_or_deliver(self, reason: Stop) -> Stop | None:
        """Close the inbox and end the run; or go on with the messages that are there."""
        inbox = self._setup.inbox
        assert inbox is not None
        while not self._state.stopped:
            if await self._take_messages(self._state.progress.turns + 1):
                return None
            if await inbox.close(self._state.said):
                break
        return reason

    async def _take_messages(self, turn: int) -> bool:
        """Add the messages that are delivered before a turn; returns whether there are any."""
        setup = self._setup
        if self._delivered == turn:
            return False
        assert setup.inbox is not None
        entry = await deliver(setup.inbox, setup.steps, turn, self._state.said, self._emit)
        if entry is None:
            return False
        self._delivered = turn
        self._state = add_delivered(self._state, entry)
        if self._guard is not None:
            await self._show_messages(self._guard)
        return bool(entry.messages)

    async def _compact(self, action: AskModel, request: Request) -> Request:
        """Have what no longer fits summarised, and send the summary in its place."""
        await self._compact_history(action.turn, overflowed=False)
        messages = self._compactor.messages_to_send(self._state.messages)
        return replace(request, messages=messages)

    async def _compact_history(self, turn: int, *, overflowed: bool) -> bool:
        """Returns whether anything was compacted, which is then part of the conversation."""
        compacted = await self._compactor.compact(
            self._state.messages,
            turn,
            self._emit,
            tainted=None if self._guard is None else self._guard.tainted,
            seconds=self._seconds_left(),
            overflowed=overflowed,
        )
        for entry in compacted:
            self._state = add_compaction(self._state, entry)
            # What is sent has another beginning now.
            self._cache.fitting = Fitting()
            if self._emit is not None:
                self._emit(CompactionEnd(entry.message, entry.before, entry.after))
        return bool(compacted)

    async def _ask_compacting(self, action: AskModel) -> Stop | None:
        """Ask the model; if the request is too long for its vendor, once more with less."""
        try:
            return await self._ask_model(action)
        except VendorError as error:
            if error.kind != "context_overflow":
                raise
            if not await self._compact_history(action.turn, overflowed=True):
                raise
            run_logger.warning(
                "run %s: the vendor refused the history as too long; it was compacted, and is sent "
                "again: %s",
                self._setup.run,
                error,
            )
        return await self._ask_model(action)

    async def _fit_window(self, _: AskModel, request: Request) -> Request:
        """Leave out what does not fit into the model's context."""
        setup = self._setup
        assert setup.window is not None
        messages = self._cache.fitting.fit_messages(request.messages, setup.window, setup.count)
        if messages is request.messages:
            return request
        return replace(request, messages=messages)

    async def _apply_hooks(self, action: AskModel, request: Request) -> Request | Stop:
        """Pass the request through the hooks before it is sent; what they change is recorded."""
        setup = self._setup
        hooks = setup.hooks
        if not hooks.changes_requests:
            await hooks.before_model(request)
            return request
        key = f"t{action.turn}.before_model"

        async def body() -> Entry:
            hooked = await hooks.before_model(request)
            return HookAnswered(
                key=key,
                hook="before_model",
                veto=None if hooked.veto is None else hooked.veto.reason,
                notes=hooked.notes,
                request=request_difference(request, hooked.request),
            )

        entry = await setup.steps.step(key, body)
        assert isinstance(entry, HookAnswered)
        for note in entry.notes:
            self._state = add_message(self._state, note)
        if entry.veto is not None:
            return Stop("veto", detail=entry.veto)
        if self._guard is not None:
            await self._show_messages(self._guard)
        if entry.request is None:
            return request
        return apply_difference(request, entry.request)


_REQUEST_FIELDS = ("system", "specs", "choice", "output", "max_tokens", "options")


def request_difference(before: Request, after: Request) -> RequestChange | None:
    """Returns the difference between two requests; None if there is none."""
    changes = {}
    for name in _REQUEST_FIELDS:
        if getattr(after, name) != getattr(before, name):
            changes[name] = getattr(after, name)
    same = len(before.messages) == len(after.messages)
    if not same or not all(map(is_, before.messages, after.messages)):
        changes["messages"] = tuple(_message_difference(before.messages, after.messages))
    if changes:
        return RequestChange(**changes)
    return None


def _message_difference(before: Transcript, after: Transcript) -> list[UnchangedMessages | Message]:
    """Returns the messages after, with those that were there before as references by index."""
    places = dict(zip(map(id, before), count()))
    found: list[UnchangedMessages | Message] = []
    for message in after:
        at = places.get(id(message))
        last = found[-1] if found else None
        if at is None:
            found.append(message)
        elif isinstance(last, UnchangedMessages) and last.last == at:
            found[-1] = UnchangedMessages(last.first, at + 1)
        else:
            found.append(UnchangedMessages(at, at + 1))
    return found


def apply_difference(request: Request, change: RequestChange) -> Request:
    """Returns the request as hooks changed it, from the record."""
    fields = {name: value for name in _REQUEST_FIELDS if (value := getattr(change, name)) is not UNSET}
    if change.messages is not UNSET:
        messages: list[Message] = []
        for each in change.messages:
            if isinstance(each, UnchangedMessages):
                messages += request.messages[each.first : each.last]
            else:
                messages.append(each)
        fields["messages"] = tuple(messages)
    return replace(request, **fields)
