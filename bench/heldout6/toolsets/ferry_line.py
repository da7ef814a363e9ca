import re
from typing import Literal, Optional

_TIMES = {
    ("torvik", "skerry"): ["07:15", "10:40", "14:05", "18:30"],
    ("skerry", "torvik"): ["08:50", "12:20", "15:45", "20:10"],
    ("torvik", "port ann"): ["09:25", "16:55", "23:40"],
    ("port ann", "torvik"): ["06:30", "13:10", "21:00"],
}
_FARES = {frozenset(("torvik", "skerry")): 8.3, frozenset(("torvik", "port ann")): 21.7}
_VEHICLE = {None: 0, "bicycle": 0.5, "motorbike": 1.5, "car": 3, "camper": 4.5}
_SAILINGS = {"TS204": ("delayed", 35), "TS206": ("on time", 0), "PA11": ("cancelled", 0), "PA17": ("delayed", 95)}


def _minutes(t):
    m = re.search(r"(\d{1,2})(?:[:.h](\d{2}))?\s*([ap])?", t.lower())
    if not m:
        return {"noon": 720, "midday": 720}.get(t.lower().strip(), 0)
    h = int(m.group(1))
    if m.group(3):
        h = h % 12 + (12 if m.group(3) == "p" else 0)
    return h * 60 + int(m.group(2) or 0)


def list_departures(origin: str, destination: str, after: Optional[str] = None) -> list[str]:
    """List the daily departures from one port to another.

    Args:
        origin: Port of departure.
        destination: Port of arrival.
        after: Leave out everything before this time.
    """
    times = _TIMES[origin.lower().strip(), destination.lower().strip()]
    return [t for t in times if after is None or _minutes(t) >= _minutes(after)]


def ticket_price(
    origin: str,
    destination: str,
    passengers: int = 1,
    vehicle: Optional[Literal["bicycle", "motorbike", "car", "camper"]] = None,
) -> float:
    """Price of a single crossing for a group, with a vehicle if they bring one."""
    base = _FARES[frozenset((origin.lower().strip(), destination.lower().strip()))]
    return round(base * (int(passengers) + _VEHICLE[vehicle]), 2)


def sailing_status(sailing: str) -> dict:
    """Tell whether a sailing is on time."""
    status, minutes = _SAILINGS[re.sub(r"[^A-Z0-9]", "", sailing.upper())]
    return {"status": status, "delay_minutes": minutes}


def move_booking(booking: str, date: str) -> str:
    """Move a booking to another date.

    Args:
        booking: Booking reference.
        date: The new date.
    """
    return f"Moved, new reference {sum(map(ord, booking.upper().strip())) * 7}"


def reserve_cabin(booking: str, berths: Literal[2, 4], window: bool = False) -> dict:
    """Add a cabin to a booking on the night boat."""
    number = sum(map(ord, booking.upper().strip())) % 40 + int(berths) * 100 + (50 if window else 0)
    return {"cabin": number, "deck": 7 if window else 5}


TOOLS = [list_departures, ticket_price, sailing_status, move_booking, reserve_cabin]
