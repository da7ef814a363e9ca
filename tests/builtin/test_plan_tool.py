"""A plan that a model keeps in the transcript."""

import pytest

import rightcall as rc
from rightcall.builtin.plan_tool import PlanStep, plan, plan_in
from rightcall.core.jsontext import dump
from rightcall.testing import ScriptedModel, call, reply

FIRST = [{"text": "Look", "status": "in_progress"}, {"text": "Leap", "status": "pending"}]
SECOND = [{"text": "Look", "status": "done"}, {"text": "Leap\nfar", "status": "in_progress"}]


async def keep(steps):
    (done,) = await rc.run_calls(
        [rc.Call(id="c", name="plan", arguments=dump({"steps": steps}))], [plan()]
    )
    return done.outcome


async def test_a_plan_is_shown_as_it_stands():
    assert await keep(SECOND) == rc.gate.outcome.Returned("1. [x] Look\n2. [>] Leap far\n1 of 2 done.")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([], "A plan has 1 to 50 steps, not 0."),
        ([{"text": "x", "status": "pending"}] * 51, "A plan has 1 to 50 steps, not 51."),
        ([*FIRST, {"text": " ", "status": "done"}], "Step 3 must have 1 to 500 characters."),
        ([{"text": "x" * 501, "status": "done"}], "Step 1 must have 1 to 500 characters."),
        ([FIRST[0], *SECOND], "Only one step at a time is in_progress; here are 2: 1, 3."),
    ],
)
async def test_a_plan_that_is_none_is_refused_in_words(steps, words):
    assert await keep(steps) == rc.gate.outcome.Failed(words)


@pytest.mark.parametrize("steps", [[{"text": "x"}], [{"text": "x", "status": "begun"}], ["x"], "x"])
async def test_steps_have_a_text_and_a_status(steps):
    assert (await keep(steps)).kind == "invalid"


async def test_the_last_plan_of_a_transcript_stands():
    bad = [{"text": "Leap", "status": "in_progress"}] * 2
    turns = [reply(call("plan", steps=steps)) for steps in (FIRST, SECOND, bad)]
    result = await rc.Agent(ScriptedModel([*turns, "Done."]), [plan()]).run("Go.")
    assert [each.outcome for each in result.calls] == ["returned", "returned", "failed"]
    assert plan_in(result.transcript) == (PlanStep("Look", "done"), PlanStep("Leap\nfar", "in_progress"))
    assert plan_in(result.transcript, name="todo") == ()
    assert plan_in(result.transcript[:1]) == ()


def test_a_plan_touches_nothing():
    tool = plan(name="todo")
    assert (tool.name, tool.effect) == ("todo", "pure")
    assert tool.facts == rc.Facts(untrusted=False, private=False, reach="nothing", targets=())
