import re
from typing import Literal, Optional

_PRICE = {"flyer": 0.11, "poster": 2.35, "business card": 0.08, "brochure": 1.27}
_ORDERS = {"7781": "waiting for proof approval", "7802": "on the press", "7790": "in the bindery", "7755": "ready for pickup"}
_STOCK = {("A4", 80): 14500, ("A4", 160): 2250, ("A3", 80): 3900, ("A3", 120): 1350, ("SRA3", 300): 640, ("SRA3", 170): 1875}


def quote(product: Literal["flyer", "poster", "business card", "brochure"], copies: int, colour: bool = True) -> float:
    """Price a print run.

    Args:
        product: What is printed.
        copies: Number of copies.
        colour: False for black and white.
    """
    return round(18 + _PRICE[product] * int(copies) * (1 if colour else 0.6), 2)


def order_status(order: str) -> str:
    """Tell how far an order has got."""
    return _ORDERS[re.sub(r"\D", "", order)]


def paper_stock(size: Literal["A4", "A3", "SRA3"], grams: int) -> int:
    """Sheets of paper left of a size and weight."""
    return _STOCK[size, int(grams)]


def max_print_size(width_px: int, height_px: int, dpi: int = 300) -> dict:
    """Largest size in centimetres at which an image still prints sharp."""
    return {"width_cm": round(int(width_px) / int(dpi) * 2.54, 1), "height_cm": round(int(height_px) / int(dpi) * 2.54, 1)}


def schedule_job(order: str, press: Literal["offset", "digital", "plotter"], day: str, operator: Optional[str] = None) -> str:
    """Put an order on the plan of a press.

    Args:
        order: Order number.
        press: Machine it runs on.
        day: Day it runs.
        operator: Who runs it, if that is fixed.
    """
    return f"Planned in slot {int(re.sub(r'[^0-9]', '', order)) % 97 + 100 * len(press)}"


TOOLS = [quote, order_status, paper_stock, max_print_size, schedule_job]
