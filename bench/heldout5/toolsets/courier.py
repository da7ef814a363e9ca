import re

_PARCELS = {
    "7730418": "Sorting centre Hanover, arrives Thursday",
    "7731956": "Held at customs in Calais",
    "7732200": "Out for delivery, stop 38",
}
_ZONES = {"portugal": 1.6, "canada": 3.9, "france": 1.4, "japan": 4.7}
_SHOPS = {"20095": "Kiosk Brandes, Steinstrasse 5", "8001": "Papeterie Meili, Rennweg 22"}


def track_parcel(number: str) -> str:
    """Get the current status of a parcel by its tracking number."""
    return _PARCELS[str(number)]


def shipping_cost(weight_kg: float, country: str) -> float:
    """Calculate the cost of shipping a parcel to a country."""
    return round((3.1 + 1.25 * float(weight_kg)) * _ZONES[country.lower()], 2)


def schedule_pickup(address: str, date: str, parcels: int = 1) -> str:
    """Schedule a driver to pick up parcels at an address."""
    return f"Pickup U{int(re.findall(r'[0-9]+', address)[0]) * 31 + int(parcels) + 500} scheduled"


def redirect_parcel(number: str, new_address: str) -> str:
    """Redirect a parcel that is on its way to another address."""
    return f"Redirection X{int(number) % 9973 + int(re.findall(r'[0-9]+', new_address)[0])} accepted"


def find_dropoff(postcode: str) -> str:
    """Find the nearest drop-off point for a postcode."""
    return _SHOPS[str(postcode)]


TOOLS = [track_parcel, shipping_cost, schedule_pickup, redirect_parcel, find_dropoff]
