"""Which tools come into question, before the model is asked: by words, values, and what they are for."""

from typing import Any

import pytest
from msgspec import structs

from rightcall.core.request import Named
from rightcall.core.tool import Spec
from rightcall.local.guided.derive import derived, says_too_little
from rightcall.local.guided.plan import Leave, Offer, Take, filled, plan_for
from rightcall.local.guided.score import MOST, is_meant, matches


def tool(name: str, about: str, *required: str, **optional: str) -> Spec:
    members = {each: {"type": "string"} for each in required}
    members |= {each: {"type": kind} for each, kind in optional.items()}
    return Spec(
        name=name,
        description=about,
        parameters={"type": "object", "properties": members, "required": list(required)},
    )


WEATHER = tool("get_weather", "Weather forecast for a city.", "city", days="integer")
STATUS = tool("order_status", "Look up the status of an order by its id.", "order_id")
CANCEL = tool("cancel_order", "Cancel an order.", "order_id")
READ = tool("read_file", "Read a text file.", "path")
TRAIN = tool("find_trains", "Find train connections between two cities.", "origin", "destination")
TAUGHT = Spec(
    name="work_out",
    description="Work out a sum.",
    parameters={"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]},
    examples=({"sum": "1 + 1"},),
    questions=("What is one and one?",),
)
ALL = (WEATHER, STATUS, CANCEL, READ, TRAIN)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What will the weather be in Hamburg?", "get_weather"),
        ("Do I need an umbrella in Dublin?", "get_weather"),
        ("Where is my order A-10293?", "order_status"),
        ("Please cancel order B-771", "cancel_order"),
        ("What does notes/todo.txt say?", "read_file"),
        ("How do I get to Lyon from Marseille by rail?", "find_trains"),
    ],
)
def test_a_tool_is_taken_by_its_words_their_kin_and_the_form_of_a_value(question, name):
    assert matches(question, ALL)[0].spec.name == name
    plan = plan_for(question, ALL, "auto")
    assert isinstance(plan, Take)
    assert plan.spec.name == name


MILES = tool("miles_to_km", "Convert miles to kilometres.")
KM = tool("km_to_miles", "Convert kilometres to miles.")
HOURS = tool("doctor_hours", "When a doctor sees patients.", "doctor", "weekday")


def number(spec: Spec, name: str) -> Spec:
    members = {"type": "object", "properties": {name: {"type": "number"}}, "required": [name]}
    return Spec(name=spec.name, description=spec.description, parameters=members)


def test_the_unit_of_a_number_tells_which_way_is_meant():
    specs = (number(KM, "km"), number(MILES, "miles"))
    plan = plan_for("How many kilometres are 26.2 miles?", specs, "auto")
    assert plan == Take(specs[1])


def test_values_that_all_have_a_place_speak_for_a_tool_without_a_word_of_its_own():
    assert plan_for("Is Lindqvist in on Wednesday?", (*ALL, HOURS), "auto") == Take(HOURS)


def test_what_is_told_beside_the_question_takes_nothing_from_it():
    question = "My aunt is coming over from Ireland with her dogs. What will the weather be in Hamburg?"
    assert plan_for(question, ALL, "auto") == Take(WEATHER)


@pytest.mark.parametrize(
    "question", ["Good evening!", "Who painted the Mona Lisa?", "Why is the sky blue?", "I am tired."]
)
def test_what_no_tool_has_a_word_for_is_left_alone(question):
    assert plan_for(question, ALL, "auto") == Leave()


@pytest.mark.parametrize(
    ("question", "is_left"),
    [
        ("Print order B-771", True),
        ("Can you please rent order B-771?", True),
        ("Why is order B-771 late?", True),
        ("Cancel order B-771", False),
        ("Look up order B-771", False),
    ],
)
def test_what_is_to_be_done_must_be_something_that_the_tool_does(question, is_left):
    assert (plan_for(question, (STATUS, CANCEL), "auto") == Leave()) is is_left


def test_why_something_is_so_is_for_a_tool_that_gives_reasons():
    reason = tool("delay_reason", "The reason why an order is late.", "order_id")
    assert plan_for("Why is order B-771 late?", (STATUS, reason), "auto") == Take(reason)


