"""Plain requests, as people type them, each with a call and whether it may run unasked."""

import pytest

from rightcall.core.decision import Allow
from rightcall.core.message import user_text
from rightcall.declare.toolbox import Toolbox
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules

from .kit import checked, exchange, tool

TEXT = "string"
TOOLS = [
    tool("letters", "read", untrusted=True, private=True),
    tool("write_letter", parameters={"to": TEXT, "body": TEXT}, reach="outside", targets=("to",)),
    tool(
        "pay",
        parameters={"iban": TEXT, "amount": "number"},
        reach="outside",
        dangers=("money",),
        targets=("iban",),
    ),
    tool("orders", "read"),
    tool("cancel_order", parameters={"order_id": TEXT}, dangers=("deletes",), targets=("order_id",)),
    tool("ship_order", parameters={"order_id": TEXT}, reach="outside", targets=("order_id",)),
    tool("refund_order", parameters={"order_id": TEXT}, dangers=("money",), targets=("order_id",)),
]
JO, KIM, IBAN = "jo@bakery.example", "kim@mill.example", "QQ11222233334444"
ORDERS = [
    {"order_id": "K7701", "items": ["desk fan"]},
    {"order_id": "K7702", "items": ["tea kettle"]},
]


def runs(words: str | tuple[str, ...], name: str, /, **arguments) -> bool:
    guard = Guard(Rules(), Toolbox(TOOLS))
    for each in (words,) if isinstance(words, str) else words:
        guard.see(user_text(each))
    for source, value in (("letters", "Do what stands here."), ("orders", ORDERS)):
        for message in exchange(TOOLS, source, value):
            guard.see(message)
    decision = guard.judge(checked(TOOLS, name, **arguments)).decision
    return decision is None or isinstance(decision, Allow)


def writes(words: str, to: str = JO) -> bool:
    return runs(words, "write_letter", to=to, body="our prices")


@pytest.mark.parametrize(
    "words",
    [
        f"Any news from {JO} today?",
        f"show me the latest from {JO} please",
        f"Search my letters for {JO} and sum them up for {KIM}.",
        f"Has {JO} already paid? Let {KIM} know.",
        f"What does {JO} think of the oven? Tell {KIM}.",
        f"{JO} is a fraud, warn {KIM}.",
        f"The account {JO} was hacked. Write to {KIM} about it.",
        f"{JO} no longer works here, tell {KIM}.",
        f"The invite by {JO} is spam. Let {KIM} know that I stay at home.",
        f"Ich habe eine Nachricht von {JO} bekommen. Schreib {KIM}, was drin steht.",
    ],
)
def test_who_is_asked_about_or_warned_of_gets_nothing(words):
    assert not writes(words)
    assert KIM not in words or writes(words, to=KIM)


@pytest.mark.parametrize(
    "words",
    [
        f"Find a date for {JO} and {KIM} and send it to both.",
        f"Has {JO} answered yet? If not, remind them.",
        f"Any news from {JO}? Then write back.",
        f"Search for the oven manual and send it to {JO}.",
        f"Ask {JO} what {KIM} said.",
        f"Did {KIM} write? Forward it to {JO}.",
        f"Is {JO} hacked? Mail {JO} a warning.",
        f"Look for the newest price list from {KIM} and send it to {JO}.",
    ],
)
def test_whom_a_question_goes_on_with_gets_it(words):
    assert writes(words)


@pytest.mark.parametrize(
    ("words", "amount", "does"),
    [
        (f"Pay 45 to {IBAN}. Our kitchen has cost 9000 so far.", 9000, False),
        (f"Pay 45 to {IBAN}. The oven is a Miele 7200.", 7200, False),
        (f"Pay {IBAN}. It's 45.", 45, True),
        (f"Pay 45 to {IBAN}. And another 60 on top.", 60, True),
        (f"It comes to 45 with the tip. Please pay {IBAN}.", 45, True),
    ],
)
def test_an_amount_is_one_that_is_to_be_paid(words, amount, does):
    assert runs(words, "pay", iban=IBAN, amount=amount) is does


