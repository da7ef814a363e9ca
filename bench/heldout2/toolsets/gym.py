from typing import Literal, Optional

_CLASSES = {
    "monday": [("Spinning", "18:10"), ("Yoga", "07:20")],
    "tuesday": [("Pilates", "12:35"), ("Boxing", "19:05")],
    "wednesday": [("Spinning", "06:50")],
    "thursday": [("Yoga", "20:15"), ("Aqua fit", "10:40")],
    "friday": [("Boxing", "17:25")],
    "saturday": [("Zumba", "09:55"), ("Pilates", "11:30")],
    "sunday": [("Stretching", "10:05")],
}


def list_classes(weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]) -> list:
    """List the group classes on a weekday with their starting times."""
    return [f"{name} at {t}" for name, t in _CLASSES[weekday.lower()]]


def book_class(member: str, class_name: str, weekday: str) -> dict:
    """Reserve a place in a group class for a member.

    Args:
        member: Name of the member.
        class_name: Name of the class, such as the type of training.
        weekday: Day of the week.
    """
    return {"booked": True, "class": class_name, "weekday": weekday, "booking": f"GC-{(len(member) * 71 + len(class_name) * 13) % 900 + 100}"}


def membership_price(plan: Literal["student", "standard", "family"], months: int) -> float:
    """Calculate the total price of a membership over a number of months."""
    per = {"student": 19.9, "standard": 34.5, "family": 61.25}[plan.lower()]
    return round(per * int(months) + 15, 2)


def log_workout(member: str, exercise: str, sets: int, reps: int, weight_kg: Optional[float] = None) -> str:
    """Record an exercise in a member's training log.

    Args:
        member: Name of the member.
        exercise: Exercise done.
        sets: Number of sets.
        reps: Repetitions per set.
        weight_kg: Weight used, in kilograms.
    """
    volume = int(sets) * int(reps) * float(weight_kg or 1)
    return f"Entry {len(member) * 31 + int(sets) * int(reps)} saved, volume {volume:g}"


def freeze_membership(member_number: str, start: str, weeks: int) -> dict:
    """Pause a membership for some weeks from a start date."""
    digits = int("".join(c for c in member_number if c.isdigit()) or 0)
    return {"frozen": True, "start": start, "weeks": int(weeks), "confirmation": f"FZ-{(digits * 13 + int(weeks)) % 9973}"}


def locker_status(locker: int) -> str:
    """Tell whether a locker is free or who rents it."""
    rented = {14: "rented by Marta Lind", 27: "out of order", 88: "rented by Owen Price"}
    return f"Locker {int(locker)}: {rented.get(int(locker), 'free')}"


TOOLS = [list_classes, book_class, membership_price, log_workout, freeze_membership, locker_status]
