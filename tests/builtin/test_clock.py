"""The clock and the calendar as tools."""

import json
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from builtin.kit import told
from rightcall import builtin
from rightcall.builtin.clock import find_zone
from rightcall.core.tool import Facts
from rightcall.errors import ToolFailure, UsageError

SPANS = (
    "Write a number and days, weeks, months, years, hours, minutes or seconds: '10 days', '-2 weeks'."
)
NOW = datetime(2026, 11, 14, 13, 5, 9, tzinfo=UTC)


def now() -> datetime:
    return NOW


async def test_the_time_now_is_told_in_all_its_forms():
    kind, text = await told(builtin.datetime(now=now))
    assert kind == "returned"
    assert json.loads(text) == {
        "date": "2026-11-14",
        "time": "13:05:09",
        "weekday": "Saturday",
        "timezone": "UTC",
    }


ZONES = {
    "a name": ("Asia/Tokyo", "22:05:09", "Asia/Tokyo"),
    "a name in small letters": ("asia/tokyo", "22:05:09", "Asia/Tokyo"),
    "a city": ("Tokyo", "22:05:09", "Asia/Tokyo"),
    "a city with a space": ("New York", "08:05:09", "America/New_York"),
    "a city with the wrong part of the world": ("Europe/Tokyo", "22:05:09", "Asia/Tokyo"),
    "an offset": ("+02:00", "15:05:09", "UTC+02:00"),
    "an offset in words": ("GMT-3", "10:05:09", "UTC-03:00"),
    "the zone of the world": ("utc", "13:05:09", "UTC"),
    "nothing": (" ", "13:05:09", "UTC"),
}


@pytest.mark.parametrize(("name", "time", "zone"), ZONES.values(), ids=ZONES)
async def test_a_time_zone_can_be_named_in_many_ways(name, time, zone):
    text = (await told(builtin.datetime(now=now), timezone=name))[1]
    assert (json.loads(text)["time"], json.loads(text)["timezone"]) == (time, zone)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Europe/Pariss", '"Europe/Pariss" is not a time zone. Did you mean Europe/Paris'),
        (
            "the moon and back",
            '"the_moon_and_back" is not a time zone. Use a name such as Europe/Paris.',
        ),
        ("../../etc/passwd", '"../../etc/passwd" is not a time zone. Use a name'),
        ("+99:00", '"+99:00" is not a time zone.'),
        ("America", '"America" is not a time zone.'),
    ],
)
async def test_what_is_no_time_zone_is_said_in_words(name, words):
    kind, text = await told(builtin.datetime(now=now), timezone=name)
    assert (kind, text[: len(words)]) == ("failed", words)


async def test_the_user_may_have_a_zone_of_their_own():
    tool = builtin.datetime(now=now, timezone="Europe/Paris")
    assert json.loads((await told(tool))[1])["time"] == "14:05:09"
    assert json.loads((await told(tool, timezone="UTC"))[1])["time"] == "13:05:09"


@pytest.mark.parametrize("make", [builtin.datetime, builtin.date_math])
def test_a_zone_that_is_none_is_the_developers_mistake(make):
    with pytest.raises(UsageError, match=r"timezone: .*not a time zone"):
        make(timezone="Atlantis/Sunk")


async def test_the_machines_clock_is_used_unless_another_is_given():
    before = datetime.now(UTC).replace(microsecond=0)
    text = (await told(builtin.datetime(), timezone="UTC"))[1]
    shown = datetime.fromisoformat("{date}T{time}+00:00".format(**json.loads(text)))
    assert before <= shown <= before + timedelta(seconds=60)


