"""What is drafted of tools, what it is unsure of, and what is left unsaid."""

from dataclasses import dataclass
from typing import Literal

import pytest

import rightcall as rc
from rightcall.core.facts import Facts
from rightcall.core.tool import Tool
from rightcall.trust.draft import as_python, draft, suggest


@dataclass
class Mail:
    id: str
    sender: str
    subject: str
    body: str
    size: int
    state: Literal["read", "new"]
    extra: dict[str, str]


@dataclass
class Contact:
    email: str
    name: str


def tool(name: str, docs: str = "It does.", **parameters: object) -> Tool:
    """A tool; each parameter is a schema, or the docs of a text."""
    properties = {
        key: value if isinstance(value, dict) else {"type": "string", "description": value}
        for key, value in parameters.items()
    }
    return Tool(name, docs, {"type": "object", "properties": properties})


def returning(name: str, hint: object) -> Tool:
    def handler() -> None: ...

    handler.__annotations__["return"] = hint
    return Tool(name, "It looks.", handler=handler)


UNKNOWN = {"untrusted": True, "private": True}
READ = Facts(reach="user", dangers=(), targets=(), **UNKNOWN)
OUTSIDE = Facts(reach="outside", dangers=(), **UNKNOWN)
READS = {
    "a look": (tool("get_order", order_id="x"), "read", READ),
    "a prefix": (tool("slack_list_channels", limit={"type": "integer"}), "read", READ),
    "a page": (
        tool("get_page", url="x"),
        "read",
        Facts(reach="outside", dangers=(), targets=("url",), **UNKNOWN),
    ),
    "the web": (tool("web_search", query="x"), "read", OUTSIDE),
    "a name that says two things": (
        tool("get_or_create_user", user="x"),
        None,
        Facts(dangers=(), targets=("user",), **UNKNOWN),
    ),
    "docs that name an act": (tool("get_token", "Gets it, and deletes the old."), None, Facts()),
    "docs that begin with one": (tool("search_feedback", "Send feedback."), None, Facts()),
    "no verb": (tool("orders"), None, Facts()),
    "SQL": (tool("read_query", query="The SQL to run."), None, Facts()),
    "a command": (tool("get_output", command="x"), None, Facts()),
    "anything": (tool("execute", what="x"), None, Facts()),
}


@pytest.mark.parametrize("case", READS)
def test_a_look_is_one_only_where_no_word_speaks_of_an_act(case):
    of, effect, facts = READS[case]
    found = draft(of)
    assert (found.effect, found.facts) == (effect, facts)
    assert ("effect" in found.unsaid) == (effect is None)
    assert ("effect" in found.unsure) == (effect == "read")


AMOUNT = {"type": "number"}
WRITES = {
    "a mail": (
        tool("send_mail", to="x", cc="x", body="x"),
        Facts(reach="outside", dangers=(), targets=("to", "cc"), **UNKNOWN),
    ),
    "a payment": (
        tool("send_money", iban="x", amount=AMOUNT, date="x", subject="x"),
        Facts(reach="outside", dangers=("money",), targets=("iban",), **UNKNOWN),
    ),
    "a refund": (
        tool("refund", order_id="x", amount=AMOUNT),
        Facts(dangers=("money",), targets=("order_id",), **UNKNOWN),
    ),
    "a password": (
        tool("update_login", password="x"),
        Facts(dangers=("credentials",), targets=("password",), **UNKNOWN),
    ),
    "a deletion": (
        tool("remove_user", user="x"),
        Facts(dangers=("deletes",), targets=("user",), **UNKNOWN),
    ),
    "choices and flags": (
        tool("create_note", title="x", text="x", kind={"enum": ["a", "b"]}, shown={"type": "boolean"}),
        Facts(dangers=(), targets=("title",), **UNKNOWN),
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_everything_but_words_amounts_and_choices_is_a_target(case):
    of, facts = WRITES[case]
    assert (draft(of).effect, draft(of).facts) == (None, facts)


RESULTS = {
    "mail": (returning("get_mail", list[Mail]), ("subject", "body", "extra"), None),
    "a number": (returning("get_balance", float), False, None),
    "contacts": (returning("search_contacts", list[Contact]), False, ()),
    "people": (returning("get_users", list[str]), True, None),
    "any object": (returning("get_info", dict[str, str]), True, None),
    "a text": (returning("get_iban", str), True, None),
}


@pytest.mark.parametrize("case", RESULTS)
def test_only_declared_fields_that_nobody_types_into_are_the_systems(case):
    of, untrusted, identity = RESULTS[case]
    (found,) = suggest([of])
    assert (found.facts.untrusted, found.facts.identity) == (untrusted, identity)
    assert found.unsure["untrusted" if identity is None else "identity"]


def test_a_sample_shows_the_fields_of_a_tool_that_returns_a_dict():
    (found,) = suggest(
        [returning("get_customer", dict)],
        samples={"get_customer": {"id": "C-1", "iban": "DE89", "note": "Hi", "since": "2020-01-01"}},
    )
    assert found.facts.untrusted == ("note",)


def test_what_a_stranger_says_it_returns_is_not_believed():
    (found,) = suggest([returning("get_mail", list[Mail]).replace(origin="some server")])
    assert found.facts.untrusted is True


def test_what_an_author_stated_stays():
    stated = tool("send_mail", to="x", body="x").replace(facts=Facts(targets=("to", "body")))
    over = draft(stated).over(stated)
    assert over.facts == Facts(reach="outside", dangers=(), targets=("to", "body"), **UNKNOWN)
    look = tool("get_mail")
    assert draft(look).over(look).effect == "read"


def test_each_fact_has_its_reason_and_what_is_unsaid_too():
    for each in (*READS.values(), *WRITES.values()):
        found = draft(each[0])
        stated = {name for name in found.facts.__struct_fields__ if getattr(found.facts, name)}
        assert stated <= set(found.reasons)
        assert set(found.unsure) <= set(found.reasons)
        assert not set(found.reasons) & set(found.unsaid)


def test_drafts_can_be_pasted():
    text = as_python(suggest([tool("get_mail"), tool("send_money", iban="x", amount=AMOUNT)]))
    lines = [line.removeprefix("@rc.tool") for line in text.splitlines() if line.startswith("@")]
    assert lines == [
        (
            '(effect="read", facts=rc.Facts(untrusted=True, private=True, reach="user", dangers=(), '
            "targets=()))"
        ),
        (
            '(facts=rc.Facts(untrusted=True, private=True, reach="outside", dangers=("money",), '
            'targets=("iban",)))'
        ),
    ]
    assert "# effect, unsure: " in text


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("google_search", "query"),
        ("search_arxiv", "query"),
        ("search", "q"),
        ("get-library-docs", "topic"),
    ],
)
def test_whom_a_search_asks_is_left_unsaid_if_nothing_shows_it(name, parameter):
    drafted = draft(tool(name, "Looks.", **{parameter: "x"}))
    assert drafted.effect == "read"
    assert drafted.facts.reach is None
    assert parameter in drafted.unsaid["reach"]


@pytest.mark.parametrize("name", ["search_emails", "search_notes", "find_memories", "search_orders"])
def test_a_search_in_what_the_user_keeps_stays_there(name):
    assert draft(tool(name, "Search.", query="x")).facts.reach == "user"


def test_plain_functions_are_drafted_as_the_tools_that_they_would_be():
    def refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        return "done"

    (expected,) = suggest([rc.tool(refund)])
    assert suggest([refund]) == suggest(refund) == suggest(rc.Toolbox(refund)) == (expected,)
    assert expected.facts.dangers == ("money",)
