import re
from typing import Literal, Optional

_FREE = {-2: 61, -1: 48, 1: 33, 2: 117, 3: 204}
_CARS = {"KX19PLM": ("level 2", "C14"), "BTR771": ("level -1", "A03"), "WOB4416": ("level 3", "F29")}


def _plate(p):
    return re.sub(r"[^A-Z0-9]", "", p.upper())


def _minutes(t):
    m = re.match(r"\s*(\d{1,2})(?:[:.h](\d{2}))?\s*([ap])?", t.lower())
    h = int(m.group(1))
    if m.group(3):
        h = h % 12 + (12 if m.group(3) == "p" else 0)
    return h * 60 + int(m.group(2) or 0)


def free_spaces(level: int) -> int:
    """Count the free spaces on a level of the garage."""
    return _FREE[int(level)]


def parking_fee(arrival: str, departure: str) -> float:
    """Calculate the fee for a stay within one day.

    Args:
        arrival: Time of arrival.
        departure: Time of departure.
    """
    return round(-(-(_minutes(departure) - _minutes(arrival)) // 20) * 0.85 + 0.4, 2)


def find_vehicle(plate: str) -> dict:
    """Find where a vehicle is parked by its licence plate."""
    level, bay = _CARS[_plate(plate)]
    return {"level": level, "bay": bay}


def reserve_space(plate: str, date: str, hours: int, charging: bool = False) -> dict:
    """Reserve a space for a vehicle.

    Args:
        plate: Licence plate.
        date: Day of the reservation.
        hours: Length of the stay.
        charging: Whether a charging point is needed.
    """
    return {"date": date, "bay": f"{'E' if charging else 'R'}{sum(map(ord, _plate(plate))) % 60 + int(hours)}"}


def open_barrier(gate: Literal["north", "south", "staff"], ticket: Optional[str] = None) -> str:
    """Open the barrier at a gate."""
    return f"Barrier open, event {4000 + sum(map(ord, gate.lower()))}"


def lost_ticket(plate: str, name: str) -> str:
    """Issue a replacement for a lost ticket.

    Args:
        plate: Licence plate of the vehicle.
        name: Name of the driver.
    """
    return f"Replacement ticket L{sum(map(ord, _plate(plate))) * 3 + len(name)} issued"


TOOLS = [free_spaces, parking_fee, find_vehicle, reserve_space, open_barrier, lost_ticket]
