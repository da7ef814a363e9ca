"""What is said of tools that are hard to choose or to call."""

import pytest

import rightcall as rc
from rightcall.declare.manual import quote_description
from rightcall.errors import UsageError
from rightcall.tools.lint_rules import LINT_RULES

GOOD = "Send an email to one person. Use it when the user asks for a mail to go out."


def made(name="send_email", description=GOOD, properties=None, **options):
    members = {"to": {"type": "string", "description": "The address."}} | (properties or {})
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    return rc.Tool(name, description, schema, **options)


def member(**schema):
    return made(properties={"value": {"description": "What is meant.", **schema}})


def rules(*tools, **options):
    return [finding.rule for finding in rc.tools.lint(list(tools), **options)]


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
    (found,) = rc.tools.lint(ONE[rule])
    assert (found.rule, found.tool) == (rule, "send_email")
    assert all((found.where, found.what, found.why, found.instead))
    assert (
        rc.tools.lint(ONE[rule], ignore=[rule])
        == rc.tools.lint(ONE[rule], ignore=f"{rule}:send_email")
        == ()
    )


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


ACCOUNT = "Work with the accounts of customers. Use it when somebody asks about one."
TOPICS = (
    "sales",
    "stock",
    "payroll",
    "churn",
    "budget",
    "refund",
    "ad",
    "visit",
    "tax",
    "fleet",
    "risk",
)
MANY_TOPICS = tuple(f"{one}{other}" for one in TOPICS for other in TOPICS)


def report(topic, description="Get the {} report of a month. Use it when figures are asked for."):
    return made(f"get_{topic}_report", description.format(topic))


TWINS = {
    "two verbs": (made("lookup_account", ACCOUNT), made("list_accounts", ACCOUNT)),
    "two nouns that mean the same": (made("find_client", ACCOUNT), made("find_customer", ACCOUNT)),
    "two other nouns": (made("find_pupil", ACCOUNT), made("find_teacher", ACCOUNT)),
    "without parameters": (rc.Tool("my_client", ACCOUNT), rc.Tool("my_customer", ACCOUNT)),
    "each its noun as a parameter": (
        made("find_pupil", ACCOUNT, {"pupil_id": {"type": "integer", "description": "A number."}}),
        made("find_teacher", ACCOUNT, {"teacher_id": {"type": "integer", "description": "A number."}}),
    ),
    "other parameters, and the same noun": (
        made("lookup_account", ACCOUNT),
        made("list_accounts", ACCOUNT, {"page": {"type": "integer"}}),
    ),
    "a synonym in the text as well": (
        made("find_client", "Find a client by an address. Use it when only that is known."),
        made("find_customer", "Find the customer by an address. Use it when only that is known."),
    ),
    "two of a kind": [report(topic) for topic in TOPICS[:2]],
    "six of a kind": [report(topic) for topic in TOPICS[:6]],
    "a hundred of a kind": [report(topic) for topic in MANY_TOPICS],
    "a hundred of a kind, each in its own words": [
        report(
            topic,
            f"Get the report on the {number}th topic of a month. Use it when figures are asked for.",
        )
        for number, topic in enumerate(MANY_TOPICS)
    ],
    "six of a kind, with one text": [report(topic, GOOD) for topic in TOPICS[:6]],
    "among others": [
        *[report(topic) for topic in TOPICS[:6]],
        made("get_weather", "Get the weather. Use it when a trip is planned."),
        made("send_letter", "Write to somebody on paper. Use it when they have no address for mail."),
    ],
}


@pytest.mark.parametrize("kind", TWINS)
def test_twins_are_found_however_many_there_are(kind):
    found = rc.tools.lint(TWINS[kind], ignore=["one-letter", "no-when-not"])
    assert {finding.rule for finding in found} == {"near-duplicate"}
    twins = [tool for tool in TWINS[kind] if not tool.name.endswith(("weather", "letter"))]
    # One for each beyond the first, and not one for each pair.
    assert [finding.tool for finding in found] == [tool.name for tool in twins[1:]]


