"""What is said of tools that are hard to choose or to call."""

import pytest

import rightcall as rc
from rightcall.declare.stranger import quoted
from rightcall.errors import UsageError
from rightcall.tools.linting import LINT_RULES

GOOD = "Send an email to one person. Use it when the user asks for a mail to go out."


def made(name="send_email", description=GOOD, properties=None, **options):
    members = {"to": {"type": "string", "description": "The address."}} | (properties or {})
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    return rc.Tool(name, description, schema, **options)


def member(**schema):
    return made(properties={"value": {"description": "What is meant.", **schema}})


def rules(*tools, **options):
    return [finding.rule for finding in rc.lint(list(tools), **options)]


ONE = {
    "empty": made(description=" "),
    "vague": made(description="Send an email."),
    "not-imperative": made(description=f"This tool can {GOOD}"),
    "no-description": made(properties={"since": {"type": "string"}}),
    "no-example": member(type="string", pattern="^[A-Z]{3}-[0-9]+$"),
    "cryptic-enum": member(enum=["A1", "B7"]),
    "long-short": made(short="Send " * 20),
    "long-manual": made(description=GOOD + " More of it." * 200),
    "strict": member(type="object", additionalProperties={"type": "string"}, examples=[{"a": "b"}]),
    "orders": made(description=f"{GOOD} You must call this first.", origin="shop"),
}


@pytest.mark.parametrize("rule", ONE)
def test_each_finding_is_found_alone_with_a_reason_and_something_better(rule):
    (found,) = rc.lint(ONE[rule])
    assert (found.rule, found.tool) == (rule, "send_email")
    assert all((found.where, found.what, found.why, found.instead))
    assert rc.lint(ONE[rule], ignore=[rule]) == rc.lint(ONE[rule], ignore=f"{rule}:send_email") == ()


PAIRS = {
    "near-duplicate": (
        made("read_mail_subject", "Read the subject of a mail. Use it when only that matters."),
        made("read_mail_sender", "Read the sender of a mail. Use it when only that matters."),
    ),
    "no-when-not": (
        made("read_file", "Read the bytes that are in a file, from its first to its last."),
        made("read_text_file", "Decode what a document holds, line after line."),
    ),
    "one-letter": (
        made("track_parcel", "Tell where a parcel is. Use it when somebody waits for one."),
        made("trace_parcel", "Open an inquiry about something lost. Only use it after a month."),
    ),
}


@pytest.mark.parametrize("rule", PAIRS)
def test_tools_that_are_taken_for_one_another_are_told_apart(rule):
    assert set(rules(*PAIRS[rule])) == {rule}
    assert rules(PAIRS[rule][0]) == []


def test_among_many_a_tool_says_when_it_is_used():
    others = [made(name, GOOD) for name in ("pay", "walk", "jump", "read", "sing")]
    beside = made("get_late_paid_orders", "Get what was paid too late. Use it when asked for that.")
    silent = made("get_late_unpaid_orders", "Get what was bought on account and is still open, by age.")
    (found,) = rc.lint([*others, beside, silent])
    assert (found.rule, found.tool) == ("no-when", "get_late_unpaid_orders")
    assert "get_late_paid_orders" in found.what
    assert rules(beside, silent) == []


def test_what_says_it_in_other_words_is_left_alone():
    values = ["asc", "desc", "eq", "15m", "text/html", "urgent"]
    assert rules(member(enum=values)) == []
    assert (
        rules(made(properties={"level": {"enum": [1, 2], "description": "1 is low, 2 is high."}})) == []
    )
    assert rules(made(description="Process an order from cart to invoice, and give its number.")) == []
    query = {"type": "string", "description": "A JQL query, e.g. project = X."}
    assert rules(made(properties={"query": query})) == []


def test_functions_definitions_and_servers_are_read_alike():
    def send_email(to: str) -> None:
        """Send an email."""

    definition = {
        "name": "send_email",
        "description": "Send an email.",
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    }
    server = made(
        description=quoted("mail", "Send an email."), origin="mail", short="mail says: " + "x" * 90
    )
    own = made(description="Send an email.")
    assert rules(send_email) == rules(definition) == ["vague", "no-description"]
    assert rules(server) == rules(own) == ["vague"]


def test_a_name_that_nothing_is_found_by_is_an_error():
    with pytest.raises(UsageError, match=r"lint finds no 'vauge' to ignore; it finds empty, vague"):
        rc.lint(made(), ignore=["vauge"])
    assert {*ONE, *PAIRS, "no-when"} == set(LINT_RULES)


def test_a_thousand_tools_are_not_compared_each_with_each():
    # A tenth of a second or so; each with each, it would be half a million pairs.
    box = [
        made(f"get_{a}{b}_{c}", f"{GOOD} {a}{b}{c}")
        for a in "abcdefghij"
        for b in "klmno"
        for c in range(20)
    ]
    assert len(rc.lint(box, ignore=["one-letter"])) < len(box) * 2


def test_a_tool_to_ignore_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="there is no tool 'forcast'"):
        rc.lint([rc.Tool("forecast", "Get the weather.")], ignore=["vague:forcast"])
