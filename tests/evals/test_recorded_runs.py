"""Recorded runs, judged by checks."""

import pytest

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.evals import check_runs, checks, trajectories, trajectory
from rightcall.evals.recorded_runs import RecordedCall, Trajectory, check_lines
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
def find(word: str) -> str:
    """Find an order."""
    return f"order 7 of {word}"


@rc.tool
def cancel(order: int) -> str:
    """Cancel an order."""
    if order != 7:
        raise rc.ToolFailure("no such order")
    return "cancelled"


async def recorded(*script, run: str, journal) -> None:
    agent = rc.Agent(ScriptedModel(list(script)), [find, cancel], journal=journal)
    await agent.run("Cancel my tea.", run=run)


@pytest.fixture
async def journal():
    kept = rc.record.MemoryJournal()
    await recorded(
        reply(call("find", word="tea")),
        reply(call("cancel", order=7)),
        "It is Cancelled.",
        run="good",
        journal=kept,
    )
    await recorded(reply(call("cancel", order=8)), "Sorry.", run="bad", journal=kept)
    return kept


async def test_a_run_is_read_as_the_way_it_took(journal):
    found = await trajectory(journal, "good")
    assert [(each.name, each.arguments, each.outcome, each.result) for each in found.calls] == [
        ("find", {"word": "tea"}, "returned", "order 7 of tea"),
        ("cancel", {"order": 7}, "returned", "cancelled"),
    ]
    assert (found.question, found.text, found.stop) == ("Cancel my tea.", "It is Cancelled.", "end")
    assert (found.turns, found.usage.tokens) == (3, 45)
    with pytest.raises(UsageError, match="holds no run 'nil'"):
        await trajectory(journal, "nil")


async def test_checks_say_which_runs_went_wrong(journal):
    def first_call_looks(run: Trajectory) -> bool:
        return run.calls[0].name == "find" and run.calls[1].arguments["order"] == 7

    found = await trajectories(journal)
    said = check_runs(found, [checks.calls_in_order("find", "cancel"), first_call_looks])
    assert "\n".join(check_lines(said)) == (
        "calls in order find, cancel: 1/2   50%  [9%, 91%]\n"
        "  bad: cancel; end\n"
        "first_call_looks: 1/2   50%  [9%, 91%]\n"
        "  bad: cancel; end"
    )


def run_of(*names: str, outcome: str = "returned", **more) -> Trajectory:
    made = tuple(RecordedCall(name=name, arguments={}, outcome=outcome) for name in names)
    given = {"run": "r", "question": "", "text": "Paris is SUNNY", "stop": "end", **more}
    return Trajectory(calls=made, **given)


@pytest.mark.parametrize(
    ("check", "run", "right"),
    [
        (checks.ended(), run_of(), True),
        (checks.ended(), run_of(stop="paused"), False),
        (checks.says("sunny", "paris"), run_of(), True),
        (checks.says("rain"), run_of(), False),
        (checks.calls("a"), run_of("b", "a"), True),
        (checks.calls("a"), run_of("a", outcome="failed"), False),
        (checks.calls_only("a"), run_of("a", "a"), True),
        (checks.calls_only("a"), run_of("a", "b"), False),
        (checks.calls_in_order("a", "b"), run_of("a", "c", "b"), True),
        (checks.calls_in_order("a", "b"), run_of("b", "a"), False),
        (checks.at_most(calls=1, turns=0, tokens=0, seconds=0), run_of("a"), True),
        (checks.at_most(calls=1), run_of("a", "b"), False),
        (checks.at_most(cost=1), run_of(), False),
        (checks.at_most(cost=1), run_of(usage=rc.models.Usage(cost=0.5)), True),
    ],
)
def test_the_checks_that_ship(check, run, right):
    assert check(run) is right


def test_a_check_that_raises_says_no_and_why():
    (said,) = check_runs([run_of()], [lambda run: run.calls[5].name == "a"])
    assert (said.passed.right, said.failing[0].error) == (0, "IndexError: tuple index out of range")


def test_a_limit_that_is_none_is_refused():
    with pytest.raises(UsageError, match=r"at_most knows calls, .*; not dollars"):
        checks.at_most(dollars=1)


async def test_calls_of_an_agent_inside_are_part_of_the_way():
    journal = rc.record.MemoryJournal()
    inner = rc.Agent(ScriptedModel([reply(call("find", word="tea")), "Order 7."]), [find])
    outer = rc.Agent(
        ScriptedModel([reply(call("clerk", task="Find the tea.")), "It is order 7."]),
        [inner.as_tool(name="clerk", description="Knows the orders.")],
        journal=journal,
    )
    await outer.run("Which order?", run="r")
    found = await trajectory(journal, "r")
    assert sorted((each.name, bool(each.inside)) for each in found.calls) == [
        ("clerk", False),
        ("find", True),
    ]
    assert found.usage.tokens == 60
