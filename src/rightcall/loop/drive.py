"""Carries out what the loop decides, until it decides that the run is over.

Every effect goes through ``setup.steps`` by its key; everything else is the pure functions of
``decide`` and ``state``. Run again over the same recorded steps, it comes to the same end.
"""

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from rightcall.core.budget import Stop
from rightcall.core.call import CheckedCall
from rightcall.core.decision import FinalDecision, Proposal
from rightcall.core.entry import (
    CallFinished,
    Entry,
    ReplyReceived,
    RequestSent,
    RunPaused,
    StepDone,
    ToolsChanged,
)
from rightcall.core.events import TurnStart
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply, Transcript
from rightcall.core.request import Conversation, Request, ToolChoice
from rightcall.core.usage import Usage
from rightcall.execute.executor import Execution
from rightcall.loop.answering import Answering, setting
from rightcall.loop.asking import Emit, Question, ask
from rightcall.loop.decide import AnswerCalls, AskModel, Finish, JudgeText, Tell, call_key, decide
from rightcall.loop.granting import ask_for_grant, guard_for, read_grant, with_grant
from rightcall.loop.output import complaint
from rightcall.loop.setup import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.state import Spent, State, given, judged, replied, told
from rightcall.loop.watching import watched_by
from rightcall.loop.window import View, look, needs_summary, sent, with_summary
from rightcall.trust.guard import Guard


