from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import rightcall as rc
from rightcall.core.problem import Problem, Valid
from rightcall.errors import DeclarationError, UsageError

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPTIONAL = {"type": "object", "properties": {"city": {"type": "string"}}}


def refused(declare: Callable[[], object]) -> tuple[str, str | None, str]:
    with pytest.raises(DeclarationError) as caught:
        declare()
    error = caught.value
    return error.tool, error.where, f"{error.reason} {error.fix}".strip()


def verdict(tool: rc.Tool, value: dict[str, Any]) -> Any:
    found = tool.validate(msgspec.json.encode(value).decode(), value)
    return found.bound if isinstance(found, Valid) else found


@pytest.mark.parametrize("name", ["a", "_", "A1_-", "get_weather", "a" * 64])
def test_a_name_every_vendor_takes_is_accepted(name):
    assert rc.Tool(name, "").name == name


@pytest.mark.parametrize("name", ["", "1a", "-a", "a.b", "a b", "é", "a\n", "a" * 65])
def test_a_name_that_some_vendor_refuses_is_refused(name):
    rule = "the name must be 1 to 64 letters, digits, _ or -, and not begin with a digit or -."
    words = f'{rule} Give it another with name="…".'
    assert refused(lambda: rc.Tool(name, "")) == (name, "name", words)


TYPES = "string, number, integer, boolean, object, array and null"
BAD = "not a valid JSON Schema: "
BAD_PARAMETERS = {
    "type word": (
        {"type": "object", "properties": {"a": {"type": "strin"}}},
        "$.properties.a.type",
        f'{BAD}"strin" is not a type; there is {TYPES}.',
    ),
    "missing definition": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        "$.properties.a['$ref']",
        f'{BAD}"#/$defs/A" refers to nothing.',
    ),
    "remote definition": (
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}},
        "$.properties.a['$ref']",
        f'{BAD}"https://example.com/a.json" refers to nothing.',
    ),
    "regex": (
        {"type": "object", "properties": {"a": {"pattern": "["}}},
        "$.properties.a.pattern",
        f'{BAD}"[" is not a "regex".',
    ),
    "properties": (
        {"type": "object", "properties": ["a"]},
        "$.properties",
        f'{BAD}["a"] is not of type "object".',
    ),
    "required": (
        {"type": "object", "required": "a"},
        "$.required",
        f'{BAD}"a" is not of type "array".',
    ),
    "deep": (
        {"type": "object", "properties": {"a": {"items": {"anyOf": [{"minimum": "1"}]}}}},
        "$.properties.a.items.anyOf[0].minimum",
        f'{BAD}"1" is not of type "number".',
    ),
}


@pytest.mark.parametrize(("parameters", "path", "words"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_a_bad_schema_is_refused_with_its_path(parameters, path, words):
    assert refused(lambda: rc.Tool("t", "", parameters)) == ("t", f"parameters at {path}", words)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"properties": {}}, {"type": "array"}, {"type": ["object", "null"]}, [], True, None],
    ids=str,
)
def test_arguments_that_are_not_an_object_are_refused(parameters):
    assert refused(lambda: rc.Tool("t", "", parameters)) == (
        "t",
        "parameters at $.type",
        'a tool\'s arguments are an object. Write {"type": "object", "properties": {…}}.',
    )


def test_a_reference_may_name_a_resource_that_was_given():
    tool = rc.Tool(
        "t",
        "",
        {"type": "object", "properties": {"size": {"$ref": "urn:example:size"}}},
        resources={"urn:example:size": {"enum": ["S", "M"]}},
    )
    assert verdict(tool, {"size": "L"}) == (Problem("$.size", 'must be one of "S", "M"; got "L"'),)


def test_formats_are_notes_unless_demanded():
    dated = {"type": "object", "properties": {"day": {"format": "date"}}}
    assert verdict(rc.Tool("t", "", dated), {"day": "soon"}) == {"day": "soon"}
    assert verdict(rc.Tool("t", "", dated, formats=True), {"day": "soon"}) == (
        Problem("$.day", 'must be a valid date; got "soon"'),
    )


LACKS_CITY = "the handler has no parameter 'city', which the schema offers. Add it, or **arguments."
NEEDS = (
    "the handler needs '{}', which the schema does not require. "
    "Give it a default, or list it under required."
)
HANDLERS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "lacks a parameter": (lambda town: town, CITY, LACKS_CITY),
    "lacks it by name": (lambda *city: city, CITY, LACKS_CITY),
    "needs an optional one": (lambda city: city, OPTIONAL, NEEDS.format("city")),
    "needs one not offered": (lambda city, unit: (city, unit), CITY, NEEDS.format("unit")),
    "needs one beside others": (lambda unit, **others: (unit, others), CITY, NEEDS.format("unit")),
    "not callable": ("get_weather", CITY, "the handler is not callable."),
}


