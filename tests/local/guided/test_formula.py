import pytest

from rightcall import builtin
from rightcall.core.tool import Spec
from rightcall.local.guided.formula import is_signs, numbers_in, written_out

(CALCULATE,) = [tool.spec for tool in builtin.default_tools() if tool.name == "calculate"]


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        ("sqrt(2)?", "sqrt(2)"),
        ("2^10", "2^10"),
        ("(12+7)*3 = ?", "(12+7)*3"),
        ("What is the value of -3 + 1,000 * 2?", "-3 + 1,000 * 2"),
        ("What is 15% of 80?", "15% of 80"),
        ("Please compute log(100, 10).", "log(100, 10)"),
        ("What's 5!", "5!"),
        ("√2 + 7²", "√2 + 7²"),
        ("17 % 5", "17 % 5"),
        ("e^2", "e^2"),
    ],
)
def test_a_question_that_is_a_formula_is_taken_as_it_is_written(question, formula):
    assert written_out(question, CALCULATE) == f'{{"expression":"{formula}"}}'


@pytest.mark.parametrize(
    "question",
    [
        *("12", "pi", "(3 + 4", "3 4", "3 + + * 4", "20% of", "crash(2)", "rm -rf /", "2026-11-15"),
        *("What is 12/24/2026?", "Is 7 * 8 more than 50?", "Hello!", "", "of 3", "3)", "Is 9/11 sad?"),
    ],
)
def test_what_is_no_formula_is_left_to_the_model(question):
    assert written_out(question, CALCULATE) is None


def test_a_tool_that_is_not_shown_with_formulas_gets_none():
    one = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    for parameters, examples in (
        (one, ({"q": "cheap pens"},)),
        (one, ()),
        ({**one, "required": []}, ({"q": "1 + 1"},)),
        ({**one, "properties": {"q": {"type": "integer"}}}, ({"q": 1},)),
    ):
        spec = Spec(name="find", description="Find.", parameters=parameters, examples=examples)
        assert written_out("1 + 1", spec) is None


def test_sums_and_numbers_are_seen_in_a_text():
    assert (is_signs("99/3?"), is_signs("4"), is_signs("a/b")) == (True, False, False)
    assert numbers_in("1,000 and 2.50, 07") == {"1000", "2.5", "7"}
