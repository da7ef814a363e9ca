"""Arguments out of questions: what is copied, and that nothing is ever made up."""

# ruff: noqa: E501 - questions stand here as people write them, with their arguments

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rightcall as rc
from effort import often
from local.kit import ScriptedEngine
from rightcall.core.events import ReplyEnd
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.local.guided.copying import copied
from rightcall.local.guided.guided_model import GuidedModel
from rightcall.local.guided.values import values_in


def spec(name: str, about: str, required: int | None = None, **properties: object) -> Spec:
    members = {
        key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()
    }
    needed = list(members) if required is None else list(members)[:required]
    return Spec(
        name=name,
        description=about,
        parameters={"type": "object", "properties": members, "required": needed},
    )


TRAIN = spec("find_train", "Find a train.", 2, origin="string", destination="string", date="string")
AREA = spec("area", "Area of a rectangle.", width="number", height="number")
MAIL = spec("send_mail", "Send a mail to somebody.", recipient="string", text="string")
LIGHT = spec("set_light", "Turn the light of a room on or off.", room="string", on="boolean")
PRIORITY = spec(
    "add_issue", "Create an issue.", 1, title="string", priority={"enum": ["low", "very high", "high"]}
)
LOAN = spec("loan", "Payment for a loan.", amount="number", rate="number", years="integer")
MEAN = spec("mean", "Average of numbers.", numbers={"type": "array", "items": {"type": "number"}})
TIMER = spec("set_timer", "Start a timer.", minutes="integer")
DAY = spec("on_day", "What was on a day.", date={"type": "string", "description": "As YYYY-MM-DD."})
SWAP = spec(
    "convert_currency",
    "Convert money.",
    amount="number",
    from_currency={"type": "string", "description": "Code, e.g. USD."},
    to_currency={"type": "string", "description": "Code, e.g. EUR."},
)
SHIP = spec(
    "ship",
    "Ship a parcel.",
    to={
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        "required": ["city", "zip"],
    },
)
TAGS = spec("tag", "Tag a note.", tags={"type": "array", "items": {"type": "string"}})
CLOCK = spec("clock", "The time somewhere.", city="string", country="string")
HOME = spec("homes", "Find a flat.", bedrooms="integer")
BOIL = spec("boil", "Energy for a change of phase.", phase="string", mass="integer")
TILL = spec("pay", "Pay the bill.", amount="number")
GUEST = spec("register", "Register a guest.", guest="string", age="integer")
ORDERED = spec("get_order", "What was ordered.", number="integer")
TRACK = spec("track", "Where a parcel is.", tracking_number="string")
ALL = (
    TRAIN,
    AREA,
    MAIL,
    LIGHT,
    PRIORITY,
    LOAN,
    MEAN,
    TIMER,
    DAY,
    SWAP,
    SHIP,
    TAGS,
    CLOCK,
    HOME,
    BOIL,
    TILL,
    GUEST,
    TRACK,
)


@pytest.mark.parametrize(
    ("tool", "question", "arguments"),
    [
        (TRAIN, "Is there a train from Bern to Basel tomorrow?",
         {"origin": "Bern", "destination": "Basel", "date": "tomorrow"}),
        (TRAIN, "a train to Basel from Bern", {"origin": "Bern", "destination": "Basel"}),
        (AREA, "Area of a rectangle of width 3 and height 4.5", {"width": 3, "height": 4.5}),
        (AREA, "A rectangle with a height of 7 and a width of 2", {"width": 2, "height": 7}),
        (AREA, "rectangle, width and height are 6 and 10", {"width": 6, "height": 10}),
        (AREA, "Area of a rectangle 3.5 wide and 8 high?", {"width": 3.5, "height": 8}),
        (MAIL, "Send a mail to Ann saying I am late", {"recipient": "Ann", "text": "I am late"}),
        (MAIL, 'Send "See you" to Tom', {"recipient": "Tom", "text": "See you"}),
        (LIGHT, "Turn off the light in the kitchen", {"room": "kitchen", "on": False}),
        (LIGHT, "Switch the bedroom lights on", {"room": "bedroom", "on": True}),
        (PRIORITY, "Create an issue: it crashes, very high priority",
         {"title": "it crashes", "priority": "very high"}),
        (LOAN, "Payment for $240,000 at 3.9% over 25 years",
         {"amount": 240000, "rate": 3.9, "years": 25}),
        (MEAN, "Average of 4, 8, 15 and 16?", {"numbers": [4, 8, 15, 16]}),
        (MEAN, "Average of [1, 2.5]", {"numbers": [1, 2.5]}),
        (TIMER, "timer for twenty-five minutes", {"minutes": 25}),
        (TIMER, "timer for 2 hours", {"minutes": 120}),
        (TIMER, "timer for half an hour", {"minutes": 30}),
        (DAY, "What was on March 5, 2024?", {"date": "2024-03-05"}),
        (SWAP, "How much is 250 USD in EUR?",
         {"amount": 250, "from_currency": "USD", "to_currency": "EUR"}),
        (SWAP, "80 euros to dollars", {"amount": 80, "from_currency": "EUR", "to_currency": "USD"}),
        (SHIP, "Ship it to the city of Bonn, zip 03111", {"to": {"city": "Bonn", "zip": "03111"}}),
        (TAGS, "Tag the note with garden, spring and tools", {"tags": ["garden", "spring", "tools"]}),
        (CLOCK, "What time is it in Lima, Peru?", {"city": "Lima", "country": "Peru"}),
        (HOME, "Is there a 3-bedroom flat in Bern?", {"bedrooms": 3}),
        (TRACK, "track 7H42XX01 for me", {"tracking_number": "7H42XX01"}),
        (ORDERED, "What was ordered in order 4711?", {"number": 4711}),
        (TILL, "Pay the bill of 12, room 4", {"amount": 12}),
        (GUEST, "Register a guest: Ada, 36", {"guest": "Ada", "age": 36}),
        (BOIL, "Energy for the phase change of 100 g of water", {"phase": "water", "mass": 100}),
    ],
)  # fmt: skip
def test_what_was_said_goes_where_it_belongs(tool, question, arguments):
    found = copied(tool, question)
    assert (found.given, found.missing) == (arguments, ())


