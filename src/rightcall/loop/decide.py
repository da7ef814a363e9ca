"""The loop: from a run's state to its next action. Pure: no clock, no randomness, no I/O.

The next action depends on why generation stopped, not on whether there are calls::

    end, stop_sequence      run the calls if there are any, or the run is over
    calls                   run them; if there are none, the model is told of its mistake
    length                  the last call is cut off and is not run; without calls, the run is over
    pause                   ask again
    error                   the reply broke off: none of its calls is run, and the model is told;
                            without calls the run is over, or the answer is asked for again; if the
                            model itself wrote something invalid, it reads what was wrong; if a
                            message to the run cut it off, the model is asked with that message
    refusal, filtered       the run is over, and no call is run

A run over its budget stops before its next effect, and says which part of the budget it was.
"""

from typing import Never, TypeAlias, assert_never, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget, LimitName, Stop
from rightcall.core.message import Reply, Results, StopReason, User, user_text
from rightcall.core.parts import Call
from rightcall.core.request import Named, ToolChoice
from rightcall.errors import UsageError
from rightcall.loop.state import Slip, State, is_circling, is_interrupted

MOST_BREAKS = 3
"""Broken replies in a row after which a run gives up."""

CIRCLING = (
    "You are repeating the same tool calls with the same arguments, and their results will not change. "
    "Use what you have, try something else, or give your answer."
)
ANNOUNCED = "You announced a tool call but made none. Make the call, or give your answer."
BROKE_OFF = "Your last reply broke off because of a fault on its way. Give it again, whole."
ANSWER_BY_TOOL = "Give your answer by calling the tool {tool}."

NO_OUTPUT = Stop("no_output", detail="no valid output was given")

_OVER: frozenset[StopReason] = frozenset({"refusal", "filtered"})
_CUTTING: frozenset[StopReason] = frozenset({"error", "length"})
"""Where a call may be incomplete."""


class AskModel(Struct, frozen=True):
    """Ask the model for its next reply."""

    turn: int
    choice: ToolChoice

    @property
    def key(self) -> str:
        """The key of this effect."""
        return f"t{self.turn}.model"


class AnswerCalls(Struct, frozen=True):
    """Give every call of the last reply a result: run the first ``run`` of them, cancel the rest."""

    turn: int
    calls: tuple[Call, ...]
    run: int
    limit: LimitName | None = None
    """The limit because of which the rest is not run."""

    def key(self, index: int) -> str:
        """Returns the key of one call's effect."""
        return call_key(self.turn, index, self.calls[index].name)


class TellModel(Struct, frozen=True):
    """Add a message for the model, mostly about a mistake of its own."""

    message: User
    slip: Slip | None = None


class JudgeText(Struct, frozen=True):
    """Validate the text of the last reply against the output that is wanted."""

    turn: int
    text: str

    @property
    def key(self) -> str:
        """The key of this effect."""
        return f"t{self.turn}.output"


class FinishRun(Struct, frozen=True):
    """The run is over."""

    stop: Stop


Action: TypeAlias = AskModel | AnswerCalls | TellModel | JudgeText | FinishRun


def call_key(turn: int, index: int, name: str) -> str:
    """Returns the key of one call's effect: its turn, its position in the reply and its name."""
    return f"t{turn}.{index}.{name}"


def decide(state: State) -> Action:
    """Returns the next action."""
    latest = state.messages[-1] if state.messages else None
    match latest:
        case Reply() as reply:
            calls = reply.calls
            if calls:
                return _after_calls(state, reply, calls)
            return _after_text(state, reply)
        case Results():
            return _after_results(state)
        case User() | None:
            return _ask(state)
        case unreachable:
            assert_never(unreachable)


def _ask(state: State) -> Action:
    progress = state.progress
    budget = state.budget
    if progress.note:
        return TellModel(user_text(progress.note, "runtime"))
    if state.notes:
        return TellModel(state.notes[0])
    if budget.turns is not None and progress.turns - progress.unasked >= budget.turns:
        return FinishRun(Stop("limit", "turns"))
    if (limit := used_up_limit(state)) is not None:
        return FinishRun(Stop("limit", limit))
    return AskModel(progress.turns + 1, _choice(state))


def _choice(state: State) -> ToolChoice:
    wanted = state.wanted
    if wanted is not None and wanted.mode == "tool" and state.progress.bad_answers:
        return Named(wanted.tool)
    if state.progress.turns == 0 or state.sticky_choice:
        return state.choice
    if state.choice == "none":
        return "none"
    return "auto"


def _after_results(state: State) -> Action:
    reply = state.messages[-2] if len(state.messages) > 1 else None
    if isinstance(reply, Reply) and reply.stop in _OVER:
        return FinishRun(_stop_for(reply))
    if state.answered:
        return FinishRun(Stop("output"))
    if state.halted is not None:
        return FinishRun(Stop("limit", state.halted))
    if _gave_up_on_output(state):
        return FinishRun(NO_OUTPUT)
    if state.progress.breaks >= MOST_BREAKS:
        return FinishRun(Stop("error", detail="the model's replies keep breaking off"))
    if _is_circling(state) and not state.progress.warned:
        return TellModel(user_text(CIRCLING, "runtime"), "circling")
    if isinstance(reply, Reply) and reply.fault:
        return TellModel(user_text(reply.fault, "runtime"))
    return _ask(state)


