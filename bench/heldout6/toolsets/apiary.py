from typing import Literal, Optional

_WEIGHT = {1: 38.4, 2: 41.9, 3: 27.6, 4: 52.3, 7: 33.8}
_SEASON = {1: 14.5, 2: 20.25, 3: 6.0, 4: 31.75, 7: 11.5}


def hive_weight(hive: int) -> float:
    """Read the scale under a hive, in kilograms."""
    return _WEIGHT[int(hive)]


def log_inspection(hive: int, brood_frames: int, queen_seen: bool, note: Optional[str] = None) -> str:
    """Write an inspection into the hive book.

    Args:
        hive: Number of the hive.
        brood_frames: Frames with brood.
        queen_seen: Whether the queen was seen.
        note: Anything else worth keeping.
    """
    return f"Entry {1000 + int(hive) * 40 + int(brood_frames) * 2 + bool(queen_seen)} saved"


def log_harvest(hive: int, kilos: float) -> dict:
    """Record honey taken from a hive; gives back the hive's total for the season."""
    return {"hive": int(hive), "season_total_kg": round(_SEASON[int(hive)] + float(kilos), 2)}


def syrup_recipe(litres: float, ratio: Literal["1:1", "3:2"]) -> dict:
    """How much sugar and water make a given amount of feeding syrup.

    Args:
        litres: Amount of syrup wanted.
        ratio: Sugar to water by weight; 1:1 in spring, 3:2 in autumn.
    """
    sugar, water = {"1:1": (0.615, 0.615), "3:2": (0.774, 0.516)}[ratio]
    return {"sugar_kg": round(float(litres) * sugar, 2), "water_kg": round(float(litres) * water, 2)}


def mite_rate(mites: int, bees: int = 300) -> dict:
    """Varroa infestation in percent from a sugar shake or alcohol wash.

    Args:
        mites: Mites counted.
        bees: Bees in the sample.
    """
    rate = round(100 * int(mites) / int(bees), 2)
    return {"percent": rate, "treat": rate >= 3}


TOOLS = [hive_weight, log_inspection, log_harvest, syrup_recipe, mite_rate]
