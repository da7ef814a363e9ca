"""A garden with machines in it."""

from typing import Literal


def water_bed(bed: str, minutes: int = 10) -> str:
    """Turn the sprinkler of a flower bed on for a while."""
    return f"{bed} gets {minutes * 12} litres"


def soil_moisture(bed: str) -> str:
    """Measure how wet the ground is."""
    return f"{bed}: {len(bed) * 6} percent"


def sowing_month(vegetable: str) -> str:
    """Say in which month a vegetable should be sown."""
    return f"{vegetable}: month {len(vegetable) % 6 + 2}"


def mow_lawn(area: Literal["front", "back", "side"], height_mm: int = 40) -> str:
    """Send the mowing robot out."""
    return f"{area} cut to {height_mm} mm, battery {100 - height_mm}"


def set_greenhouse_temperature(degrees: float) -> str:
    """Heat or cool the greenhouse."""
    return f"set to {degrees}, ready in {int(degrees * 2)} minutes"


TOOLS = [water_bed, soil_moisture, sowing_month, mow_lawn, set_greenhouse_temperature]
