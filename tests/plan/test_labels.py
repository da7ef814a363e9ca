"""Labels follow values, choices and branches; what a generator of plans found stays found."""

import ast
import importlib
from pathlib import Path

import pytest

import rightcall as rc
from plan.kit import evaluated
from rightcall.core.jsontext import dump
from rightcall.core.parts import Result, Text
from rightcall.plan.model_requests import known_tools, stubs_for
from rightcall.plan.parse import PlanProblem, PlanRuntimeError
from rightcall.plan.results import value_of
from rightcall.plan.run import PlanToolCall
from rightcall.plan.value import LabelledValue, compare, deep_taint, outside, words_in

WORLD = {
    "look": [{"id": 1, "body": "b", "tags": ["x"]}, {"id": 2, "body": "c", "tags": []}],
    "mine": {"owner": "bob"},
    "say": {"id": 3},
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
    "for r in look():\n    if r.body != 'never':\n        continue\n    return 1\nsay(1)",
    "def f():\n    if look()[0].body == 'never':\n        return 1\n    return 2\nsay(f())",
    "f = (lambda: 1) if look()[0].body == 'b' else (lambda: 2)\nsay(f())",
    "say(1 if look()[0].body == 'b' else 2)",
    "say(look()[0].body == 'b' and 1)",
    "say([1, 2][len(look()[0].tags)])",
    "say({'a': 1}.get(look()[0].body, 2))",
    "d = {look()[0].body: 1}\nsay(len(d))",
    "say(extract(look()[0].body, str))",
    # A callback runs as often as outsiders gave the list items.
    "max(look()[0].tags, key=lambda t: say(1).id)",
    "min([r for r in look() if r.body == 'b'], key=lambda t: say(1).id)",
    "def rank(word):\n    say(1)\n    return 0\nsorted(look()[0].body.split(), key=rank)",
    # Members and keys that hold outsiders' words inside.
    "say(len({(look()[0].body, 1), ('b', 1)}))",
    "xs = {('b', 1)}\nxs.add((look()[0].body, 1))\nsay(len(xs))",
    "say((look()[0].body, 1) in {('b', 1): 1})",
]


def last_say(source):
    _, calls = evaluated(source, WORLD)
    return [call for call in calls if isinstance(call, PlanToolCall) and call.function == "say"][-1]


@pytest.mark.parametrize("source", CLEAN)
def test_what_outsiders_had_no_hand_in_is_clean(source):
    call = last_say(source)
    assert not deep_taint(call.args[0])
    assert not call.branch


@pytest.mark.parametrize("source", TAINTED)
def test_what_outsiders_had_a_hand_in_is_not(source):
    call = last_say(source)
    assert deep_taint(call.args[0]) | call.branch


ACCUMULATED = [
    "for r in look():\n    if r.body == {!r}:\n        xs.append(r.id)\nsay(xs)",
    "for r in look():\n    if r.body != {!r}:\n        continue\n    xs.append(r.id)\nsay(len(xs))",
    "for t in look()[0].body.split({!r}):\n    d['k'] = 1\nsay(d)",
    "for r in look():\n    if r.body == {!r}:\n        d['k'] += 1\nsay(d['k'])",
    "def f():\n    if look()[0].body == {!r}:\n        return 0\n    xs.append(1)\nf()\nsay(xs)",
    "alias = xs\nif look()[0].body == {!r}:\n    xs.append(1)\nsay(len(alias))",
    "if look()[0].body == {!r}:\n    pass\nelse:\n    d.update({{'j': 2}})\nsay(len(d))",
]


@pytest.mark.parametrize("source", ACCUMULATED)
@pytest.mark.parametrize("word", ["b", "another word"])
def test_what_a_tainted_branch_could_add_to_a_list_is_tainted_taken_or_not(source, word):
    call = last_say(f"xs = []\nd = {{'k': 0}}\n{source.format(word)}")
    assert deep_taint(call.args[0])
    assert not call.branch


def test_a_list_that_no_tainted_branch_could_change_stays_clean():
    call = last_say("xs = []\nys = []\nif look()[0].body == 'b':\n    xs.append(1)\nsay(len(ys))")
    assert not deep_taint(call.args[0])


def test_a_container_made_outside_a_tainted_branch_is_changed_inside_it_only_by_its_name():
    for change in ("d['k'].append(1)", "f()", "g(xs)", "e = xs\n    e.append(1)"):
        source = (
            "d = {'k': []}\nxs = []\ndef f():\n    xs.append(1)\ndef g(ys):\n    ys.append(1)\n"
            f"if look()[0].body == 'b':\n    {change}\nsay(len(d['k']))"
        )
        problem, _ = evaluated(source, WORLD)
        assert isinstance(problem, PlanProblem)
        assert problem.kind == "TaintError"
        assert "comprehension" in problem.reason


