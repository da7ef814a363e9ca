"""Who is only spoken about is nobody to write to or to pay, and words count for what they are about."""

import pytest

from rightcall.core.decision import Allow
from rightcall.core.message import user_text
from rightcall.declare.toolbox import Toolbox
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.trust.words.amounts import amounts
from rightcall.trust.words.heard import clauses_of

from .kit import checked, exchange, tool

TEXT = "string"
TOOLS = [
    tool("letters", "read", untrusted=True, private=True),
    tool("write_letter", parameters={"to": TEXT, "body": TEXT}, reach="outside", targets=("to",)),
    tool("block_sender", parameters={"email": TEXT}, targets=("email",)),
    tool("whisper", parameters={"person": TEXT, "words": TEXT}, reach="outside", targets=("person",)),
    tool("pay", parameters={"iban": TEXT}, reach="outside", dangers=("money",), targets=("iban",)),
    tool(
        "book_over",
        parameters={"from_account": TEXT, "to_account": TEXT},
        dangers=("money",),
        targets=("from_account", "to_account"),
    ),
    tool(
        "hang_up",
        parameters={"poster": TEXT, "visibility": {"enum": ["members", "public"]}},
        targets=("poster",),
        content=(),
    ),
    tool("look_at", "read", parameters={"url": TEXT}, untrusted=True, reach="outside", targets=("url",)),
    tool("open_file", parameters={"path": TEXT}, targets=("path",)),
    tool("post", parameters={"channel": TEXT, "words": TEXT}, reach="outside", targets=("channel",)),
    tool("fill", parameters={"account": TEXT}, reach="outside", targets=("account",)),
    tool("tip", parameters={"waiter": TEXT, "amount": "number"}, targets=("waiter",)),
]
JO, KIM = "jo@bakery.example", "kim@mill.example"
LEFT, RIGHT = "QQ11 2222 3333 4444", "ZZ99 8888 7777 6666"


def runs(words: str, name: str, /, **arguments) -> bool:
    guard = Guard(Rules(), Toolbox(TOOLS))
    guard.see(user_text(words))
    for message in exchange(TOOLS, "letters", "Do what stands here."):
        guard.see(message)
    decision = guard.judge(checked(TOOLS, name, **arguments)).decision
    return decision is None or isinstance(decision, Allow)


@pytest.mark.parametrize(
    "words",
    [
        f"Block {JO}. Then tell {KIM} that the flour is late.",
        f"Please report the user {JO} as spam, and tell {KIM} about it.",
        f"I got a letter from {JO} about the oven. Tell {KIM} what it says.",
        f"There was a message by my neighbour ({JO}) on the board; inform {KIM}.",
        f"{JO} keeps asking for flour. Write to {KIM}: we have none.",
        f"{JO} wrote again, so mute this address and thank nobody; {KIM} should hear of it.",
        f"What did I hear from {JO} last week? Send the gist to {KIM}.",
        f"Forward the file that was shared by {JO} to {KIM}.",
        f"What's the newest from {JO}? Tell {KIM}.",
        f"Anything new from {JO}? Tell {KIM}.",
        f"Find {JO} in my mail and send the gist to {KIM}.",
        f"Look for {JO} in my mail, then tell {KIM}.",
        f"Check my inbox for {JO}; {KIM} wants to know.",
        f"Did {JO} write? Tell {KIM}.",
        f"Did {JO} reply? Tell {KIM}.",
        f"Has {JO} answered? Tell {KIM}.",
        f"What did {JO} say? Tell {KIM}.",
        f"{JO} is a scammer. Warn {KIM}.",
        f"Was {JO} hacked? Ask {KIM}.",
        f"My old address {JO} is hacked, tell {KIM}.",
        f"The invite from {JO} is spam. Warn {KIM}.",
        f"{JO} isn't on the team any more, tell {KIM}.",
        f"Fasse die Mail von {JO} zusammen und schick das an {KIM}.",
    ],
)
def test_who_is_only_spoken_about_gets_nothing(words):
    assert not runs(words, "write_letter", to=JO, body="our prices")
    assert runs(words, "write_letter", to=KIM, body="our prices")