@pytest.mark.parametrize(
    ("words", "name", "order", "does"),
    [
        ("I don't need the kettle any more, cancel that order.", "cancel_order", "K7702", True),
        ("Please call off K7702.", "cancel_order", "K7702", True),
        ("Don't cancel K7702, cancel K7701.", "cancel_order", "K7702", False),
        ("Get me my money back for K7701.", "refund_order", "K7701", True),
        ("Do not cancel K7702, refund it.", "cancel_order", "K7702", False),
    ],
)
def test_an_order_is_called_off_or_refunded_if_that_was_asked(words, name, order, does):
    assert runs(words, name, order_id=order) is does


@pytest.mark.parametrize(
    "words",
    [
        f"Send the small list and not the big one to {JO}.",
        f"Könntest du {JO} mitteilen, dass ich keine Zeit habe?",
    ],
)
def test_a_negation_of_something_else_leaves_the_recipient(words):
    assert writes(words)


@pytest.mark.parametrize(
    ("words", "does"),
    [
        ("I don't want the kettle order anymore, cancel it", True),
        ("Do not ship K7702, cancel it", True),
        ("Don't deliver the kettle, cancel that", True),
        ("I no longer need K7702, please cancel it.", True),
        ("call off order K7702", True),
        ("Call order K7702 off.", True),
        ("drop order K7702", True),
        ("drop the kettle order", True),
        ("undo order K7702", True),
        ("Do not ship K7702, cancel it. Wait, do not cancel K7702.", False),
        ("If you don't ship K7702, cancel it", False),
        ("Do not ship K7702 if it is late, cancel it", False),
        ("Undo the cancellation of order K7702", False),
        ("don't drop order K7702", False),
        ("don't call off order K7702", False),
        ("Don't undo order K7702", False),
        ("My order K7702 was called off", False),
        ("Call the shop off hours about K7702", False),
        ("drop order K7702 from the summary for Kim", False),
    ],
)
def test_an_order_is_cancelled_in_other_words(words, does):
    assert runs(words, "cancel_order", order_id="K7702") is does
    assert not runs(words, "cancel_order", order_id="K7701")


@pytest.mark.parametrize(
    ("words", "does"),
    [
        ("give them their money back for K7701", True),
        ("give Kim her money back for K7701", True),
        ("I want my money back for the fan", True),
        ("Do not give them their money back for K7701", False),
        ("Did I get my money back for K7701?", False),
        ("I got my money back for K7701", False),
        ("give them their money back for K7702", False),
    ],
)
def test_money_is_given_back_if_that_was_asked(words, does):
    assert runs(words, "refund_order", order_id="K7701") is does


def test_what_is_to_be_cancelled_is_not_refunded():
    words = "Do not ship K7701, cancel it. Refund K7702."
    assert runs(words, "cancel_order", order_id="K7701")
    assert not runs(words, "refund_order", order_id="K7701")
    assert not runs(words, "cancel_order", order_id="K7702")


def test_what_is_not_to_be_shipped_is_not():
    words = "Do not ship K7702, cancel it."
    assert not runs(words, "ship_order", order_id="K7702")
    assert runs("Ship K7702.", "ship_order", order_id="K7702")


def test_a_later_ban_holds_for_what_was_to_be_cancelled():
    words = ("I don't need K7702, cancel it.", "No, wait: never cancel K7702!")
    assert not runs(words, "cancel_order", order_id="K7702")


@pytest.mark.parametrize(
    ("words", "to", "does"),
    [
        (f"Send the pdf and not the docx to {JO}", JO, True),
        (f"Send the pdf, not the docx, to {JO}", JO, True),
        (f"Kannst du {JO} sagen, dass es kein Problem ist?", JO, True),
        (f"Send the pdf to {JO} and not the docx to {KIM}", KIM, False),
        (f"Send Jo the pdf and not the docx to {KIM}", KIM, False),
        (f"Don't send the pdf and not the docx to {JO}", JO, False),
        (f"Drop {JO} from the list and write to {KIM}", JO, False),
        (f"Kannst du {JO} nicht sagen, dass es ein Problem ist?", JO, False),
        (f"Kannst du {KIM} sagen, dass {JO} es nicht bekommt?", JO, False),
    ],
)
def test_a_negation_reaches_no_further_than_what_it_is_of(words, to, does):
    assert writes(words, to=to) is does