@pytest.mark.parametrize(("handler", "parameters", "words"), HANDLERS.values(), ids=HANDLERS)
def test_a_handler_that_does_not_fit_the_schema_is_refused(handler, parameters, words):
    assert refused(lambda: rc.Tool("t", "", parameters, handler)) == ("t", "handler", words)


def takes_context(city, context: rc.Context):
    return city, context


@pytest.mark.parametrize(
    ("handler", "parameters"),
    [
        (lambda city: city, CITY),
        (lambda city="Paris": city, OPTIONAL),
        (lambda city, unit="celsius": (city, unit), CITY),
        (lambda **arguments: arguments, CITY),
        (lambda city, **arguments: (city, arguments), CITY),
        (lambda city, *rest: (city, rest), CITY),
        (takes_context, CITY),
        (dict, CITY),
    ],
    ids=["same", "default", "more", "any", "some and any", "positions", "context", "no signature"],
)
def test_a_handler_that_fits_the_schema_is_accepted(handler, parameters):
    tool = rc.Tool("t", "", parameters, handler)
    assert tool.invocation is not None
    assert tool.invocation.function is handler


def test_a_handler_whose_signature_python_cannot_tell_is_still_called():
    tool = rc.Tool("t", "", CITY, dict)
    assert tool.invocation is not None
    assert not tool.invocation.is_async
    assert tool.invocation.call({"city": "Paris"}, None) == {"city": "Paris"}


def test_arguments_that_the_handler_does_not_take_are_refused():
    tool = rc.Tool("t", "", CITY, lambda city: city)
    assert verdict(tool, {"city": "Paris"}) == {"city": "Paris"}
    assert verdict(tool, {"city": "Paris", "citi": 1, "zzz": 2}) == (
        Problem("$.citi", 'is not a parameter; did you mean "city"?'),
        Problem("$.zzz", 'is not a parameter; there is "city"'),
    )


@pytest.mark.parametrize(
    "handler", [lambda **arguments: arguments, None], ids=["takes any", "no handler"]
)
def test_without_such_a_handler_the_schema_alone_decides(handler):
    tool = rc.Tool("t", "", CITY, handler)
    assert verdict(tool, {"city": "Paris", "unit": 1}) == {"city": "Paris", "unit": 1}
    assert verdict(tool, {}) == (Problem("$.city", "is required and missing"),)


def test_without_parameters_a_tool_takes_no_arguments():
    tool = rc.Tool("now", "The time.", handler=lambda: "noon")
    assert tool.parameters == {"type": "object", "properties": {}}
    assert verdict(tool, {}) == {}
    assert verdict(tool, {"zone": 1}) == (Problem("$.zone", "is not a parameter; leave it out"),)


EXAMPLES: dict[str, tuple[Any, str, str]] = {
    "wrong type": (
        [{"city": "Rome"}, {"city": 1}],
        "examples[1]",
        "the example does not fit the schema: $.city: must be a string, not an integer (1).",
    ),
    "all problems": (
        [{"c": 1, "d": 2}],
        "examples[0]",
        "the example does not fit the schema: $.city: is required and missing.",
    ),
    "unknown argument": (
        [{"city": "Rome", "unit": "c"}],
        "examples[0]",
        'the example does not fit the schema: $.unit: is not a parameter; there is "city".',
    ),
    "not an object": (["Rome"], "examples[0]", "an example is an object of arguments, not a string."),
    "not a list": (
        {"city": "Rome"},
        "examples",
        "examples are a list of objects. Write examples=[{…}].",
    ),
}


