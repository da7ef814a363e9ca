"""Days that a person names by their distance from another: the day after the original one."""

from datetime import date, timedelta

from rightcall.trust.hinted import Hinted
from rightcall.trust.records import NUMBERS

_NUMBER = rf"(?P<number>\d{{1,3}}|an?|{'|'.join(NUMBERS[1:])})"
_SHIFT = Hinted(
    rf"\b(?:{_NUMBER}\s+)?(?P<unit>day|week)s?\s+(?P<way>after|later|before|earlier|sooner)\b"
    r"|\bnext (?P<next>day)\b(?!\s+deliver)",
    "day|week",
)
_BACK = frozenset({"before", "earlier", "sooner"})


def shifts_in(text: str) -> frozenset[int]:
    """By how many days a text wants something later, or earlier if the number is negative."""
    found = set[int]()
    for each in _SHIFT.finditer(text):
        if each["next"]:
            found.add(1)
            continue
        days = _number(each["number"] or "one") * (7 if each["unit"].lower() == "week" else 1)
        found.add(-days if each["way"].lower() in _BACK else days)
    return frozenset(found)


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    return NUMBERS.index(said.lower()) if said.lower() in NUMBERS else 1


def shifted(day: str, by: int) -> str | None:
    """The day that is so many days later; None for what is no day."""
    try:
        return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
    except (ValueError, OverflowError):
        return None
