"""Days that a person names by their distance from another: the day after the original one."""

from datetime import date, timedelta

from rightcall.trust.words.describing import NUMBERS
from rightcall.trust.words.hinted import Hinted

_NUMBER = rf"\d{{1,3}}|an?|{'|'.join(NUMBERS[1:])}"
_WAY = "after|later|before|earlier|sooner|longer|shorter|more|extra|less"
_EXTEND = "(?:extend|prolong|postpone|delay|lengthen|push|mov)"
_BY = rf"{_EXTEND}\w*\b[^.;!?]{{0,60}}?\b(?:by|for)\s+(?:another\s+)?"
_SHIFT = Hinted(
    rf"\b(?:(?P<number>{_NUMBER})\s+)?(?P<unit>day|week)s?\s+(?P<way>{_WAY})\b"
    rf"|\b(?P<more>{_NUMBER})\s+(?P<added>more|extra|additional)\s+(?P<of>day|week)s?\b"
    rf"|\b{_BY}(?P<by>{_NUMBER})\s+(?P<for>day|week)s?\b(?!\s+(?:{_WAY})\b)"
    r"|\bnext (?P<next>day)\b(?!\s+deliver)",
    "day|week",
)
_BACK = frozenset({"before", "earlier", "sooner", "shorter", "less"})


def shifts_in(text: str) -> frozenset[int]:
    """By how many days a text wants something later, or earlier if the number is negative."""
    found = set[int]()
    for each in _SHIFT.finditer(text):
        if each["next"]:
            found.add(1)
            continue
        number = _number(each["number"] or each["more"] or each["by"] or "one")
        unit = each["unit"] or each["of"] or each["for"]
        days = number * (7 if unit.lower() == "week" else 1)
        found.add(-days if (each["way"] or "").lower() in _BACK else days)
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
