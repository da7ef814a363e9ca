"""The questions by which the rules for plain tools were made: six sets of tools, nothing but docstrings.

Figures on these flatter. Those that are reported come of ``bench/heldout``, which somebody else wrote.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import rightcall as rc

Case = tuple[str, str | None, Mapping[str, Any]]
"""What is asked, the tool it is for, and the arguments."""


@rc.tool(effect="read")
def get_weather(city: str, days: int = 1) -> str:
    """Weather forecast for a city."""
    return f"{city}: sunny for {days}"


@rc.tool(effect="read")
def convert_currency(amount: float, from_currency: str, to_currency: str) -> str:
    """Convert an amount of money from one currency to another.

    Args:
        amount: How much.
        from_currency: Three-letter code, e.g. USD.
        to_currency: Three-letter code, e.g. EUR.
    """
    return f"{amount} {from_currency} {to_currency}"


@rc.tool
def set_alarm(time: str) -> str:
    """Set an alarm."""
    return time


@rc.tool
def send_message(recipient: str, text: str) -> str:
    """Send a text message to a contact."""
    return f"{recipient}: {text}"


@rc.tool(effect="read")
def translate(text: str, language: str) -> str:
    """Translate a text into another language."""
    return f"{text} ({language})"


@rc.tool
def add_todo(task: str, due: str = "") -> str:
    """Add a task to the to-do list."""
    return f"{task} {due}"


@rc.tool(effect="read")
def order_status(order_id: str) -> str:
    """Look up the status of an order by its id."""
    return order_id


@rc.tool
def cancel_order(order_id: str, reason: str = "") -> str:
    """Cancel an order."""
    return order_id


@rc.tool(effect="read")
def search_products(query: str, max_price: float | None = None) -> str:
    """Search the shop for products."""
    return query


@rc.tool
def refund(order_id: str, amount: float) -> str:
    """Refund money to a customer for an order."""
    return order_id


@rc.tool(effect="read")
def stock_level(sku: str, warehouse: Literal["north", "south", "east"] = "north") -> str:
    """How many pieces of a product are in stock at a warehouse."""
    return sku


@rc.tool
def set_light(room: str, on: bool, brightness: int = 100) -> str:  # noqa: FBT001
    """Turn the light in a room on or off."""
    return room


@rc.tool
def set_thermostat(temperature: float, room: str = "living room") -> str:
    """Set the thermostat to a temperature in degrees Celsius."""
    return str(temperature)


@rc.tool
def play_music(title: str, artist: str = "") -> str:
    """Play a song."""
    return title


@rc.tool
def lock_door(door: Literal["front", "back", "garage"]) -> str:
    """Lock a door of the house."""
    return door


@rc.tool
def set_timer(minutes: int) -> str:
    """Start a kitchen timer."""
    return str(minutes)


@rc.tool(effect="pure")
def rectangle_area(width: float, height: float) -> float:
    """Area of a rectangle."""
    return width * height


@rc.tool(effect="pure")
def circle_area(radius: float) -> float:
    """Area of a circle."""
    return radius


@rc.tool(effect="pure")
def loan_payment(principal: float, rate: float, years: int) -> float:
    """Monthly payment for a loan.

    Args:
        principal: The amount borrowed.
        rate: Yearly interest in percent.
        years: How long the loan runs.
    """
    return principal * rate * years


@rc.tool(effect="pure")
def body_mass_index(weight_kg: float, height_cm: float) -> float:
    """Calculate the body mass index."""
    return weight_kg / height_cm


@rc.tool(effect="pure")
def mean(numbers: list[float]) -> float:
    """The average of some numbers."""
    return sum(numbers)


@rc.tool(effect="read")
def find_trains(origin: str, destination: str, date: str = "") -> str:
    """Find train connections between two cities."""
    return f"{origin} {destination} {date}"


@rc.tool(effect="read")
def search_hotels(city: str, nights: int, guests: int = 1) -> str:
    """Search for hotels in a city."""
    return city


@rc.tool
def book_table(restaurant: str, people: int, time: str) -> str:
    """Reserve a table at a restaurant."""
    return restaurant


@rc.tool(effect="read")
def distance(start: str, end: str) -> str:
    """Distance between two places in kilometres."""
    return start


@rc.tool(effect="read")
def country_info(country: str) -> str:
    """Population, capital and currency of a country."""
    return country


@rc.tool
def create_issue(title: str, priority: Literal["low", "medium", "high"] = "medium") -> str:
    """Create an issue in the bug tracker."""
    return title


@rc.tool
def close_issue(number: int) -> str:
    """Close an issue."""
    return str(number)


@rc.tool
def assign_issue(number: int, assignee: str) -> str:
    """Assign an issue to somebody."""
    return str(number)


@rc.tool(effect="read")
def read_file(path: str) -> str:
    """Read a text file."""
    return path


@rc.tool
def restart_service(service: str, environment: Literal["staging", "production"]) -> str:
    """Restart a service."""
    return service


@rc.tool(effect="read")
def word_count(text: str) -> str:
    """Count the words in a text."""
    return text


@rc.tool(effect="read")
def ping(host: str) -> str:
    """Check whether a host answers."""
    return host


NOTHING: Mapping[str, Any] = {}
EVERYDAY: Sequence[Case] = [
    ("What will the weather be like in Hamburg?", "get_weather", {"city": "Hamburg"}),
    ("Do I need an umbrella in Dublin?", "get_weather", {"city": "Dublin"}),
    (
        "Forecast for Rio de Janeiro for the next 5 days please",
        "get_weather",
        {"city": "Rio de Janeiro", "days": 5},
    ),
    ("is it cold in oslo", "get_weather", {"city": "oslo"}),
    (
        "How much is 250 USD in EUR?",
        "convert_currency",
        {"amount": 250, "from_currency": "USD", "to_currency": "EUR"},
    ),
    (
        "Change 80 euros to dollars",
        "convert_currency",
        {"amount": 80, "from_currency": "EUR", "to_currency": "USD"},
    ),
    ("Wake me up at 6:45 am", "set_alarm", {"time": "6:45 am"}),
    (
        "Text Maria that I'm running late",
        "send_message",
        {"recipient": "Maria", "text": "I'm running late"},
    ),
    (
        'Send Tom the message "See you at eight"',
        "send_message",
        {"recipient": "Tom", "text": "See you at eight"},
    ),
    (
        "How do you say 'good night' in Portuguese?",
        "translate",
        {"text": "good night", "language": "Portuguese"},
    ),
    (
        "Translate where is the station into Japanese",
        "translate",
        {"text": "where is the station", "language": "Japanese"},
    ),
    ("Put buy milk on my to-do list", "add_todo", {"task": "buy milk"}),
    (
        "Add a task: call the dentist by Friday",
        "add_todo",
        {"task": "call the dentist", "due": "Friday"},
    ),
    ("Good morning, how are you?", None, NOTHING),
    ("Who painted the Mona Lisa?", None, NOTHING),
]
SHOP: Sequence[Case] = [
    ("Where is my order A-10293?", "order_status", {"order_id": "A-10293"}),
    ("What's the status of order 55102?", "order_status", {"order_id": "55102"}),
    ("Please cancel order B-771, I ordered it twice", "cancel_order", {"order_id": "B-771"}),
    ("Do you have red running shoes?", "search_products", {"query": "red running shoes"}),
    (
        "Find me a coffee grinder under 60 dollars",
        "search_products",
        {"query": "coffee grinder", "max_price": 60},
    ),
    ("Give the customer of order K-9 20 euros back", "refund", {"order_id": "K-9", "amount": 20}),
    ("Refund $35.50 for order 88123", "refund", {"order_id": "88123", "amount": 35.5}),
    (
        "How many of TX-200 are left in the south warehouse?",
        "stock_level",
        {"sku": "TX-200", "warehouse": "south"},
    ),
    ("Tell me a joke", None, NOTHING),
    ("What do you think of our competitors?", None, NOTHING),
]
HOUSE: Sequence[Case] = [
    ("Turn off the light in the kitchen", "set_light", {"room": "kitchen", "on": False}),
    ("Switch the bedroom lights on", "set_light", {"room": "bedroom", "on": True}),
    ("Make it 21.5 degrees", "set_thermostat", {"temperature": 21.5}),
    ("Set the heating to 19 in the bathroom", "set_thermostat", {"temperature": 19, "room": "bathroom"}),
    ("Play Yesterday by the Beatles", "play_music", {"title": "Yesterday", "artist": "Beatles"}),
    ("I want to hear Bohemian Rhapsody", "play_music", {"title": "Bohemian Rhapsody"}),
    ("Lock the back door", "lock_door", {"door": "back"}),
    ("Timer for 12 minutes", "set_timer", {"minutes": 12}),
    ("Start a timer for a quarter of an hour", "set_timer", {"minutes": 15}),
    ("Why is the sky blue?", None, NOTHING),
    ("Thanks, that was great!", None, NOTHING),
]
SUMS: Sequence[Case] = [
    (
        "What's the area of a rectangle 3.5 wide and 8 high?",
        "rectangle_area",
        {"width": 3.5, "height": 8},
    ),
    ("Area of a circle with radius 7", "circle_area", {"radius": 7}),
    (
        "What would I pay monthly on a loan of 240,000 at 3.9% over 25 years?",
        "loan_payment",
        {"principal": 240000, "rate": 3.9, "years": 25},
    ),
    (
        "I weigh 82 kg and I'm 179 cm tall, what is my BMI?",
        "body_mass_index",
        {"weight_kg": 82, "height_cm": 179},
    ),
    ("Average of 4, 8, 15, 16, 23 and 42?", "mean", {"numbers": [4, 8, 15, 16, 23, 42]}),
    ("How tall is Mount Everest?", None, NOTHING),
]
TRAVEL: Sequence[Case] = [
    (
        "Trains from Zurich to Milan tomorrow",
        "find_trains",
        {"origin": "Zurich", "destination": "Milan", "date": "tomorrow"},
    ),
    (
        "How do I get to Lyon from Marseille by rail?",
        "find_trains",
        {"origin": "Marseille", "destination": "Lyon"},
    ),
    (
        "I need a hotel in Vienna for 3 nights for two guests",
        "search_hotels",
        {"city": "Vienna", "nights": 3, "guests": 2},
    ),
    (
        "Book a table for 4 at Osteria Francescana at 8 pm",
        "book_table",
        {"restaurant": "Osteria Francescana", "people": 4, "time": "8 pm"},
    ),
    ("How far is it from Madrid to Lisbon?", "distance", {"start": "Madrid", "end": "Lisbon"}),
    ("How many people live in Iceland?", "country_info", {"country": "Iceland"}),
    ("What is the capital of Bolivia?", "country_info", {"country": "Bolivia"}),
    ("Write a poem about trains.", None, NOTHING),
    ("What is 12 times 12?", None, NOTHING),
]
WORK: Sequence[Case] = [
    (
        "File a bug: login button does nothing, high priority",
        "create_issue",
        {"title": "login button does nothing", "priority": "high"},
    ),
    ("Close issue 482", "close_issue", {"number": 482}),
    ("Give #77 to Priya", "assign_issue", {"number": 77, "assignee": "Priya"}),
    ("What does notes/todo.txt say?", "read_file", {"path": "notes/todo.txt"}),
    ("Show me /etc/hosts", "read_file", {"path": "/etc/hosts"}),
    (
        "Restart the billing service on staging",
        "restart_service",
        {"service": "billing", "environment": "staging"},
    ),
    ("How many words are in 'to be or not to be'?", "word_count", {"text": "to be or not to be"}),
    ("Is db1.example.com up?", "ping", {"host": "db1.example.com"}),
    ("What's for lunch?", None, NOTHING),
    ("Explain quantum computing.", None, NOTHING),
]
SETS: Mapping[str, tuple[Sequence[Any], Sequence[Case]]] = {
    "everyday": (
        (get_weather, convert_currency, set_alarm, send_message, translate, add_todo),
        EVERYDAY,
    ),
    "shop": ((order_status, cancel_order, search_products, refund, stock_level), SHOP),
    "house": ((set_light, set_thermostat, play_music, lock_door, set_timer), HOUSE),
    "sums": ((rectangle_area, circle_area, loan_payment, body_mass_index, mean), SUMS),
    "travel": ((find_trains, search_hotels, book_table, distance, country_info), TRAVEL),
    "work": (
        (create_issue, close_issue, assign_issue, read_file, restart_service, word_count, ping),
        WORK,
    ),
}
"""By name: some tools, and what is asked of them."""