@pytest.mark.parametrize("others", [1, 5, 60])
def test_a_tool_and_its_variants_are_found_among_however_many_of_the_same_noun(others):
    # All have the noun, so it is no word by which to leave them out.
    box = [made("get_file", "Get what a path holds."), made("get_text_file", "Get text from a path.")]
    for topic in MANY_TOPICS[:others]:
        parameters = {topic: {"type": "string", "description": "Text."}}
        box.append(made(f"put_{topic}_away_file", f"Archive {topic}.", parameters))
    found = rc.tools.lint(box, ignore=["one-letter"])
    assert [finding.tool for finding in found if finding.rule == "no-when-not"] == [
        "get_file",
        "get_text_file",
    ]


@pytest.mark.parametrize("count", [6, 60])
def test_any_number_of_tools_say_when_they_are_used(count):
    box = []
    for number, topic in enumerate(MANY_TOPICS[:count]):
        parameters = {topic: {"type": "string", "description": "Text."}}
        box.append(made(f"get_{topic}_order_item", f"Find part {number} by {topic}.", parameters))
    found = rc.tools.lint(box, ignore=["one-letter", "near-duplicate"])
    assert [finding.rule for finding in found] == ["no-when"] * count


APART = {
    "verbs that nobody confuses": (
        made("join_class", "Sign a member up for a class. Use it when somebody wants to come."),
        made("leave_class", "Take a member out of a class. Use it when somebody gives up."),
    ),
    "one thing and many": (
        made("get_order", "Get one order by its number. Use it when that is known."),
        made("list_orders", "List the orders of a day. Use it when no number is known."),
    ),
    "the same of two things": (
        made("get_user", "Get a user by an id. Use it when the id is known."),
        made("get_issue", "Get an issue by an id. Use it when the id is known."),
    ),
    "opposites": (
        made("press_mouse_up", "Press the mouse up. Use it when it was down."),
        made("press_mouse_down", "Press the mouse down. Use it when it was up."),
    ),
    "words that a search leaves out": (
        made("light_on", "Turn the light on."),
        made("light_off", "Turn the light off."),
    ),
    "two servers": (
        made("find_client", ACCOUNT, origin="shop"),
        made("find_customer", ACCOUNT, origin="crm"),
    ),
}


@pytest.mark.parametrize("kind", APART)
def test_tools_whose_texts_differ_are_no_twins(kind):
    assert "near-duplicate" not in rules(*APART[kind])


def test_among_many_a_tool_says_when_it_is_used():
    others = [made(name, f"{GOOD} They {name}.") for name in ("pay", "walk", "jump", "read", "sing")]
    beside = made("get_late_paid_orders", "Get what was paid too late. Use it when asked for that.")
    silent = made("get_late_unpaid_orders", "Get what was bought on account and is still open, by age.")
    (found,) = rc.tools.lint([*others, beside, silent])
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
        description=quote_description("mail", "Send an email."),
        origin="mail",
        short="mail says: " + "x" * 90,
    )
    own = made(description="Send an email.")
    assert rules(send_email) == rules(definition) == ["vague", "no-description"]
    assert rules(server) == rules(own) == ["vague"]


def test_a_name_that_nothing_is_found_by_is_an_error():
    with pytest.raises(UsageError, match=r"lint finds no 'vauge' to ignore; it finds empty, vague"):
        rc.tools.lint(made(), ignore=["vauge"])
    assert {*ONE, *PAIRS, "no-when"} == set(LINT_RULES)


def test_a_thousand_tools_are_not_compared_each_with_each():
    # A tenth of a second or so; each with each, it would be half a million pairs.
    box = [
        made(f"get_{a}{b}_{c}", f"{GOOD} {a}{b}{c}")
        for a in "abcdefghij"
        for b in "klmno"
        for c in range(20)
    ]
    assert len(rc.tools.lint(box, ignore=["one-letter"])) < len(box) * 2


def test_a_tool_to_ignore_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="there is no tool 'forcast'"):
        rc.tools.lint([rc.Tool("forecast", "Get the weather.")], ignore=["vague:forcast"])
