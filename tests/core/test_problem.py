import pytest

from rightcall.core.problem import Problem, json_path


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), "$"),
        (("city",), "$.city"),
        (("items", 2, "name"), "$.items[2].name"),
        ((0, 0), "$[0][0]"),
        (("_a1",), "$._a1"),
        (("1a",), "$['1a']"),
        (("",), "$['']"),
        (("a b", "c"), "$['a b'].c"),
        (("é",), "$['é']"),
        (("$ref",), "$['$ref']"),
        (("it's",), r"$['it\'s']"),
        (('a"b\\c',), r"""$['a"b\\c']"""),
        (("a\nb\t\x00\x1f",), r"$['a\nb\t\u0000\u001f']"),
    ],
)
def test_steps_become_a_json_path(steps, path):
    assert json_path(steps) == path


def test_a_key_of_a_megabyte_is_cut_in_a_path():
    assert json_path(["k" * 100, "k" * 1_000_000, "c"]) == f"$.{'k' * 100}['{'k' * 99}…'].c"


def test_a_problem_is_a_value():
    problem = Problem("$.city", "is required and missing")
    assert {problem, Problem("$.city", "is required and missing")} == {problem}


def test_a_problem_reads_as_its_place_and_message():
    assert str(Problem("$.city", "is required and missing")) == "$.city: is required and missing"