@pytest.mark.parametrize(
    ("tool", "question", "missing"),
    [
        (TRAIN, "Is there a train?", ("origin", "destination")),
        (TILL, "Pay the bill, I am at table 9", ("amount",)),
        (GUEST, "Register a guest: Ada, born 1988", ("age",)),
        (AREA, "Area of a rectangle of width 3", ("height",)),
        (LIGHT, "What about the light in the hall?", ("on",)),
        (TIMER, "Start a timer", ("minutes",)),
        (TIMER, "Start a timer for 2.5 things", ("minutes",)),
        (SHIP, "Ship it to Bonn", ("to",)),
    ],
)
def test_what_was_not_said_is_missing(tool, question, missing):
    assert copied(tool, question).missing == missing


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("Call me at 5 pm on 10th December 2022", ["Call", "5 pm", "10th December 2022"]),
        ("Mail bob@x.org the file report.pdf, or see https://x.org/a?b=1.",
         ["Mail", "bob@x.org", "report.pdf", "https://x.org/a?b=1"]),
        ("order ORD-1234, rs6034464, #4521, host 10.0.0.1", ["ORD-1234", "rs6034464", 4521, "10.0.0.1"]),
        ("two hundred and fifty eggs, 2 million, -3, 1.5e3", [250, 2000000, -3, 1500]),
        ("flat in San Francisco, CA or near the Lord of the Rings",
         ["San Francisco, CA", "Lord of the Rings"]),
        ("12 * (7 + 3)", ["12 * (7 + 3)", 12, 7, 3]),
        ("7H42XX01, 3.1rc2, 2001:db8::7, 12B", ["7H42XX01", "3.1rc2", "2001:db8::7", 12]),
        ("a 3-day pass, 2-bedroom, 7714-KBC", [3, 2, "7714-KBC"]),
        ("1e999, 6e400, [2, 5], #" + "9" * 5000, [[2, 5], "9" * 5000]),
        ("\u201cwhat\u2019s up\u201d and 'no'", ["what\u2019s up", "no"]),
    ],
)  # fmt: skip
def test_values_show_by_their_form(question, held):
    assert [value.plain for value in values_in(question)] == held


WORDS = st.sampled_from(
    re.findall(
        r"\S+",
        """
        weather train from to in at Bern Paris 12 3.5 light off on kitchen mail Ann saying late timer
        two half an hour hours issue high loan $40 5% years average and , ? : 'quoted text' A-17 x@y.org
        tomorrow
        euros not /tmp/a the create width height rectangle zip ship tag note 00123
        """,
    )
)


def allowed(value: object, question: str, schema: object) -> bool:
    """Whether a value stands in the question, in some spelling, or in the schema."""
    if isinstance(value, bool) or repr(value) in repr(schema):
        return True
    if isinstance(value, dict):
        return all(allowed(each, question, schema) for each in value.values())
    if isinstance(value, list):
        return all(allowed(each, question, schema) for each in value)
    if isinstance(value, str):
        words = re.findall(r"\w+", value.casefold())
        codes = {"eur": "euro", "usd": "dollar"}
        return all(word in question.casefold() or codes.get(word, "?") in question for word in words)
    numbers = [each.plain for each in values_in(question) if each.kind == "number"]
    numbers += [each * unit for each in numbers for unit in (60, 1440, 1 / 60, 0.01)]
    numbers += [
        each for held in values_in(question) if isinstance(held.plain, list) for each in held.plain
    ]
    return any(abs(value - number) < 1e-6 for number in numbers)


