"""Questions for small models, each with the tool it needs and how to tell that it was used well.

None of them was looked at while prompts, examples or decoding were chosen; a rule for sums in words was
made by them later, to save time.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

import rightcall as rc
from rightcall.builtin import default_tools

Arguments = Mapping[str, Any]


class Question(Struct, frozen=True):
    """What is asked; the tool it needs, if any; and what its result or arguments must be."""

    text: str
    tool: str | None = None
    result: str | None = None
    arguments: Callable[[Arguments], bool] | None = None


ARITHMETIC = [
    Question("What is 31 * 14?", "calculate", "434"),
    Question("What is 908 + 77?", "calculate", "985"),
    Question("How much is 63 divided by 9?", "calculate", "7"),
    Question("What do you get when you multiply 25 by 16?", "calculate", "400"),
    Question("Compute 5 to the power of 3.", "calculate", "125"),
    Question("What is the square root of 225?", "calculate", "15"),
    Question("What is 30% of 150?", "calculate", "45"),
    Question("Subtract 48 from 100.", "calculate", "52"),
    Question("What is 72 minus 35?", "calculate", "37"),
    Question("Work out (8 + 2) * 9.", "calculate", "90"),
    Question("What is 1234 times 5678?", "calculate", "7006652"),
    Question("How much do 6 tickets cost at 15 euros each?", "calculate", "90"),
    Question("Add 12, 13 and 14.", "calculate", "39"),
    Question("What is 0.25 * 88?", "calculate", "22"),
    Question("9 x 9 = ?", "calculate", "81"),
    Question("What's 4096 / 64?", "calculate", "64"),
    Question("Please calculate 111 - 22.", "calculate", "89"),
    Question("What is 6 factorial?", "calculate", "720"),
    Question("There are 24 eggs in 2 boxes. How many are in 5 boxes?", "calculate", "60"),
    Question("How much is 50 plus 50 plus 50?", "calculate", "150"),
]
TIME = [
    Question("What's the time?", "datetime"),
    Question("Could you tell me today's date?", "datetime"),
    Question("Which weekday do we have?", "datetime"),
    Question("What day is today?", "datetime"),
    Question("How late is it now?", "datetime"),
    Question("What is the current date and time?", "datetime"),
    Question("Is today a Friday?", "datetime"),
    Question("What year are we in?", "datetime"),
    Question("What time is it in London?", "datetime", None, lambda a: "London" in str(a)),
    Question("What time is it in New York right now?", "datetime", None, lambda a: "New_York" in str(a)),
]
TALK = [
    Question("Hi there!"),
    Question("What is the capital of Spain?"),
    Question("Who discovered America?"),
    Question("Tell me something about elephants."),
    Question("Why is grass green?"),
    Question("Give me a name for my cat."),
    Question("Thanks for your help!"),
    Question("What is photosynthesis?"),
    Question("Write one sentence about winter."),
    Question("Who was Albert Einstein?"),
]


@rc.tool(
    effect="read",
    examples=[{"title": "Emma"}, {"title": "Dune"}],
    questions=["Do you have the book Emma?", "Find Dune in the library."],
)
def find_book(title: str) -> str:
    """Look a book up in the library."""
    return f"{title}: shelf 4"


@rc.tool(
    examples=[{"room": "kitchen", "on": True}, {"room": "hall", "on": False}],
    questions=["Switch the light in the kitchen on.", "Turn off the hall light."],
)
def set_light(room: str, *, on: bool) -> str:
    """Switch the light of a room on or off."""
    return f"light in {room}: {on}"


@rc.tool(
    effect="read",
    examples=[{"origin": "Bern", "destination": "Basel"}, {"origin": "Rome", "destination": "Milan"}],
    questions=["How do I get from Bern to Basel?", "When is a train from Rome to Milan?"],
)
def find_train(origin: str, destination: str) -> str:
    """Find the next train between two cities."""
    return f"{origin} to {destination}: 10:32"


@rc.tool(effect="read", examples=[{"minutes": 10}], questions=["Wake me in 10 minutes."])
def set_timer(minutes: int) -> str:
    """Set a timer for so many minutes."""
    return f"timer: {minutes} minutes"


def trip(origin: str, destination: str) -> Callable[[Arguments], bool]:
    return lambda given: (given["origin"], given["destination"]) == (origin, destination)


def light(room: str, *, on: bool) -> Callable[[Arguments], bool]:
    return lambda given: (given["room"], given["on"]) == (room, on)


def book(title: str) -> Callable[[Arguments], bool]:
    return lambda given: given["title"] == title


def timer(minutes: int) -> Callable[[Arguments], bool]:
    return lambda given: given["minutes"] == minutes


HOUSE = [
    Question("Turn the light in the bedroom on.", "set_light", None, light("bedroom", on=True)),
    Question("Please switch off the light in the garage.", "set_light", None, light("garage", on=False)),
    Question("Is there a train from Paris to Lyon?", "find_train", None, trip("Paris", "Lyon")),
    Question("I need to travel from Hamburg to Berlin.", "find_train", None, trip("Hamburg", "Berlin")),
    Question("Do you have the book Ulysses?", "find_book", None, book("Ulysses")),
    Question("Look up Moby Dick in the library.", "find_book", None, book("Moby Dick")),
    Question("Set a timer for 25 minutes.", "set_timer", None, timer(25)),
    Question("Remind me in 5 minutes.", "set_timer", None, timer(5)),
    Question("Good evening!"),
    Question("What is the largest animal?"),
]

SETS: Mapping[str, tuple[Any, list[Question]]] = {
    "arithmetic": (default_tools(), ARITHMETIC),
    "date and time": (default_tools(), TIME),
    "small talk": (default_tools(), TALK),
    "four other tools": ((find_book, set_light, find_train, set_timer), HOUSE),
}
