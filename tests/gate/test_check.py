"""The gate: one call's text into a checked call, or the outcome that says exactly why not."""

import json
import time

import pytest
from pydantic import BaseModel, field_validator

import rightcall as rc
from rightcall.core.outcome import Failed, Invalid, Truncated, UnknownTool
from rightcall.core.problem import Problem
from rightcall.gate.call_check import check


@rc.tool
def search(query: str, limit: int = 10) -> str:
    """Search the web."""
    return f"{query} {limit}"


@rc.tool
def ping() -> str:
    """Answer."""
    return "pong"


RAW = rc.Tool(
    "raw_search",
    "Search, from a raw schema.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


class Order(BaseModel):
    """An order to fill in."""

    item: str
    amount: int = 1


class Touchy(BaseModel):
    city: str

    @field_validator("city")
    @classmethod
    def known(cls, value: str) -> str:
        return {"Paris": "Paris"}[value]


TOOLS = rc.Toolbox(search, ping, RAW, Order, rc.tool(Touchy, name="touchy"))
NAMES = ("search", "ping", "raw_search", "Order", "touchy")


def call(name: str, arguments: str = "", **more) -> rc.Call:
    return rc.Call(id="1", name=name, arguments=arguments, **more)


def problems(name: str, arguments: str) -> list[str]:
    outcome = check(call(name, arguments), TOOLS)
    assert isinstance(outcome, Invalid), outcome
    return [str(problem) for problem in outcome.problems]


@pytest.mark.parametrize(
    ("name", "arguments", "bound"),
    [
        pytest.param("search", '{"query": "x"}', {"query": "x", "limit": 10}, id="typed"),
        pytest.param("raw_search", '{"query": "x"}', {"query": "x"}, id="raw"),
        pytest.param("Order", '{"item": "tea"}', Order(item="tea"), id="model"),
    ],
)
def test_a_good_call_passes_with_its_tool_its_json_and_its_bound_arguments(name, arguments, bound):
    asked = call(name, arguments)
    checked = check(asked, TOOLS)
    assert isinstance(checked, rc.gate.CheckedCall)
    assert (checked.call, checked.tool, checked.arguments, checked.bound, checked.repairs) == (
        asked,
        TOOLS[name],
        json.loads(arguments),
        bound,
        (),
    )


def test_the_public_gate_takes_functions_and_lists_of_them():
    checked = rc.gate.check(call("search", '{"query": "x"}'), [[search], ping])
    assert isinstance(checked, rc.gate.CheckedCall)
    assert checked.bound == {"query": "x", "limit": 10}


def test_the_raw_text_is_kept_to_the_letter():
    text = ' {"query" :"\\u0078", "limit": 2.0 } '
    checked = check(call("search", text), TOOLS)
    assert isinstance(checked, rc.gate.CheckedCall)
    assert checked.call.arguments == text
    assert checked.bound == {"query": "x", "limit": 2}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        pytest.param("serach", ("search",), id="typo"),
        pytest.param("SEARCH", ("search", "raw_search"), id="wrong-case"),
        pytest.param("raw-search", ("raw_search", "search"), id="dash-for-underscore"),
        pytest.param("functions.search", ("search", "raw_search"), id="namespace-dot"),
        pytest.param("default_api:search", ("search", "raw_search"), id="namespace-colon"),
        pytest.param("functions.pnig", ("ping",), id="namespace-and-typo"),
        pytest.param("order", ("Order",), id="lower-case-of-a-model"),
        pytest.param("frobnicate", (), id="nothing-like-it"),
        pytest.param("", (), id="empty"),
        pytest.param("\ud800", (), id="half-a-surrogate-pair"),
        pytest.param("x" * 1_000_000, (), id="a-megabyte"),
    ],
)
def test_an_unknown_tool_gets_the_nearest_names_and_what_there_is(name, nearest):
    assert check(call(name), TOOLS) == UnknownTool(name, nearest, NAMES)


def test_at_most_three_names_are_near():
    many = rc.Toolbox([rc.Tool(f"search_{letter}", "") for letter in "abcdef"])
    outcome = check(call("search_x"), many)
    assert isinstance(outcome, UnknownTool)
    assert len(outcome.nearest) == 3


def test_of_many_tools_the_ten_nearest_are_told_and_found_in_a_moment():
    names = [f"{verb}_{thing}_{n}" for n in range(25) for verb in ("get", "set") for thing in NOUNS]
    many = rc.Toolbox([rc.Tool(name, "") for name in names])
    start = time.process_time()
    outcome = check(call("functions.get_invoice_7"), many)
    took = time.process_time() - start
    assert isinstance(outcome, UnknownTool)
    assert (outcome.nearest[0], len(outcome.available)) == ("get_invoice_7", 500)
    assert (len(outcome.close), "set_invoice_7" in outcome.close) == (10, True)
    assert took < 0.016


def test_without_any_tool_every_name_is_unknown():
    assert check(call("search"), rc.Toolbox()) == UnknownTool("search", (), ())


NOUNS = ("order", "invoice", "customer", "ticket", "file", "page", "mail", "event", "user", "note")

