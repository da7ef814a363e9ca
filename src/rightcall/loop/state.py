"""The state of a run, and how each event changes it. Pure: values in, values out."""

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
"""The mistake that the model is told of: going round in circles, or an answer in the wrong form."""


PLAN = "plan"
"""The key in a reply's vendor data that marks it as a planned run's."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run has used, and what its checks remember. With the transcript, all its state."""

    turns: int = 0
    unasked: int = 0
    """Turns without a request to the model: a plan determines what it does next."""
    calls: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    trail: tuple[str, ...] = ()
    """Hashes of what the latest turns called, to detect circles."""
    warned: bool = False
    """The model has been told that it goes round in circles."""
    breaks: int = 0
    """Replies in a row that broke off, or announced calls without making any."""
    bad_answers: int = 0
    note: str = ""
    """A message that the model must get before it is asked again."""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that determines what comes next."""

    messages: Transcript
    progress: Progress = Progress()
    budget: Budget = Budget()
    system: str | None = None
    """The instructions, fixed when the run began; None if they were not recorded."""
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    """The choice applies to every turn, not only to the first."""
    retry_broken: bool = False
    """A reply without calls that broke off is asked for again; one with calls always is."""
    wanted: Wanted | None = None
    grant: Grant | None = None
    """What the request may do once the run has read untrusted text, if that was fixed for this run."""
    dry_run: bool = False
    """Only calls that change nothing are run."""
    approvals: tuple[Approval, ...] = ()
    """What a person has allowed beyond one call."""
    notes: tuple[User, ...] = ()
    """Messages of hooks that the model gets before it is asked again."""
    hooked: tuple[HookAnswered, ...] = ()
    """Hooks' answers about the calls of a paused run."""
    decisions: Mapping[str, FinalDecision] = {}
    """A person's decisions about the calls of a paused run."""
    finished: tuple[CallFinished, ...] = ()
    """The calls of the last reply that have finished, while others wait."""
    paused: tuple["PausedCall", ...] = ()
    """The calls of the last reply whose inner run waits for a person."""
    answered: bool = False
    """The output has been given."""
    halted: LimitName | None = None
    """The limit because of which calls of the last reply were not run."""
    traces: tuple[str, ...] = ()
    """The observers' trace ids of the run's segments so far; has no effect on the run."""

    @property
    def last(self) -> Message | None:
        """The latest message."""
        return self.messages[-1] if self.messages else None


class PausedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call whose inner run, such as that of an agent which was handed a task, waits for a person."""

    key: str
    call_id: str
    arguments: str
    """The arguments that it was run with, which may differ from those that the model wrote."""
    state: State
    """The inner run's state."""
    begins: int = 0
    pending: tuple[Proposal, ...] = ()
    """The inner calls that wait, with the ids that the outer run uses."""


def used(state: State) -> Usage:
    """Returns what a run has used, including calls that are not over."""
    inside = [used(call.state) for call in state.paused]
    inside += [entry.usage for entry in state.finished if entry.usage]
    return sum(inside, state.progress.usage)


def paused(
    state: State,
    finished: tuple[CallFinished, ...],
    waiting: tuple[PausedCall, ...],
    seconds: float,
) -> State:
    """Returns the state with calls of the last reply paused inside, and the finished ones kept."""
    progress = replace(state.progress, seconds=state.progress.seconds + seconds)
    return replace(state, progress=progress, finished=finished, paused=waiting)


def started(start: RunStarted) -> State:
    """Returns the state at the start of a run."""
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
    """Returns the state after a message to the model."""
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
    """Returns the state after a reply; ``notes`` are hooks' messages for before the next request."""
    progress, calls = state.progress, reply.calls
    broke = reply.stop == "error" or (reply.stop == "calls" and not calls)
    trail, warned, repeats = progress.trail, progress.warned, state.budget.repeats
    planned = reply.vendor.get(PLAN)
    if calls and repeats is not None and planned is None:
        trail = extended(trail, signature(calls), repeats)
        # A model that leaves the circle may be warned again later; one that continues is stopped.
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
    """Hooks' messages to the model about them."""


def once(notes: Iterable[User]) -> tuple[User, ...]:
    """Returns the notes without repeated ones of the runtime."""
    kept: list[User] = []
    for note in notes:
        if note.author != "runtime" or note not in kept:
            kept.append(note)
    return tuple(kept)


def given(
    state: State, results: tuple[Result, ...], spent: Spent, halted: LimitName | None = None
) -> State:
    """Returns the state after the results of a reply's calls; ``halted`` is why some were not run."""
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
    """Returns the state after the text of the last reply was validated against the output."""
    if not problem:
        return replace(state, answered=True)
    bad_answers = state.progress.bad_answers + 1
    return replace(state, progress=replace(state.progress, bad_answers=bad_answers, note=problem))
