import re
from typing import Literal, Optional

_PRICES = {"brake pads": 64.9, "oil filter": 12.35, "clutch": 389.0, "wiper blades": 27.4, "battery": 118.6, "alternator": 274.15}
_MODELS = {"golf": (2.3, 2.6), "clio": (2.2, 2.0), "corolla": (2.4, 2.35), "transit": (3.3, 3.8)}


def _plate(p):
    return re.sub(r"[^A-Z0-9]", "", p.upper())


def _model(m):
    return m.lower().split()[-1]


def part_price(part: str, model: str) -> float:
    """Look up the price of a spare part for a car model."""
    return round(_PRICES[part.lower().strip()] + len(_model(model)) * 1.1, 2)


def order_part(part: str, model: str, quantity: int = 1) -> dict:
    """Order a spare part from the wholesaler.

    Args:
        part: Name of the part.
        model: Car model it is for.
        quantity: Number of pieces.
    """
    return {"order": f"W{len(part) * 211 + len(_model(model)) * 17 + int(quantity)}", "arrives_in_days": 2}


def book_repair(customer: str, plate: str, date: str, job: Optional[str] = None) -> dict:
    """Book a car in for a repair.

    Args:
        customer: Name of the customer.
        plate: Licence plate of the car.
        date: Day on which the car is brought.
        job: What is to be done.
    """
    return {"booking": f"R{sum(map(ord, _plate(plate))) * 5}", "lift": len(customer) % 4 + 1, "date": date}


def repair_status(plate: str) -> str:
    """Tell how far the repair of a car is."""
    s = {"HTB204": "waiting for a gasket", "2KLD88": "ready for collection in bay 6", "RZ55QAD": "test drive at 15:40"}
    return s.get(_plate(plate), "no such car in the workshop")


def tyre_pressure(model: str, axle: Literal["front", "rear"]) -> str:
    """Give the recommended tyre pressure in bar for an axle of a car model."""
    return f"{_MODELS[_model(model)][axle.lower() == 'rear']} bar"


def labour_cost(hours: float, mechanic: Literal["apprentice", "journeyman", "master"]) -> float:
    """Calculate the labour cost for hours of work by a mechanic of some grade.

    Args:
        hours: Working hours.
        mechanic: Grade of the mechanic.
    """
    return round(float(hours) * {"apprentice": 38.5, "journeyman": 67.0, "master": 92.8}[mechanic.lower()], 2)


def text_customer(phone: str, message: str) -> str:
    """Send a text message to a customer."""
    return f"Sent, message id {sum(int(c) for c in phone if c.isdigit()) + 5200}"


TOOLS = [part_price, order_part, book_repair, repair_status, tyre_pressure, labour_cost, text_customer]
