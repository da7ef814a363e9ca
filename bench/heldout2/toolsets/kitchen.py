from typing import Literal, Optional

_ALLERGENS = {"fish pie": "fish, milk, celery", "pesto gnocchi": "gluten, milk, pine nuts", "beef stew": "celery, mustard", "lemon tart": "gluten, egg, milk", "satay skewers": "peanut, soy"}
_STOCK = {"flour": "23 kg", "saffron": "11 g", "cream": "6.5 litres", "olive oil": "17 litres", "shallots": "9 kg", "butter": "14 kg"}
_MINUTES = {"fish pie": 42, "pesto gnocchi": 13, "beef stew": 185, "lemon tart": 65, "satay skewers": 22}
_PORTION = {("beef stew", "beef"): 210, ("fish pie", "cod"): 165, ("lemon tart", "butter"): 28, ("pesto gnocchi", "basil"): 12}


def _key(s):
    s = s.lower().strip()
    return s[4:] if s.startswith("the ") else s


def add_order(table: int, dish: str, quantity: int = 1, note: Optional[str] = None) -> str:
    """Put a dish on the order of a table.

    Args:
        table: Table number.
        dish: Name of the dish.
        quantity: How many portions.
        note: Remark for the cook.
    """
    return f"Ticket {int(table) * 37 + len(_key(dish).rstrip('s')) * 3 + int(quantity)} printed for table {int(table)}"


def check_allergens(dish: str) -> str:
    """List the allergens in a dish."""
    return _ALLERGENS[_key(dish)]


def pantry_stock(ingredient: str) -> str:
    """Say how much of an ingredient is left in the store room."""
    return _STOCK[_key(ingredient)]


def set_oven(oven: int, temperature: int, mode: Literal["fan", "grill", "steam"] = "fan") -> dict:
    """Set the temperature of one of the ovens.

    Args:
        oven: Oven number.
        temperature: Temperature in degrees Celsius.
        mode: Heating mode.
    """
    return {"oven": int(oven), "target": int(temperature), "mode": mode, "programme": f"K{int(temperature) * 3 + int(oven) * 7}"}


def preparation_time(dish: str) -> int:
    """Return the minutes it takes to prepare a dish."""
    return _MINUTES[_key(dish)]


def ingredient_amount(dish: str, ingredient: str, portions: int) -> str:
    """Work out how much of an ingredient a number of portions of a dish needs."""
    return f"{_PORTION[(_key(dish), _key(ingredient))] * int(portions)} g"


def report_shortage(ingredient: str, supplier: str, urgent: bool = False) -> dict:
    """Report to a supplier that an ingredient is running out.

    Args:
        ingredient: The ingredient.
        supplier: Name of the supplier.
        urgent: Whether same-day delivery is wanted.
    """
    return {"report": f"SH{len(_key(ingredient)) * 100 + len(supplier) * 7}", "delivery": "today" if urgent else "next round"}


TOOLS = [add_order, check_allergens, pantry_stock, set_oven, preparation_time, ingredient_amount, report_shortage]
