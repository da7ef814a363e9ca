"""The box office of a theatre."""

from typing import Literal


def seats_left(play: str, date: str) -> str:
    """Count the seats that are still free for a performance."""
    return f"{play} on {date}: {len(play) * 7} free"


def reserve_seats(play: str, date: str, seats: int, row: str = "") -> str:
    """Put seats aside under a reservation. Does not take money; use sell_ticket for that."""
    return f"reservation R{len(play) * 100 + seats} for {date} {row}".strip()


def cast_of(play: str) -> str:
    """Who is playing which part. Not for directors or musicians."""
    return f"cast list {len(play) * 11}"


def running_time(play: str) -> str:
    """How long a play lasts, the interval included."""
    return f"{len(play) * 9} minutes"


def send_programme(play: str, email: str, language: Literal["English", "French", "German"] = "English") -> str:
    """Mail the programme booklet of a play to somebody."""
    return f"programme {len(play) * 13} in {language} sent to {email}"


TOOLS = [seats_left, reserve_seats, cast_of, running_time, send_programme]
