from typing import Literal

_CARS = {
    ("van", "leeds"): ["V303 Ford Transit", "V318 Renault Master"],
    ("estate", "porto"): ["K207 Skoda Octavia", "K211 Volvo V60"],
    ("small", "porto"): ["M115 Fiat Panda"],
    ("suv", "leeds"): ["S402 Nissan Qashqai"],
}
_RATES = {"small": 31.5, "estate": 48.0, "van": 67.25, "suv": 59.9}


def available_cars(category: Literal["small", "estate", "van", "suv"], city: str) -> list:
    """List the cars of a category that are available in a city."""
    return _CARS[category, city.lower()]


def rental_quote(
    category: Literal["small", "estate", "van", "suv"], days: int, extra_driver: bool = False
) -> float:
    """Calculate what a rental will cost."""
    return round(int(days) * (_RATES[category] + (7.5 if extra_driver else 0)), 2)


def reserve_car(car_id: str, customer: str, start: str, days: int) -> str:
    """Reserve a car for a customer from a start date for a number of days."""
    return f"Reservation Q{sum(map(ord, car_id.upper() + customer.lower().split()[-1])) + int(days)} confirmed"


def extend_rental(contract: str, days: int) -> dict:
    """Extend a running rental contract by some days."""
    return {"contract": contract, "surcharge": round(44.3 * int(days), 2)}


def report_damage(contract: str, description: str) -> str:
    """Report damage to a rented car. Returns the case number."""
    return f"Damage case D{sum(map(ord, contract.upper())) * 7}"


TOOLS = [available_cars, rental_quote, reserve_car, extend_rental, report_damage]
