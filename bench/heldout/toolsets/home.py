"""Lights, heating and doors of a house."""
from typing import Literal

_TEMPS = {"living room": 21.4, "bedroom": 18.2, "kitchen": 22.6, "bathroom": 23.1, "office": 19.7, "garage": 9.5}
_USE = {"monday": 11.2, "tuesday": 9.8, "wednesday": 12.7, "thursday": 10.3, "friday": 14.1, "saturday": 17.6, "sunday": 16.9}


def _room(room):
    room = room.lower().strip()
    return room[4:] if room.startswith("the ") else room


def switch_light(room: str, on: bool) -> str:
    """Turn the light in a room on or off."""
    return f"Light in {_room(room)} is now {'on' if on else 'off'}"


def dim_light(room: str, percent: int) -> str:
    """Set the brightness of a room's light.

    Args:
        room: which room
        percent: brightness from 0 to 100
    """
    return f"{_room(room)} light at {percent}% ({percent * 8} lumen)"


def set_heating(room: str, celsius: float) -> str:
    """Set the target temperature of the radiator in a room, in degrees Celsius."""
    now = _TEMPS.get(_room(room), 20.0)
    minutes = max(0, round((celsius - now) * 12))
    return f"{_room(room)} set to {celsius:g} degrees, reached in about {minutes} minutes"


def get_temperature(room: str) -> float:
    """Read the current temperature in a room."""
    return _TEMPS.get(_room(room), 20.0)


def lock_door(door: Literal["front", "back", "garage"]) -> str:
    """Lock one of the doors."""
    return f"{door} door locked, code {len(door) * 111}"


def set_blinds(room: str, position: Literal["open", "half", "closed"]) -> dict:
    """Move the blinds of a room.

    Args:
        room: The room whose blinds to move.
        position: Where to move them to.
    """
    return {"room": _room(room), "position": position, "seconds": {"open": 14, "half": 7, "closed": 16}[position]}


def energy_use(weekday: str) -> str:
    """Energy used on a day of this week, in kWh."""
    return f"{_USE.get(weekday.lower().strip(), 0)} kWh"


TOOLS = [switch_light, dim_light, set_heating, get_temperature, lock_door, set_blinds, energy_use]
