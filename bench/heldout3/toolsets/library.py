"""A town library."""


def find_book(title: str) -> str:
    """Say on which shelf a book stands."""
    return f"shelf {len(title) * 3}"


def renew_loan(card_number: str, weeks: int = 2) -> str:
    """Keep everything that was borrowed with a library card for longer."""
    return f"card {card_number}: {weeks} more weeks, receipt {weeks * 111}"


def opening_hours(day: str) -> str:
    """When the library is open on a day of the week."""
    return f"{day}: open until {17 + len(day) % 4}:30"


def reserve_study_room(date: str, people: int) -> str:
    """Book a quiet room to work in for some people."""
    return f"room R{people * 7} on {date}"


def overdue_fee(days_late: int, items: int = 1) -> str:
    """Work out what must be paid for books that come back late."""
    return f"{days_late * items * 15} cents"


TOOLS = [find_book, renew_loan, opening_hours, reserve_study_room, overdue_fee]
