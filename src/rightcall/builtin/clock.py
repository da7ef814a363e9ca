"""Tools for the calendar and the clock: the current time, and the difference between dates."""

import calendar
import re
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, timedelta, timezone, tzinfo
from datetime import datetime as Moment  # noqa: N812 - the tool has its name
from difflib import get_close_matches
from functools import cache
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject, shorten
from rightcall.core.limits import Limits
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
from rightcall.errors import ToolFailure, UsageError

Now: TypeAlias = Callable[[], Moment]
"""Returns the current time, with its time zone."""

_LIMITS = Limits(timeout=10.0, max_arguments_bytes=4096)
_FACTS = Facts(untrusted=False, private=False, reach="nothing", targets=())
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII | re.IGNORECASE)
_STEP = re.compile(
    r"([+-]?)\s*(\d{1,6})\s*(year|month|week|day|hour|minute|second)s?", re.ASCII | re.IGNORECASE
)
_BETWEEN_STEPS = re.compile(r"(?:\s|,|and\b)*", re.IGNORECASE)
_MOST_MINUTES = 24 * 60 - 1
_MONTHS_IN_A_YEAR = 12

_DATETIME_PARAMETERS: JsonObject = object_schema(
    [],
    timezone={
        "type": "string",
        "description": "IANA time zone, such as Europe/Paris. Leave it out for the user's own.",
    },
)
_DATE_PARAMETERS: JsonObject = object_schema(
    [],
    date={
        "type": "string",
        "description": "Where to start: YYYY-MM-DD or YYYY-MM-DDTHH:MM. Leave it out for now.",
    },
    add={
        "type": "string",
        "description": "What to add, such as '10 days', '-2 weeks' or '1 year 6 months'.",
    },
    until={
        "type": "string",
        "description": "Count the days from the date to this one: YYYY-MM-DD or YYYY-MM-DDTHH:MM.",
    },
)


def local_time() -> Moment:
    """The machine's time, in the machine's zone."""
    return Moment.now(UTC).astimezone()


@check_keywords("rc.builtin.datetime")
def datetime(*, now: Now = local_time, timezone: str | None = None) -> Tool:
    """A tool that tells the date and the time; in ``timezone`` unless the model names another."""
    home = _zone_of_user(timezone)
    asked_for = timezone

    async def handler(timezone: str = "") -> JsonObject:
        moment = now()
        if timezone.strip():
            return describe_moment(moment.astimezone(find_zone(timezone)))
        return describe_moment(moment if home is None else moment.astimezone(home))

    return Tool(
        "datetime",
        "The current date (day, month, year), time, weekday and time zone. "
        "Use it whenever an answer depends on now.",
        _DATETIME_PARAMETERS,
        handler,
        short="The current date and time.",
        examples=({}, {}, {"timezone": asked_for or "Europe/Paris"}),
        questions=("What time is it?", "Which day is today?", "What time is it in Paris?"),
        errors="neutral",
        effect="read",
        limits=_LIMITS,
        facts=_FACTS,
    )


@check_keywords("rc.builtin.date_math")
def date_math(*, now: Now = local_time, timezone: str | None = None) -> Tool:
    """A tool that adds to dates and counts the days between them."""
    home = _zone_of_user(timezone)

    async def handler(date: str = "", add: str = "", until: str = "") -> JsonObject:
        present = now() if home is None else now().astimezone(home)
        start = _read(date, present) if date.strip() else present
        if add.strip():
            start = _add_span(start, add)
        found = {**describe_moment(start), "iso": start.isoformat(timespec="seconds")}
        if not until.strip():
            return found
        end = _read(until, present)
        days = (end.date() - start.date()).days
        return {
            **found,
            "until": end.isoformat(timespec="seconds"),
            "until_weekday": calendar.day_name[end.weekday()],
            "days_until": days,
            "weeks_until": f"{'-' if days < 0 else ''}{abs(days) // 7} weeks {abs(days) % 7} days",
            "hours_until": round(int((end - start).total_seconds()) / 3600, 2),
        }

    return Tool(
        "date_math",
        "The weekday of a date, the date so many days, weeks or months away, or the days between two.",
        _DATE_PARAMETERS,
        handler,
        short="Add to dates, and count the days between them.",
        examples=(
            {"date": "2027-03-01"},
            {"add": "10 days"},
            {"date": "2027-03-01", "until": "2027-12-25"},
        ),
        questions=(
            "Which weekday is the first of March 2027?",
            "Which date is it in ten days?",
            "How many days are there from the first of March to Christmas 2027?",
        ),
        errors="neutral",
        effect="read",
        limits=_LIMITS,
        facts=_FACTS,
    )


