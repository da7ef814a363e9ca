"""The travel desk of a company."""
from typing import Literal, Optional

_RATE = {"lisbon": 84, "vienna": 112, "oslo": 149, "kraków": 61, "krakow": 61}
_TRAIN = {("vienna", "prague"): "4 h 07 min", ("paris", "lyon"): "1 h 58 min", ("madrid", "seville"): "2 h 32 min"}
_BOOK = {"XK7P2Q": "Oslo, 12 June, seat 14C", "QQ81LM": "Lisbon, 2 July, seat 3A", "ZT40RB": "cancelled and refunded"}


def find_flights(origin: str, destination: str, date: str) -> dict:
    """Search the cheapest flight between two cities on a date.

    Args:
        origin: city of departure
        destination: city of arrival
        date: day of travel
    """
    seed = sum(map(ord, (origin + destination).lower()))
    return {"flight": f"TD{seed % 900 + 100}", "date": date, "price_eur": 60 + seed % 140}


def hotel_rate(city: str, nights: int, stars: Optional[int] = None) -> str:
    """Total price of a hotel stay in a city."""
    total = _RATE.get(city.lower().strip(), 99) * nights
    if stars:
        total = total * (stars + 2) // 5
    return f"{total} EUR"


def visa_needed(nationality: str, destination: str) -> str:
    """Say if a traveller needs a visa.

    Args:
        nationality: The traveller's country of citizenship.
        destination: The country to visit.
    """
    key = (nationality + destination).lower()
    if "brazil" in key and "japan" in key:
        return "no visa for stays up to 90 days"
    if "india" in key:
        return "e-visa required, 25 USD"
    return "visa on arrival"


def train_time(origin: str, destination: str) -> str:
    """How long the train takes between two cities."""
    return _TRAIN.get((origin.lower().strip(), destination.lower().strip()), "no direct train")


def baggage_fee(airline: str, bags: int, travel_class: Literal["economy", "business"] = "economy") -> int:
    """Fee for checked bags in euros."""
    each = 35 if "nord" in airline.lower() else 28
    return 0 if travel_class == "business" else each * bags


def look_up_booking(reference: str) -> str:
    """Show a booking by its six character reference."""
    return _BOOK.get(reference.upper().strip(), "not found")


TOOLS = [find_flights, hotel_rate, visa_needed, train_time, baggage_fee, look_up_booking]
