"""What the tools of the shop and of the airline return, as their author would annotate them.

A planner sees no results: it knows their fields from these types alone.
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class Name(TypedDict):
    """A person's name."""

    first_name: str
    last_name: str


class Address(TypedDict):
    """Where something is sent."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class Passenger(TypedDict):
    """Who flies."""

    __pydantic_config__ = {"extra": "allow"}  # type: ignore[misc] # noqa: RUF012 - as pydantic wants it

    first_name: str
    last_name: NotRequired[str]
    dob: NotRequired[str]


class Method(TypedDict):
    """A way to pay that a traveller has; ``amount`` is what a gift card or a certificate still holds."""

    source: Literal["credit_card", "gift_card", "certificate"]
    id: str
    amount: NotRequired[int]
    brand: NotRequired[str]
    last_four: NotRequired[str]


class Traveller(TypedDict):
    """A customer of the airline."""

    name: Name
    address: Address
    email: str
    dob: str
    payment_methods: dict[str, Method]
    saved_passengers: list[Passenger]
    membership: Literal["regular", "silver", "gold"]
    reservations: list[str]


class Leg(TypedDict):
    """A flight of a reservation."""

    origin: str
    destination: str
    flight_number: str
    date: str
    price: int


class Part(TypedDict):
    """A part of what was paid."""

    payment_id: str
    amount: int


class Reservation(TypedDict):
    """A booking."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: Literal["one_way", "round_trip"]
    cabin: Literal["basic_economy", "economy", "business"]
    flights: list[Leg]
    passengers: list[Passenger]
    payment_history: list[Part]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Literal["yes", "no"]


class Flight(TypedDict):
    """A flight on a day. Times are like 21:30:00, and like 01:10:00+1 on the day after."""

    flight_number: str
    origin: str
    destination: str
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    status: str
    available_seats: dict[str, int]
    prices: dict[str, int]
    date: NotRequired[str]


class Item(TypedDict):
    """Something that was ordered."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class Parcel(TypedDict):
    """What was sent together."""

    tracking_id: list[str]
    item_ids: list[str]


class Payment(TypedDict):
    """A payment or a refund."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


class Order(TypedDict):
    """An order of the shop."""

    __pydantic_config__ = {"extra": "allow"}  # type: ignore[misc] # noqa: RUF012 - as pydantic wants it

    order_id: str
    user_id: str
    address: Address
    items: list[Item]
    fulfillments: list[Parcel]
    status: str
    payment_history: list[Payment]


class Variant(TypedDict):
    """One of the items that a product is sold as."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class Product(TypedDict):
    """A product; its variants are kept by the number of the item."""

    name: str
    product_id: str
    variants: dict[str, Variant]


class Card(TypedDict):
    """A way to pay that a customer of the shop has; ``balance`` is what a gift card still holds."""

    source: Literal["credit_card", "gift_card", "paypal"]
    id: str
    balance: NotRequired[float]
    brand: NotRequired[str]
    last_four: NotRequired[str]


class Customer(TypedDict):
    """A customer of the shop."""

    name: Name
    address: Address
    email: str
    payment_methods: dict[str, Card]
    orders: list[str]


RETURNS: Mapping[str, Mapping[str, Any]] = {
    "retail": {
        "get_order_details": Order,
        "get_product_details": Product,
        "get_user_details": Customer,
        "list_all_product_types": dict[str, str],
    },
    "airline": {
        "get_user_details": Traveller,
        "get_reservation_details": Reservation,
        "list_all_airports": dict[str, str],
        "search_direct_flight": list[Flight],
        "search_onestop_flight": list[list[Flight]],
    },
}
"""By domain and tool: those that only look."""