def describe_moment(moment: Moment) -> JsonObject:
    """The current time in the fields that people ask for. Few: a small model must find the right one."""
    zone = moment.tzinfo
    return {
        "date": moment.date().isoformat(),
        "time": moment.strftime("%H:%M:%S"),
        "weekday": calendar.day_name[moment.weekday()],
        "timezone": zone.key if isinstance(zone, ZoneInfo) else str(zone),
    }


def find_zone(name: str) -> tzinfo:
    """The time zone for an IANA name, a city in one, or an offset. Raises ToolFailure."""
    name = name.strip().replace(" ", "_")
    if name.upper() in {"Z", "UTC", "GMT"}:
        return UTC
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes <= _MOST_MINUTES:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    names = _zone_names()
    if not names:
        raise ToolFailure(
            "This machine has no time zone database. Only UTC and offsets such as +02:00 are known; "
            "its owner can install the tzdata package."
        )
    lowered = name.lower()
    known = names.get(lowered) or names.get(lowered.rpartition("/")[2])
    if known is None:
        near = [names[each] for each in get_close_matches(lowered, names, n=3)]
        hint = f" Did you mean {' or '.join(near)}?" if near else " Use a name such as Europe/Paris."
        raise ToolFailure(f"{shorten(name)} is not a time zone.{hint}")
    return ZoneInfo(known)


@cache
def _zone_names() -> dict[str, str]:
    """Every zone by its lower-case name, and by its city alone where that is unambiguous."""
    known = sorted(available_timezones())
    # A city's name also occurs in old links such as posix/Europe/Paris; the shortest is the real one.
    cities = {name.rpartition("/")[2].lower(): name for name in sorted(known, key=len, reverse=True)}
    return {**cities, **{name.lower(): name for name in known}}


def _zone_of_user(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return find_zone(name)
    except ToolFailure as failure:
        raise UsageError(f"timezone: {failure}") from None


def _read(text: str, present: Moment) -> Moment:
    """A date or a moment; in the zone of ``present`` unless it names one."""
    text = text.strip()
    words = {"now": present, "today": present, "tomorrow": present + timedelta(days=1)}
    words["yesterday"] = present - timedelta(days=1)
    if text.lower() in words:
        return words[text.lower()]
    try:
        found = Moment.fromisoformat(text)
    except ValueError:
        raise ToolFailure(
            f"{shorten(text)} is not a date. Write YYYY-MM-DD or YYYY-MM-DDTHH:MM."
        ) from None
    if found.tzinfo is not None:
        return found
    return found.replace(tzinfo=present.tzinfo)


def _add_span(moment: Moment, text: str) -> Moment:
    at = _skip(text, 0)
    sign = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ToolFailure(
                f"{shorten(text)} is not a span of time. Write a number and days, weeks, months, years, "
                "hours, minutes or seconds: '10 days', '-2 weeks'."
            )
        # A minus applies to everything after it: -1 year 6 months is a year and a half back.
        sign = {"+": 1, "-": -1}.get(step[1], sign)
        try:
            moment = _shift_moment(moment, sign * int(step[2]), step[3].lower())
        except (OverflowError, ValueError):
            raise ToolFailure(
                f"{shorten(text)} leads out of the calendar, which has the years 1 to 9999."
            ) from None
        at = _skip(text, step.end())
    return moment


def _skip(text: str, at: int) -> int:
    skipped = _BETWEEN_STEPS.match(text, at)
    if skipped is None:
        return at
    return skipped.end()


def _shift_moment(moment: Moment, count: int, unit: str) -> Moment:
    if unit in {"hour", "minute", "second"}:
        # Hours are added in UTC; days, months and years on the local calendar.
        passed = moment.astimezone(UTC) + timedelta(**{f"{unit}s": count})
        return passed.astimezone(moment.tzinfo)
    if unit in {"day", "week"}:
        return moment + timedelta(**{f"{unit}s": count})
    months = count * (_MONTHS_IN_A_YEAR if unit == "year" else 1)
    year, month = divmod(moment.year * _MONTHS_IN_A_YEAR + moment.month - 1 + months, _MONTHS_IN_A_YEAR)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError
    # A month after 31 January is the last day of February.
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)
