from rightcall.core.message import User
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.local.guided import lessons

WEATHER = Spec(
    name="get_weather",
    description="Current weather for a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer"}},
    },
    examples=({"city": "Lisbon"}, {"city": "Rome", "days": 2}),
    questions=("How is the weather in Lisbon?",),
)
MAIL = Spec(name="send_mail", description="Send an e-mail.", parameters={"type": "object"})


def turns(request: Request) -> list[tuple[str, str]]:
    return [("user" if isinstance(each, User) else "model", each.text) for each in request.messages]


def test_a_tool_is_called_by_the_last_word_of_its_name_where_that_is_enough():
    other = Spec(name="old_mail", description="-", parameters={})
    none = Spec(name="say_none", description="-", parameters={})
    assert lessons.labels([WEATHER, MAIL]) == {"get_weather": "weather", "send_mail": "mail"}
    assert lessons.labels([MAIL, other]) == {"send_mail": "send_mail", "old_mail": "old_mail"}
    assert lessons.labels([none]) == {"say_none": "say_none"}


def test_choosing_shows_each_tool_by_its_examples_between_small_talk():
    request = lessons.choosing([WEATHER, MAIL], "Is it cold in Oslo?")
    assert "weather: Current weather for a city.\nmail: Send an e-mail.\nnone: " in request.system
    assert turns(request) == [
        ("user", "Good morning!"),
        ("model", "none"),
        ("user", "How is the weather in Lisbon?"),
        ("model", "weather"),
        ("user", "Send an e-mail."),
        ("model", "mail"),
        ("user", "What is the longest river?"),
        ("model", "none"),
        ("user", "Current weather for a city: Rome, 2"),
        ("model", "weather"),
        ("user", "Can you send an e-mail?"),
        ("model", "mail"),
        ("user", "Is it cold in Oslo?"),
    ]


def test_filling_shows_the_parameters_and_the_worked_arguments():
    request = lessons.filling(WEATHER, "Is it cold in Oslo?")
    assert request.system.endswith("get_weather: Current weather for a city.\ncity: Where.")
    assert turns(request)[:4] == [
        ("user", "How is the weather in Lisbon?"),
        ("model", '{"city":"Lisbon"}'),
        ("user", "Current weather for a city: Rome, 2"),
        ("model", '{"city":"Rome","days":2}'),
    ]


def test_a_tool_without_examples_is_shown_by_what_it_says_of_itself():
    assert turns(lessons.filling(MAIL, "Write to Bob.")) == [
        ("user", "Send an e-mail."),
        ("model", "{}"),
        ("user", "Can you send an e-mail?"),
        ("model", "{}"),
        ("user", "Write to Bob."),
    ]
