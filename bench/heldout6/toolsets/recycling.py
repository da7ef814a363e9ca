import re
from typing import Literal

_DAYS = {
    "mill lane": {"paper": "Tuesday", "glass": "Friday", "organic": "Monday", "residual": "Thursday"},
    "orchard road": {"paper": "Wednesday", "glass": "Monday", "organic": "Thursday", "residual": "Friday"},
    "station street": {"paper": "Friday", "glass": "Tuesday", "organic": "Wednesday", "residual": "Monday"},
}
_GUIDE = {
    "pizza box": "residual waste if greasy",
    "light bulb": "hazardous waste counter",
    "yoghurt pot": "yellow sack",
    "batteries": "red box at any supermarket",
    "teabag": "organic bin",
    "paint tin": "hazardous waste counter, lid on",
    "mirror": "rubble skip",
}
_RATE = {"rubble": 0.09, "garden waste": 0.04, "tyres": 0.35, "treated wood": 0.16}


def collection_day(street: str, waste: Literal["paper", "glass", "organic", "residual"]) -> str:
    """Weekday on which a kind of waste is collected in a street."""
    return _DAYS[re.sub(r"^\d+\w? ", "", street.lower().strip())][waste]


def where_to_throw(item: str) -> str:
    """Say where a thing has to be thrown away.

    Args:
        item: The thing, in the singular or plural.
    """
    words = item.lower()
    for name, place in _GUIDE.items():
        stem = name[:-3] if name == "batteries" else name
        if stem in words.replace("tea bag", "teabag").replace("lightbulb", "light bulb").replace("yogurt", "yoghurt"):
            return place
    return "ask at the depot"


def book_bulky_pickup(address: str, items: list[str], date: str) -> str:
    """Book a pickup of bulky waste.

    Args:
        address: Street and house number.
        items: Things to be picked up.
        date: Day of the pickup.
    """
    return f"Pickup booked, number B{int(re.sub(r'[^0-9]', '', address)) * 10 + len(items)}"


def report_missed_collection(address: str, waste: Literal["paper", "glass", "organic", "residual"]) -> str:
    """Report a bin that was not emptied."""
    return f"Reported under M-{int(re.sub(r'[^0-9]', '', address)) * 6 + len(waste)}"


def depot_fee(material: Literal["rubble", "garden waste", "tyres", "treated wood"], kilos: float) -> float:
    """Fee for leaving material at the depot."""
    return round(2.5 + _RATE[material] * float(kilos), 2)


TOOLS = [collection_day, where_to_throw, book_bulky_pickup, report_missed_collection, depot_fee]