@settings(max_examples=often(80), deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=14))
def test_whatever_the_question_nothing_is_made_up(words):
    question = " ".join(words)
    for tool in ALL:
        found = copied(tool, question)
        for value in [
            *found.given.values(),
            *(each for some in found.choices.values() for each in some),
        ]:
            assert allowed(value, question, tool.parameters), (tool.name, value)


@settings(max_examples=often(40), deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=12), st.sampled_from(["auto", "required", "named"]))
async def test_whatever_the_model_says_no_call_has_an_invented_value(words, choice):
    question = " ".join(words)
    forced = rc.models.Named(TRAIN.name) if choice == "named" else choice
    # It answers every question with the first tool, and every filling with a lesson's values.
    engine = ScriptedEngine(*['{"origin":"Rome","destination":"Milan"}', "train"] * 20)
    request = Request(messages=(user_text(question),), specs=ALL, choice=forced)
    async for event in GuidedModel(engine).stream(request):
        if isinstance(event, ReplyEnd):
            for call in event.reply.calls:
                schema = next(each.parameters for each in ALL if each.name == call.name)
                assert allowed(json.loads(call.arguments), question, schema), call


PRICE = spec("price", "Price of a product.", 1, product="string", currency={"enum": ["EUR", "USD"]})
HEAT = spec("set_heating", "Heat a room.", room="string", celsius="number")
VISIT = spec("book_visit", "Book a visit.", patient="string", doctor="string")
TODO = spec("add_todo", "Add a task to the list.", task="string")


@pytest.mark.parametrize(
    ("tool", "question", "arguments"),
    [
        (PRICE, "What would boots cost in US dollars?", {"product": "boots", "currency": "USD"}),
        (HEAT, "Heat the living room to 22.5 °C", {"room": "living room", "celsius": 22.5}),
        (HEAT, "I'd like the bedroom at 20 degrees", {"room": "bedroom", "celsius": 20}),
        (
            VISIT,
            "Book Amara Nwosu in with Dr. Okafor",
            {"patient": "Amara Nwosu", "doctor": "Dr. Okafor"},
        ),
        (TODO, "Add 'water the beans' to my todo list", {"task": "water the beans"}),
    ],
)
def test_what_people_write_is_found_as_they_write_it(tool, question, arguments):
    assert copied(tool, question).given == arguments


def test_the_list_that_something_is_put_on_is_not_what_is_put_there():
    assert copied(TODO, "Add something to my todo list.").missing == ("task",)


def test_more_numbers_than_words_before_them_are_no_list_of_names():
    assert copied(AREA, "Height 3, 4, 5 and 6").given["height"] == 3


@pytest.mark.parametrize(
    ("question", "parameter", "kind"),
    [
        ("How long for a bowl under 30 dollars?", "minutes", "integer"),
        ("Something for the feast in 3 weeks", "temperature", "number"),
        ("Where is the Blue Heron?", "tracking_code", "string"),
        ("Move it to 4 pm", "date", "string"),
        ("Did the choir sing?", "departure", "string"),
        ("What is the postcode of Castle Howard?", "postcode", "string"),
        ("What grows in Hong Kong?", "month", "string"),
        ("I'd like to hang on to it", "contract", "string"),
    ],
)
def test_a_value_of_another_kind_is_not_taken(question: str, parameter: str, kind: str):
    assert copied(spec("serve", "Serve something.", **{parameter: kind}), question).given == {}


def test_a_code_of_letters_is_taken_if_the_question_says_that_it_is_one():
    asked = spec("find_coat", "Find a coat.", ticket_code="string")
    assert copied(asked, "The ticket code is Falcon").given == {"ticket_code": "Falcon"}
    assert copied(asked, "Where is XKPQ?").given == {"ticket_code": "XKPQ"}


def test_a_required_parameter_has_a_value_before_an_optional_one_does():
    asked = spec("pay", "Pay something out.", 1, payee="string", reference_number="string")
    assert copied(asked, "Pay 88-120").given == {"payee": "88-120"}


def test_inches_are_not_meant_by_a_word_before_a_place():
    asked = spec("heat", "Heat a room.", temperature="number", room="string")
    assert copied(asked, "19 in the bathroom").given == {"temperature": 19, "room": "bathroom"}


def test_what_is_to_be_done_is_no_value():
    tasks = spec("count_tasks", "Count tasks.", state={"enum": ["open", "closed"]})
    assert copied(tasks, "Add a task").given == {}
    assert copied(tasks, "Which are open?").given == {"state": "open"}
    assert copied(MAIL, 'Write "good luck" to Ida').given["recipient"] == "Ida"


