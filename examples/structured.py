"""Read an order out of a mail, as nested typed values that were checked.

python examples/structured.py
"""

from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
MAIL = (
    "Hi, please send me 3 packs of tea at 2.50 and one pot at 24. I need it by 1 December. Ann Lee, Bern"
)


class Item(BaseModel):
    """One line of an order."""

    name: str
    count: int = Field(gt=0)
    price: Decimal


class Address(BaseModel):
    """Where it goes."""

    name: str
    city: str


class Order(BaseModel):
    """What a customer wants."""

    items: list[Item] = Field(min_length=1)
    to: Address
    by: date | None
    urgency: Literal["normal", "rush"] = "normal"


def main() -> None:
    # A wrong answer is given back to the model with what is wrong with it, twice at most.
    agent = rc.Agent(MODEL, instructions="Today is 2026-11-15.", output=Order)
    result = agent.run_sync(f"What does this customer order?\n\n{MAIL}")
    if not result.stop.is_answer:
        raise SystemExit(f"no order could be read: {result.stop}")
    order = result.output  # to a type checker, too, this is an Order
    for item in order.items:
        print(f"{item.count} x {item.name} at {item.price}")
    total = sum(item.count * item.price for item in order.items)
    print(f"total {total}, for {order.to.name} in {order.to.city} by {order.by}")


if __name__ == "__main__":
    main()
