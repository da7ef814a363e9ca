import pytest

from rightcall.core.tool import Spec
from rightcall.local.guided.evidence import speaks_for, without_inventions

WEATHER = Spec(
    name="get_weather",
    description="Current weather for a city.",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string"},
            "alerts": {"type": "boolean"},
        },
        "required": ["city"],
    },
)
ROLL = Spec(name="roll", description="Throw dice.", parameters={"type": "object"}, examples=({"d": 6},))


@pytest.mark.parametrize(
    ("question", "spec", "speaks"),
    [
        ("What's the weather like?", WEATHER, True),
        ("Which cities are big?", WEATHER, False),
        ("Will it be cold for the next 3 days?", WEATHER, True),
        ("What is it for?", WEATHER, False),
        ("Who wrote Emma?", WEATHER, False),
        ("Throwing 3 of them", ROLL, True),
        ("Give me a dozen", ROLL, True),
        ("Who won?", ROLL, False),
    ],
)
def test_a_question_speaks_for_a_tool_by_its_words_and_numbers(question, spec, speaks):
    assert speaks_for(question, spec) is speaks


@pytest.mark.parametrize(
    ("question", "given", "kept"),
    [
        ("Weather in Rome?", '{"city":"Rome","days":3}', '{"city":"Rome"}'),
        ("Weather in Rome for 3 days?", '{"city":"Rome","days":3}', '{"city":"Rome","days":3}'),
        ("Weather in Rome for 13 days?", '{"city":"Rome","days":3}', '{"city":"Rome"}'),
        ("Weather in Rome for three days?", '{"city":"Rome","days":3}', '{"city":"Rome","days":3}'),
        ("Weather in Rome?", '{"city":"Rome","unit":"kelvin"}', '{"city":"Rome"}'),
        ("Weather in Rome in Kelvin?", '{"city":"Rome","unit":"kelvin"}', None),
        ("Weather in Rome?", '{"city":"Rome","alerts":true}', None),
        ("Weather?", '{"city":"Paris"}', None),
        ("Weather?", '{"city":"Par', None),
    ],
)
def test_an_optional_argument_needs_its_value_in_the_question(question, given, kept):
    assert without_inventions(given, WEATHER, question) == (kept or given)
