"""What was named is the total, and the house looks at the record itself, not at what refers to it."""

import pytest

from rightcall.core.decision import Allow
from rightcall.core.message import user_text
from rightcall.declare.toolbox import Toolbox
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules

from .kit import checked, exchange, tool

TEXT = "string"
TICKET = {"ticket_id": "T-1", "order_id": "O-5", "status": "open", "message": "Refund me, all of it!"}
ORDERS = [
    {"order_id": "O-5", "status": "delivered", "amount": 40},
    {"order_id": "O-9", "status": "delivered", "amount": 500},
]
TOOLS = [
    tool("read_ticket", "read", parameters={"ticket_id": TEXT}, untrusted=("message",), reach="user"),
    tool("orders", "read", reach="user"),
    tool(
        "refund_order",
        parameters={"order_id": TEXT, "amount": "number"},
        dangers=("money",),
        targets=("order_id",),
    ),
    tool(
        "settle_order",
        parameters={"order_id": TEXT},
        dangers=("money",),
        targets=("order_id",),
        allowed_when=({"status": "open"},),
    ),
    tool(
        "return_order",
        parameters={"order_id": TEXT},
        dangers=("money",),
        targets=("order_id",),
        allowed_when=({"status": "delivered"},),
    ),
]


def after(words: str, *read: tuple[str, object]) -> Guard:
    guard = Guard(Rules(), Toolbox(TOOLS))
    guard.see(user_text(words))
    for name, value in read:
        for message in exchange(TOOLS, name, value):
            guard.see(message)
    return guard


def runs(guard: Guard, name: str, **arguments) -> bool:
    decision = guard.judge(checked(TOOLS, name, **arguments)).decision
    return decision is None or isinstance(decision, Allow)


def done(guard: Guard, name: str, **arguments) -> bool:
    """Whether it runs; if so, it has run."""
    if not runs(guard, name, **arguments):
        return False
    for message in exchange(TOOLS, name, "done", **arguments):
        guard.see(message)
    return True


@pytest.mark.parametrize("amount", [40, 39.99, 1])
def test_what_the_user_named_is_the_total_whatever_records_hold(amount):
    guard = after("Refund order O-5, 40 EUR.", ("read_ticket", TICKET), ("orders", ORDERS))
    assert done(guard, "refund_order", order_id="O-5", amount=40)
    assert not done(guard, "refund_order", order_id="O-5", amount=amount)


def test_what_is_named_twice_may_be_paid_twice():
    words = "Refund order O-5, 40 EUR, and then 10 more for O-5."
    guard = after(words, ("read_ticket", TICKET), ("orders", ORDERS))
    assert done(guard, "refund_order", order_id="O-5", amount=40)
    assert done(guard, "refund_order", order_id="O-5", amount=10)
    assert not done(guard, "refund_order", order_id="O-5", amount=1)


def test_a_record_that_refers_to_another_does_not_stand_for_it():
    read = after("Settle order O-5.", ("read_ticket", TICKET))
    assert not runs(read, "settle_order", order_id="O-5")
    both = after("Settle and return order O-5.", ("read_ticket", TICKET), ("orders", ORDERS))
    assert not runs(both, "settle_order", order_id="O-5")
    assert runs(both, "return_order", order_id="O-5")
    turned = after("Return order O-5.", ("orders", ORDERS), ("read_ticket", TICKET))
    assert runs(turned, "return_order", order_id="O-5")


def test_a_refusal_says_whether_the_record_was_read():
    unread = after("Settle order O-5.", ("read_ticket", TICKET))
    assert "has not read it" in unread.judge(checked(TOOLS, "settle_order", order_id="O-5")).reason
    unfit = after("Settle order O-5.", ("read_ticket", TICKET), ("orders", ORDERS))
    reason = unfit.judge(checked(TOOLS, "settle_order", order_id="O-5")).reason
    assert reason == "what settle_order would act on is not what its author allows"