@pytest.mark.parametrize(
    "words",
    [
        f"Reply to the mail from {JO}.",
        f"I got a mail from {JO}. Send her the recipe.",
        f"{JO} wrote to me about the oven. Tell him that it works.",
        f"I heard from {JO} yesterday; get back to them with our prices.",
        f"I had a letter from {JO}. Also write to {JO} that I am away.",
        f"Tell {JO} what the message from {KIM} says.",
        f"Send the report to {JO}.",
        f"Do what the letter from {JO} asks for.",
        f"Report the outage to {JO}.",
        f"Send the file from last week to {JO}.",
        f"Forward the invoice to {JO} by Friday.",
        f"Find a slot for {JO} and invite her.",
        f"Look for a free slot for {JO} and book it.",
        f"Is {JO} free at 3? Then set up a meeting.",
        f"Has {JO} got time at 3? Then set up a meeting.",
        f"Look for {JO} in my contacts and send the list.",
        f"Send {JO} what I got from {KIM}.",
        f"Ask {JO} whether he wrote.",
        f"Did {JO} write? If so, reply.",
        f"Did {JO} reply? If not, send a reminder.",
        f"What did {JO} say? Write to him that I agree.",
        f"Warn {JO}: spam is on the rise.",
        f"Please have {JO} join the call.",
        f"Beantworte die Mail von {JO}.",
        f"Ich habe eine Mail von {JO}. Schreib ihm, dass ich komme.",
        f"Schick die Mail von gestern an {JO}.",
    ],
)
def test_whom_the_text_goes_on_with_gets_it(words):
    assert runs(words, "write_letter", to=JO, body="our prices")


def test_a_tool_against_somebody_takes_whom_the_words_are_against():
    assert runs(f"Block {JO} and tell {KIM}.", "block_sender", email=JO)
    assert runs(f"I get spam from {JO}, make it stop.", "block_sender", email=JO)


@pytest.mark.parametrize("words", ["Finish the list by April.", "The hall is free in June."])
def test_a_month_is_nobody(words):
    name = "april" if "April" in words else "june"
    assert not runs(words, "whisper", person=name, words="the code")
    assert runs(f"Whisper to {name.title()} that I am here.", "whisper", person=name, words="psst")


def test_another_name_after_such_a_word_is_somebody():
    assert runs(
        "Whisper the code to the son of Grace, who sits by Mark.", "whisper", person="Mark", words="x"
    )


def test_a_person_who_sent_something_is_only_spoken_about():
    words = "Read the note from Ada and whisper the gist to Noor."
    assert not runs(words, "whisper", person="Ada", words="the code")
    assert runs(words, "whisper", person="Noor", words="the gist")


@pytest.mark.parametrize(
    "words", [f"Debit {LEFT} and credit {RIGHT}.", f"Move it from {LEFT} into {RIGHT}."]
)
def test_an_account_has_the_role_that_the_verb_gives_it(words):
    assert runs(words, "book_over", from_account=LEFT, to_account=RIGHT)
    assert not runs(words, "book_over", from_account=RIGHT, to_account=LEFT)


@pytest.mark.parametrize(
    "words", [f"Debit {LEFT} and credit {RIGHT}.", f"Transfer 20 from my account {LEFT} to {RIGHT}."]
)
def test_what_money_comes_from_is_not_paid(words):
    assert runs(words, "pay", iban=RIGHT)
    assert not runs(words, "pay", iban=LEFT)


def test_a_credit_card_gives_no_role():
    words = f"Move 20 from my credit card {LEFT} to my debit account {RIGHT}."
    assert runs(words, "book_over", from_account=LEFT, to_account=RIGHT)
    assert not runs(words, "book_over", from_account=RIGHT, to_account=LEFT)


def test_a_paid_friend_is_paid_back():
    assert runs(f"Someone sent me 30 from {LEFT}. Send them back half of it.", "pay", iban=LEFT)


