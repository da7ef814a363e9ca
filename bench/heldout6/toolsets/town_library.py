import re
from typing import Literal

_BOOKS = {
    "left hand of darkness": ("SF 81", 2),
    "middlemarch": ("F 214", 1),
    "gruffalo": ("K 12", 5),
    "sapiens": ("H 930", 0),
    "moby dick": ("F 377", 3),
    "salt fat acid heat": ("C 641", 4),
}
_HOURS = {
    "central": {"saturday": "09:30-16:15", "sunday": "closed", None: "08:45-19:30"},
    "harbour": {"monday": "closed", "saturday": "10:00-13:40", "sunday": "closed", None: "11:00-18:20"},
    "eastfield": {"wednesday": "13:30-20:10", "sunday": "10:15-14:50", None: "09:10-17:25"},
}


def _key(title):
    return re.sub(r"^(the|a) ", "", re.sub(r"[^a-z ]", " ", title.lower()).strip()).strip()


def _num(card):
    return int(re.sub(r"\D", "", card) or 0)


def find_book(title: str) -> dict:
    """Look up the shelf of a book and how many copies are in."""
    shelf, copies = _BOOKS[re.sub(r" +", " ", _key(title))]
    return {"shelf": shelf, "copies_in": copies}


def renew_loan(card: str, title: str, weeks: int = 3) -> str:
    """Extend the loan of a borrowed book.

    Args:
        card: Number of the library card.
        title: Title of the book.
        weeks: How many weeks to add.
    """
    return f"Renewed, receipt R{_num(card) % 700 * 3 + int(weeks)}"


def place_hold(card: str, title: str, branch: Literal["central", "harbour", "eastfield"] = "central") -> dict:
    """Reserve a book for a reader.

    Args:
        card: Number of the library card.
        title: Title of the book.
        branch: Where the reader wants to pick it up.
    """
    return {"hold": f"H{_num(card) % 900 + 11 * len(branch)}", "branch": branch}


def late_fee(days: int, items: int = 1, child: bool = False) -> float:
    """Work out what is owed for overdue items.

    Args:
        days: Days overdue.
        items: Number of items.
        child: Whether they are on a child's card.
    """
    return round(int(days) * int(items) * (0.07 if child else 0.23), 2)


def opening_hours(branch: Literal["central", "harbour", "eastfield"], day: str) -> str:
    """Opening hours of a branch on a day of the week."""
    hours = _HOURS[branch.lower()]
    return hours.get(day.lower().strip().rstrip("s"), hours[None])


TOOLS = [find_book, renew_loan, place_hold, late_fee, opening_hours]
