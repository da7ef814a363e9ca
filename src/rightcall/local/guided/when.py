"""Finds days and times as people write them, and converts them to 2026-03-05 and 17:30.

Nothing is computed that needs a calendar or a clock: "next Friday" stays unchanged.
"""

import re

from rightcall.local.guided.wordlist import listed

_MONTHS = listed(
    """
    january february march april may june july august september october november december
    """
)
_MONTH = "(?:" + "|".join(rf"{month}\b|{month[:3]}\b\.?" for month in _MONTHS) + r"|sept\b\.?)"
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_HOURS = listed("one two three four five six seven eight nine ten eleven twelve")
_HOUR = rf"(?:{'|'.join(_HOURS)}|\d{{1,2}})"
_MINUTES = {"half": 30, "quarter": 15, "twenty-five": 25, "twenty": 20, "five": 5, "ten": 10}
_HALF_DAY = r"(?:\s(?:in\ the\ (?:morning|afternoon|evening)|at\ night)\b)"
_NOON = 12

DATE = re.compile(
    rf"""\b(?:\d{{4}}([-/])\d{{2}}\1\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}
    |\d{{1,2}}-\d{{1,2}}-\d{{4}}
    |(?:{_WEEKDAY},?\s+(?:the\s+)?)?{_MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)
        (?:,?\s+(?:of\s+)?\d{{4}}\b)?
    |(?:{_WEEKDAY},?\s+(?:the\s+)?)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}}\b)?
    |(?:{"|".join(_MONTHS)})(?:,?\s+\d{{4}})?\b
    |(?:(?:next|this|last|coming)\s+)?{_WEEKDAY}(?:\s+the\s+\d{{1,2}}(?:st|nd|rd|th))?\b
    |the\s+\d{{1,2}}(?:st|nd|rd|th)(?:\s+of\s+(?:this|next|last)\s+month|(?=\s*(?:[,.?!]|$|at\b)))
    |(?:the\s+)?end\s+of\s+(?:the|this|next)\s+(?:week|month|year)\b
    |(?:next|this|last)\s+(?:week(?:end)?|month|year|morning|afternoon|evening)\b
    |(?:christmas|new\s+year's)\s+(?:day|eve)\b
    |(?:the\ )?day\ after\ tomorrow|today|tomorrow|tonight|yesterday\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A day, a month, or a named period of days."""
TIME = re.compile(
    rf"""\b(?:\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s?[ap]\.?m\b\.?|{_HALF_DAY})?
    |\d{{1,2}}\.\d{{2}}\s?[ap]\.?m\b\.?|\d{{1,2}}h\d{{2}}\b
    |{_HOUR}\s?(?:[ap]\.?m\b\.?|o['\u2019]clock\b{_HALF_DAY}?)
    |{_HOUR}{_HALF_DAY}
    |(?:half|(?:a\ )?quarter|(?:twenty-five|twenty|five|ten)(?:\ minutes)?)\ past\ {_HOUR}\b{_HALF_DAY}?
    |(?:a\ )?quarter\ to\ {_HOUR}\b{_HALF_DAY}?
    |(?:(?<=at\ )|(?<=by\ ))(?:twenty-five|twenty|five|ten)\ to\ {_HOUR}\b{_HALF_DAY}?
    |noon\b|midday\b|midnight\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A time of the day."""
_SPOKEN = re.compile(
    rf"(?:a )?(half|quarter|twenty-five|twenty|five|ten)(?: minutes)? (past|to) ({_HOUR})"
)


def iso_date(text: str) -> str:
    """A day as 2026-03-05, if the text has the year; otherwise empty."""
    if found := re.fullmatch(r"(\d{4})[-/](\d{2})[-/](\d{2})", text):
        return "-".join(found.groups())
    year = re.search(r"\b\d{4}\b", text)
    month = re.search(_MONTH, text, re.IGNORECASE)
    rest = text.replace(year[0], "", 1) if year else text
    day = re.search(r"\d{1,2}", rest)
    if not (year and month and day):
        return ""
    number = [name[:3] for name in _MONTHS].index(month[0][:3].lower()) + 1
    return f"{year[0]}-{number:02d}-{int(day[0]):02d}"


def clock_time(text: str) -> str:
    """A time as 17:30, if it says before or after noon, or is written so; otherwise empty."""
    lower = text.lower().strip()
    if lower in {"noon", "midday", "midnight"}:
        return "00:00" if lower == "midnight" else "12:00"
    half = re.search(r"([ap])\.?m\b|in the (morning|afternoon|evening)|at (night)", lower)
    if spoken := _SPOKEN.match(lower):
        minutes = _MINUTES[spoken[1]]
        back = spoken[2] == "to"
        hour = (_hour(spoken[3]) - back) or _NOON
        return _clock(hour, 60 - minutes if back else minutes, half)
    found = re.match(rf"({_HOUR})(?:[:.h](\d{{2}}))?", lower)
    if found is None or not (found[2] or half):
        return ""
    return _clock(_hour(found[1]), int(found[2] or 0), half)


def _clock(hour: int, minutes: int, half: re.Match[str] | None) -> str:
    if half is not None:
        is_late = half[1] == "p" or half[2] in {"afternoon", "evening"} or half[3] is not None
        hour = hour % _NOON + (_NOON if is_late else 0)
    return f"{hour:02d}:{minutes:02d}"


def _hour(word: str) -> int:
    return int(word) if word.isdecimal() else _HOURS.index(word) + 1
