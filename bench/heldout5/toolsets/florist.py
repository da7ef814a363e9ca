import re
from typing import Optional

_STEM = {"rose": 2.4, "tulip": 1.15, "sunflower": 2.95, "lily": 3.2}
_CARE = {
    "orchid": "Dip it in water once a week and keep it out of direct sun.",
    "hydrangea": "Use rainwater and put it in half shade, the roots must not stand wet.",
    "rose": "Cut the stems at an angle and change the water every two days.",
}
_SEASON = {
    "april": ["tulip", "hyacinth", "ranunculus"],
    "july": ["sweet pea", "delphinium"],
    "september": ["dahlia", "aster", "sunflower"],
}
_FEES = {"5": 6.9, "1": 4.75, "8": 9.2}


def bouquet_price(flower: str, stems: int, wrapped: bool = False) -> float:
    """Calculate the price of a bouquet of one kind of flower."""
    f = flower.lower()
    return round(_STEM[f if f in _STEM else f.rstrip("s")] * int(stems) + (3.5 if wrapped else 0), 2)


def order_delivery(recipient: str, address: str, date: str, message: Optional[str] = None) -> str:
    """Order a bouquet to be delivered to a recipient. A card with a message can be added."""
    return f"Order F{sum(map(ord, recipient.lower().split()[-1])) + int(re.findall(r'[0-9]+', address)[0])} placed"


def plant_care(plant: str) -> str:
    """Get care instructions for a plant or cut flower."""
    p = plant.lower()
    return _CARE[p if p in _CARE else p.rstrip("s")]


def flowers_in_season(month: str) -> list:
    """List the flowers that are in season in a month."""
    return _SEASON[month.lower()]


def delivery_fee(postcode: str) -> float:
    """Get the delivery fee for a postcode."""
    return _FEES[str(postcode)[0]]


TOOLS = [bouquet_price, order_delivery, plant_care, flowers_in_season, delivery_fee]
