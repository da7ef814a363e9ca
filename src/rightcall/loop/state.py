"""The state of a run, and how each event changes it. Pure: values in, values out."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.json import Encoder
from msgspec.structs import replace

from rightcall.core.budget import Budget, LimitName
from rightcall.core.decision import Approval, FinalDecision
from rightcall.core.entry import (
    CallFinished,
    HistoryCompacted,
    HookAnswered,
    MessagesDelivered,
    RunStarted,
    UnchangedMessages,
)
from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Call, Result, Usage
from rightcall.core.proposal import Proposal
from rightcall.core.request import RequiredOutput, ToolChoice
from rightcall.trust.task_intents import TaskIntents

Slip: TypeAlias = Literal["circling", "answer"]
"""The mistake that the model is told of: going round in circles, or an answer in the wrong form."""

INTERRUPTED = "interrupted by a message"
"""The ``stop_word`` of a reply that a message to the run cut off."""

PLAN = "plan"
"""The key in a reply's vendor data that marks it as a planned run's."""


class RunProgress(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    failures: Mapping[str, int] = {}
    """How often in a row each tool has failed; those that returned last are not in it."""
    note: str = ""
    """A message that the model must get before it is asked again."""


class HandoffView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the agent at work sees of the first ``until`` messages of the transcript."""

    until: int
    messages: tuple[UnchangedMessages | User | Reply | Results, ...]

    def show(self, messages: Transcript) -> Transcript:
        """Returns what it sees of the whole transcript."""
        shown: list[Message] = []
        for each in self.messages:
            if isinstance(each, UnchangedMessages):
                shown += messages[each.first : each.last]
            else:
                shown.append(each)
        return (*shown, *messages[self.until :])


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that determines what comes next."""

    messages: Transcript
    progress: RunProgress = RunProgress()
    budget: Budget = Budget()
    system: str | None = None
    """The instructions, fixed when the run began; None if they were not recorded."""
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    """The choice applies to every turn, not only to the first."""
    retry_broken: bool = False
    """A reply without calls that broke off is asked for again; one with calls always is."""
    wanted: RequiredOutput | None = None
    intents: TaskIntents | None = None
    """What the task may do, if it was stated, with what its references gave."""
    dry_run: bool = False
    """Only calls that change nothing are run."""
    approvals: tuple[Approval, ...] = ()
    """What a person has allowed beyond one call."""
    notes: tuple[User, ...] = ()
    """Messages of hooks that the model gets before it is asked again."""
    hooked: tuple[HookAnswered, ...] = ()
    """Hooks' answers about the calls of a paused run."""
    offer: tuple[str, ...] | None = None
    """The only tools that the last reply may call; None for all that the run has."""
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
    said: int = 0
    """The number of the last queued message that was delivered."""
    stopped: bool = False
    """Somebody stopped the run."""
    path: tuple[str, ...] = ()
    """The names of the agents that the run was handed over to; the last is at work."""
    began_by: str = ""
    """The name of the agent that began a run which was handed over."""
    guards: int = 0
    """How many agents' trust rules judge the calls of a run that was handed over."""
    view: HandoffView | None = None
    """What that agent sees of the messages before; None for all."""
    traces: tuple[str, ...] = ()
    """The observers' trace ids of the run's segments so far; has no effect on the run."""


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
    begun: CallFinished | None = None
    """What was recorded of the call itself, if it waits for its own answer, and not for an inner run."""


def total_usage(state: State) -> Usage:
    """Returns what a run has used, including calls that are not over."""
    inside = [total_usage(call.state) for call in state.paused]
    inside += [entry.usage for entry in state.finished if entry.usage]
    begun = [call.begun for call in state.paused if call.begun is not None]
    inside += [entry.usage for entry in begun if entry.usage]
    return sum(inside, state.progress.usage)


def with_pauses(
    state: State,
    finished: tuple[CallFinished, ...],
    waiting: tuple[PausedCall, ...],
    seconds: float,
) -> State:
    """Returns the state with calls of the last reply paused inside, and the finished ones kept."""
    progress = replace(state.progress, seconds=state.progress.seconds + seconds)
    return replace(state, progress=progress, finished=finished, paused=waiting)


def initial_state(start: RunStarted) -> State:
    """Returns the state at the start of a run."""
    intents = None
    if start.intents is not None:
        intents = TaskIntents(stated=start.intents)
    return State(
        messages=start.messages,
        budget=start.budget,
        system=start.system,
        choice=start.choice,
        sticky_choice=start.sticky_choice,
        retry_broken=start.retry_broken,
        wanted=start.wanted,
        intents=intents,
        dry_run=start.dry_run,
    )


def add_message(state: State, message: User, slip: Slip | None = None) -> State:
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


def add_compaction(state: State, compacted: HistoryCompacted) -> State:
    """Returns the state after earlier messages were shortened or summarised."""
    progress = replace(
        state.progress,
        seconds=state.progress.seconds + compacted.seconds,
        usage=state.progress.usage + compacted.usage,
    )
    return replace(state, messages=(*state.messages, compacted.message), progress=progress)