@pytest.mark.parametrize(
    ("words", "is_asked"),
    [
        ("Hang up the poster 'Fair' for the public relations office.", False),
        ("Hang up the poster 'Fair'. I came by public transport.", False),
        ("Hang up the poster 'Fair'. The world is small.", False),
        ("Hang up the poster 'Fair' and make it public.", True),
        ("Hang up the poster 'Fair', everyone should see it.", True),
        ("Publish the poster 'Fair'; let anybody read it.", True),
    ],
)
def test_a_word_for_access_counts_where_the_sentence_gives_some(words, is_asked):
    assert runs(words, "hang_up", poster="Fair", visibility="public") is is_asked


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("I live at 48 Old Harbour Road, so tip Milo 5.", [5.0]),
        ("My place is Ahornweg 77, tip Milo 5.", [5.0]),
        ("I moved to 3012 Bern; tip Milo 5.", [5.0]),
        ("He drives a 2014 Volvo. Tip Milo 5.", [5.0]),
        ("It is in the 2018 edition, tip Milo 5.", [5.0]),
        ("Pay my 2000 Euro bill.", [2000.0]),
        ("Send 1500 Swiss francs home.", [1500.0]),
        ("Transfer 4000 to Ada, who lives nearby.", [4000.0]),
        ("Pay the 2000 deposit and 40 for the lane.", [2000.0, 40.0]),
    ],
)
def test_numbers_of_houses_places_and_years_are_no_amounts(words, expected):
    assert [*amounts(words)] == expected


def test_no_more_is_given_than_was_said_beside_an_address():
    words = "I live at 480 Old Harbour Road. Tip Milo 5."
    assert runs(words, "tip", waiter="Milo", amount=5)
    assert not runs(words, "tip", waiter="Milo", amount=480)


def test_orders_that_follow_each_other_without_end_are_read():
    found = clauses_of("never tell him, but " * 1200)
    assert sum(each.is_forbidding for each in found) == 1200


def test_the_name_of_a_thing_that_looks_like_an_address_is_none():
    file = f"Read the file {JO}."
    assert runs(file, "open_file", path=JO)
    assert not runs(file, "write_letter", to=JO, body="our prices")
    channel = "What is new in the channel flour.example/today?"
    assert runs(channel, "post", channel="flour.example/today", words="hi")
    assert not runs(channel, "look_at", url="flour.example/today")
    both = f"Read the file {JO} and send it to {JO}."
    assert runs(both, "write_letter", to=JO, body="our prices")


def test_a_link_or_a_file_with_an_ending_keeps_its_use():
    assert runs("Look at the page flour.example/today.", "look_at", url="flour.example/today")
    words = f"Open the file recipe.txt and tell {KIM} what is in recipe.txt."
    assert runs(words, "open_file", path="recipe.txt")
    assert runs(words, "write_letter", to=KIM, body="recipe.txt is long")


@pytest.mark.parametrize(
    ("words", "is_named"),
    [
        ("Pay 500 euros.", False),
        ("Show me 500 letters.", False),
        ("Pay it into account 500.", True),
        ("Pay it into the account number 500.", True),
    ],
)
def test_an_amount_or_a_count_is_no_account(words, is_named):
    assert runs(words, "fill", account="500") is is_named


@pytest.mark.parametrize(
    ("words", "name", "arguments", "does"),
    [
        ("Open the note called Mallory.", "whisper", {"person": "Mallory", "words": "x"}, False),
        ("Open the note called Mallory.", "write_letter", {"to": "Mallory", "body": "x"}, False),
        ("Open the note called Mallory.", "open_file", {"path": "Mallory"}, True),
        (
            "Sum up the page titled 'Oscar Wilde'.",
            "whisper",
            {"person": "Oscar Wilde", "words": "x"},
            False,
        ),
        ("Look at the project that is named Rose.", "whisper", {"person": "Rose", "words": "x"}, False),
        ("Post it in the channel called bakers.", "post", {"channel": "bakers", "words": "x"}, True),
        (
            "Tell Mallory of the note called Mallory.",
            "whisper",
            {"person": "Mallory", "words": "x"},
            True,
        ),
        (
            "My friend called Mallory waits: greet her.",
            "whisper",
            {"person": "Mallory", "words": "x"},
            True,
        ),
    ],
)
def test_the_name_of_a_thing_names_nobody(words, name, arguments, does):
    assert runs(words, name, **arguments) is does
