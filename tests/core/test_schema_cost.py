"""Schemas and values that would keep the validator busy for hours: refused, or judged soon."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rightcall import tool as declared
from rightcall.core.jsontext import dump
from rightcall.core.parts import Call
from rightcall.core.problem import Problem, Valid
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.core.tool import Tool
from rightcall.errors import DeclarationError
from rightcall.gate.executor import run_calls

EMAIL = (
    r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
)


@contextmanager
def soon(seconds: float = 2.0) -> Iterator[None]:
    # The processor's time: what else the machine does at the moment is not the schema's doing.
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds


def doubled(levels: int, word: str = "anyOf") -> dict[str, Any]:
    """A schema that looks at its value 2 ** levels times."""
    refs = [[{"$ref": f"#/$defs/n{level + 1}"}] * 2 for level in range(levels)]
    steps: dict[str, Any] = {f"n{level}": {word: both} for level, both in enumerate(refs)}
    steps[f"n{levels}"] = {"type": "integer"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/n0"}}, "$defs": steps}


def below(levels: int) -> dict[str, Any]:
    """The same, with a step into the value at each level, and under a name of its own."""
    steps: dict[str, Any] = {
        f"n{level}": {"allOf": [{"properties": {"a": {"$ref": f"deep#/$defs/n{level + 1}"}}}] * 4}
        for level in range(levels)
    }
    return {
        "type": "object",
        "$id": "x:/deep",
        "$ref": "#/$defs/n0",
        "$defs": {**steps, f"n{levels}": {}},
    }


@pytest.mark.parametrize(
    "document",
    [doubled(24), doubled(60, "oneOf"), doubled(40, "allOf"), below(9)],
    ids=["anyOf", "oneOf", "allOf", "below"],
)
def test_a_schema_that_doubles_its_work_is_refused(document: dict[str, Any]) -> None:
    with soon(), pytest.raises(SchemaTooCostly, match=r"looks [0-9,]+ times at one value"):
        Schema(document)
    with pytest.raises(DeclarationError, match=r"can take too long to check with.* with validator="):
        _ = Tool("t", "T.", document, lambda: None).schema


def test_a_schema_that_applies_itself_to_the_same_value_is_refused() -> None:
    circle = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}},
    }
    with pytest.raises(SchemaTooCostly, match="refers in a circle"):
        Schema(circle)


def test_ordinary_schemas_are_not() -> None:
    with soon():
        Schema(doubled(6))
        Schema({"anyOf": [{"const": str(number)} for number in range(5000)]})
        tree = {"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}}
        deep: Any = {}
        for _ in range(60):
            deep = {"children": [deep]}
        assert isinstance(Schema(tree).validate(dump(deep), deep), Valid)


def test_a_recursive_union_takes_values_of_ordinary_depth_and_no_others() -> None:
    kinds = [
        {
            "properties": {"op": {"const": word}, "of": {"items": {"$ref": "#/$defs/e"}}},
            "required": ["op"],
        }
        for word in ("and", "or", "not")
    ]
    schema = Schema({"type": "object", "$ref": "#/$defs/e", "$defs": {"e": {"anyOf": kinds}}})

    def nested(levels: int, innermost: str = "not") -> Any:
        value: Any = {"op": innermost}
        for _ in range(levels):
            value = {"op": "and", "of": [value]}
        return value

    with soon():
        assert isinstance(schema.validate(dump(nested(6)), nested(6)), Valid)
        (problem,) = schema.validate(dump(nested(9, "xor")), nested(9, "xor"))
        assert "does not fit the schema" in problem.message
        (problem,) = schema.validate(dump(nested(40, "xor")), nested(40, "xor"))
        assert "nested too deep, to be checked" in problem.message


def test_a_pattern_with_look_around_does_not_freeze() -> None:
    schema = Schema({"type": "object", "properties": {"x": {"pattern": r"(?=(\w+\s?)*$)(?=.*b)x"}}})
    for text in ("aa " * 60_000, "aa " * 300):
        value = {"x": text}
        with soon():
            (problem,) = schema.validate(dump(value), value)
    assert problem.path == "$.x"


def test_a_pattern_with_look_around_is_matched_in_short_texts() -> None:
    email = {"type": "string", "pattern": EMAIL, "description": "x"}
    schema = Schema({"type": "object", "properties": {"pattern": email, "body": {"type": "string"}}})
    good = {"pattern": "ada.lovelace@example.com", "body": "x" * 100_000}
    assert isinstance(schema.validate(dump(good), good), Valid)
    (problem,) = schema.validate("", {"pattern": "ada..lovelace@example.com"})
    assert problem.path == "$.pattern"
    assert problem.message.startswith("must match the pattern ^")
    (problem,) = schema.validate("", {"pattern": "a" * 2000 + "@example.com"})
    assert problem.message.startswith("must have at most 1024 characters")
    with pytest.raises(SchemaTooCostly, match="pattern for names"):
        Schema({"patternProperties": {"^(?!x)": {}}})


@pytest.mark.parametrize(
    "items", [{"type": "integer"}, {"anyOf": [{"type": "integer"}, {"minimum": 5}]}]
)
def test_many_wrong_items_are_told_of_soon(items: dict[str, Any]) -> None:
    schema = Schema({"type": "object", "properties": {"x": {"type": "array", "items": items}}})
    value = {"x": [None if items == {"type": "integer"} else 2.5] * 200_000}
    with soon(1.0):
        found = schema.validate(dump(value), value)
    assert len(found) == 50
    assert str(found[0]).startswith("$.x[0]")


def test_one_wrong_item_far_behind_is_found() -> None:
    schema = Schema({"properties": {"x": {"items": {"type": "integer"}, "minItems": 100}}})
    value: Any = {"x": [1] * 200_000 + ["a"]}
    with soon(1.0):
        assert schema.problems(value) == (
            Problem("$.x[200000]", 'must be an integer, not a string ("a")'),
        )
        assert schema.problems({"x": [1] * 200_000}) == ()


def test_what_was_left_out_is_not_taken_for_wrong() -> None:
    items = {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}
    schema = Schema({"properties": {"x": {"items": items, "minItems": 1000, "contains": {"const": 7}}}})
    (problem,) = schema.problems({"x": [1] * 200_000})
    assert problem.message.startswith("does not fit the schema")


def test_a_long_text_is_not_copied_for_each_of_many_faults() -> None:
    schema = Schema({"properties": {"x": {"allOf": [{"maxLength": most} for most in range(5000)]}}})
    with soon(1.0):
        (problem,) = schema.problems({"x": "x" * 900_000})
    assert problem.message.startswith("must have at most 0 characters")
    schema = Schema({"required": [str(name) for name in range(5000)]})
    with soon(1.0):
        (problem,) = schema.problems({"x": "x" * 900_000})
    assert problem.message == "is required and missing"


PARAMETERS = {"type": "object", "properties": {"x": {"items": {"type": "integer"}}}}


def t(x: list[int | bool | float]) -> int:
    """T."""
    return len(x)


@pytest.mark.parametrize(
    "tool", [Tool("t", "T.", PARAMETERS, lambda x=(): x), declared(t)], ids=["schema", "types"]
)
async def test_a_call_with_many_wrong_items_is_answered_soon(tool: Tool) -> None:
    call = Call(id="1", name="t", arguments=dump({"x": ["a"] * 200_000}))
    with soon(3.0):
        (done,) = await run_calls([call], [tool])
    assert done.outcome.kind == "invalid"
    assert "$.x[0]: must be an integer" in done.result.text
    assert "$.x[19]" in done.result.text
