"""A harbour master's desk."""


def tide_times(port: str, date: str = "today") -> str:
    """When high and low water are at a port."""
    return f"{port} {date}: high water at {len(port) + 10}:12"


def assign_berth(vessel: str, length_m: float, nights: int = 1) -> str:
    """Find a place at the quay for a vessel that comes in."""
    return f"{vessel} gets berth {int(length_m) + 70} for {nights}"


def harbour_fee(length_m: float, nights: int) -> str:
    """What a boat pays for lying in the harbour."""
    return f"{round(length_m * nights * 3.5, 2)} euros"


def vessel_position(vessel: str) -> str:
    """Where a vessel is now, by its transponder. Not for aircraft."""
    return f"{vessel}: square {len(vessel) * 41}"


def call_pilot(vessel: str, time: str) -> str:
    """Send a pilot out to a ship that is about to enter."""
    return f"pilot boat {len(vessel) * 6} at {time}"


TOOLS = [tide_times, assign_berth, harbour_fee, vessel_position, call_pilot]