def _after_calls(state: State, reply: Reply, calls: tuple[Call, ...]) -> AnswerCalls:
    if reply.stop in _CUTTING:
        if is_interrupted(reply):
            # Of the last one the end of its arguments may be missing. That is not its mistake.
            calls = tuple([replace(call, truncated=False) for call in calls])
            return AnswerCalls(state.progress.turns, calls, 0)
        calls = tuple([replace(c, truncated=True) if _is_cut(reply, c) else c for c in calls])
    turn = state.progress.turns
    if reply.stop in _OVER:
        return AnswerCalls(turn, calls, 0)
    if (limit := used_up_limit(state)) is not None:
        return AnswerCalls(turn, calls, 0, limit)
    if state.progress.warned and _is_circling(state):
        return AnswerCalls(turn, calls, 0, "repeats")
    run = _runnable_count(state, calls)
    return AnswerCalls(turn, calls, run, "calls" if run < len(calls) else None)


def _runnable_count(state: State, calls: tuple[Call, ...]) -> int:
    """Returns how many calls may run: all before the first that exceeds the budget."""
    if state.budget.calls is None:
        return len(calls)
    room = state.budget.calls - state.progress.calls
    if state.wanted is not None and state.wanted.mode == "tool":
        answer = state.wanted.tool
    else:
        answer = None
    for index, call in enumerate(calls):
        # A truncated call does not run, and the answer tool does not count as a call.
        room -= not call.truncated and call.name != answer
        if room < 0:
            return index
    return len(calls)


def _after_text(state: State, reply: Reply) -> Action:
    match reply.stop:
        case "length" | "refusal" | "filtered":
            return FinishRun(_stop_for(reply))
        case "error":
            if (limit := used_up_limit(state)) is not None:
                return FinishRun(Stop("limit", limit))
            if is_interrupted(reply):
                return _ask(state)
            if (reply.fault or state.retry_broken) and state.progress.breaks < MOST_BREAKS:
                return TellModel(user_text(reply.fault or BROKE_OFF, "runtime"))
            return FinishRun(_stop_for(reply))
        case "pause":
            return _ask(state)
        case "calls":
            if state.progress.breaks >= MOST_BREAKS:
                return FinishRun(
                    Stop("error", detail="the model keeps announcing calls and making none")
                )
            return TellModel(user_text(ANNOUNCED, "runtime"))
        case "end" | "stop_sequence":
            if state.notes:
                # A hook has a message for the model about this answer.
                return TellModel(state.notes[0])
            if state.wanted is None:
                return FinishRun(_stop_for(reply))
            return _after_answer(state, reply)
        case unreachable:
            raise _unknown_stop(unreachable)


def _unknown_stop(stop: Never) -> UsageError:
    """Only a model that a developer wrote says anything else."""
    words = ", ".join(get_args(StopReason))
    return UsageError(f"a reply of the model ends with stop={stop!r}, which is none of {words}")


def _after_answer(state: State, reply: Reply) -> Action:
    """Returns what follows an answer in text, when an output of a certain form is wanted."""
    assert state.wanted is not None
    if state.answered:
        return FinishRun(Stop("output"))
    if state.wanted.mode == "tool":
        if state.progress.bad_answers >= state.wanted.retries:
            return FinishRun(NO_OUTPUT)
        return TellModel(user_text(ANSWER_BY_TOOL.format(tool=state.wanted.tool), "runtime"), "answer")
    if _gave_up_on_output(state):
        return FinishRun(NO_OUTPUT)
    if state.progress.note:
        return TellModel(user_text(state.progress.note, "runtime"))
    return JudgeText(state.progress.turns, reply.text)


def used_up_limit(state: State) -> LimitName | None:
    """Returns the part of the budget that is used up, if any."""
    progress = state.progress
    budget = state.budget
    if budget.seconds is not None and progress.seconds >= budget.seconds:
        return "seconds"
    usage = progress.usage
    if budget.tokens is not None and usage.input_tokens + usage.output_tokens >= budget.tokens:
        return "tokens"
    if budget.cost is not None and (usage.cost or 0.0) >= budget.cost:
        return "cost"
    return None


def left_of(state: State) -> Budget:
    """Returns the calls, tokens and cost that are left of the budget."""
    progress = state.progress
    budget = state.budget
    calls = budget.calls
    tokens = budget.tokens
    cost = budget.cost
    return replace(
        budget,
        calls=None if calls is None else max(calls - progress.calls, 0),
        tokens=None if tokens is None else max(tokens - progress.usage.tokens, 0),
        cost=None if cost is None else max(cost - (progress.usage.cost or 0.0), 0.0),
    )


def _is_circling(state: State) -> bool:
    repeats = state.budget.repeats
    return repeats is not None and is_circling(state.progress.trail, repeats)


def _is_cut(reply: Reply, call: Call) -> bool:
    """Whether a call may be incomplete, whatever its text looks like."""
    if reply.stop == "error":
        return True
    return reply.stop == "length" and reply.content[-1] is call


def _gave_up_on_output(state: State) -> bool:
    return state.wanted is not None and state.progress.bad_answers > state.wanted.retries


def _stop_for(reply: Reply) -> Stop:
    match reply.stop:
        case "end" | "calls" | "pause":
            return Stop("end")
        case "length" | "stop_sequence" | "refusal" | "filtered" | "error" as reason:
            return Stop(reason, detail=reply.stop_word)
        case unreachable:
            assert_never(unreachable)
