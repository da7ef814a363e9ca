"""Where a run stands into what comes next, row by row."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from effort import often
from loop.states import (
    BAD_OUTPUT,
    CUT_CALL,
    LOOK,
    MODES,
    SEND,
    SPENT,
    STOPS,
    answering,
    ended,
    results,
    state,
    states,
    wanting,
)
from rightcall.core.budget import Budget, Stop
from rightcall.core.message import Reasoning, StopReason, user_text
from rightcall.core.parts import Call
from rightcall.core.request import Named
from rightcall.loop.decide import (
    ANNOUNCED,
    CIRCLING,
    MOST_BREAKS,
    NO_OUTPUT,
    AnswerCalls,
    AskModel,
    FinishRun,
    JudgeText,
    TellModel,
    decide,
)
from rightcall.loop.state import RunProgress, State

ASK = AskModel(2, "auto")
ANNOUNCE = TellModel(user_text(ANNOUNCED, "runtime"))
CUT_LOOK = replace(LOOK, truncated=True)
CUT_SEND = replace(SEND, truncated=True)

# Two calls, the second of them the last part of the reply.
WITH_CALLS = {
    "end": AnswerCalls(1, (LOOK, SEND), 2),
    "stop_sequence": AnswerCalls(1, (LOOK, SEND), 2),
    "calls": AnswerCalls(1, (LOOK, SEND), 2),
    "length": AnswerCalls(1, (LOOK, CUT_SEND), 2),
    "pause": AnswerCalls(1, (LOOK, SEND), 2),
    "error": AnswerCalls(1, (CUT_LOOK, CUT_SEND), 2),
    "refusal": AnswerCalls(1, (LOOK, SEND), 0),
    "filtered": AnswerCalls(1, (LOOK, SEND), 0),
}
WITHOUT_CALLS = {
    "end": FinishRun(Stop("end")),
    "stop_sequence": FinishRun(Stop("stop_sequence", detail="why")),
    "calls": ANNOUNCE,
    "length": FinishRun(Stop("length", detail="why")),
    "pause": ASK,
    "error": FinishRun(Stop("error", detail="why")),
    "refusal": FinishRun(Stop("refusal", detail="why")),
    "filtered": FinishRun(Stop("filtered", detail="why")),
}
AFTER_RESULTS = {
    "end": ASK,
    "stop_sequence": ASK,
    "calls": ASK,
    "length": ASK,
    "pause": ASK,
    "error": ASK,
    "refusal": FinishRun(Stop("refusal", detail="why")),
    "filtered": FinishRun(Stop("filtered", detail="why")),
}


def test_every_reason_to_stop_has_its_rows():
    assert set(get_args(StopReason)) == set(WITH_CALLS) == set(WITHOUT_CALLS) == set(AFTER_RESULTS)


@pytest.mark.parametrize("stop", STOPS)
def test_calls_are_run_by_why_generation_stopped(stop):
    assert decide(ended(stop, "I will look.", LOOK, SEND)) == WITH_CALLS[stop]


@pytest.mark.parametrize("stop", STOPS)
def test_a_reply_without_calls_is_taken_by_why_generation_stopped(stop):
    assert decide(ended(stop, "It is so.")) == WITHOUT_CALLS[stop]


@pytest.mark.parametrize("stop", STOPS)
def test_an_empty_reply_is_taken_as_one_without_calls(stop):
    assert decide(ended(stop)) == WITHOUT_CALLS[stop]


@pytest.mark.parametrize("stop", STOPS)
def test_the_model_is_asked_again_after_results_unless_it_refused(stop):
    assert decide(results(ended(stop, LOOK, SEND))) == AFTER_RESULTS[stop]


@pytest.mark.parametrize(
    ("content", "calls"),
    [
        pytest.param((LOOK,), (CUT_LOOK,), id="the only part"),
        pytest.param(("Well:", LOOK), (CUT_LOOK,), id="after text"),
        pytest.param((LOOK, "and"), (LOOK,), id="text after it"),
        pytest.param((LOOK, Reasoning("hm")), (LOOK,), id="reasoning after it"),
        pytest.param((LOOK, SEND), (LOOK, CUT_SEND), id="two calls"),
        pytest.param((CUT_CALL, SEND, "so"), (CUT_CALL, SEND), id="one that the decoder marked"),
    ],
)
def test_only_the_last_part_of_a_reply_that_ran_out_of_tokens_is_cut_off(content, calls):
    assert decide(ended("length", *content)) == AnswerCalls(1, calls, len(calls))


@pytest.mark.parametrize("limit", SPENT)
@pytest.mark.parametrize("stop", STOPS)
def test_no_call_is_run_once_a_budget_is_spent(stop, limit):
    expected = WITH_CALLS[stop]
    if stop not in {"refusal", "filtered"}:
        expected = AnswerCalls(1, expected.calls, 0, limit)
    assert decide(ended(stop, LOOK, SEND, **SPENT[limit])) == expected


@pytest.mark.parametrize("limit", SPENT)
@pytest.mark.parametrize("stop", STOPS)
def test_an_answer_stands_though_it_used_up_a_budget(stop, limit):
    expected = WITHOUT_CALLS[stop]
    if stop in {"pause", "error"}:
        expected = FinishRun(Stop("limit", limit))
    assert decide(ended(stop, "It is so.", **SPENT[limit])) == expected


@pytest.mark.parametrize("limit", SPENT)
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda **spent: state(user_text("Hello"), **spent), id="user"),
        pytest.param(lambda **spent: results(ended("calls", LOOK, **spent)), id="results"),
        pytest.param(lambda **spent: ended("pause", "Wait", **spent), id="pause"),
    ],
)
def test_the_model_is_not_asked_once_a_budget_is_spent(place, limit):
    assert decide(place(**SPENT[limit])) == FinishRun(Stop("limit", limit))


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(
            state(user_text("Hello"), budget=Budget(turns=0)),
            FinishRun(Stop("limit", "turns")),
            id="none",
        ),
        pytest.param(
            state(user_text("Hello"), budget=Budget(turns=1)), AskModel(1, "auto"), id="one left"
        ),
        pytest.param(
            results(ended("calls", LOOK, budget=Budget(turns=1))),
            FinishRun(Stop("limit", "turns")),
            id="after results",
        ),
        pytest.param(
            ended("pause", "Wait", budget=Budget(turns=1)),
            FinishRun(Stop("limit", "turns")),
            id="after a pause",
        ),
        pytest.param(
            ended("end", "So.", budget=Budget(turns=1)), FinishRun(Stop("end")), id="after an answer"
        ),
        pytest.param(
            results(ended("calls", LOOK, budget=Budget(turns=None), turns=999)),
            AskModel(1000, "auto"),
            id="lifted",
        ),
    ],
)
def test_the_model_is_asked_as_often_as_the_budget_says(given, action):
    assert decide(given) == action


@pytest.mark.parametrize(
    ("stop", "content", "calls", "made", "run", "limit"),
    [
        pytest.param("calls", (LOOK, SEND), (LOOK, SEND), 0, 2, None, id="all fit"),
        pytest.param("calls", (LOOK, SEND), (LOOK, SEND), 1, 1, "calls", id="the first fits"),
        pytest.param("calls", (LOOK, SEND), (LOOK, SEND), 2, 0, "calls", id="none fits"),
        pytest.param("calls", (LOOK, SEND), (LOOK, SEND), 9, 0, "calls", id="used up long since"),
        pytest.param(
            "length", (LOOK, SEND), (LOOK, CUT_SEND), 1, 2, None, id="a cut one takes no place"
        ),
        pytest.param("error", (LOOK, SEND), (CUT_LOOK, CUT_SEND), 2, 2, None, id="nor do broken ones"),
    ],
)
def test_as_many_calls_are_run_as_the_budget_has_room_for(stop, content, calls, made, run, limit):
    given = ended(stop, *content, budget=Budget(calls=2), calls=made)
    assert decide(given) == AnswerCalls(1, calls, run, limit)


ANSWER = Call(id="f", name="final_answer", arguments="{}")


@pytest.mark.parametrize(
    ("mode", "calls", "run"),
    [
        pytest.param("tool", (ANSWER,), 1, id="alone"),
        pytest.param("tool", (ANSWER, LOOK), 1, id="before another"),
        pytest.param("tool", (LOOK, ANSWER), 0, id="after another"),
        pytest.param("text", (ANSWER,), 0, id="a tool like any other in another mode"),
    ],
)
def test_the_answer_needs_no_room_among_the_calls(mode, calls, run):
    given = wanting(mode, ended("calls", *calls, budget=Budget(calls=2), calls=2))
    limit = "calls" if run < len(calls) else None
    assert decide(given) == AnswerCalls(1, calls, run, limit)


def test_a_lifted_budget_of_calls_has_room_for_any_number():
    given = ended("calls", LOOK, SEND, budget=Budget(calls=None), calls=10**6)
    assert decide(given) == AnswerCalls(1, (LOOK, SEND), 2)


@pytest.mark.parametrize("limit", ["turns", "calls", "seconds", "tokens", "cost", "repeats"])
def test_a_run_whose_calls_were_halted_names_the_limit(limit):
    given = replace(results(ended("calls", LOOK)), halted=limit)
    assert decide(given) == FinishRun(Stop("limit", limit))


# What an output asked for changes: how a text that is offered as the answer is taken.
JUDGE = JudgeText(1, "It is so.")
BY_TOOL = TellModel(user_text("Give your answer by calling the tool final_answer.", "runtime"), "answer")
OFFERED = {"native": JUDGE, "text": JUDGE, "json": JUDGE, "tool": BY_TOOL}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stop", STOPS)
def test_a_text_is_held_against_the_output_only_where_it_is_an_answer(stop, mode):
    expected = OFFERED[mode] if stop in {"end", "stop_sequence"} else WITHOUT_CALLS[stop]
    assert decide(wanting(mode, ended(stop, "It is so."))) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stop", STOPS)
def test_calls_are_run_alike_in_every_output_mode(stop, mode):
    assert decide(wanting(mode, ended(stop, LOOK, SEND))) == WITH_CALLS[stop]


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(
            wanting("text", ended("end", "{}"), answered=True), FinishRun(Stop("output")), id="text"
        ),
        pytest.param(
            wanting("native", ended("end", "{}"), answered=True), FinishRun(Stop("output")), id="native"
        ),
        pytest.param(answering("returned", answered=True), FinishRun(Stop("output")), id="tool"),
        pytest.param(
            answering("returned", answered=True, halted="calls"),
            FinishRun(Stop("output")),
            id="tool, and the budget has no room for the rest",
        ),
        pytest.param(
            wanting("text", ended("end", "{}", bad_answers=1, note="Not so.")),
            TellModel(user_text("Not so.", "runtime")),
            id="a bad text is told",
        ),
        pytest.param(wanting("text", ended("end", "{}", bad_answers=3)), BAD_OUTPUT, id="bad texts"),
        pytest.param(wanting("native", ended("end", "{}", bad_answers=3)), BAD_OUTPUT, id="bad natives"),
        pytest.param(
            wanting("tool", ended("end", "So.", bad_answers=2)), BAD_OUTPUT, id="texts for a tool"
        ),
        pytest.param(
            answering("invalid", bad_answers=2), AskModel(2, Named("final_answer")), id="a bad call"
        ),
        pytest.param(answering("invalid", bad_answers=3), BAD_OUTPUT, id="bad calls"),
    ],
)
def test_an_output_is_asked_for_until_it_is_given_or_given_up(given, action):
    assert decide(given) == action
    assert FinishRun(NO_OUTPUT) == BAD_OUTPUT


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(
            ended("calls", "I will look.", breaks=MOST_BREAKS - 1), ANNOUNCE, id="announced, told again"
        ),
        pytest.param(
            ended("calls", "I will look.", breaks=MOST_BREAKS),
            FinishRun(Stop("error", detail="the model keeps announcing calls and making none")),
            id="announced, given up",
        ),
        pytest.param(
            results(ended("error", LOOK, breaks=MOST_BREAKS - 1)), ASK, id="broken, asked again"
        ),
        pytest.param(
            results(ended("error", LOOK, breaks=MOST_BREAKS)),
            FinishRun(Stop("error", detail="the model's replies keep breaking off")),
            id="broken, given up",
        ),
    ],
)
def test_a_model_that_keeps_breaking_off_is_given_up(given, action):
    assert decide(given) == action


AROUND = {"trail": ("a", "a", "a")}
STRAIGHT = {"trail": ("a", "b", "c")}
WARN = TellModel(user_text(CIRCLING, "runtime"), "circling")


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(results(ended("calls", LOOK, **AROUND)), WARN, id="told after the results"),
        pytest.param(ended("calls", LOOK, **AROUND), AnswerCalls(1, (LOOK,), 1), id="which still come"),
        pytest.param(results(ended("calls", LOOK, **AROUND, warned=True)), ASK, id="told once"),
        pytest.param(
            ended("calls", LOOK, **AROUND, warned=True),
            AnswerCalls(1, (LOOK,), 0, "repeats"),
            id="goes on",
        ),
        pytest.param(
            ended("calls", LOOK, **STRAIGHT, warned=True), AnswerCalls(1, (LOOK,), 1), id="turns"
        ),
        pytest.param(results(ended("calls", LOOK, **STRAIGHT)), ASK, id="never circled"),
        pytest.param(
            results(ended("calls", LOOK, **AROUND, budget=Budget(repeats=None))), ASK, id="may circle"
        ),
        pytest.param(
            results(ended("calls", LOOK, **AROUND, budget=Budget(repeats=4))), ASK, id="may circle more"
        ),
    ],
)
def test_a_model_that_goes_round_in_circles_is_told_and_then_stopped(given, action):
    assert decide(given) == action


def test_a_note_is_told_before_anything_else_is_asked():
    given = state(user_text("Hello"), note="Mind the gap.", budget=Budget(turns=0))
    assert decide(given) == TellModel(user_text("Mind the gap.", "runtime"))


LOOK_UP = Named("look")


@pytest.mark.parametrize(
    ("choice", "sticky", "turns", "asked"),
    [
        pytest.param("auto", False, 0, "auto", id="auto"),
        pytest.param("required", False, 0, "required", id="required first"),
        pytest.param("required", False, 1, "auto", id="required later"),
        pytest.param("required", True, 1, "required", id="required, sticky"),
        pytest.param(LOOK_UP, False, 0, LOOK_UP, id="named first"),
        pytest.param(LOOK_UP, False, 1, "auto", id="named later"),
        pytest.param(LOOK_UP, True, 5, LOOK_UP, id="named, sticky"),
        pytest.param("none", False, 0, "none", id="none first"),
        pytest.param("none", False, 1, "none", id="none later"),
    ],
)
def test_a_forced_choice_holds_for_the_first_turn_only_unless_it_is_sticky(choice, sticky, turns, asked):
    given = state(user_text("Hello"), turns=turns, choice=choice, sticky_choice=sticky)
    assert decide(given) == AskModel(turns + 1, asked)


def test_the_model_is_asked_first_of_all_even_with_nothing_said():
    assert decide(State(messages=())) == AskModel(1, "auto")


@settings(max_examples=often(200))
@given(states())
def test_the_same_state_gives_the_same_action_however_it_came_to_be(given):
    before = json.encode(given)
    again = json.decode(before, type=State)
    assert decide(given) == decide(again) == decide(given)
    assert json.encode(given) == before


@settings(max_examples=often(100))
@given(states(), st.sampled_from(sorted(SPENT)))
def test_nothing_more_is_done_in_any_state_once_a_budget_is_spent(given, limit):
    spent = SPENT[limit]
    progress = replace(
        given.progress, **{k: v for k, v in spent.items() if k in RunProgress.__struct_fields__}
    )
    match decide(replace(given, progress=progress, budget=spent["budget"])):
        case AskModel():
            pytest.fail("the model was asked")
        case AnswerCalls(run=run):
            assert run == 0
