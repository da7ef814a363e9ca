"""A personal calendar."""
from datetime import date as _date
from typing import List

_EVENTS = {
    "2026-03-14": ["Dentist 09:30", "Lunch with Priya 12:30"],
    "2026-03-15": ["Flea market 10:00"],
    "2026-04-01": ["Tax deadline", "Choir 19:00", "Call with Osaka 07:00"],
    "2026-05-20": [],
}


def add_event(title: str, day: str, time: str, minutes: int = 60) -> str:
    """Put a new event into the calendar.

    Args:
        title: what the event is called
        day: date as YYYY-MM-DD
        time: start time as HH:MM
        minutes: how long it lasts
    """
    number = sum(map(ord, title.lower())) % 900 + 100
    return f"Saved as event {number}, {minutes} minutes"


def events_on(day: str) -> List[str]:
    """List the events of one day (YYYY-MM-DD)."""
    return _EVENTS.get(day.strip(), [])


def cancel_event(event_id: int) -> str:
    """Cancel an event by its number."""
    return f"Event {event_id} cancelled, {event_id % 7 + 1} guests informed"


def days_between(start: str, end: str) -> int:
    """Number of days between two dates, both given as YYYY-MM-DD."""
    return (_date.fromisoformat(end) - _date.fromisoformat(start)).days


def find_free_slot(day: str, minutes: int) -> str:
    """Find the first free slot of a given length on a day.

    Args:
        day: date as YYYY-MM-DD
        minutes: how many minutes are needed
    """
    busy = len(_EVENTS.get(day.strip(), []))
    return f"{9 + busy + minutes // 60:02d}:15"


TOOLS = [add_event, events_on, cancel_event, days_between, find_free_slot]
