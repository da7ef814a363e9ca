"""The office of a school."""

from typing import Literal


def report_absence(pupil: str, date: str, reason: str = "") -> str:
    """Note that a pupil will not come to school on a day."""
    return f"absence {len(pupil) * 31} noted, {date} {reason}".strip()


def pupil_timetable(pupil: str, weekday: str = "") -> str:
    """Look up which lessons a pupil has."""
    return f"timetable page {len(pupil) * 17} {weekday}".strip()


def exam_grade(pupil: str, subject: str) -> str:
    """The mark that a pupil got in the last exam of a subject."""
    return f"{pupil} in {subject}: {len(pupil) + len(subject)} points"


def order_lunches(class_name: str, count: int, diet: Literal["standard", "vegetarian", "halal"] = "standard") -> str:
    """Order school lunches for a class; does not cancel them."""
    return f"{count} {diet} lunches for {class_name}, {count * 4} pounds"


def move_pupil(pupil: str, class_name: str) -> str:
    """Move a pupil into another class."""
    return f"{pupil} is number {len(pupil) * 3} of {class_name}"


TOOLS = [report_absence, pupil_timetable, exam_grade, order_lunches, move_pupil]
