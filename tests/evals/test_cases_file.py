"""Files of cases, whole and broken."""

import json
import sys

import pytest

from rightcall.core.message import Reply
from rightcall.errors import UsageError
from rightcall.evals import Case, Expected, judge, load_cases, parameters
from rightcall.testing import call, reply

LINES = """
{"question": "Weather in Bern?", "tool": "get_weather", "arguments": {"city": "Bern"}}
{"id": "talk", "question": "Hi!", "tool": null}

{"question": "Both?", "tools": ["a", "b"], "system": "Be brief."}
{"question": "Any?", "one_of": ["a", "b"], "possible": {"x": [1, ""]}}
{"question": "Each?", "calls": [{"tool": "a", "arguments": {"x": 1}}, {"one_of": ["b", "c"]}]}
"""
CASES = (
    Case(
        id="1",
        question="Weather in Bern?",
        calls=(Expected(names=("get_weather",), arguments={"city": "Bern"}),),
    ),
    Case(id="talk", question="Hi!"),
    Case(
        id="3",
        question="Both?",
        calls=(Expected(names=("a",)), Expected(names=("b",))),
        system="Be brief.",
    ),
    Case(id="4", question="Any?", calls=(Expected(names=("a", "b"), possible={"x": (1, "")}),)),
    Case(
        id="5",
        question="Each?",
        calls=(Expected(names=("a",), arguments={"x": 1}), Expected(names=("b", "c"))),
    ),
)
YAML = """
- question: Weather in Bern?
  tool: get_weather
  arguments: {city: Bern}
- {id: talk, question: Hi!, tool: null}
- {question: "Both?", tools: [a, b], system: Be brief.}
- {question: "Any?", one_of: [a, b], possible: {x: [1, ""]}}
- question: Each?
  calls:
    - {tool: a, arguments: {x: 1}}
    - one_of: [b, c]
"""


def test_lines_an_array_and_yaml_say_the_same(tmp_path):
    lines, array, yaml = (tmp_path / name for name in ("c.jsonl", "c.json", "c.yaml"))
    lines.write_text(LINES)
    array.write_text(json.dumps([json.loads(line) for line in LINES.split("\n") if line]))
    yaml.write_text(YAML)
    assert load_cases(lines) == CASES
    assert load_cases(array) == CASES
    assert load_cases(yaml) == CASES


def test_what_was_said_before_is_read_as_a_vendor_writes_it(tmp_path):
    file = tmp_path / "c.jsonl"
    said = [{"role": "user", "content": "I am in Bern."}, {"role": "assistant", "content": "Nice."}]
    file.write_text(json.dumps({"question": "Weather?", "tool": "w", "history": said}))
    (found,) = load_cases(file)
    assert [message.text for message in found.messages] == ["I am in Bern.", "Nice.", "Weather?"]
    assert isinstance(found.history[1], Reply)


def test_cases_are_parameters_of_a_test(tmp_path):
    (tmp_path / "c.jsonl").write_text(LINES)
    found = parameters(tmp_path / "c.jsonl")
    assert [each.id for each in found] == ["1", "talk", "3", "4", "5"]
    assert [each.values for each in found] == [(case,) for case in CASES]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there are no cases in it"),
        ('{"question": "?"', "line 1: the text stops before"),
        ('\n{"question": "?"}', "line 2: say what is right by exactly one of tool, tools"),
        ('{"question": "?", "tool": "a", "tools": ["b"]}', "by exactly one of"),
        ('{"question": " ", "tool": "a"}', 'a case needs a "question"'),
        ('{"question": 5, "tool": "a"}', '"question" is text'),
        ('{"question": "?", "tool": "a", "argument": {}}', "did you mean 'arguments'?"),
        ('{"question": "?", "tool": null, "arguments": {}}', "no tool takes no arguments"),
        ('{"question": "?", "tool": 5}', "a tool is given by its name"),
        ('{"question": "?", "tool": "a", "arguments": [1]}', '"arguments" is an object'),
        ('{"question": "?", "tool": "a", "possible": {"x": 1}}', "x has a list of the values"),
        ('{"question": "?", "tool": "a", "possible": {}, "arguments": {}}', "not both"),
        ('{"question": "?", "tools": ["a"], "arguments": {}}', 'go into "calls"'),
        ('{"question": "?", "calls": ["a"]}', "an object with a tool"),
        ('{"question": "?", "tool": "a", "history": "Hi"}', '"history" is a list'),
        ('{"id": "x", "question": "?", "tool": "a"}\n' * 2, "two cases have the id 'x'"),
        ('"a"', "line 1: a case is an object"),
    ],
)
def test_what_is_wrong_with_a_case_is_said_with_its_place(tmp_path, text, words):
    file = tmp_path / "c.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        load_cases(file)
    assert words in str(raised.value)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{day: 2020-01-01}", "2020-01-01 is a date there; put it into quotes"),
        ("{rate: [.nan]}", "nan is a float there"),
        ("{on: 1}", "the name True is no text there"),
        ("[" * 3000, "nested too deep"),
    ],
)
def test_what_yaml_takes_for_more_than_json_has_is_refused(tmp_path, said, words):
    file = tmp_path / "c.yaml"
    file.write_text(f"- {{question: q, tool: t, arguments: {said}}}")
    with pytest.raises(UsageError, match=words):
        load_cases(file)


