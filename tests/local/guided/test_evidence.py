import pytest

from rightcall.core.tool import Spec
from rightcall.local.guided.evidence import is_called_for, speaks_for, without_inventions, written

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
SUM = Spec(
    name="work_out",
    description="Work out a sum.",
    parameters={"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]},
    examples=({"sum": "1 + 1"},),
)


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
        ("Weather in Rome for two hundred days?", '{"city":"Rome","days":200}', None),
        ("Weather in Rome for a week?", '{"city":"Rome","days":7}', None),
        ("Weather in Rome for 3 days?", '{"city":"Rome","days":3}', '{"city":"Rome","days":3}'),
        ("Weather in Rome for 13 days?", '{"city":"Rome","days":3}', '{"city":"Rome"}'),
        ("Weather in Rome for three days?", '{"city":"Rome","days":3}', '{"city":"Rome","days":3}'),
        ("Weather in Rome?", '{"city":"Rome","unit":"kelvin"}', '{"city":"Rome"}'),
        ("Weather in Rome in Kelvin?", '{"city":"Rome","unit":"kelvin"}', None),
        ("Weather in Rome?", '{"city":"Rome","alerts":true}', None),
        ("Weather?", '{"city":"Par', None),
    ],
)
def test_an_argument_needs_its_value_in_the_question(question, given, kept):
    assert without_inventions(given, WEATHER, question) == (kept or given, ())


def test_a_required_argument_that_nobody_gave_is_missing():
    assert without_inventions('{"city":"Paris","alerts":true}', WEATHER, "Weather?") == (
        '{"alerts":true}',
        ("city",),
    )


def test_what_the_examples_do_not_copy_is_written():
    zoned = Spec(
        name="clock",
        description="Tells the time.",
        parameters={"type": "object"},
        examples=({"zone": "Europe/Paris", "city": "Paris"}, {"zone": "Asia/Tokyo"}),
        questions=("What time is it in Paris?",),
    )
    assert written(zoned) == {"zone"}


@pytest.mark.parametrize(
    ("question", "given", "spec", "called_for"),
    [
        ("Throw 3 of 6", '{"d":6}', ROLL, True),
        ("Throw half a dozen", '{"d":6}', ROLL, True),
        ("Throw them tomorrow", "{}", ROLL, False),
        ("Throw them now", "{}", ROLL, True),
        ("Weather in Rome tomorrow?", '{"city":"Rome"}', WEATHER, True),
        ("Weather?", '{"city":', WEATHER, True),
        ("Add 19 and 23", '{"sum":"20 + 23"}', SUM, False),
        ("Add 19 and 23", '{"sum":"19 + 23"}', SUM, True),
        ("Minutes in 3 hours?", '{"sum":"3 * 60"}', SUM, True),
    ],
)
def test_a_call_needs_a_number_of_the_question_and_what_turns_it(question, given, spec, called_for):
    assert is_called_for(given, spec, question) is called_for
