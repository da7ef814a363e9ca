"""What a reply is worth: the choice and the arguments apart."""

import time

import pytest

from rightcall.core.jsontext import dump
from rightcall.core.message import Reply
from rightcall.evals import Case, Expected, judge
from rightcall.testing import call, reply

OFFERED = {"a", "b", "c"}


def case(*calls: Expected) -> Case:
    return Case(id="1", question="?", calls=calls)


def expect(*names: str, **more) -> Expected:
    return Expected(names=names, **more)


@pytest.mark.parametrize(
    ("expected", "said", "choice", "arguments"),
    [
        ([], reply("Hello."), True, None),
        ([], reply(call("a")), False, None),
        ([expect("a")], reply("Hello."), False, None),
        ([expect("a")], reply(call("a", x=1)), True, None),
        ([expect("a")], reply(call("a"), call("a")), False, None),
        ([expect("a", "b")], reply(call("b")), True, None),
        ([expect("*")], reply(call("c")), True, None),
        ([expect("a"), expect("b")], reply(call("b"), call("a")), True, None),
        ([expect("a"), expect("b")], reply(call("a")), False, None),
        ([expect("a", arguments={"x": 2})], reply(call("a", x=2.0)), True, True),
        ([expect("a", arguments={"x": 1})], reply(call("a", x=True)), True, False),
        ([expect("a", arguments={"x": "Paris"})], reply(call("a", x="paris")), True, False),
        ([expect("a", arguments={"x": 1})], reply(call("a", x=1, y=2)), True, False),
        ([expect("a", arguments={})], reply(call("a", "")), True, True),
        ([expect("a", arguments={})], reply(call("a", '{"x":')), True, False),
        ([expect("a", arguments={})], reply(call("a", "[]")), True, False),
        ([expect("a", arguments={"x": 1})], reply(call("b", x=1)), False, None),
    ],
)
def test_choice_and_arguments_are_judged_apart(expected, said, choice, arguments):
    verdict = judge(case(*expected), said, OFFERED)
    assert (verdict.choice, verdict.arguments, verdict.invented) == (choice, arguments, ())


@pytest.mark.parametrize(
    ("possible", "given", "right"),
    [
        ({"unit": ("units", "")}, {}, True),
        ({"unit": ("units",)}, {}, False),
        ({"unit": ("units", "")}, {"unit": "UNITS."}, True),
        ({"when": ("April 1, 2024",)}, {"when": "april 1 2024"}, True),
        ({"x": (1.5, 2)}, {"x": 2.0}, True),
        ({"x": (1,)}, {"x": "1"}, False),
        ({"x": (1,)}, {"y": 1}, False),
        ({"of": (["a", "B"],)}, {"of": ["A", "b"]}, True),
        ({"of": (["a", "b"],)}, {"of": ["b", "a"]}, False),
        ({"o": ({"k": [1, 2], "m": ["x", ""]},)}, {"o": {"k": 2}}, True),
        ({"o": ({"k": [1, 2]},)}, {"o": {"k": 3}}, False),
        ({"o": ({"k": {"deep": 1}},)}, {"o": {"k": {"deep": 1}}}, True),
        ({"l": ([{"k": [1]}, {"k": [2, 3]}],)}, {"l": [{"k": 1}, {"k": 3}]}, True),
    ],
)
def test_possible_answers_are_taken_as_the_berkeley_set_takes_them(possible, given, right):
    said = reply(call("a", dump(given)))
    assert judge(case(expect("a", possible=possible)), said, OFFERED).arguments is right


def test_two_calls_of_one_tool_may_come_in_any_order():
    wanted = case(expect("a", arguments={"x": 1}), expect("a", possible={"x": (1, 2)}))
    assert judge(wanted, reply(call("a", x=2), call("a", x=1)), OFFERED).arguments is True
    assert judge(wanted, reply(call("a", x=2), call("a", x=2)), OFFERED).arguments is False


def test_many_calls_that_do_not_fit_are_judged_at_once():
    wanted = case(*[expect("a", arguments={"x": 0}) for _ in range(20)])
    calls = [call("a", x=0) for _ in range(19)]
    start = time.process_time()
    assert judge(wanted, reply(*calls, call("a", x=1)), OFFERED).arguments is False
    assert time.process_time() - start < 1


def test_names_that_nobody_offered_are_invented():
    verdict = judge(case(expect("a")), reply(call("weather"), call("weather")), OFFERED)
    assert verdict.invented == ("weather",)
    assert (verdict.expected, verdict.called) == ("a", "weather+weather")
    assert judge(case(), Reply(()), OFFERED).called == "none"