def test_a_doubtful_tool_without_examples_is_left_alone():
    fit = number(tool("log_workout", "Log a workout.", "activity"), "minutes")
    assert plan_for("Is running healthy?", (fit,), "auto") == Leave()
    search = tool("search_films", "Search the catalogue.", "author")
    assert plan_for("Would anything by Ursula Le Guin do?", (search, STATUS), "auto") == Leave()
    assert plan_for("Search the catalogue for Ursula Le Guin", (search, STATUS), "auto") == Take(search)


def test_what_examples_teach_needs_no_word_in_common():
    plan = plan_for("What are 17 and 23?", (*ALL, TAUGHT), "auto")
    assert isinstance(plan, Offer)
    assert ([spec.name for spec in plan.specs], plan.or_none) == (["work_out"], True)


def test_a_forced_choice_is_among_all_where_words_say_nothing():
    assert plan_for("Hi", ALL, "required") == Offer(ALL, or_none=False, shown=ALL)
    assert plan_for("Hi", (READ,), "required") == Take(READ)
    assert plan_for("Hi", ALL, Named("read_file")) == Take(READ)


def alike(count: int, **more: Any) -> list[Spec]:
    specs = [tool(f"find_{at}", f"Find a thing in house {at}.", "thing") for at in range(count)]
    return [structs.replace(spec, **more) for spec in specs]


def test_a_model_is_offered_no_more_than_a_few_of_many():
    many = alike(40, examples=({"thing": "key"},))
    plan = plan_for("Where is the thing of that house?", many, "auto")
    assert isinstance(plan, Offer)
    assert 1 < len(plan.shown) <= MOST


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_words_decide_between_tools_that_no_example_explains_to_the_model(choice):
    many = alike(4)
    question = "Where is the thing of that house?"
    assert plan_for(question, many, choice) == Take(matches(question, many)[0].spec)


def test_the_more_tools_there_are_the_more_must_speak_for_one():
    water = tool("water_plant", "Water a plant.", "plant")
    asked = "Is the fern thirsty?"
    assert is_meant(matches(asked, (water, STATUS))[0])
    crowd = [tool(f"turn_{at}", f"Turn wheel {at}.", "speed") for at in range(80)]
    assert not is_meant(matches(asked, (water, *crowd))[0])
    assert is_meant(matches("Water the fern", (water, *crowd))[0])


def test_a_tool_with_many_words_needs_more_of_them():
    about = "Sell tickets for a ferry."
    more = " ".join(
        f"{word} cabins." for word in ["bright", "narrow", "upper", "wooden", "windy", "silver", "quiet"]
    )
    short, long = (tool("sell", each, "passenger") for each in (about, f"{about} {more}"))
    asked = "A ferry for Ida Moss?"
    assert matches(asked, (short,))[0].evidence > matches(asked, (long,))[0].evidence


def test_what_a_tool_is_not_for_counts_against_it():
    asked = "Book a group course for Ida Moss"
    plain = tool("book_lesson", "Book a lesson.", "pupil")
    denying = tool("book_lesson", "Book a lesson. Group courses are not booked here.", "pupil")
    other = tool("join_course", "Put somebody into a group course.", "person")
    assert matches(asked, (denying,))[0].score < matches(asked, (plain,))[0].score
    assert matches(asked, (denying, other))[0].spec is other


def test_an_action_is_not_met_by_a_word_that_the_question_has_anyway():
    serve = number(tool("add_dish", "Put a dish on a table's bill.", "dish"), "table")
    assert plan_for("Reserve table 4 for Ida Moss", (serve,), "auto") == Leave()


def test_small_talk_needs_more_than_a_word_in_common():
    usage = tool("power_use", "Power used on a day.", "weekday")
    wanted, thanked = (
        matches(question, (usage, STATUS))[0]
        for question in ("The power on Sunday", "Thanks! The power on Sunday")
    )
    assert thanked.evidence < wanted.evidence - 0.5


def test_a_sum_in_words_is_worked_out_without_asking_the_model_which_tool_it_is():
    assert plan_for("What is 17 plus 23?", (*ALL, TAUGHT), "auto") == Take(TAUGHT)
    assert plan_for("The square root of 81", (*ALL, TAUGHT), "auto") == Take(TAUGHT)
    assert isinstance(plan_for("What are 17 and 23?", (*ALL, TAUGHT), "auto"), Offer)


