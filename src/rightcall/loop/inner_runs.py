"""A run inside a call of another run: an agent that was handed a task, or a program that calls tools.

The inner run's steps are recorded with the outer run's, under the key of the call:
``t1.0.helper/t2.model``. So whatever stores the outer run stores the inner one, and nothing that it did
is done again. If it must wait for a person, the outer run pauses and keeps the inner run's state.

Its calls and events are named by their path: a call's id is ``t1.0.helper/`` and its own id, the agent
is ``helper``, or ``helper/below`` for one further down.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall.core.budget import Budget
from rightcall.core.decision import LATER_CALL, Approval, FinalDecision
from rightcall.core.entry import Entry, Nested
from rightcall.core.events import Emit, StreamEvent, SubagentEvent
from rightcall.core.parts import Call
from rightcall.core.ports import Steps, Tools
from rightcall.core.proposal import Proposal
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.gate.execution import Execution
from rightcall.gate.gate import Approve, ask_person
from rightcall.gate.render import replace_text
from rightcall.loop.settings import Setup
from rightcall.loop.state import PausedCall
from rightcall.record.steps import UnrecordedSteps, recorded_entry
from rightcall.trust.rules import Rules, inherit_rules

if TYPE_CHECKING:
    from rightcall.core.message import User
    from rightcall.loop.result import RunResult
    from rightcall.trust.guard import Guard


class InnerPause(Exception):
    """The inner run of a call waits for a person."""


def missing_tools_error(agent: str, tools: str) -> UsageError:
    """Returns the error for a decision about a call of an inner agent that lacks the tool now."""
    return UsageError(
        f"the agent {agent!r} waits with a call of {tools}, which it does not have now; "
        "what was decided would be lost. Give the agent the tools that it was begun with"
    )


def check_inner_tools(pending: Iterable[Proposal], tools: Tools) -> None:
    """Raise UsageError if an inner agent lacks a tool that a person has decided about."""
    for proposal in pending:
        get = tools.get
        for agent, name in pairwise([*proposal.agent.split("/"), proposal.name]):
            found = get(agent)
            if found is None or found.inside is None:
                break
            get = found.inside
            if get(name) is None:
                raise missing_tools_error(agent, name)


class NestedSteps:
    """The steps of an inner run, recorded by the outer run's steps."""

    def __init__(self, steps: Steps, path: str, agent: str) -> None:
        self._steps = steps
        self._path = path
        self._agent = agent

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]]) -> Entry:
        """Run or return the step, under the call's key."""

        async def inside() -> Entry:
            return self._inside(await body())

        entry = await self._steps.step(f"{self._path}/{key}", inside)
        assert isinstance(entry, Nested)
        return entry.entry

    async def note(self, key: str, entry: Entry) -> bool:
        """Record the note, under the call's key."""
        return await self._steps.note(f"{self._path}/{key}", self._inside(entry))

    def was_started(self, key: str) -> bool:
        """Whether the outer run's steps say that the call was started."""
        return self._steps.was_started(f"{self._path}/{key}")

    def recorded(self, key: str) -> Entry | None:
        """Returns the outer run's entry for that key."""
        entry = recorded_entry(self._steps, f"{self._path}/{key}")
        if isinstance(entry, Nested):
            return entry.entry
        return None

    def _inside(self, entry: Entry) -> Nested:
        return Nested(path=self._path, agent=self._agent, entry=entry)


