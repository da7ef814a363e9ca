"""A ski resort."""

from typing import Literal


def snow_depth(slope: str) -> str:
    """How much snow lies on a slope, in centimetres."""
    return f"{slope}: {len(slope) * 8} cm"


def lift_queue(lift: str) -> str:
    """How long people are waiting at a lift at the moment."""
    return f"{lift}: {len(lift) * 2} minutes"


def pass_price(days: int, age_group: Literal["child", "adult", "senior"] = "adult") -> str:
    """What a ski pass costs for some days."""
    return f"{days * (25 if age_group == 'child' else 48)} francs"


def book_lesson(instructor: str, date: str, hours: int = 2) -> str:
    """Book a private lesson with an instructor. Group courses are not booked here."""
    return f"lesson L{len(instructor) * 21 + hours} on {date}"


def rent_skis(height_cm: int, days: int, boots: bool = False) -> str:
    """Rent a pair of skis that fits somebody's height."""
    return f"skis of {height_cm - 10} cm for {days} days, boots: {boots}"


TOOLS = [snow_depth, lift_queue, pass_price, book_lesson, rent_skis]
