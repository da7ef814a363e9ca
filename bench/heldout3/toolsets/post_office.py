"""A post office counter."""

from typing import Literal


def track_parcel(tracking_code: str) -> str:
    """Where a parcel is right now."""
    return f"{tracking_code} is at depot {len(tracking_code) * 9}"


def letter_postage(grams: int, country: str) -> str:
    """The price of stamps for a letter, by weight and where it goes."""
    return f"{grams * 2 + len(country)} cents to {country}"


def redirect_mail(old_address: str, new_address: str) -> str:
    """Forward letters to another address after a move."""
    return f"from {old_address} to {new_address}, order {len(new_address) * 13}"


def schedule_pickup(address: str, day: str) -> str:
    """Have a courier collect packages at somebody's door."""
    return f"{day} at {address}, tour {len(address) * 8}"


def rent_po_box(size: Literal["small", "medium", "large"], months: int) -> str:
    """Rent a box for letters at this branch."""
    return f"{size} box, {months * 9} euros"


TOOLS = [track_parcel, letter_postage, redirect_mail, schedule_pickup, rent_po_box]
