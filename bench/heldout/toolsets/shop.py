"""A small outdoor shop."""
from typing import Literal, Optional

_PRICES = {"rain jacket": 89.0, "hiking boots": 129.5, "water bottle": 14.9, "tent": 249.0, "headlamp": 34.0, "wool socks": 12.5}
_STOCK = {"rain jacket": 7, "hiking boots": 3, "water bottle": 58, "tent": 0, "headlamp": 21, "wool socks": 140}
_RATES = {"EUR": 1.0, "USD": 1.1, "GBP": 0.85}
_ORDERS = {"A-1042": "shipped, arrives Thursday", "A-1077": "waiting for payment", "B-2210": "delivered on 4 March", "C-0099": "being packed"}
_COUPONS = {"SPRING10": 10, "WELCOME5": 5, "VIP25": 25}


def _find(table, name):
    name = name.lower().strip()
    for key in table:
        if key == name or key in name or name in key:
            return key
    return None


def check_stock(product: str, size: Optional[str] = None) -> str:
    """How many pieces of a product are in stock."""
    key = _find(_STOCK, product)
    if key is None:
        return "unknown product"
    count = _STOCK[key]
    if size is not None:
        count = count // 3 + len(size)
    return f"{count} in stock"


def get_price(product: str, currency: Literal["EUR", "USD", "GBP"] = "EUR") -> str:
    """Get the price of a product.

    Args:
        product: name of the product
        currency: the currency to show the price in
    """
    key = _find(_PRICES, product)
    if key is None:
        return "unknown product"
    return f"{_PRICES[key] * _RATES[currency]:.2f} {currency}"


def order_status(order_id: str) -> str:
    """Look up where an order is right now.

    Args:
        order_id: The order number, a letter, a dash and four digits.
    """
    return _ORDERS.get(order_id.upper().strip(), "no such order")


def apply_coupon(code: str, total: float) -> dict:
    """Work out the new total after a coupon code has been applied."""
    percent = _COUPONS.get(code.upper().strip(), 0)
    return {"discount_percent": percent, "new_total": round(total * (100 - percent) / 100, 2)}


def shipping_cost(country: str, weight_kg: float, express: bool = False) -> str:
    """Shipping cost for a parcel.

    Args:
        country: destination country
        weight_kg: weight of the parcel in kilograms
        express: True for express delivery
    """
    base = {"germany": 4.5, "france": 7.0, "spain": 8.0, "norway": 14.0}.get(country.lower().strip(), 20.0)
    cost = base + 1.5 * weight_kg
    if express:
        cost *= 2
    return f"{cost:.2f} EUR"


def start_return(order_id: str, reason: Literal["damaged", "wrong size", "changed mind"]) -> str:
    """Open a return for an order and give back the return number."""
    letter = {"damaged": "D", "wrong size": "W", "changed mind": "C"}[reason]
    return f"Return R{letter}-{order_id.upper()[2:]} opened"


TOOLS = [check_stock, get_price, order_status, apply_coupon, shipping_cost, start_return]
