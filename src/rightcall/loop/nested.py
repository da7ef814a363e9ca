"""A run inside a call of another: an agent that was handed a task, or a program that calls tools.

Its steps are the outer run's, under the key of the call: ``t1.0.helper/t2.model``. So whatever keeps the
outer run keeps this one, and what it did is not done again. Where it must wait for a person, the outer
run pauses with where it stood. Its calls and events go by the way to them: the call's id is
``t1.0.helper/`` and its own, the agent ``helper``, or ``helper/below`` for one further down.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall.core.budget import Budget
from rightcall.core.call import Call
from rightcall.core.decision import Approval, FinalDecision, Proposal
from rightcall.core.entry import Entry, Nested
from rightcall.core.events import Emit, StreamEvent, SubagentEvent
from rightcall.core.ports import Steps, Tools
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.gate.execution import Execution
from rightcall.gate.gate import Approve
from rightcall.gate.render import reworded
from rightcall.loop.setup import Setup
from rightcall.loop.state import PausedCall
from rightcall.record.steps import LiveSteps, recorded
from rightcall.trust.inheriting import inherited
from rightcall.trust.rules import Rules

if TYPE_CHECKING:
    from rightcall.core.message import User
    from rightcall.loop.result import RunResult
    from rightcall.trust.guard import Guard


class InnerPause(Exception):
    """The run inside a call waits for a person."""


def lost(agent: str, tools: str) -> UsageError:
    """Why what was decided about a call inside an agent cannot be done."""
    return UsageError(
        f"the agent {agent!r} waits with a call of {tools}, which it does not have now; "
        "what was decided would be lost. Give the agent the tools that it was begun with"
    )


def look_inside(pending: Iterable[Proposal], tools: Tools) -> None:
    """Raise UsageError where an agent inside has lost a tool that a person has decided about."""
    for proposal in pending:
        get = tools.get
        for agent, name in pairwise([*proposal.agent.split("/"), proposal.name]):
            found = get(agent)
            if found is None or found.inside is None:
                break
            get = found.inside
            if get(name) is None:
                raise lost(agent, name)


class NestedSteps:
    """The steps of a run inside a call, kept by the outer run's."""

    def __init__(self, steps: Steps, path: str, agent: str) -> None:
        self._steps = steps
        self._path = path
        self._agent = agent

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]]) -> Entry:
        """The step, under the call's key."""

        async def inside() -> Entry:
            return self._inside(await body())

        entry = await self._steps.step(f"{self._path}/{key}", inside)
        assert isinstance(entry, Nested)
        return entry.entry

    async def note(self, key: str, entry: Entry) -> bool:
        """The note, under the call's key."""
        return await self._steps.note(f"{self._path}/{key}", self._inside(entry))

    def was_started(self, key: str) -> bool:
        """Whether the outer run's steps know that the call was started."""
        return self._steps.was_started(f"{self._path}/{key}")

    def recorded(self, key: str) -> Entry | None:
        """What the outer run's steps hold of that key."""
        entry = recorded(self._steps, f"{self._path}/{key}")
        return entry.entry if isinstance(entry, Nested) else None

    def _inside(self, entry: Entry) -> Nested:
        return Nested(path=self._path, agent=self._agent, entry=entry)