JSON_PROBLEMS = [
    pytest.param("{", "the text stops before the JSON is complete", id="cut-off"),
    pytest.param('{"query": "x"', "the text stops before the JSON is complete", id="no-brace"),
    pytest.param('{"query": "x', "the text stops before the JSON is complete", id="in-a-string"),
    pytest.param('{"query": NaN}', "NaN is not a JSON number", id="nan"),
    pytest.param('{"query": -Infinity}', "-Infinity is not a JSON number", id="infinity"),
    pytest.param(
        '{"query": "a", "query": "b"}', 'the key "query" appears twice in one object', id="duplicate"
    ),
    pytest.param(
        '{"query": {"a": 1, "\\u0061": 2}}',
        'the key "a" appears twice in one object',
        id="nested-duplicate-behind-an-escape",
    ),
    pytest.param('{"query": "x"} {}', 'extra data at character 15, near "{}"', id="trailing"),
    pytest.param(
        "{'query': 'x'}",
        "expecting property name enclosed in double quotes at character 1, near \"'query': 'x'}\"",
        id="python-dict",
    ),
    pytest.param('{"query": 1e999}', "a number is too large to be held exactly", id="huge-number"),
    pytest.param('{"query": "\ud800"}', "half of a surrogate pair at character 11", id="surrogate"),
    pytest.param(
        '{"query": "\\ud800"}', "half of a surrogate pair in a \\u escape", id="escaped-surrogate"
    ),
    pytest.param(
        '{"query": ' + "[" * 100 + "]" * 100 + "}", "nested more than 64 levels deep", id="deep"
    ),
    pytest.param('{"query": ' + "[" * 100_000, "nested more than 64 levels deep", id="bottomless"),
]


@pytest.mark.parametrize("name", ["search", "raw_search", "Order"])
@pytest.mark.parametrize(("arguments", "words"), JSON_PROBLEMS)
def test_text_that_is_not_sound_json_is_invalid_and_says_why(name, arguments, words):
    assert check(call(name, arguments), TOOLS) == Invalid((Problem("$", f"not valid JSON: {words}"),))


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("[]", "an array"),
        ("null", "null"),
        ('"{}"', "a string"),
        ("1", "an integer"),
        ("1.5", "a number"),
        ("true", "a boolean"),
    ],
)
def test_arguments_that_are_not_an_object_are_invalid(arguments, kind):
    words = f"the arguments must be one JSON object, not {kind}"
    assert check(call("search", arguments), TOOLS) == Invalid((Problem("$", words),))


def test_arguments_over_the_limit_are_refused_unread():
    tool = rc.tool(search, limits=rc.Limits(max_arguments_bytes=20))
    fits, over = '{"query": "0123456"}', '{"query": "01234é"}!'
    assert (len(fits), len(over), len(over.encode())) == (20, 20, 21)
    assert isinstance(rc.gate.check(call("search", fits), tool), rc.gate.CheckedCall)
    words = "21 bytes of arguments are too many; at most 20"
    assert rc.gate.check(call("search", over), tool) == Invalid((Problem("$", words),))


def test_a_megabyte_of_arguments_is_one_byte_too_many_by_default():
    text = json.dumps({"query": "x" * (1024 * 1024 - 13)})
    assert isinstance(check(call("search", text), TOOLS), rc.gate.CheckedCall)
    assert problems("search", text + " ") == [
        "$: 1,048,577 bytes of arguments are too many; at most 1,048,576"
    ]


@pytest.mark.parametrize("nothing", ["", " ", "\n\t ", "\u00a0"])
def test_no_arguments_at_all_are_an_empty_object_where_the_schema_takes_one(nothing):
    checked = check(call("ping", nothing), TOOLS)
    assert isinstance(checked, rc.gate.CheckedCall)
    assert (checked.arguments, checked.bound, checked.call.arguments) == ({}, {}, nothing)


@pytest.mark.parametrize("name", ["search", "raw_search"])
@pytest.mark.parametrize("nothing", ["", "  "])
def test_no_arguments_at_all_are_a_problem_where_something_is_required(name, nothing):
    assert problems(name, nothing) == ["$.query: is required and missing"]


@pytest.mark.parametrize("arguments", ['{"query": "x"}', '{"query": "x', ""])
@pytest.mark.parametrize("name", ["search", "nosuch"])
def test_a_call_that_was_cut_off_is_never_even_looked_at(name, arguments):
    assert check(call(name, arguments, truncated=True), TOOLS) == Truncated()


@pytest.mark.parametrize("name", ["search", "raw_search"])
def test_every_problem_is_reported_at_once_with_its_path(name):
    assert sorted(problems(name, '{"query": 1, "limit": "ten", "lmit": 3}')) == [
        '$.limit: must be an integer, not a string ("ten")',
        '$.lmit: is not a parameter; did you mean "limit"?',
        "$.query: must be a string, not an integer (1)",
    ]


def test_a_validator_that_breaks_is_a_failure_whose_traceback_stays_out_of_the_words():
    outcome = check(call("touchy", '{"city": "Atlantis"}'), TOOLS)
    assert isinstance(outcome, Failed)
    assert (outcome.message, outcome.retryable) == ("KeyError: 'Atlantis'", False)
    assert "KeyError: 'Atlantis'" in outcome.error
    assert isinstance(check(call("touchy", '{"city": "Paris"}'), TOOLS), rc.gate.CheckedCall)


def test_a_validator_may_not_swallow_the_end_of_the_process():
    class Ends(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def end(cls, value: int) -> int:
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        rc.gate.check(call("Ends", '{"x": 1}'), Ends)


def test_checking_runs_nothing():
    ran = []

    @rc.tool
    def act(x: int) -> None:
        ran.append(x)

    assert isinstance(rc.gate.check(call("act", '{"x": 1}'), act), rc.gate.CheckedCall)
    assert ran == []
