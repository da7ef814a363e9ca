from typing import Literal, Optional

_TEACHERS = {
    "cello": ("Henrike Vos", 4),
    "trumpet": ("Dario Bellini", 2),
    "piano": ("Aoife Brennan", 6),
    "drums": ("Kofi Mensah", 1),
    "harp": ("Liesl Amann", 5),
    "clarinet": ("Pavel Dusek", 3),
}
_RENT = {"cello": 23.5, "trumpet": 14.2, "harp": 61, "clarinet": 16.8, "violin": 18.4}


def find_teacher(instrument: str) -> dict:
    """Who teaches an instrument, and in which room."""
    name, room = _TEACHERS[instrument.lower().strip()]
    return {"teacher": name, "room": room}


def book_lesson(student: str, instrument: str, day: str, time: str) -> str:
    """Book a single lesson.

    Args:
        student: First name of the student.
        instrument: Instrument to be taught.
        day: Day of the lesson.
        time: When it starts.
    """
    return f"Lesson {400 + 13 * len(student.strip()) + sum(map(ord, instrument.lower().strip())) % 90} booked"


def cancel_lesson(student: str, day: str, reason: Optional[str] = None) -> str:
    """Cancel a student's lesson on a day."""
    return f"Cancelled, credit note N{sum(map(ord, student.lower().strip())) * 2}"


def course_fee(lessons: int, minutes: Literal[30, 45, 60], group: bool = False) -> float:
    """Fee for a course of lessons.

    Args:
        lessons: How many lessons.
        minutes: Length of one lesson.
        group: Taught in a group rather than alone.
    """
    return round(int(lessons) * int(minutes) * (0.31 if group else 0.74), 2)


def rent_instrument(student: str, instrument: Literal["cello", "trumpet", "harp", "clarinet", "violin"], months: int) -> dict:
    """Rent out one of the school's instruments.

    Args:
        student: First name of the student.
        instrument: Which instrument.
        months: How long.
    """
    return {"instrument": instrument, "total": round(_RENT[instrument] * int(months) + 25, 2)}


TOOLS = [find_teacher, book_lesson, cancel_lesson, course_fee, rent_instrument]