def test_a_tool_that_needs_nothing_is_called_by_its_words():
    uptime = tool("show_uptime", "How long the machine has been up.")
    assert plan_for("Show the uptime", (uptime, *ALL), "auto") == Take(uptime)


def test_a_tool_with_a_place_for_a_name_comes_before_one_without():
    opening = tool("opening_hours", "The opening hours on a weekday.", "weekday")
    question = "Could you tell me the opening hours of Dr. Haddad on Monday?"
    assert matches("Could you tell me the opening hours on Monday?", (HOURS, opening))[0].spec is opening
    with_name, without = (
        next(each.score for each in matches(question, (spec,)))
        for spec in (
            tool("opening_hours", "The opening hours on a weekday.", "weekday", doctor="string"),
            opening,
        )
    )
    assert with_name > without


def test_a_tool_is_found_among_fifty_as_among_five():
    words = (
        "garden",
        "music",
        "paint",
        "money",
        "horse",
        "kitchen",
        "letter",
        "engine",
        "forest",
        "isle",
    )
    verbs = ("count", "show", "move", "sort", "turn")
    many = [tool(f"{verb}_{word}", f"{verb.title()} the {word}.") for verb in verbs for word in words]
    plan = plan_for("What will the weather be in Hamburg?", (*many, *ALL), "auto")
    assert isinstance(plan, Take)
    assert plan.spec is WEATHER


def test_what_was_said_is_all_there_is_to_a_call():
    found = filled(WEATHER, "Weather in Oslo for 3 days?")
    assert (found.arguments, found.schema, found.missing) == ('{"city":"Oslo","days":3}', None, ())
    assert filled(WEATHER, "How is the weather?").missing == ("city",)


def test_what_examples_show_to_be_written_the_model_writes():
    found = filled(TAUGHT, "What are 17 and 23?")
    assert found.missing == ()
    assert found.schema is not None
    assert found.schema["properties"] == TAUGHT.parameters["properties"]


@pytest.mark.parametrize(
    ("spec", "lessons"),
    [
        (WEATHER, [("What is the weather forecast for Paris?", {"city": "Paris"}),
                   ("Weather forecast for Oslo with days 12?", {"city": "Oslo", "days": 12})]),
        (CANCEL, [("Cancel A17.", {"order_id": "A17"}), ("Can you cancel B42?", {"order_id": "B42"})]),
        (TRAIN, [("Find train connections between two cities from Bern to Basel.",
                  {"origin": "Bern", "destination": "Basel"}),
                 ("Can you find train connections between two cities from Rome to Milan?",
                  {"origin": "Rome", "destination": "Milan"})]),
        (tool("left", "How many are left (of all)."), [("How many are left?", {}),
                                                       ("Tell me how many are left.", {})]),
    ],
)  # fmt: skip
def test_a_declaration_is_a_lesson(spec, lessons):
    assert list(derived(spec)) == lessons


def test_a_tool_without_words_says_too_little():
    assert says_too_little(tool("f", ""))
    assert not says_too_little(WEATHER)
    assert not says_too_little(TAUGHT)


def test_words_decide_although_another_tool_has_examples_with_a_word_in_common():
    shown = Spec(
        name="find_mail",
        description="Search mails.",
        parameters=STATUS.parameters,
        examples=({"order_id": "weather"},),
        questions=("Which mail is about the weather?",),
    )
    question = "What will the weather be in Hamburg?"
    assert plan_for(question, (WEATHER, shown), "auto") == Take(WEATHER)


def test_a_currency_that_a_description_names_is_a_value_all_the_same():
    convert = tool("convert", "Convert money, as dollars and euros.", "source", "target")
    assert filled(convert, "Convert dollars to euros").missing == ()


def test_a_verb_without_a_meaning_of_its_own_is_no_action_that_a_tool_must_have_a_word_for():
    tour = tool("book_tour", "Book a tour for a visitor.", "visitor", "date")
    plan = plan_for("Put Ida Moe down for the tour on Friday", (tour, *ALL), "auto")
    assert isinstance(plan, Take)
    assert plan.spec is tour
    assert isinstance(plan_for("Cancel the tour of Ida Moe on Friday", (tour, WEATHER), "auto"), Leave)
