"""A warehouse floor."""
from typing import Literal

_LEVEL = {"BX-220": 412, "BX-310": 36, "TR-005": 0, "PL-991": 1875}
_PICK = {50871: "3 x BX-220, 1 x TR-005", 50902: "12 x PL-991", 51011: "2 x BX-310"}


def stock_level(sku: str) -> int:
    """Units on hand for an SKU."""
    return _LEVEL.get(sku.upper().strip(), -1)


def move_pallet(pallet_id: str, aisle: int, urgent: bool = False) -> str:
    """Send a forklift to move a pallet to another aisle.

    Args:
        pallet_id: the pallet's label
        aisle: number of the target aisle
        urgent: put the job at the top of the queue
    """
    return f"forklift {aisle % 4 + 1} moves {pallet_id.upper()}, wait {2 if urgent else aisle + 5} min"


def reorder(sku: str, quantity: int, supplier: str) -> str:
    """Order more units from a supplier."""
    return f"PO-{quantity + len(supplier) * 1000 + 7}"


def pick_list(order_number: int) -> str:
    """Get the pick list of a customer order."""
    return _PICK.get(order_number, "no such order")


def bin_space(bin_code: str) -> str:
    """Free space in a storage bin.

    Args:
        bin_code: code on the bin's sign
    """
    return f"{sum(map(ord, bin_code.upper().strip())) % 90 + 5} percent free"


def report_damage(sku: str, units: int, cause: Literal["water", "drop", "forklift", "unknown"]) -> str:
    """File a damage report for some units of an SKU."""
    return f"report {cause[:1].upper()}{units * 13 + 100}"


def dock_schedule(dock: int, weekday: str) -> str:
    """Which truck comes to a dock on a weekday."""
    names = ["Halvorsen", "Brightline", "Kuroda", "Mendes", "Aalto"]
    return f"{names[(dock + len(weekday)) % 5]} at {6 + dock % 5:02d}:40"


TOOLS = [stock_level, move_pallet, reorder, pick_list, bin_space, report_damage, dock_schedule]
