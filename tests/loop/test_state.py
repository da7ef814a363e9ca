"""What a run has used, what is left of it, and what its record tells once it is over."""

import pytest
from msgspec.structs import replace

from loop.states import LOOK, SEND, SPENT, state
from rightcall.core.budget import Budget
from rightcall.core.entry import CallDropped, CallFinished, RunStarted
from rightcall.core.message import Reply, User, user_text
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.core.request import RequiredOutput
from rightcall.loop.decide import left_of
from rightcall.loop.result import dropped_in, last_line
from rightcall.loop.state import (
    CallSpending,
    PausedCall,
    add_message,
    add_reply,
    add_results,
    add_verdict,
    canonical,
    extend_trail,
    initial_state,
    is_circling,
    signature,
    total_usage,
    unique_notes,
    with_pauses,
)

USED = Usage(input_tokens=60, output_tokens=20, cost=0.25)


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (Budget(calls=5, tokens=100, cost=1.0), Budget(calls=2, tokens=20, cost=0.75)),
        (Budget(calls=3, tokens=80, cost=0.25), Budget(calls=0, tokens=0, cost=0.0)),
        (Budget(calls=1, tokens=10, cost=0.1), Budget(calls=0, tokens=0, cost=0.0)),
        (Budget(calls=None, tokens=None, cost=None), Budget(calls=None, tokens=None, cost=None)),
    ],
)
def test_what_is_left_of_a_budget_is_never_less_than_nothing(budget, left):
    assert left_of(state(calls=3, usage=USED, budget=budget)) == left


def test_without_a_price_all_of_the_cost_is_left():
    assert left_of(state(usage=Usage(input_tokens=5), budget=Budget(cost=1.0))).cost == 1.0
    assert set(SPENT) == {"seconds", "tokens", "cost"}


def test_what_calls_inside_have_used_counts_before_they_are_over():
    inner = PausedCall(key="t1.0", call_id="a", arguments="{}", state=state(usage=USED))
    done = Result(call_id="b", name="send", outcome="returned", content=())
    ends = (
        CallFinished(key="t1.1", result=done, usage=Usage(input_tokens=1)),
        CallFinished(key="t1.2", result=done),
    )
    paused = with_pauses(state(usage=Usage(output_tokens=5), seconds=2.0), ends, (inner,), 3.0)
    assert total_usage(paused) == Usage(input_tokens=61, output_tokens=25, cost=0.25)
    assert (paused.finished, paused.paused, paused.progress.seconds) == (ends, (inner,), 5.0)


def test_a_run_begins_as_its_record_says():
    start = RunStarted(
        messages=(user_text("Go."),),
        budget=Budget(turns=3),
        system="Be kind.",
        choice="required",
        sticky_choice=True,
        retry_broken=True,
        wanted=RequiredOutput(tool="answer", mode="tool", schema={}, retries=1),
        dry_run=True,
    )
    begun = initial_state(start)
    for name in (
        "messages", "budget", "system", "choice", "sticky_choice", "retry_broken", "wanted", "dry_run",
    ):  # fmt: skip
        assert getattr(begun, name) == getattr(start, name)


def note(text: str, author: str = "runtime") -> User:
    return user_text(text, author)


def test_a_message_to_the_model_takes_its_place_among_those_that_wait():
    first, second = note("one"), note("two")
    waiting = state(user_text("Go."), notes=(first, second), note="a problem")
    told = add_message(waiting, first)
    assert (told.messages[-1], told.notes, told.progress.note) == (first, (second,), "")
    assert (told.progress.warned, told.progress.bad_answers) == (False, 0)
    other = add_message(waiting, note("one"), "answer")
    assert (other.notes, other.progress.bad_answers) == ((first, second), 1)
    circling = add_message(waiting, first, "circling")
    assert circling.progress.warned
    assert add_message(circling, second).progress.warned


def test_a_reply_is_counted_with_its_time_and_usage():
    reply = Reply((Text("So."),), "end", usage=USED)
    after = add_reply(state(turns=1, seconds=1.0, usage=USED, breaks=2), reply, 0.5, (note("n"),))
    assert (after.progress.turns, after.progress.seconds, after.progress.usage) == (2, 1.5, USED + USED)
    assert (after.progress.breaks, after.notes, after.messages) == (0, (note("n"),), (reply,))


@pytest.mark.parametrize(
    ("reply", "breaks"),
    [
        (Reply((), "error"), 3),
        (Reply((LOOK,), "error"), 3),
        (Reply((), "calls"), 3),
        (Reply((LOOK,), "calls"), 0),
        (Reply((), "end"), 0),
    ],
)
def test_replies_that_broke_are_counted_in_a_row(reply, breaks):
    assert add_reply(state(breaks=2), reply, 0.0).progress.breaks == breaks


def test_a_planned_turn_is_no_circle_and_may_have_asked_nobody():
    planned = Reply((LOOK,), "calls", vendor={"plan": {"step": "call", "unasked": True}})
    progress = add_reply(state(budget=Budget(repeats=2)), planned, 0.0).progress
    assert (progress.trail, progress.unasked, progress.turns) == ((), 1, 1)
    asked = replace(planned, vendor={"plan": {"step": "source"}})
    assert add_reply(state(), asked, 0.0).progress.unasked == 0
    assert (
        add_reply(state(budget=Budget(repeats=None)), Reply((LOOK,), "calls"), 0.0).progress.trail == ()
    )


