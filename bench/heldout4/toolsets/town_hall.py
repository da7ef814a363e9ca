"""Services of a town hall."""

from typing import Literal


def rubbish_day(street: str, bin: Literal["paper", "glass", "food", "plastic"] = "plastic") -> str:
    """On which day the rubbish of a street is collected."""
    return f"{street}, {bin}: day {len(street) * 2}"


def report_pothole(street: str, depth_cm: float | None = None) -> str:
    """Tell the road department about damage to a road surface."""
    return f"pothole case {len(street) * 29}, depth {depth_cm}"


def permit_status(permit_number: str) -> str:
    """How far an application for a building permit has come."""
    return f"{permit_number}: stage {len(permit_number) + 40}"


def marriage_slots(month: str) -> str:
    """Free dates for a wedding in the registry room, instead of calling the registrar."""
    return f"{month}: {len(month) * 3} slots"


def property_tax(value: float, is_second_home: bool = False) -> str:
    """Work out the yearly tax on a house from its value."""
    return f"{round(value * (0.02 if is_second_home else 0.01), 2)} a year"


TOOLS = [rubbish_day, report_pothole, permit_status, marriage_slots, property_tax]