class Nesting:
    """What a run inside a call has of the run around it."""

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
        """What the run around it uses."""
        self.room = room
        """What is left of the outer run's budget, for a run inside that has none of its own."""
        self.approvals = approvals
        """What a person has said yes to beyond one call, in the outer run."""
        self.run = f"{setup.run}.{key}"
        """The name of the run inside, the same on every attempt."""
        self._key = key
        self._call = call
        self.agent = call.name
        """What it is called as."""
        live = type(setup.steps) is LiveSteps
        self.steps: Steps | None = None if live else NestedSteps(setup.steps, key, self.agent)
        """Where its steps are kept; None where the outer run keeps none."""
        self.emit = None if emit is None else self._marked(emit)
        self.approve = None if setup.approve is None else self._asking(setup.approve)
        start = f"{key}/"
        self.decisions = {
            name.removeprefix(start): decision
            for name, decision in decisions.items()
            if name.startswith(start)
        }
        self.paused = paused
        """Where the run inside stood when it paused, if it did."""
        self.waits: RunResult[Any] | None = None
        """What the run inside has come to, where it waits for a person now."""
        self.lost: UsageError | None = None
        """Why what was decided cannot be done, where the agent inside is not what it was."""
        self.calls = 0
        """How many calls ran inside that count for the outer run's budget."""
        self.source: str | None = None
        """Whose words its result may be made of, where it has read an outsider's."""
        self.suspected = False
        """Whether a screen took something that it read for an attack."""
        self.notes: tuple[User, ...] = ()
        """What hooks inside have the outer run's model told."""

    def look_for_tools(self, tools: Tools) -> None:
        """Note it as lost where a tool that a person has decided about is no longer there."""
        assert self.paused is not None
        below = [(each.agent.split("/")[1:], each.name) for each in self.paused.pending]
        names = {path[0] if path else name for path, name in below}
        missing = sorted(name for name in names if tools.get(name) is None)
        if missing:
            self.lost = lost(self.agent, ", ".join(missing))

    def finished(self, execution: Execution, tool: Tool) -> Execution:
        """What the call came to, its words labelled with what the run inside has read."""
        if self.notes:
            execution = replace(execution, notes=(*execution.notes, *self.notes))
        if self.source is None or execution.outcome.kind not in ("returned", "failed"):
            return execution
        result = replace(execution.result, source=self.source, suspected=self.suspected)
        return replace(execution, result=reworded(result, result.text, tool))

    def pause(self, arguments: str) -> PausedCall:
        """The call as one that waits."""
        assert self.waits is not None
        return PausedCall(
            key=self._key,
            call_id=self._call.id,
            arguments=arguments,
            state=self.waits.state,
            begins=self.waits.begins,
            pending=tuple([self._named(proposal) for proposal in self.waits.pending]),
        )

    def _named(self, proposal: Proposal) -> Proposal:
        agent = f"{self.agent}/{proposal.agent}" if proposal.agent else self.agent
        return replace(proposal, call_id=f"{self._key}/{proposal.call_id}", agent=agent)

    def _marked(self, emit: Emit) -> Emit:
        agent, key, call_id = self.agent, self._key, self._call.id

        def mark(event: StreamEvent) -> None:
            if isinstance(event, SubagentEvent):
                below = f"{key}/{event.call_id}"
                emit(SubagentEvent(f"{agent}/{event.agent}", below, event.event))
            else:
                emit(SubagentEvent(agent, call_id, event))

        return mark

    def _asking(self, approve: Approve) -> Approve:
        return _Asking(approve, self._named)


class _Asking:
    """Asks the outer run's person, who knows the calls inside by other names."""

    def __init__(self, approve: Approve, named: Callable[[Proposal], Proposal]) -> None:
        self._approve = approve
        self._named = named

    def __call__(self, proposal: Proposal) -> Awaitable[FinalDecision | bool]:
        """Ask about one call."""
        return self._approve(self._named(proposal))

    def show(self, proposals: Iterable[Proposal]) -> None:
        """Show all that wait, where there is a way to."""
        show = getattr(self._approve, "show", None)
        if show is not None:
            show(tuple(map(self._named, proposals)))


_nesting: ContextVar[Nesting | None] = ContextVar("nesting", default=None)


@contextmanager
def inside(nesting: Nesting) -> Iterator[None]:
    """What an agent does in here, called as a tool, is part of the run around it."""
    token = _nesting.set(nesting)
    try:
        yield
    finally:
        _nesting.reset(token)


def nesting_of(key: str) -> Nesting | None:
    """The nesting that a call of this key was made in; None where it is no call of a run."""
    nesting = _nesting.get()
    return nesting if nesting is not None and nesting.run == key else None


def rules_below(above: "Guard | None", name: str, run: str) -> Rules | None:
    """The rules that an agent without its own has from the run that it is called in; None for none."""
    nesting = nesting_of(run)
    called = name if nesting is None else nesting.agent
    return None if above is None else inherited(above, {name, called})


_INSIDE = re.compile(r"t\d+\.\d+\.[\w-]+/")


def is_inside(call_id: str) -> bool:
    """Whether it names a call of a run inside one of this run's calls, as they are named here."""
    return _INSIDE.match(call_id) is not None