class Nesting:
    """What an inner run takes from the outer run, and reports back to it."""

    def __init__(
        self,
        setup: Setup,
        key: str,
        call: Call,
        *,
        emit: Emit | None,
        decisions: Mapping[str, FinalDecision],
        paused: PausedCall | None,
        room: Budget,
        approvals: list[Approval],
    ) -> None:
        self.setup = setup
        """The outer run's setup."""
        self.room = room
        """What is left of the outer run's budget, for an inner run without a budget of its own."""
        self.approvals = approvals
        """What a person has allowed in the outer run beyond one call."""
        self.run = f"{setup.run}.{key}"
        """The name of the inner run, the same on every attempt."""
        self._key = key
        self._call = call
        self.agent = call.name
        """The name that the inner agent is called by."""
        live = type(setup.steps) is UnrecordedSteps
        self.steps: Steps | None = None if live else NestedSteps(setup.steps, key, self.agent)
        """Where the inner run's steps are recorded; None if the outer run records none."""
        self.emit = None if emit is None else self._mark_events(emit)
        if setup.approve is None:
            self.approve = None
        else:
            self.approve = self._asking(setup.approve)
        start = f"{key}/"
        self.decisions = {
            name.removeprefix(start): decision
            for name, decision in decisions.items()
            if name.startswith(start)
        }
        self.paused = paused
        """The inner run's state when it paused, if it did."""
        self.waits: RunResult[Any] | None = None
        """The inner run's result, if it waits for a person now."""
        self.lost: UsageError | None = None
        """The error if a decision cannot be carried out, because the inner agent has changed."""
        self.calls = 0
        """How many inner calls count toward the outer run's budget."""
        self.source: str | None = None
        """The source of untrusted text that the inner run has read and its result may contain."""
        self.suspected = False
        """Whether a screen suspected an attack in something that the inner run read."""
        self.notes: tuple[User, ...] = ()
        """Messages of inner hooks for the outer run's model."""

    def look_for_tools(self, tools: Tools) -> None:
        """Set ``lost`` if a tool that a person has decided about is no longer there."""
        assert self.paused is not None
        below = [(each.agent.split("/")[1:], each.name) for each in self.paused.pending]
        names = {path[0] if path else name for path, name in below}
        missing = sorted(name for name in names if tools.get(name) is None)
        if missing:
            self.lost = missing_tools_error(self.agent, ", ".join(missing))

    def label_execution(self, execution: Execution, tool: Tool) -> Execution:
        """Returns the call's execution, its result labelled with the source that the inner run read."""
        if self.notes:
            execution = replace(execution, notes=(*execution.notes, *self.notes))
        if self.source is None or execution.outcome.kind not in ("returned", "failed"):
            return execution
        result = replace(execution.result, source=self.source, suspected=self.suspected)
        return replace(execution, result=replace_text(result, result.text, tool))

    def pause(self, arguments: str) -> PausedCall:
        """Returns the call as a paused one."""
        assert self.waits is not None
        return PausedCall(
            key=self._key,
            call_id=self._call.id,
            arguments=arguments,
            state=self.waits.state,
            begins=self.waits.begins,
            pending=tuple([self._outer_proposal(proposal) for proposal in self.waits.pending]),
        )

    def _outer_proposal(self, proposal: Proposal) -> Proposal:
        if proposal.agent:
            agent = f"{self.agent}/{proposal.agent}"
        else:
            agent = self.agent
        return replace(proposal, call_id=f"{self._key}/{proposal.call_id}", agent=agent)

    def _mark_events(self, emit: Emit) -> Emit:
        agent = self.agent
        key = self._key
        call_id = self._call.id

        def mark(event: StreamEvent) -> None:
            if isinstance(event, SubagentEvent):
                below = f"{key}/{event.call_id}"
                emit(SubagentEvent(f"{agent}/{event.agent}", below, event.event))
            else:
                emit(SubagentEvent(agent, call_id, event))

        return mark

    def _asking(self, approve: Approve) -> Approve:
        return _OuterApproval(approve, self._outer_proposal)


class _OuterApproval:
    """Asks through the outer run's ``approve``, with the call ids that the outer run uses."""

    def __init__(self, approve: Approve, named: Callable[[Proposal], Proposal]) -> None:
        self._approve = approve
        self._named = named

    async def __call__(self, proposal: Proposal) -> FinalDecision | bool:
        """Ask about one call."""
        return await ask_person(self._approve, self._named(proposal))

    def show(self, proposals: Iterable[Proposal]) -> None:
        """Show all pending proposals, if ``approve`` can."""
        show = getattr(self._approve, "show", None)
        if show is not None:
            show(tuple(map(self._named, proposals)))


_nesting: ContextVar[Nesting | None] = ContextVar("nesting", default=None)


@contextmanager
def nesting_context(nesting: Nesting) -> Iterator[None]:
    """An agent that is called as a tool in this context is part of the outer run."""
    token = _nesting.set(nesting)
    try:
        yield
    finally:
        _nesting.reset(token)


def nesting_of(key: str) -> Nesting | None:
    """Returns the nesting of the call with this key; None if it is not a run's call."""
    nesting = _nesting.get()
    if nesting is not None and nesting.run == key:
        return nesting
    return None


def rules_below(above: "Guard | None", name: str, run: str) -> Rules | None:
    """Returns the trust rules that an agent without its own inherits from the outer run, if any."""
    nesting = nesting_of(run)
    called = name if nesting is None else nesting.agent
    if above is None:
        return None
    return inherit_rules(above.rules, {name, called})


_INSIDE = re.compile(r"t\d+\.\d+\.[\w-]+/")


def pause_key(turn: int, call_ids: Iterable[str]) -> str:
    """Returns the key of a pause in a turn, which may pause again for other calls inside of its own."""
    again = ",".join([each for each in call_ids if is_inside(each) or each.endswith(LATER_CALL)])
    return f"t{turn}.paused{again and f'.{again}'}"


def is_inside(call_id: str) -> bool:
    """Whether it is the id of a call of an inner run, as the outer run names them."""
    return _INSIDE.match(call_id) is not None