@pytest.mark.parametrize("call", ["sorted({}, key=rank)", "max({}, key=rank)", "min({}, key=rank)"])
def test_a_callback_that_outsiders_call_so_often_changes_nothing_outside(call):
    for items in ("look()[0].tags", "[r for r in look() if r.body == 'b']", "look()[0].body.split()"):
        source = f"hits = []\ndef rank(x):\n    hits.append(1)\n    return 0\n{call.format(items)}"
        problem, _ = evaluated(f"{source}\nsay(len(hits))", WORLD)
        assert problem.kind == "TaintError"


def test_a_callback_over_the_systems_own_list_may_change_what_it_likes():
    call = last_say("hits = []\nsorted(look(), key=lambda r: hits.append(1) or r.id)\nsay(len(hits))")
    assert not deep_taint(call.args[0])


def test_that_a_name_is_the_one_that_was_asked_for_is_its_givers_word():
    names = rc.Facts(untrusted=("title",), private=True, reach="user")
    tool = rc.tool(lambda: [{"id": "f1", "title": "report"}], name="files", effect="read", facts=names)
    of = known_tools([tool], stubs_for([tool]))["files"]
    content = (Text(dump([{"id": "f1", "title": "report", "owner": "ann"}])),)
    result = Result(call_id="1", name="files", outcome="returned", content=content)
    found = value_of(of, result, 1, {})
    (record,) = found.data.items
    title, owner = (record.data.entries[each][1] for each in ("title", "owner"))
    assert outside(compare(ast.Eq, title, LabelledValue("report")).taint)
    assert not outside(compare(ast.Eq, owner, LabelledValue("ann")).taint)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("unknown", "there is no such tool any more"),
        ("not_offered", "the turn did not offer the tool"),
    ],
)
def test_a_tool_that_cannot_be_called_says_why(outcome, reason):
    tool = rc.tool(lambda: "x", name="files", effect="read")
    of = known_tools([tool], stubs_for([tool]))["files"]
    with pytest.raises(PlanRuntimeError) as refused:
        value_of(of, Result(call_id="1", name="files", outcome=outcome, content=()), 1, {})
    assert refused.value.reason == reason


def test_a_function_has_no_text():
    # Python would write the values of its defaults.
    for text in ("str(f)", "f'{f}'", "str([f])", "f'{f:}'", "str({'k': f})"):
        problem, _ = evaluated(f"f = lambda q=look()[0].body: q\nsay({text})", WORLD)
        assert problem.kind == "TypeError"


def test_what_stops_the_rest_of_a_branch_stops_what_comes_after_the_branch():
    source = "{}    if {}:\n        if look()[0].body == 'never':\n            {}\n    say(1)\n{}"
    for head, leave, tail in (("for i in range(2):\n", "break", ""), ("def f():\n", "return 1", "f()")):
        call = last_say(source.format(head, "'o' in mine().owner", leave, tail))
        assert words_in(call.branch)


def test_a_container_that_a_second_outsider_chose_cannot_be_changed_in_the_branch_of_the_first():
    chosen = "c = a if look()[0].body == 'b' else b"
    source = f"if 'o' in mine().owner:\n    a = []\n    b = []\n    {chosen}\n    c.append(1)"
    problem, _ = evaluated(source, WORLD)
    assert problem.kind == "TaintError"


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


@pytest.mark.parametrize(
    "test",
    [
        "mine().owner == 'bob'",
        "mine().owner.lower() == 'bob'",
        "mine().owner.strip() in ['bob']",
        "f'{mine().owner}' == 'bob'",
    ],
)
def test_that_an_identity_is_a_known_one_is_the_systems_word(test):
    assert not last_say(f"if {test}:\n    say(1)").branch


@pytest.mark.parametrize(
    "test",
    [
        "mine().owner[:2] == 'bo'",
        "mine().owner[0] == 'b'",
        "mine().owner.removesuffix('x') == 'bob'",
        "mine().owner.replace('x', '') == 'bob'",
        "mine().owner.strip('x') == 'bob'",
        "mine().owner + '' == 'bob'",
        "f'{mine().owner}!' == 'bob!'",
        "f'{mine().owner:.2}' == 'bo'",
        "f'{mine().owner!r}' != 'bo'",
        "'-'.join([mine().owner]) == 'bob'",
        "str('bo' in mine().owner) == 'True'",
        "str([mine().owner]) != 'bo'",
    ],
)
def test_that_it_looks_like_one_is_theirs(test):
    assert last_say(f"if {test}:\n    say(1)").branch


def test_random_plans_make_the_same_clean_calls_whatever_outsiders_say(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    found = importlib.import_module("plan_leaks").tally(250, first=1_000_000)
    assert found.leaks == []
    assert found.clean > 500
    assert found.calls > found.clean + 100
    assert found.ended > 75
