"""Dates as people write them: each in one spelling."""

import re

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
"""A month's name, whole or abbreviated."""
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+\d{4})?"
DATE = (
    rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:t(?=\d)|(?![\w-]))"
    rf"|{MONTH}\s+{_DAY}{_YEAR}(?![\w:])|{_DAY}\s+(?:of\s+)?{MONTH}{_YEAR}(?!\w)"
)
"""A date with or without its year, for a case-insensitive pattern."""

_BESIDE_NUMBER = re.compile(rf"\d(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}|{MONTH}\s+\d")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_PIECE = re.compile(r"[a-z]{3,}|\d+")


def spelled(date: str) -> str:
    """A date as ``2025-01-11``; without a year, as ``--01-11``."""
    if found := _ISO.match(date):
        return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    year, month, day = "-", 0, 0
    for piece in _PIECE.findall(date.casefold()):
        if not piece.isdigit():
            month = _MONTHS.find(piece[:3]) // 4 + 1 if piece[:3] in _MONTHS else month
        elif len(piece) == 4:  # noqa: PLR2004 - the digits of a year
            year = piece
        else:
            day = int(piece)
    return f"{year}-{month:02}-{day:02}"


def without_year(date: str) -> str:
    """A date without its year."""
    return f"-{date[4:]}"


def may_hold_date(text: str) -> bool:
    """Whether a text may hold a month's name beside a number."""
    low = text.lower()
    return any(map(low.__contains__, _MONTHS.split())) and _BESIDE_NUMBER.search(low) is not None