@pytest.mark.parametrize(("examples", "where", "words"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_that_would_not_be_accepted_is_refused(examples, where, words):
    assert refused(lambda: rc.Tool("t", "", CITY, lambda city: city, examples=examples)) == (
        "t",
        where,
        words,
    )


def test_the_spec_is_what_the_model_is_told():
    tool = rc.Tool(
        "weather",
        "The weather in a city.",
        CITY,
        lambda city: city,
        short="Weather",
        examples=[{"city": "Rome"}],
        approval=True,
    )
    assert tool.spec == rc.tools.Spec(
        name="weather",
        description="The weather in a city.",
        parameters=CITY,
        short="Weather",
        examples=({"city": "Rome"},),
    )


@pytest.mark.parametrize("targets", [None, (), ("city",)])
def test_targets_are_parameters(targets):
    tool = rc.Tool("t", "", CITY, facts=rc.Facts(targets=targets))
    assert tool.facts.targets == targets


def test_a_target_that_is_no_parameter_is_refused():
    assert refused(lambda: rc.Tool("t", "", CITY, facts=rc.Facts(targets=("city", "account")))) == (
        "t",
        "facts.targets",
        "there is no parameter 'account'.",
    )


@pytest.mark.parametrize(
    ("options", "where", "words"),
    [
        (
            {"effect": "readonly"},
            "effect",
            "'readonly' is not one of pure, read, idempotent, write.",
        ),
        (
            {"facts": replace(rc.Facts(), reach="world")},
            "facts.reach",
            "'world' is not one of nothing, user, outside.",
        ),
    ],
)
def test_a_word_that_decides_safety_cannot_be_misspelled(options, where, words):
    assert refused(lambda: rc.Tool("t", "", CITY, **options)) == ("t", where, words)


def test_every_tool_has_limits_and_the_cautious_words_from_birth():
    tool = rc.Tool("t", "")
    assert tool.limits == rc.Limits(
        timeout=60,
        retries=0,
        backoff=0.5,
        rate=None,
        concurrency=None,
        max_output_bytes=65_536,
        max_media_bytes=5_242_880,
        max_arguments_bytes=1_048_576,
    )
    assert (tool.effect, tool.approval, tool.serial, tool.repair) == ("write", False, False, False)
    assert tool.facts == rc.Facts(untrusted=None, private=None, reach=None, targets=None)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"timeout": 0}, "timeout must be more than 0, not 0"),
        ({"timeout": float("nan")}, "timeout must be more than 0, not nan"),
        ({"concurrency": 0}, "concurrency must be more than 0, not 0"),
        ({"max_output_bytes": -1}, "max_output_bytes must be more than 0, not -1"),
        ({"max_arguments_bytes": 0}, "max_arguments_bytes must be more than 0, not 0"),
        ({"retries": -1}, "retries must not be negative"),
        ({"backoff": -0.1}, "backoff must not be negative"),
        ({"max_media_bytes": -1}, "max_media_bytes must not be negative"),
        ({"rate": (0, 60)}, "rate must be (calls, seconds), each more than 0"),
        ({"rate": (5, 0)}, "rate must be (calls, seconds), each more than 0"),
    ],
    ids=str,
)
def test_limits_that_make_no_sense_are_refused(limits, words):
    with pytest.raises(UsageError, match="limits: ") as caught:
        rc.Limits(**limits)
    assert str(caught.value) == f"limits: {words}"


def test_limits_may_be_as_tight_as_they_can():
    tight = rc.Limits(
        timeout=0.1,
        retries=0,
        backoff=0,
        rate=(1, 0.1),
        concurrency=1,
        max_output_bytes=1,
        max_media_bytes=0,
        max_arguments_bytes=1,
    )
    assert rc.Tool("t", "", limits=tight).limits == tight


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (rc.Tool("t", ""), "name"),
        (rc.Tool("t", "").spec, "name"),
        (rc.Limits(), "timeout"),
        (rc.Facts(), "reach"),
    ],
    ids=["Tool", "Spec", "Limits", "Facts"],
)
def test_what_describes_a_tool_cannot_be_changed(value, field):
    with pytest.raises(AttributeError, match="immutable"):
        setattr(value, field, "other")


def test_replacing_gives_another_tool_and_leaves_the_first():
    tool = rc.Tool("t", "", CITY, lambda city: city)
    other = tool.replace(name="u", approval=True)
    assert (tool.name, tool.approval, other.name, other.approval) == ("t", False, "u", True)
    assert other.parameters == CITY


def test_a_replaced_tool_is_checked_again():
    tool = rc.Tool("t", "", CITY, lambda city: city)
    assert refused(lambda: tool.replace(name="1"))[:2] == ("1", "name")
    assert refused(lambda: tool.replace(handler=lambda town: town))[:2] == ("t", "handler")
    assert verdict(tool.replace(parameters=OPTIONAL, handler=lambda city="": city), {}) == {}


def test_a_replaced_handler_is_the_one_that_is_called():
    @rc.tool
    def get_weather(city: str) -> str:
        return f"real {city}"

    pretended = get_weather.replace(handler=lambda city: f"pretended {city}")
    assert pretended.invocation is not None
    assert pretended.invocation.call({"city": "Paris"}, None) == "pretended Paris"


def test_an_option_that_does_not_exist_is_an_error():
    with pytest.raises(rc.errors.DeclarationError, match="did you mean 'timeout'"):
        rc.Tool("t", "", CITY, timeuot=5)  # type: ignore[call-arg]
