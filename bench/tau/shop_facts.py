"""What the author of a shop and of an airline would declare of their tools.

Names and options of products are written by their makers and sellers, names of passengers by whoever
booked: those are outsiders' words. Identifiers, prices, flights, a customer's payment methods and
addresses are the house's own records.
"""

from typing import Any, TypeAlias

import rightcall as rc

Declared: TypeAlias = dict[str, Any]
"""Options of a tool: its effect and its facts."""


def _reads(**facts: Any) -> Declared:
    return {"effect": "read", "facts": rc.Facts(**({"reach": "user", "targets": ()} | facts))}


def _writes(*targets: str, **facts: Any) -> Declared:
    stated: dict[str, Any] = {
        "private": True,
        "reach": "outside",
        "targets": targets,
    } | facts
    return {"effect": "write", "facts": rc.Facts(**stated)}


_GOODS = {"untrusted": ("name", "options")}
_TRAVELLERS = {"untrusted": ("passengers", "saved_passengers")}
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_SWAP = ("order_id", "item_ids", "new_item_ids", "payment_method_id")

_BOTH: dict[str, Declared] = {
    "calculate": {"effect": "pure", "facts": rc.Facts(reach="nothing", targets=(), untrusted=False)},
    "think": {"effect": "pure", "facts": rc.Facts(reach="nothing", targets=(), untrusted=False)},
    # A colleague reads the summary, and can do no more than the agent.
    "transfer_to_human_agents": _writes(untrusted=False, reach="user"),
    "get_user_details": _reads(**_TRAVELLERS, private=True),
}

_RETAIL: dict[str, Declared] = {
    "find_user_id_by_email": _reads(untrusted=False, private=True),
    "find_user_id_by_name_zip": _reads(untrusted=False, private=True),
    "get_order_details": _reads(**_GOODS, private=True),
    "get_product_details": _reads(**_GOODS, private=False),
    "list_all_product_types": _reads(untrusted=False, private=False),
    "cancel_pending_order": _writes("order_id", **_GOODS, dangers=("deletes", "money")),
    "modify_pending_order_address": _writes("order_id", *_ADDRESS, **_GOODS, dangers=()),
    "modify_user_address": _writes("user_id", *_ADDRESS, untrusted=False, dangers=()),
    "modify_pending_order_payment": _writes(
        "order_id", "payment_method_id", **_GOODS, dangers=("money",)
    ),
    "modify_pending_order_items": _writes(*_SWAP, **_GOODS, dangers=("money",)),
    "exchange_delivered_order_items": _writes(*_SWAP, **_GOODS, dangers=("money",)),
    "return_delivered_order_items": _writes(
        "order_id", "item_ids", "payment_method_id", **_GOODS, dangers=("money",)
    ),
}

_AIRLINE: dict[str, Declared] = {
    "get_reservation_details": _reads(**_TRAVELLERS, private=True),
    "list_all_airports": _reads(untrusted=False, private=False),
    "search_direct_flight": _reads(untrusted=False, private=False),
    "search_onestop_flight": _reads(untrusted=False, private=False),
    # How many bags, in which cabin and insured or not is paid for: that is as much a target as where.
    "book_reservation": _writes(
        *("user_id", "origin", "destination", "flight_type", "cabin", "flights", "passengers"),
        *("payment_methods", "total_baggages", "nonfree_baggages", "insurance"),
        **_TRAVELLERS,
        dangers=("money",),
    ),
    "cancel_reservation": _writes("reservation_id", **_TRAVELLERS, dangers=("deletes",)),
    "update_reservation_flights": _writes(
        *("reservation_id", "cabin", "flights", "payment_id"), **_TRAVELLERS, dangers=("money",)
    ),
    "update_reservation_baggages": _writes(
        *("reservation_id", "total_baggages", "nonfree_baggages", "payment_id"),
        **_TRAVELLERS,
        dangers=("money",),
    ),
    "update_reservation_passengers": _writes("reservation_id", "passengers", **_TRAVELLERS, dangers=()),
    "send_certificate": _writes("user_id", "amount", untrusted=False, dangers=("money",)),
}

FACTS: dict[str, Declared] = _BOTH | _RETAIL | _AIRLINE
"""By tool."""