DATES = {
    "the weekday of a date": ({"date": "2000-02-29"}, "2000-02-29T00:00:00+00:00"),
    "days": ({"add": "10 days"}, "2026-11-24T13:05:09+00:00"),
    "weeks back": ({"add": "-2 weeks"}, "2026-10-31T13:05:09+00:00"),
    "a month from its last day": ({"date": "2024-01-31", "add": "1 month"}, "2024-02-29T00:00:00+00:00"),
    "a month back over the year": (
        {"date": "2024-01-31", "add": "-2 months"},
        "2023-11-30T00:00:00+00:00",
    ),
    "a year from a leap day": ({"date": "2024-02-29", "add": "1 year"}, "2025-02-28T00:00:00+00:00"),
    "several": ({"add": "1 year, 2 months and 3 Days"}, "2028-01-17T13:05:09+00:00"),
    "several back": ({"add": "-1 year 6 months"}, "2025-05-14T13:05:09+00:00"),
    "back and on": ({"add": "-1 day +2 hours"}, "2026-11-13T15:05:09+00:00"),
    "minutes and seconds": ({"add": "90 minutes 1 second"}, "2026-11-14T14:35:10+00:00"),
    "today": ({"date": "today"}, "2026-11-14T13:05:09+00:00"),
    "tomorrow": ({"date": "Tomorrow"}, "2026-11-15T13:05:09+00:00"),
    "a moment with an offset": ({"date": "2026-01-01T10:00+02:00"}, "2026-01-01T10:00:00+02:00"),
}


@pytest.mark.parametrize(("arguments", "iso"), DATES.values(), ids=DATES)
async def test_dates_are_added_to(arguments, iso):
    kind, text = await told(builtin.date_math(now=now), **arguments)
    assert (kind, json.loads(text)["iso"]) == ("returned", iso)


async def test_hours_pass_and_days_turn_when_the_clocks_change():
    paris = ZoneInfo("Europe/Paris")
    tool = builtin.date_math(now=lambda: datetime(2026, 3, 28, 12, tzinfo=paris))
    assert json.loads((await told(tool, add="24 hours"))[1])["time"] == "13:00:00"
    assert json.loads((await told(tool, add="1 day"))[1])["time"] == "12:00:00"


async def test_the_days_between_two_dates_are_counted():
    text = (await told(builtin.date_math(now=now), date="2026-12-25", until="2026-11-14"))[1]
    found = json.loads(text)
    assert {name: found[name] for name in found if "until" in name} == {
        "until": "2026-11-14T00:00:00+00:00",
        "until_weekday": "Saturday",
        "days_until": -41,
        "weeks_until": "-5 weeks 6 days",
        "hours_until": -984.0,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"date": "31/12/2026"}, '"31/12/2026" is not a date. Write YYYY-MM-DD or YYYY-MM-DDTHH:MM.'),
        ({"until": "soon"}, '"soon" is not a date. Write YYYY-MM-DD or YYYY-MM-DDTHH:MM.'),
        (
            {"add": "a fortnight"},
            f'"a fortnight" is not a span of time. {SPANS}',
        ),
        (
            {"add": "9000 years"},
            '"9000 years" leads out of the calendar, which has the years 1 to 9999.',
        ),
        (
            {"date": "0001-01-01", "add": "-1 day"},
            '"-1 day" leads out of the calendar, which has the years 1 to 9999.',
        ),
    ],
)
async def test_what_is_no_date_is_said_in_words(arguments, words):
    assert await told(builtin.date_math(now=now), **arguments) == ("failed", words)


@pytest.mark.parametrize("edge", ["0001-01-01T00:00+14:00", "9999-12-31T23:59:59-12:00"])
async def test_the_ends_of_the_calendar_can_be_told(edge):
    assert (await told(builtin.date_math(now=now), date=edge))[0] == "returned"


@pytest.mark.parametrize("tool", [builtin.datetime(), builtin.date_math()], ids=lambda tool: tool.name)
async def test_examples_work_and_nothing_is_touched(tool):
    assert [(await told(tool, **example))[0] for example in tool.examples] == ["returned"] * len(
        tool.examples
    )
    assert (tool.effect, tool.facts) == (
        "read",
        Facts(untrusted=False, private=False, reach="nothing", targets=()),
    )


def test_an_offset_is_a_zone_and_too_large_an_offset_is_none():
    assert find_zone("-0330") == timezone(-timedelta(hours=3, minutes=30))
    with pytest.raises(ToolFailure):
        find_zone("+25")