class Driver:
    """One run on its way. ``state`` is where it stands, ``finished`` the calls that have ended."""

    def __init__(
        self,
        setup: Setup,
        state: State,
        *,
        emit: Emit | None = None,
        decisions: Mapping[str, FinalDecision] | None = None,
    ) -> None:
        self.setup = setup
        self.state = state
        self.finished: list[CallFinished] = []
        self.pending: tuple[Proposal, ...] = ()
        self._emit = emit
        self._decisions = decisions or {}
        self._ids = {c.id for m in state.messages if isinstance(m, Reply) for c in m.calls}
        self._view: View | None = None
        self._conversation = Conversation()
        self._approvals = list(state.approvals)
        self.guard = guard_for(setup, state)
        """Watches the run, where rules of trust are in force."""
        self._shown = 0
        self._speculation = self._speculate(0)

    async def run(self) -> Stop:
        """Go on until the run is over or must wait; why, is the answer."""
        try:
            while True:
                stop = await self._next()
                if stop is not None:
                    return stop
        finally:
            await self._speculation.drop()

    async def _next(self) -> Stop | None:
        self._show_guard()
        match decide(self.state):
            case AskModel() as action:
                return await self._ask(action)
            case AnswerCalls() as action:
                return await self._answer(action)
            case JudgeText() as action:
                self.state = judged(self.state, await self._judge(action))
            case Tell(message, slip):
                self.state = told(self.state, message, slip)
            case Finish(stop):
                return stop
        return None

    async def _ask(self, action: AskModel) -> Stop | None:
        # Calls of the last reply that started early and then were not to be run.
        await self._speculation.drop()
        if self._emit is not None:
            self._emit(TurnStart(action.turn))
        await self._fix_grant()
        messages = await self._messages(action.turn)
        self._look_at_tools(action.turn)
        setup = self.setup
        self._speculation = self._speculate(action.turn)
        question = Question(
            key=action.key,
            request=Request(
                messages=messages,
                system=setup.system,
                specs=setup.specs,
                choice=self._choice(action.choice),
                output=self._output_schema(),
                max_tokens=setup.max_tokens,
                options=setup.options,
                conversation=self._conversation,
            ),
            seconds=self._seconds_left(),
            emit=self._emit,
            speculation=self._speculation,
            position=len(self.state.messages),
            ids=self._ids,
        )
        setup.steps.note(f"{action.key}.sent", RequestSent(key=action.key, messages=len(messages)))
        entry = await setup.steps.step(action.key, partial(ask, setup, question))
        if isinstance(entry, StepDone):
            return Stop("veto", detail=entry.value)
        assert isinstance(entry, ReplyReceived)
        reply = entry.reply
        self._ids.update(call.id for call in reply.calls)
        self.state = replied(self.state, reply, entry.seconds)
        return None

    def _speculate(self, turn: int) -> Speculation:
        setup, most = self.setup, self.state.budget.calls
        room = None if most is None else most - self.state.progress.calls
        start = partial(_start_early, setup, self.guard, self._emit, turn)
        return Speculation(setup, start, room, self.guard)

    def _look_at_tools(self, turn: int) -> None:
        """Offer the tools that there are now."""
        follow = self.setup.follow
        if follow is None or (changed := follow()) is None:
            return
        self.setup = replace(self.setup, tools=changed.tools, specs=changed.specs)
        if self.guard is not None:
            self.guard.tools = changed.tools
        key = f"t{turn}.tools"
        self.setup.steps.note(key, ToolsChanged(key=key, specs=changed.specs))

    def _show_guard(self) -> None:
        """Show the guard what has been said since it last looked."""
        if self.guard is not None:
            for message in self.state.messages[self._shown :]:
                self.guard.see(message)
            self._shown = len(self.state.messages)

    async def _fix_grant(self) -> None:
        """Have what the request may do fixed, where that is left to the model."""
        guard = self.guard
        if guard is None or guard.rules.grant != "model" or guard.grant is not None:
            return
        granting = partial(ask_for_grant, self.setup, self.state.messages, self._seconds_left())
        entry = await self.setup.steps.step("grant", granting)
        assert isinstance(entry, StepDone)
        granted = read_grant(entry)
        guard.grant = granted.grant
        self.state = with_grant(self.state, granted)

    async def _answer(self, action: AnswerCalls) -> Stop | None:
        answering = Answering(
            setup=self.setup,
            action=action,
            decisions=self._decisions,
            speculation=self._speculation,
            seconds=self._seconds_left(),
            emit=self._emit,
            guard=self.guard,
            approvals=self._approvals,
        )
        verdicts = await answering.judge()
        if len(self._approvals) > len(self.state.approvals):
            self.state = replace(self.state, approvals=tuple(self._approvals))
        self.pending = tuple(verdict for verdict in verdicts if isinstance(verdict, Proposal))
        if self.pending:
            key = f"t{action.turn}.paused"
            waiting = tuple(proposal.call_id for proposal in self.pending)
            self.setup.steps.note(key, RunPaused(key=key, call_ids=waiting))
            return Stop("pending")
        done, seconds = await answering.run(verdicts)
        self.finished += done
        spent = Spent(
            ran=sum(entry.attempts > 0 for entry in done),
            seconds=seconds,
            usage=sum((entry.usage for entry in done if entry.usage), Usage()),
        )
        self.state = given(self.state, tuple(entry.result for entry in done), spent, action.limit)
        return None

    async def _judge(self, action: JudgeText) -> str:
        """What is wrong with the answer, in words for the model; empty when nothing is."""

        async def body() -> Entry:
            assert self.setup.answer is not None
            return StepDone(key=action.key, value=complaint(self.setup.answer, action.text))

        entry = await self.setup.steps.step(action.key, body)
        assert isinstance(entry, StepDone)
        return entry.value

    async def _messages(self, turn: int) -> Transcript:
        """What of the transcript is sent, so that it fits."""
        setup = self.setup
        if setup.window is None:
            return self.state.messages
        self._view = look(self._view, self.state.messages, setup.window, setup.count)
        fallen = needs_summary(self._view)
        if fallen and setup.summarise is not None:
            key, summarise = f"t{turn}.summary", setup.summarise

            async def body() -> Entry:
                return StepDone(key=key, value=await summarise(fallen))

            entry = await setup.steps.step(key, body)
            assert isinstance(entry, StepDone)
            self._view = with_summary(self._view, entry.value, setup.count)
        return sent(self._view, self.state.messages)

    def _choice(self, choice: ToolChoice) -> ToolChoice:
        """The choice, as far as the model can be made to follow it."""
        can = self.setup.specs and (choice == "none" or self.setup.model.profile.forced_choice)
        return choice if can else "auto"

    def _seconds_left(self) -> float | None:
        budget = self.state.budget.seconds
        return None if budget is None else max(budget - self.state.progress.seconds, 0.0)

    def _output_schema(self) -> JsonObject | None:
        wanted, answer = self.state.wanted, self.setup.answer
        if wanted is None or answer is None or wanted.mode != "native":
            return None
        return answer.parameters


async def _start_early(
    setup: Setup,
    guard: Guard | None,
    emit: Emit | None,
    turn: int,
    index: int,
    checked: CheckedCall,
    ledger: list[Usage],
) -> Execution:
    key = call_key(turn, index, checked.tool.name)
    with watched_by(guard):
        return await setup.executor.run(checked, setting(setup, key, ledger, emit))
