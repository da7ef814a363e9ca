"""States of a run, made by hand and at random."""

from typing import Any, get_args

from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall.core.budget import Budget
from rightcall.core.message import Message, Reasoning, Reply, Results, StopReason, User, user_text
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.core.request import Named, OutputMode, RequiredOutput
from rightcall.loop.decide import NO_OUTPUT, FinishRun
from rightcall.loop.state import RunProgress, State

STOPS = get_args(StopReason)
MODES = get_args(OutputMode)
LOOK = Call(id="a", name="look", arguments='{"at":1}')
SEND = Call(id="b", name="send", arguments='{"to":"x"}')
CUT_CALL = Call(id="c", name="look", arguments='{"at":', truncated=True)
BAD_OUTPUT = FinishRun(NO_OUTPUT)

SPENT: dict[str, dict[str, Any]] = {
    "seconds": {"budget": Budget(seconds=5.0), "seconds": 5.0},
    "tokens": {"budget": Budget(tokens=100), "usage": Usage(input_tokens=60, output_tokens=40)},
    "cost": {"budget": Budget(cost=0.5), "usage": Usage(cost=0.5)},
}
"""Progress that has used up one part of a budget."""


def state(*messages: Message, **changes: Any) -> State:
    """A state with these messages; what belongs to its progress goes there."""
    progress = {name: changes.pop(name) for name in [*changes] if name in RunProgress.__struct_fields__}
    return State(messages=messages, progress=RunProgress(**progress), **changes)


def ended(stop: StopReason, *content: str | Call | Reasoning, **changes: Any) -> State:
    """The state after the model's first reply, which stopped for that reason."""
    parts = tuple(Text(part) if isinstance(part, str) else part for part in content)
    return state(user_text("Hello"), Reply(parts, stop, "why"), **{"turns": 1, **changes})


def results(before: State, outcome: OutcomeKind = "returned") -> State:
    """The state once the calls of its last reply have their results."""
    reply = before.messages[-1] if before.messages else None
    assert isinstance(reply, Reply)
    given = tuple(
        Result(call_id=call.id, name=call.name, outcome=outcome, content=(Text("so"),))
        for call in reply.calls
    )
    return replace(before, messages=(*before.messages, Results(given)))


def wanting(mode: OutputMode, before: State, **changes: Any) -> State:
    """The state of a run that must end with an output."""
    wanted = RequiredOutput(tool="final_answer", mode=mode, schema={"type": "object"}, retries=2)
    return replace(before, wanted=wanted, **changes)


def answering(outcome: OutcomeKind, bad_answers: int = 0, **changes: Any) -> State:
    """The state after the model called the tool that stands for the answer."""
    call = Call(id="f", name="final_answer", arguments="{}")
    before = results(ended("calls", call, bad_answers=bad_answers), outcome)
    return wanting("tool", before, **changes)


def states() -> st.SearchStrategy[State]:
    """Any state that a run could be in, and some that none could."""
    calls = st.builds(
        Call,
        id=st.sampled_from(["a", "b"]),
        name=st.sampled_from(["look", "final_answer"]),
        arguments=st.sampled_from(["", "{}", "{"]),
        truncated=st.booleans(),
    )
    parts = st.builds(Text, st.text(max_size=3)) | calls
    replies = st.builds(
        Reply, st.lists(parts, max_size=3).map(tuple), st.sampled_from(STOPS), st.sampled_from(["", "w"])
    )
    given = st.builds(
        Result,
        call_id=st.just("a"),
        name=st.sampled_from(["look", "final_answer"]),
        outcome=st.sampled_from(get_args(OutcomeKind)),
        content=st.just(()),
    )
    messages = (
        st.builds(User, st.just((Text("hi"),)))
        | replies
        | st.builds(Results, st.lists(given, max_size=2).map(tuple))
    )
    limits = st.none() | st.integers(0, 4)
    return st.builds(
        State,
        messages=st.lists(messages, max_size=4).map(tuple),
        progress=st.builds(
            RunProgress,
            turns=st.integers(0, 4),
            calls=st.integers(0, 4),
            seconds=st.sampled_from([0.0, 2.0]),
            usage=st.builds(Usage, input_tokens=st.integers(0, 4), cost=st.sampled_from([None, 1.0])),
            trail=st.lists(st.sampled_from("ab"), max_size=12).map(tuple),
            warned=st.booleans(),
            breaks=st.integers(0, 4),
            bad_answers=st.integers(0, 4),
            note=st.sampled_from(["", "note"]),
        ),
        budget=st.builds(
            Budget,
            turns=limits,
            calls=limits,
            seconds=limits.map(lambda n: n if n is None else float(n)),
            tokens=limits,
            cost=limits.map(lambda n: n if n is None else float(n)),
            repeats=limits,
        ),
        choice=st.sampled_from(["auto", "required", "none", Named("look")]),
        sticky_choice=st.booleans(),
        retry_broken=st.booleans(),
        wanted=st.none()
        | st.builds(
            RequiredOutput,
            tool=st.just("final_answer"),
            mode=st.sampled_from(MODES),
            schema=st.just({}),
            retries=st.integers(0, 2),
        ),
        answered=st.booleans(),
        halted=st.none() | st.sampled_from(["calls", "seconds", "repeats"]),
    )
