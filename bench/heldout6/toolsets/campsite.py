import re
from typing import Literal

_PITCHES = {
    "A4": ("free", 62, 0),
    "B12": ("taken", 84, 6),
    "C3": ("free", 110, 16),
    "C9": ("closed for repair", 105, 16),
    "D21": ("taken", 73, 10),
}


def _pitch(p):
    return re.sub(r"[^A-Z0-9]", "", p.upper().replace("PITCH", ""))


def pitch_info(pitch: str) -> dict:
    """Status, size in square metres and power supply in amps of one pitch."""
    status, size, amps = _PITCHES[_pitch(pitch)]
    return {"status": status, "size_m2": size, "amps": amps}


def book_pitch(name: str, arrival: str, nights: int, unit: Literal["tent", "caravan", "motorhome"]) -> str:
    """Book a pitch for a guest.

    Args:
        name: Surname the booking goes under.
        arrival: Day of arrival.
        nights: Number of nights.
        unit: What they are going to sleep in.
    """
    return f"Booked, confirmation CS{200 + 17 * int(nights) + 100 * len(unit)}"


def stay_price(adults: int, nights: int, children: int = 0, dogs: int = 0) -> float:
    """Price of a stay, tourist tax included."""
    return round(int(nights) * (int(adults) * 11.4 + int(children) * 5.25 + int(dogs) * 3.1 + 9), 2)


def order_bakery(pitch: str, rolls: int = 0, croissants: int = 0, baguettes: int = 0) -> dict:
    """Order from the bakery for tomorrow morning, delivered to the pitch."""
    total = int(rolls) * 0.65 + int(croissants) * 1.45 + int(baguettes) * 1.9
    return {"pitch": _pitch(pitch), "total": round(total, 2)}


def report_fault(location: str, description: str) -> str:
    """Send the caretaker a repair job.

    Args:
        location: Which building, pitch or spot on the grounds.
        description: What is wrong there.
    """
    return "Sent to the caretaker, job 5518"


TOOLS = [pitch_info, book_pitch, stay_price, order_bakery, report_fault]