def test_who_leaves_a_circle_may_be_warned_again():
    same = Reply((LOOK,), "calls")
    stuck = state(budget=Budget(repeats=2), trail=(signature([LOOK]),), warned=True)
    assert add_reply(stuck, same, 0.0).progress.warned
    assert not add_reply(stuck, Reply((SEND,), "calls"), 0.0).progress.warned


@pytest.mark.parametrize(
    ("trail", "repeats", "circles"),
    [
        ("aa", 2, True),
        ("a", 2, False),
        ("ab", 2, False),
        ("baa", 2, True),
        ("aab", 2, False),
        ("abab", 2, True),
        ("abcdabcd", 2, True),
        ("abcdeabcde", 2, False),
        ("aaa", 3, True),
        ("aa", 3, False),
        ("ababab", 3, True),
        ("abab", 3, False),
        ("aa", 1, True),
        ("a", 0, False),
        ("", 2, False),
    ],
)
def test_a_circle_is_so_many_rounds_of_up_to_four_turns(trail, repeats, circles):
    assert is_circling(tuple(trail), repeats) is circles


def test_of_the_trail_no_more_is_kept_than_a_circle_needs():
    trail: tuple[str, ...] = ()
    for number in range(50):
        trail = extend_trail(trail, str(number), 3)
    assert trail == tuple(str(number) for number in range(38, 50))
    assert len(extend_trail(("x",) * 8, "y", 1)) == 8


def test_calls_are_the_same_however_their_arguments_are_written():
    def call(arguments: str, name: str = "look") -> Call:
        return Call(id="x", name=name, arguments=arguments)

    assert signature([call('{"a": 1, "b": 2}')]) == signature([call('{"b":2,"a":1}')])
    assert signature([call("")]) == signature([call("{}")])
    assert signature([call('{"a":1}')]) != signature([call('{"a":2}')])
    assert signature([call("{}")]) != signature([call("{}", "send")])
    assert signature([call("{}")]) != signature([call("{}")] * 2)
    assert canonical("{no json") == "{no json"


def result(name: str, outcome: str = "returned") -> Result:
    return Result(call_id=name, name=name, outcome=outcome, content=())


def test_results_are_counted_and_clear_what_was_kept_for_a_pause():
    spent = CallSpending(ran=2, seconds=1.5, usage=USED, notes=(note("b"),))
    before = state(
        calls=1,
        seconds=1.0,
        usage=USED,
        notes=(note("a"),),
        finished=(1,),
        paused=(2,),
        decisions={"c": 3},
    )
    after = add_results(before, (result("look"),), spent, "calls")
    progress = after.progress
    assert (progress.calls, progress.seconds, progress.usage) == (3, 2.5, USED + USED)
    assert (after.notes, after.halted) == ((note("a"), note("b")), "calls")
    assert (after.finished, after.paused, dict(after.decisions), after.hooked) == ((), (), {}, ())


@pytest.mark.parametrize(
    ("mode", "outcomes", "answered", "bad"),
    [
        ("tool", ["returned"], True, 0),
        ("tool", ["invalid"], False, 1),
        ("tool", ["invalid", "returned"], True, 0),
        ("tool", ["invalid", "invalid"], False, 1),
        ("tool", [], False, 0),
        ("native", ["returned"], False, 0),
    ],
)
def test_an_answer_by_a_call_counts_if_one_is_good(mode, outcomes, answered, bad):
    wanted = RequiredOutput(tool="answer", mode=mode, schema={}, retries=1)
    results = (result("look"), *[result("answer", outcome) for outcome in outcomes])
    after = add_results(state(wanted=wanted), results, CallSpending())
    assert (after.answered, after.progress.bad_answers) == (answered, bad)


def test_a_verdict_is_an_answer_or_a_message_for_the_model():
    assert add_verdict(state(), "").answered
    refused = add_verdict(state(bad_answers=1), "too short")
    assert (refused.answered, refused.progress.bad_answers, refused.progress.note) == (
        False,
        2,
        "too short",
    )


def test_the_runtime_says_nothing_twice_and_others_may():
    one, two, ours = note("x"), note("y"), note("x", "developer")
    assert unique_notes([one, ours, two, note("x"), ours]) == (one, ours, two, ours)


def test_a_call_that_was_dropped_says_why():
    def dropped(**more) -> CallDropped:
        return CallDropped(
            key="t1.0", call=LOOK, result=result("look", "cancelled"), seconds=1.5, **more
        )

    trace = "Traceback:\n  File x\nValueError: no\n"
    entries = [dropped(error=trace), dropped(error=trace, cause="the cause"), dropped(attempts=2)]
    records = dropped_in([*entries, CallFinished(key="t1.0", result=result("look"))])
    assert [each.error for each in records] == ["ValueError: no", "the cause", ""]
    assert [each.attempts for each in records] == [1, 1, 2]
    for each in records:
        assert (each.call, each.seconds, each.outcome) == (LOOK, 1.5, "cancelled")
    assert last_line("one line") == "one line"
