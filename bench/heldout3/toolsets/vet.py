"""A clinic for animals."""

from typing import Literal


def vaccination_due(pet: str) -> str:
    """Look up when an animal needs its next shot."""
    return f"{pet}: in {len(pet) * 5} days"


def book_visit(pet: str, day: str, reason: str = "checkup") -> str:
    """Make an appointment at the clinic for an animal."""
    return f"{pet} on {day} for {reason}, number {len(pet) * 70}"


def medicine_dose(species: Literal["dog", "cat", "rabbit"], weight_kg: float) -> str:
    """How many tablets an animal of some weight should get."""
    return f"{species}: {weight_kg / 4} tablets"


def register_chip(chip_number: str, owner: str) -> str:
    """Enter who an animal with a microchip belongs to."""
    return f"{chip_number} belongs to {owner}, file {len(owner) * 17}"


def lost_pet_notice(description: str, place: str) -> str:
    """Put up a poster about an animal that ran away."""
    return f"{description}, last seen in {place}, poster {len(place) * 21}"


TOOLS = [vaccination_due, book_visit, medicine_dose, register_chip, lost_pet_notice]