def add_reply(
    state: State,
    reply: Reply,
    seconds: float,
    notes: tuple[User, ...] = (),
    offer: tuple[str, ...] | None = None,
) -> State:
    """Returns the state after a reply.

    ``notes`` are hooks' messages for before the next request; ``offer`` are the only tools that the
    reply may call.
    """
    progress = state.progress
    calls = [part for part in reply.content if isinstance(part, Call)]
    broke = reply.stop == "error" or (reply.stop == "calls" and not calls)
    if is_interrupted(reply):
        broke = False
    trail = progress.trail
    warned = progress.warned
    repeats = state.budget.repeats
    planned = reply.vendor.get(PLAN)
    if calls and repeats is not None and planned is None:
        trail = extend_trail(trail, signature(calls), repeats)
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
    return replace(state, messages=(*state.messages, reply), progress=progress, notes=notes, offer=offer)


def is_interrupted(reply: Reply) -> bool:
    """Whether a message to the run cut the reply off."""
    return reply.stop == "error" and reply.stop_word == INTERRUPTED


def add_delivered(state: State, entry: MessagesDelivered) -> State:
    """Returns the state after queued messages; what was answered before them was not the end."""
    return replace(
        state,
        messages=(*state.messages, *entry.messages),
        said=entry.last,
        stopped=entry.stop,
        answered=state.answered and not entry.messages,
    )


class CallSpending(Struct, frozen=True, kw_only=True):
    """What the calls of one reply used."""

    ran: int = 0
    """How many of them were started."""
    seconds: float = 0.0
    usage: Usage = Usage()
    notes: tuple[User, ...] = ()
    """Hooks' messages to the model about them."""
    failures: Mapping[str, int] = {}
    """How often in a row each tool has failed by now."""


def count_failures(before: Mapping[str, int], ends: Iterable[CallFinished]) -> Mapping[str, int]:
    """Returns how often in a row each tool has failed, after these calls.

    A refusal in a tool's own words says what is wrong with a call, and not that the tool is broken.
    """
    failures = before
    for end in ends:
        result = end.result
        name = result.name
        if result.outcome == "returned":
            if name in failures:
                failures = {**failures}
                del failures[name]
        elif result.outcome == "timed_out" or (
            result.outcome == "failed" and not (result.own and not end.error)
        ):
            failures = {**failures, name: failures.get(name, 0) + 1}
    return failures


def tools_left_alone(state: State) -> Mapping[str, int]:
    """Returns the tools that have failed too often in a row to be called again, and how often."""
    most = state.budget.failures
    left_alone = {}
    for name, times in state.progress.failures.items():
        if most is not None and times >= most:
            left_alone[name] = times
    return left_alone


def unique_notes(notes: Iterable[User]) -> tuple[User, ...]:
    """Returns the notes without repeated ones of the runtime."""
    kept: list[User] = []
    for note in notes:
        if note.author != "runtime" or note not in kept:
            kept.append(note)
    return tuple(kept)


def add_results(
    state: State, results: tuple[Result, ...], spent: CallSpending, halted: LimitName | None = None
) -> State:
    """Returns the state after the results of a reply's calls; ``halted`` is why some were not run."""
    progress = state.progress
    wanted = state.wanted
    answers = []
    for r in results:
        if wanted and wanted.mode == "tool" and r.name == wanted.tool:
            answers.append(r)
    answered = any(not answer.is_error for answer in answers)
    progress = replace(
        progress,
        calls=progress.calls + spent.ran,
        seconds=progress.seconds + spent.seconds,
        usage=progress.usage + spent.usage,
        bad_answers=progress.bad_answers + (bool(answers) and not answered),
        failures=spent.failures,
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


def add_verdict(state: State, problem: str) -> State:
    """Returns the state after the text of the last reply was validated against the output."""
    if not problem:
        return replace(state, answered=True)
    bad_answers = state.progress.bad_answers + 1
    return replace(state, progress=replace(state.progress, bad_answers=bad_answers, note=problem))


LONGEST_CYCLE = 4
"""The longest cycle that is detected, in turns."""
_sorted = Encoder(order="sorted").encode


def signature(calls: Sequence[Call]) -> str:
    """Returns a short hash that is equal for the same calls with equal arguments, however formatted."""
    told = repr([(call.name, canonical(call.arguments)) for call in calls])
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def extend_trail(trail: tuple[str, ...], latest: str, repeats: int) -> tuple[str, ...]:
    """Returns the trail with the latest turn, cut to the length that ``is_circling`` needs."""
    return (*trail, latest)[-LONGEST_CYCLE * max(repeats, 2) :]


def is_circling(trail: Sequence[str], repeats: int) -> bool:
    """Whether the trail ends in ``repeats`` rounds of one cycle, two at least."""
    repeats = max(repeats, 2)
    if len(trail) < repeats:
        return False
    return any(_repeats(trail, length, repeats) for length in range(1, LONGEST_CYCLE + 1))


def _repeats(trail: Sequence[str], length: int, repeats: int) -> bool:
    end = trail[-length * repeats :]
    if len(end) < length * repeats:
        return False
    return all(end[at] == end[at - length] for at in range(length, len(end)))


def canonical(arguments: str) -> str:
    """Returns arguments as text that is equal however they were formatted."""
    try:
        value = parse(arguments or "{}")
    except JsonError:
        return arguments
    return _sorted(value).decode()
