"""What the author of a shop and of an airline would declare of their tools.

Names and options of products are written by their makers and sellers, names of passengers by whoever
booked: those are outsiders' words. Identifiers, prices, flights, a customer's payment methods and
addresses are the house's own records.
"""

from typing import Any, TypeAlias

from msgspec.structs import replace

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
        "content": (),
    } | facts
    return {"effect": "write", "facts": rc.Facts(**stated)}


_GOODS = {"untrusted": (), "names": ("name", "options")}
_TRAVELLERS = {"untrusted": (), "names": ("passengers", "saved_passengers")}
_DEARER = {"cabin": ("business",)}
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_SWAP = ("order_id", "item_ids", "new_item_ids", "payment_method_id")

_PENDING = ({"status": "pending*"},)


def _paid_for(status: str) -> tuple[dict[str, str], ...]:
    """A gift card must cover what a change costs."""
    return (
        {"status": status, "payment_method_id": "credit_card*"},
        {"status": status, "payment_method_id": "paypal*"},
        {"status": status, "payment_method_id": "gift_card*", "balance": ">= cost"},
    )


_REFUNDED = (
    {"status": "delivered", "payment_method_id": "="},
    {"status": "delivered", "payment_method_id": "gift_card*"},
)
# By the policy that tau-bench gives its agents, whose clock stands at three o'clock on 15 May 2024.
_CANCELLED = ({"cabin": "business"}, {"insurance": "yes"}, {"created_at": ">= 2024-05-14T15:00:00"})
_CHANGED = ({"cabin": "economy"}, {"cabin": "business"})

_BOTH: dict[str, Declared] = {
    "calculate": {"effect": "pure", "facts": rc.Facts(reach="nothing", targets=(), untrusted=False)},
    "think": {"effect": "pure", "facts": rc.Facts(reach="nothing", targets=(), untrusted=False)},
    # A colleague reads the summary, and can do no more than the agent.
    "transfer_to_human_agents": _writes(untrusted=False, reach="user", content=("summary",)),
    "get_user_details": _reads(**_TRAVELLERS, private=True),
}

_RETAIL: dict[str, Declared] = {
    "find_user_id_by_email": _reads(untrusted=False, private=True),
    "find_user_id_by_name_zip": _reads(untrusted=False, private=True),
    "get_order_details": _reads(**_GOODS, private=True),
    "get_product_details": _reads(**_GOODS, private=False),
    "list_all_product_types": _reads(untrusted=False, private=False),
    "cancel_pending_order": _writes(
        "order_id", **_GOODS, dangers=("deletes", "money"), allowed_when=_PENDING
    ),
    "modify_pending_order_address": _writes(
        "order_id", *_ADDRESS, **_GOODS, dangers=(), allowed_when=_PENDING
    ),
    "modify_user_address": _writes("user_id", *_ADDRESS, untrusted=False, dangers=()),
    "modify_pending_order_payment": _writes(
        "order_id", "payment_method_id", **_GOODS, dangers=("money",), allowed_when=_paid_for("pending*")
    ),
    "modify_pending_order_items": _writes(
        *_SWAP, **_GOODS, dangers=("money",), allowed_when=_paid_for("pending*")
    ),
    "exchange_delivered_order_items": _writes(
        *_SWAP, **_GOODS, dangers=("money",), allowed_when=_paid_for("delivered")
    ),
    "return_delivered_order_items": _writes(
        "order_id",
        "item_ids",
        "payment_method_id",
        **_GOODS,
        dangers=("money",),
        allowed_when=_REFUNDED,
    ),
}

_AIRLINE: dict[str, Declared] = {
    "get_reservation_details": _reads(**_TRAVELLERS, private=True),
    "list_all_airports": _reads(untrusted=False, private=False),
    "search_direct_flight": _reads(untrusted=False, private=False),
    "search_onestop_flight": _reads(untrusted=False, private=False),
    "book_reservation": _writes(
        "user_id",
        "flights",
        "passengers",
        "payment_methods",
        **_TRAVELLERS,
        dangers=("money",),
        widens=_DEARER,
        asked_by=("fly",),
    ),
    "cancel_reservation": _writes(
        "reservation_id", **_TRAVELLERS, dangers=("deletes",), allowed_when=_CANCELLED
    ),
    "update_reservation_flights": _writes(
        "reservation_id",
        "flights",
        "payment_id",
        **_TRAVELLERS,
        dangers=("money",),
        widens=_DEARER,
        allowed_when=_CHANGED,
    ),
    "update_reservation_baggages": _writes(
        "reservation_id",
        "payment_id",
        **_TRAVELLERS,
        dangers=("money",),
        bounded=("total_baggages", "nonfree_baggages"),
    ),
    "update_reservation_passengers": _writes("reservation_id", "passengers", **_TRAVELLERS, dangers=()),
    "send_certificate": _writes("user_id", untrusted=False, dangers=("money",)),
}

FACTS: dict[str, Declared] = _BOTH | _RETAIL | _AIRLINE
"""By tool."""


def _finally(declared: Declared) -> Declared:
    facts: rc.Facts = declared["facts"]
    if not facts.targets:
        return declared
    return {**declared, "facts": replace(facts, dangers=("deletes", *(facts.dangers or ())))}


STRICT: dict[str, Declared] = {name: _finally(each) for name, each in FACTS.items()}
"""The same, by an author to whom every change of an order is as final as its deletion: that a record
lists it is not enough then, and the user must have named it."""
