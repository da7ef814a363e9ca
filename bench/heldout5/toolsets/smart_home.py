from typing import Literal

_KWH = {"dishwasher": 19.4, "freezer": 27.8, "tumble dryer": 33.1, "oven": 12.6}


def _room(room):
    return sum(map(ord, room.lower().removeprefix("the ").replace(" ", "")))


def set_temperature(room: str, celsius: float) -> str:
    """Set the heating of a room to a temperature."""
    return f"Heating set, event {_room(room) * 10 + round(float(celsius) * 2)}"


def switch_light(room: str, on: bool) -> str:
    """Switch the light in a room on or off."""
    return f"Light switched, event {_room(room) * 10 + (7 if on else 3)}"


def power_usage(device: str) -> float:
    """Get the energy a device has used this month in kWh."""
    return _KWH[device.lower().removeprefix("the ")]


def start_vacuum(room: str) -> str:
    """Send the robot vacuum to clean a room."""
    return f"Cleaning started, about {_room(room) % 40 + 11} minutes"


def schedule_blinds(room: str, time: str, action: Literal["open", "close"]) -> str:
    """Schedule the blinds of a room to open or close at a time."""
    return f"Schedule {_room(room) + (2000 if action == 'open' else 5000)} saved"


TOOLS = [set_temperature, switch_light, power_usage, start_vacuum, schedule_blinds]
