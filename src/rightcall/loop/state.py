"""Where a run stands, and how each thing that happens moves it on. Pure: values in, values out."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget, LimitName
from rightcall.core.decision import Approval, FinalDecision, Grant, Proposal
from rightcall.core.entry import CallFinished, HookAnswered, RunStarted
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Result, Usage
from rightcall.core.request import ToolChoice, Wanted
from rightcall.loop.circles import extended, is_circling, signature

Slip: TypeAlias = Literal["circling", "answer"]
"""What the model is being told off for: going round in circles, or answering in the wrong form."""


PLAN = "plan"
"""The key under which a planned run's replies say in their vendor bag what they are."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run has used, and what its guards remember. With the transcript, all its state."""

    turns: int = 0
    unasked: int = 0
    """Turns for which no model was asked: what a plan does next follows from the plan."""
    calls: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    trail: tuple[str, ...] = ()
    """What the latest turns called, for the guard against circles."""
    warned: bool = False
    """The model has been told that it goes round in circles."""
    breaks: int = 0
    """Replies in a row that broke off or announced calls without making any."""
    bad_answers: int = 0
    note: str = ""
    """What the model must be told before it is asked again."""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that decides what comes next."""

    messages: Transcript
    progress: Progress = Progress()
    budget: Budget = Budget()
    system: str | None = None
    """What the model is told first, fixed when the run began; None where that was not recorded."""
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    """The choice holds for every turn, not for the first alone."""
    retry_broken: bool = False
    """An answer that broke off is asked for again; calls that broke off always are."""
    wanted: Wanted | None = None
    grant: Grant | None = None
    """What the request may do once outsiders have spoken, where that was fixed for this run."""
    dry_run: bool = False
    """Nothing is changed: only calls that look are run."""
    approvals: tuple[Approval, ...] = ()
    """What a person has said yes to beyond one call."""
    notes: tuple[User, ...] = ()
    """What hooks have the model told before it is asked again."""
    hooked: tuple[HookAnswered, ...] = ()
    """What hooks have said of the calls that a paused run waits with."""
    decisions: Mapping[str, FinalDecision] = {}
    """What a person has said of the calls that a paused run waits with."""
    finished: tuple[CallFinished, ...] = ()
    """The calls of the last reply that have their end, while others wait."""
    paused: tuple["PausedCall", ...] = ()
    """The calls of the last reply that wait for a person inside."""
    answered: bool = False
    """The output asked for has been given."""
    halted: LimitName | None = None
    """The limit for which calls of the last reply were not run."""
    traces: tuple[str, ...] = ()
    """What observers call the segments of the run so far; decides nothing."""

    @property
    def last(self) -> Message | None:
        """The newest message."""
        return self.messages[-1] if self.messages else None


class PausedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call whose own run, that of an agent which was handed a task, waits for a person."""

    key: str
    call_id: str
    arguments: str
    """With which it was run, which need not be those that the model wrote."""
    state: State
    """Where the run inside stands."""
    begins: int = 0
    pending: tuple[Proposal, ...] = ()
    """The calls inside that wait, by the names that the outer run knows them by."""


def used(state: State) -> Usage:
    """What a run has used, with what calls that are not over have."""
    inside = [used(call.state) for call in state.paused]
    inside += [entry.usage for entry in state.finished if entry.usage]
    return sum(inside, state.progress.usage)


def paused(
    state: State,
    finished: tuple[CallFinished, ...],
    waiting: tuple[PausedCall, ...],
    seconds: float,
) -> State:
    """Calls of the last reply wait for a person inside; those that are over keep their ends."""
    progress = replace(state.progress, seconds=state.progress.seconds + seconds)
    return replace(state, progress=progress, finished=finished, paused=waiting)


def started(start: RunStarted) -> State:
    """A run begins."""
    return State(
        messages=start.messages,
        budget=start.budget,
        system=start.system,
        choice=start.choice,
        sticky_choice=start.sticky_choice,
        retry_broken=start.retry_broken,
        wanted=start.wanted,
        grant=start.grant,
        dry_run=start.dry_run,
    )


def told(state: State, message: User, slip: Slip | None = None) -> State:
    """Something was said to the model."""
    progress = replace(
        state.progress,
        note="",
        warned=state.progress.warned or slip == "circling",
        bad_answers=state.progress.bad_answers + (slip == "answer"),
    )
    notes = state.notes
    if notes and notes[0] is message:
        notes = notes[1:]
    return replace(state, messages=(*state.messages, message), progress=progress, notes=notes)


def replied(state: State, reply: Reply, seconds: float, notes: tuple[User, ...] = ()) -> State:
    """The model answered, and hooks have it told ``notes`` before it is asked again."""
    progress, calls = state.progress, reply.calls
    broke = reply.stop == "error" or (reply.stop == "calls" and not calls)
    trail, warned, repeats = progress.trail, progress.warned, state.budget.repeats
    planned = reply.vendor.get(PLAN)
    if calls and repeats is not None and planned is None:
        trail = extended(trail, signature(calls), repeats)
        # One that changes course may be told again; one that goes on is stopped.
        warned = warned and is_circling(trail, repeats)
    progress = replace(
        progress,
        turns=progress.turns + 1,
        unasked=progress.unasked + (isinstance(planned, Mapping) and "unasked" in planned),
        seconds=progress.seconds + seconds,
        usage=progress.usage + reply.usage,
        trail=trail,
        warned=warned,
        breaks=progress.breaks + 1 if broke else 0,
    )
    return replace(state, messages=(*state.messages, reply), progress=progress, notes=notes)


class Spent(Struct, frozen=True, kw_only=True):
    """What the calls of one reply used."""

    ran: int = 0
    """How many of them were started."""
    seconds: float = 0.0
    usage: Usage = Usage()
    notes: tuple[User, ...] = ()
    """What hooks have the model told of them."""


def once(notes: Iterable[User]) -> tuple[User, ...]:
    """Notes without those of the runtime that say what another of them has said."""
    kept: list[User] = []
    for note in notes:
        if note.author != "runtime" or note not in kept:
            kept.append(note)
    return tuple(kept)


def given(
    state: State, results: tuple[Result, ...], spent: Spent, halted: LimitName | None = None
) -> State:
    """The calls of the last reply have their results; ``halted`` is why some were not run."""
    progress, wanted = state.progress, state.wanted
    answers = [r for r in results if wanted and wanted.mode == "tool" and r.name == wanted.tool]
    answered = any(not answer.is_error for answer in answers)
    progress = replace(
        progress,
        calls=progress.calls + spent.ran,
        seconds=progress.seconds + spent.seconds,
        usage=progress.usage + spent.usage,
        bad_answers=progress.bad_answers + (bool(answers) and not answered),
    )
    messages = (*state.messages, Results(results))
    return replace(
        state,
        messages=messages,
        progress=progress,
        answered=answered,
        halted=halted,
        notes=state.notes + spent.notes,
        hooked=(),
        decisions={},
        finished=(),
        paused=(),
    )


def judged(state: State, problem: str) -> State:
    """The text of the last reply was held against the output asked for."""
    if not problem:
        return replace(state, answered=True)
    bad_answers = state.progress.bad_answers + 1
    return replace(state, progress=replace(state.progress, bad_answers=bad_answers, note=problem))