def test_without_pyyaml_it_is_said_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text(YAML)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match="pip install pyyaml, or write the cases as JSON Lines"):
        load_cases(tmp_path / "c.yaml")


AREA = {
    "name": "shapes.area",
    "description": "The area of a rectangle.",
    "parameters": {
        "type": "dict",
        "properties": {
            "sides": {"type": "tuple", "items": {"type": "float"}, "description": "Both."},
            "unit": {"type": "any", "optional": True},
        },
        "required": ["sides"],
    },
}


def berkeley(folder, name, *, answer=None, **row):
    question = [[{"role": "system", "content": "Be exact."}, {"role": "user", "content": "3 by 4?"}]]
    (folder / name).write_text(json.dumps({"id": "x_0", "question": question, **row}) + "\n")
    if answer is not None:
        (folder / "possible_answer").mkdir(exist_ok=True)
        truth = json.dumps({"id": "x_0", "ground_truth": answer})
        (folder / "possible_answer" / name).write_text(truth + "\n")
    return folder / name


def test_the_berkeley_sets_files_are_read_as_they_are(tmp_path):
    answer = [{"shapes.area": {"sides": [[3, 4], [4, 3]], "unit": ["m", ""]}}]
    (found,) = load_cases(berkeley(tmp_path, "BFCL_v4_simple.json", function=[AREA], answer=answer))
    (spec,) = found.tools
    assert (found.id, found.question, found.system) == ("x_0", "3 by 4?", "Be exact.")
    assert spec.name == "shapes_area"
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "sides": {"type": "array", "items": {"type": "number"}, "description": "Both."},
            "unit": {},
        },
        "required": ["sides"],
    }
    assert judge(found, reply(call("shapes_area", sides=[4.0, 3])), {spec.name}).right
    assert not judge(found, reply(call("shapes_area", sides=[4, 4])), {spec.name}).right


def test_where_the_berkeley_set_has_no_answer_nothing_or_anything_is_right(tmp_path):
    (none,) = load_cases(berkeley(tmp_path, "BFCL_v4_irrelevance.json", function=[AREA]))
    (some,) = load_cases(berkeley(tmp_path, "BFCL_v4_live_relevance.json", function=[AREA]))
    assert none.calls == ()
    assert some.calls == (Expected(names=("*",)),)


@pytest.mark.parametrize(
    ("row", "answer", "words"),
    [
        ({"function": [AREA]}, None, "no answer in possible_answer/BFCL_v4_simple.json beside it"),
        ({"involved_classes": ["Files"]}, [], "an eval runs nothing"),
        ({"function": [AREA]}, [{"a": {}, "b": {}}], "an object of one function"),
        ({"function": "area"}, [], "its functions are a list"),
    ],
)
def test_what_an_eval_cannot_ask_is_refused_with_its_id(tmp_path, row, answer, words):
    with pytest.raises(UsageError) as raised:
        load_cases(berkeley(tmp_path, "BFCL_v4_simple.json", answer=answer, **row))
    assert "x_0: " in str(raised.value)
    assert words in str(raised.value)
