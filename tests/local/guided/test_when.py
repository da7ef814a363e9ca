"""Days and times as people write them: found as one value, and spelt only where nothing is guessed."""

import pytest

from rightcall.local.guided.values import values_in
from rightcall.local.guided.when import clock_time, iso_date


@pytest.mark.parametrize(
    ("written", "clock"),
    [
        ("half past seven", "07:30"),
        ("quarter to nine in the evening", "20:45"),
        ("a quarter past six", "06:15"),
        ("ten to five", "04:50"),
        ("quarter to one", "12:45"),
        ("7.30pm", "19:30"),
        ("7 in the morning", "07:00"),
        ("19h30", "19:30"),
        ("12:15 am", "00:15"),
        ("midday", "12:00"),
        ("seven o'clock", ""),
    ],
)
def test_a_time_is_one_value_and_a_clock_shows_it_unless_half_of_it_was_left_unsaid(written, clock):
    times = [each.text for each in values_in(f"Call me at {written}") if each.kind == "time"]
    assert (times, clock_time(written)) == ([written], clock)


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("Friday, 12 June 2026", "2026-06-12"),
        ("June the 3rd", ""),
        ("2026/05/03", "2026-05-03"),
        ("Monday the 3rd", ""),
        ("the 21st of next month", ""),
        ("the end of the week", ""),
        ("this evening", ""),
        ("New Year's Eve", ""),
    ],
)
def test_a_day_is_one_value_and_has_a_number_only_with_its_year(written, iso):
    days = [each.text for each in values_in(f"Book it for {written}") if each.kind == "date"]
    assert (days, iso_date(written)) == ([written], iso)


def test_numbers_that_only_look_like_a_time_stay_numbers():
    assert [each.kind for each in values_in("from nine to five people")] == ["number", "number"]
    assert [each.kind for each in values_in("the 3rd floor")] == ["number"]
