"""Labels follow values, choices and branches; what a generator of plans found stays found."""

import importlib.util
import sys
from pathlib import Path

import pytest

from plan.kit import evaluated
from rightcall.plan.parse import PlanProblem
from rightcall.plan.scope import ToolCall
from rightcall.plan.value import deep_taint, words_in

WORLD = {
    "look": [{"id": 1, "body": "b", "tags": ["x"]}, {"id": 2, "body": "c", "tags": []}],
    "say": None,
}

CLEAN = [
    "say(look()[0].id)",
    "say(max(look(), key=lambda r: r.id).id)",
    "say(sum([r.id for r in look()]))",
    "say(f'{len(look())} mails')",
    "xs = []\nfor r in look():\n    xs.append(r.id)\nsay(xs)",
    "n = 0\nif look()[0].body == 'b':\n    m = 1\nsay(n)",
    "say([r for r in look() if r.id > 1][0].id)",
]
TAINTED = [
    "say(look()[0].body)",
    "say(look()[0].body.upper()[0:1] + 'x')",
    "say(len(look()[0].tags))",
    "say(max(look(), key=lambda r: r.body).id)",
    "say([r.id for r in look() if r.body == 'b'])",
    "if look()[0].body == 'b':\n    say(1)",
    "n = 0\nif look()[0].body == 'b':\n    n = 1\nsay(n)",
    "n = 0\nif look()[0].body == 'never':\n    n = 1\nsay(n)",
    "for r in look():\n    if r.body == 'never':\n        break\n    say(1)",
    "for r in look():\n    say(1)\n    if r.body == 'never':\n        continue",
    "def f():\n    if look()[0].body == 'never':\n        return 1\n    return 2\nsay(f())",
    "f = (lambda: 1) if look()[0].body == 'b' else (lambda: 2)\nsay(f())",
    "say(1 if look()[0].body == 'b' else 2)",
    "say(look()[0].body == 'b' and 1)",
    "say([1, 2][len(look()[0].tags)])",
    "say({'a': 1}.get(look()[0].body, 2))",
    "d = {look()[0].body: 1}\nsay(len(d))",
    "say(extract(look()[0].body, str))",
]


def last_say(source):
    _, calls = evaluated(source, WORLD)
    return [call for call in calls if isinstance(call, ToolCall) and call.function == "say"][-1]


@pytest.mark.parametrize("source", CLEAN)
def test_what_outsiders_had_no_hand_in_is_clean(source):
    call = last_say(source)
    assert not deep_taint(call.args[0])
    assert not call.branch


@pytest.mark.parametrize("source", TAINTED)
def test_what_outsiders_had_a_hand_in_is_not(source):
    call = last_say(source)
    assert deep_taint(call.args[0]) | call.branch


def test_a_container_made_outside_a_tainted_branch_cannot_be_changed_inside_it():
    for change in ("d['k'].append(1)", "d['k'] = [1]", "xs.append(1)", "f()", "d.update({'j': []})"):
        source = (
            "d = {'k': []}\nxs = []\ndef f():\n    xs.append(1)\n"
            f"if look()[0].body == 'b':\n    {change}\nsay(len(d['k']))"
        )
        problem, _ = evaluated(source, WORLD)
        assert isinstance(problem, PlanProblem)
        assert problem.kind == "TaintError"
        assert "comprehension" in problem.reason


def test_a_container_that_outsiders_chose_cannot_be_changed_either():
    problem, _ = evaluated("a = []\nb = []\nc = a if look()[0].body == 'b' else b\nc.append(1)", WORLD)
    assert problem.kind == "TaintError"


def test_a_container_made_inside_a_tainted_branch_may_be_changed_there():
    value, _ = evaluated("if look()[0].body == 'b':\n    x = []\n    x.append(1)\nreturn x", WORLD)
    assert value.chosen


def test_a_text_knows_all_that_it_is_made_of():
    call = last_say("r = look()[0]\nsay(f'{r.id}: {r.body}')")
    assert {each.path for each in call.args[0].sources} == {"id", "body"}
    assert {each.path for each in words_in(call.args[0].sources)} == {"body"}


def test_random_plans_make_the_same_clean_calls_whatever_outsiders_say():
    path = Path(__file__).parents[2] / "bench" / "plan_leaks.py"
    spec = importlib.util.spec_from_file_location("plan_leaks", path)
    leaks = importlib.util.module_from_spec(spec)
    sys.modules["plan_leaks"] = leaks
    spec.loader.exec_module(leaks)
    found = leaks.tally(250, seed=1_000_000)
    assert found.leaks == []
    assert found.clean > 500
    assert found.calls > found.clean + 100
    assert found.ended > 75
