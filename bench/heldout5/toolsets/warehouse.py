_STOCK = {"BX-204": 37, "BX-310": 912, "TR-88": 46, "LM-17": 128, "QZ-9": 1605}
_PLACES = {"BX-204": "A2-014", "BX-310": "D5-033", "TR-88": "A9-101", "LM-17": "F1-076", "QZ-9": "C4-058"}


def stock_level(sku: str) -> int:
    """Get the number of units in stock for an article."""
    return _STOCK[sku.upper()]


def find_article(sku: str) -> str:
    """Find the storage location of an article in the warehouse."""
    return _PLACES[sku.upper()]


def move_pallet(pallet: str, aisle: str) -> str:
    """Create a transport job that moves a pallet to an aisle."""
    return f"Job T{sum(map(ord, pallet.upper() + aisle.upper().split()[-1]))} created"


def log_delivery(supplier: str, pallets: int) -> dict:
    """Log an incoming delivery from a supplier."""
    return {"supplier": supplier, "receipt": sum(map(ord, supplier.lower())) * 10 + int(pallets)}


def reorder(sku: str, quantity: int, express: bool = False) -> dict:
    """Reorder an article from its supplier. Express orders arrive the next day."""
    return {"sku": sku, "order": f"PO{sum(map(ord, sku.upper())) + int(quantity)}{'X' if express else 'S'}"}


TOOLS = [stock_level, find_article, move_pallet, log_delivery, reorder]