def test_what_somebody_wants_to_be_told_is_no_text():
    assert copied(spec("say", "Say a text.", text="string"), "Tell me a story").given.get("text") != (
        "a story"
    )


def test_units_are_changed_from_one_into_another_without_a_word_that_says_so():
    change = spec("change", "Change money.", amount="number", source="string", target="string")
    given = copied(change, "How much is 50 dollars in euros?").given
    assert given == {"amount": 50, "source": "dollars", "target": "euros"}
    assert copied(change, "How many yen are 9 pounds?").missing == ()
    pay = spec("pay", "Pay.", amount="number", from_account="string", to_account="string")
    assert copied(pay, "Pay 30 euros to 88-12").missing == ("from_account",)


FETCH = spec("fetch", "Fetch a crate.", 1, address="string", day="string", crates="integer")
MOVE = spec("move", "Move a mailbox.", old_address="string", new_address="string")
PARK = spec("find_car", "Where a car stands.", plate="string")
RING = spec("ring", "Ring somebody up.", phone="string")
GRADE = spec("grade", "A grade.", subject="string", pupil="string")
ARRIVED = spec("note_crates", "Note crates that arrived.", supplier="string", crates="integer")
SLIDES = spec("slides", "Find slides.", motif="string", place="string")
CARE = spec("care", "How to look after a plant.", plant="string")
VASE = spec("vase", "What a vase holds.", flower="string", stems="integer")
TRAIN_LOG = spec("train", "Log a training.", sets="integer", reps="integer")
SCAN = spec("scan", "Price of a scan.", scan={"enum": ["x-ray", "ultrasound"]})
FAULT = spec("report_fault", "Report a fault of a lift.", lift="string", description="string")

WRITTEN = {
    "a house number": (FETCH, "Could you come by 9 Elm Court on Friday?", {"address": "9 Elm Court", "day": "Friday"}),
    "a number of things beside it": (FETCH, "Fetch 4 crates from 27 Cedar Street.", {"address": "27 Cedar Street", "crates": 4}),
    "a town behind it": (FETCH, "Fetch it at 27 Cedar Street, Bath, please.", {"address": "27 Cedar Street, Bath"}),
    "two addresses": (MOVE, "Move it from 3 Elm Road to 18 Harbour Street", {"old_address": "3 Elm Road", "new_address": "18 Harbour Street"}),
    "a plate in groups": (PARK, "Where did I leave KX19 PLM?", {"plate": "KX19 PLM"}),
    "a plate of three": (PARK, "My plate is VN 482 T, where is it?", {"plate": "VN 482 T"}),
    "a plate after its name": (PARK, "Where is the car with ID U1234?", {"plate": "U1234"}),
    "a phone number": (RING, "Ring 0612 334 908", {"phone": "0612 334 908"}),
    "a person and a subject": (GRADE, "Tom Becker's grade in history", {"subject": "history", "pupil": "Tom Becker"}),
    "a verb behind a name": (ARRIVED, "Eight crates from Halloran Foods came in.", {"supplier": "Halloran Foods", "crates": 8}),
    "a participle behind a noun": (SLIDES, "Slides of bridges taken in Prague", {"motif": "bridges", "place": "Prague"}),
    "an adverb and every day": (CARE, "My hydrangea is drooping badly although I water it every day", {"plant": "hydrangea"}),
    "what is counted": (VASE, "A dozen tulips for my mum, nicely wrapped", {"flower": "tulips", "stems": 12}),
    "the unit of another number": (TRAIN_LOG, "I did 4 sets of 8.", {"sets": 4, "reps": 8}),
    "a fixed value of two words": (SCAN, "What is an x-ray?", {"scan": "x-ray"}),
    "a fault that is told": (FAULT, "Somebody scratched the door while it stood open, lift L-2.", {"lift": "L-2", "description": "Somebody scratched the door while it stood open"}),
    "a fault before a value": (FAULT, "Note that the mirror is broken, it's lift L-7.", {"lift": "L-7", "description": "the mirror is broken"}),
    "a month": (spec("in_season", "What is in season.", month="string"), "What grows in May?", {"month": "May"}),
    "a month at the end": (DAY, "What was on 9 February.", {"date": "9 February"}),
    "a country's money": (SWAP, "What are 800 US dollars in euros?", {"amount": 800, "from_currency": "USD", "to_currency": "EUR"}),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "question", "arguments"), WRITTEN.values(), ids=WRITTEN)
def test_a_value_is_copied_whole_and_alone(tool, question, arguments):
    assert copied(tool, question).given == arguments


def test_a_text_to_be_noted_is_no_request():
    for question in (
        "Can you look at L-2? The door is stuck.",
        "I need L-2 to be looked at by an expert.",
    ):
        assert copied(FAULT, question).given.get("description") != question
