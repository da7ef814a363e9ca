"""The guard against circles: what counts as the same, what the model is told, and when it is stopped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.sound import assert_sound
from rightcall import Agent, Budget
from rightcall.core.budget import Stop
from rightcall.core.message import Results, User, user_text
from rightcall.core.parts import Call
from rightcall.declare.function import tool
from rightcall.loop.decide import CIRCLING
from rightcall.loop.state import canonical, extend_trail, is_circling, signature
from rightcall.testing import ScriptedModel, call, reply

WARNING = user_text(CIRCLING, "runtime")
CIRCLED = Stop("limit", "repeats")


@tool(effect="read")
def look(at: object = None) -> str:
    """Look at something."""
    return "nothing new"


async def run(calls: list[Call | list[Call]], budget: Budget | None = None):
    """A run in which the model makes these calls, one reply after the other, and then answers."""
    each = [several if isinstance(several, list) else [several] for several in calls]
    model = ScriptedModel([*[reply(*several) for several in each], "I am done."])
    result = await Agent(model, [look], budget=budget).run("Look around.")
    assert_sound(result.transcript)
    return result


def at(place: object) -> Call:
    return call("look", at=place)


def warnings(result) -> list[int]:
    """How many calls had been made whenever the model was told."""
    made = 0
    told = []
    for message in result.transcript:
        if isinstance(message, Results):
            made += 1
        elif message == WARNING:
            told.append(made)
    return told


CYCLES = {
    "one call": [[1]],
    "two in turn": [[1], [2]],
    "three in turn": [[1], [2], [3]],
    "four in turn": [[1], [2], [3], [4]],
    "two at once": [[1, 2]],
    "two at once, in turn with one": [[1, 2], [3]],
}


@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES)
async def test_a_cycle_of_calls_is_told_after_three_rounds_and_stopped_at_the_next_call(cycle):
    turns = [[at(place) for place in turn] for turn in cycle] * 5
    result = await run(turns)
    assert result.stop == CIRCLED
    assert warnings(result) == [3 * len(cycle)]
    last = cycle[0]
    assert [each.outcome for each in result.calls[-len(last) :]] == ["cancelled"] * len(last)
    assert len(result.transcript) == 1 + 2 * (3 * len(cycle) + 1) + 1


async def test_a_cycle_that_is_longer_than_any_looked_for_goes_on():
    result = await run([at(place) for place in [1, 2, 3, 4, 5] * 5])
    assert (result.stop, warnings(result)) == (Stop("end"), [])


async def test_the_warning_is_a_message_of_the_runtime_after_the_results():
    result = await run([at(1), at(1), at(1), at(2)])
    results, warning = result.transcript[6:8]
    assert warning == User(WARNING.content, author="runtime")
    assert isinstance(results, Results)
    assert [one.text for m in result.transcript if isinstance(m, Results) for one in m.results] == [
        "nothing new"
    ] * 4


async def test_a_model_that_changes_course_after_the_warning_goes_on():
    result = await run([at(1), at(1), at(1), at(2), at(3)])
    assert (result.stop, result.text, warnings(result)) == (Stop("end"), "I am done.", [3])


async def test_a_model_that_circles_anew_after_changing_course_is_told_again_before_it_is_stopped():
    result = await run([at(1)] * 3 + [at(2)] * 4)
    assert (result.stop, warnings(result)) == (CIRCLED, [3, 6])


async def test_a_model_that_only_pretends_to_change_course_is_stopped():
    result = await run(([at(1)] * 3 + [at(2)]) * 5)
    assert (result.stop, warnings(result)) == (CIRCLED, [3, 7, 11])


async def test_different_arguments_never_trip_the_guard():
    result = await run([at(place) for place in range(25)])
    assert (result.stop, warnings(result)) == (Stop("end"), [])


@pytest.mark.parametrize("repeats", [0, 1, 2, 5])
async def test_the_budget_says_how_often_calls_may_repeat(repeats):
    result = await run([at(1)] * 7, Budget(repeats=repeats))
    assert (result.stop, warnings(result)) == (CIRCLED, [max(repeats, 2)])


@pytest.mark.parametrize("repeats", [0, 1])
async def test_no_budget_makes_a_single_call_a_circle(repeats):
    result = await run([at(1), at(2), at(1), at(3)], Budget(repeats=repeats))
    assert (result.stop, warnings(result)) == (Stop("end"), [])


async def test_a_lifted_budget_lets_a_model_repeat_itself():
    result = await run([at(1)] * 12, Budget(repeats=None))
    assert (result.stop, warnings(result)) == (Stop("end"), [])


async def test_arguments_that_differ_only_in_how_they_are_written_repeat_each_other():
    written = ['{"at":{"x":1,"y":[2]}}', '{ "at": {"y": [2], "x": 1} }', '{"at" :{"x":1, "y":[ 2 ]}}']
    result = await run([call("look", text) for text in [*written, written[0]]])
    assert (result.stop, warnings(result)) == (CIRCLED, [3])


async def test_calls_that_never_pass_the_gate_are_counted_too():
    result = await run([call("lokk", at=1)] * 4)
    assert (result.stop, warnings(result)) == (CIRCLED, [3])


SAME = [
    ("", "{}"),
    ('{"a":1,"b":2}', '{"b":2,"a":1}'),
    ('{"a":{"c":1,"b":[{"y":1,"x":2}]}}', '{"a": {"b": [{"x": 2, "y": 1}], "c": 1}}'),
    ('{"a":"\\u00e9"}', '{"a":"é"}'),
    ("{broken", "{broken"),
]
OTHER = [
    ("{}", '{"a":null}'),
    ('{"a":1}', '{"a":"1"}'),
    ('{"a":[1,2]}', '{"a":[2,1]}'),
    ("{broken", "{ broken"),
    ('{"a":1,"a":1}', '{"a":1}'),
    ('{"a":true}', '{"a":1}'),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_arguments_are_the_same_however_written(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_arguments_are_others(one, other):
    assert canonical(one) != canonical(other)


@given(st.text(), st.text())
def test_any_text_has_a_signature(name, arguments):
    sign = signature([Call(id="a", name=name, arguments=arguments)])
    assert sign == signature([Call(id="b", name=name, arguments=arguments)])


def test_half_a_surrogate_pair_has_a_signature():
    assert signature([Call(id="", name="\ud800", arguments="\udfff")])


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(2, 4))
def test_a_trail_is_long_enough_to_see_every_circle(turns, repeats):
    trail: tuple[str, ...] = ()
    for turn in turns:
        trail = extend_trail(trail, turn, repeats)
    assert len(trail) <= 4 * repeats
    assert is_circling(trail, repeats) == any(
        turns[-length * repeats :] == turns[-length:] * repeats and len(turns) >= length * repeats
        for length in (1, 2, 3, 4)
    )
