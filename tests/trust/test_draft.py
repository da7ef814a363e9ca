"""What is drafted of tools, and what is left unsaid."""

from dataclasses import dataclass
from typing import Literal

import pytest

from rightcall.core.facts import Facts
from rightcall.core.tool import Tool
from rightcall.trust.draft import as_python, draft, suggest
from trust.drafted_looks import ACTING, HOLES, LOOKING, UNSEEN


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
class Stored:
    file_id: str
    filename: str
    content: str


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


READ = Facts(reach="user", dangers=(), targets=())
READS = {
    "a look": (tool("get_order", order_id="x"), "read", READ),
    "a prefix": (tool("slack_list_channels", limit={"type": "integer"}), "read", READ),
    "a page": (tool("get_page", url="x"), "read", Facts(reach="outside", dangers=(), targets=("url",))),
    "the web": (tool("web_search", query="x"), "read", Facts(reach="outside", dangers=())),
    "a name that says two things": (tool("get_or_create_user", user="x"), None, None),
    "docs that name an act": (tool("get_token", "Gets it, and deletes the old."), None, None),
    "docs that begin with one": (tool("search_feedback", "Send feedback."), None, None),
    "a place to put it": (tool("get_body", file="Where to save it."), None, None),
    "no verb": (tool("orders"), None, Facts()),
    "SQL": (tool("read_query", query="The SQL to run."), None, Facts()),
    "a command": (tool("get_output", command="x"), None, Facts()),
    "anything": (tool("execute", what="x"), None, Facts()),
}


@pytest.mark.parametrize("case", READS)
def test_a_look_is_one_only_where_name_docs_and_parameters_agree(case):
    of, effect, facts = READS[case]
    found = draft(of)
    assert found.effect == effect
    if facts is not None:
        assert found.facts == facts
    assert effect == "read" or "effect" in found.unsaid or found.facts.dangers is not None


AMOUNT = {"type": "number"}
WRITES = {
    "a mail": (
        tool("send_mail", to="x", cc="x", body="x"),
        Facts(reach="outside", dangers=(), targets=("to", "cc")),
    ),
    "a payment": (
        tool("send_money", recipient="IBAN of the recipient", amount=AMOUNT, date="x", subject="x"),
        Facts(
            reach="outside", dangers=("money",), targets=("recipient",), kinds={"recipient": "account"}
        ),
    ),
    "a booking costs by the day": (
        tool("reserve_hotel", hotel="x", start_day="x", end_day="x"),
        Facts(dangers=("money",), targets=("hotel", "start_day", "end_day")),
    ),
    "a password": (
        tool("update_login", password="x"),
        Facts(dangers=("credentials",), targets=("password",)),
    ),
    "a deletion": (tool("remove_user", user="x"), Facts(dangers=("deletes",), targets=("user",))),
    "docs of one": (
        tool("write_file", "Overwrites the file.", path="x", content="x"),
        Facts(dangers=("deletes",), targets=("path",)),
    ),
    "choices and flags": (
        tool("create_note", title="x", text="x", kind={"enum": ["a", "b"]}, shown={"type": "boolean"}),
        Facts(dangers=(), targets=("title",)),
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_everything_but_words_amounts_and_choices_is_a_target(case):
    of, facts = WRITES[case]
    assert (draft(of).effect, draft(of).facts) == (None, facts)


RESULTS = {
    "mail": (
        returning("get_mail", list[Mail]),
        {"untrusted": ("subject", "body", "extra")},
    ),
    "a file": (returning("get_file", Stored), {"untrusted": ("content",), "names": ("filename",)}),
    "a number": (returning("get_balance", float), {"untrusted": False}),
    "contacts": (returning("search_contacts", list[Contact]), {"untrusted": False, "directory": True}),
    "channels": (
        returning("get_channels", list[str]),
        {"untrusted": (), "names": True, "kinds": {"*": "channel"}},
    ),
    "people": (returning("get_users", list[str]), {}),
    "any object": (returning("get_info", dict[str, str]), {}),
    "a text": (returning("get_iban", str), {}),
    "the time": (returning("get_current_time", str), {"untrusted": False, "private": False}),
}


@pytest.mark.parametrize("case", RESULTS)
def test_only_declared_fields_that_nobody_types_into_are_the_systems_word(case):
    of, expected = RESULTS[case]
    (found,) = suggest([of])
    said = {name: getattr(found.facts, name) for name in ("untrusted", "names", "directory", "private")}
    said["kinds"] = found.facts.kinds
    blank = {"untrusted": None, "names": (), "directory": False, "private": None, "kinds": {}}
    assert said == blank | expected


def test_what_a_stranger_says_it_returns_is_not_believed():
    (found,) = suggest([returning("get_mail", list[Mail]).replace(origin="some server")])
    assert found.facts.untrusted is None


def test_what_an_author_stated_stays():
    stated = tool("send_mail", to="x", body="x").replace(facts=Facts(targets=("to", "body")))
    over = draft(stated).over(stated)
    assert over.facts == Facts(reach="outside", dangers=(), targets=("to", "body"))
    look = tool("get_mail")
    assert draft(look).over(look).effect == "read"


def test_each_fact_has_its_reason_and_what_is_unsaid_too():
    for each in (*READS.values(), *WRITES.values()):
        found = draft(each[0])
        stated = {name for name in found.facts.__struct_fields__ if getattr(found.facts, name)}
        assert stated <= set(found.reasons)
        assert not set(found.reasons) & set(found.unsaid)


def test_drafts_can_be_pasted():
    office = [tool("get_mail"), tool("send_money", to="x", recipient="IBAN.", amount=AMOUNT)]
    text = as_python(suggest(office))
    lines = [line.removeprefix("@rc.tool") for line in text.splitlines() if line.startswith("@")]
    assert lines == [
        '(effect="read", facts=rc.Facts(reach="user", dangers=(), targets=()))',
        (
            '(facts=rc.Facts(reach="outside", dangers=("money",), targets=("to", "recipient"), '
            'kinds={"recipient": "account"}))'
        ),
    ]


@pytest.mark.parametrize(("name", "docs"), ACTING)
def test_a_tool_that_acts_is_not_drafted_as_a_look(name, docs):
    found = draft(tool(name, docs, x="x"))
    assert found.effect is None
    assert found.facts == Facts()
    assert "'" in found.unsaid["effect"]


@pytest.mark.parametrize(("name", "docs"), LOOKING)
def test_a_tool_that_looks_is_drafted_so_by_name_and_docs(name, docs):
    assert (draft(tool(name, docs, x="x")).effect == "read") == (name not in UNSEEN)


@pytest.mark.parametrize(("name", "docs"), HOLES)
def test_a_look_that_acts_without_a_word_for_it_is_left_to_the_reader(name, docs):
    assert draft(tool(name, docs, x="x")).effect == "read"


POSITIONS = {
    "Returns the set of labels.": "",
    "Get a list of updates and open orders.": "",
    "Lists transfers that have been cancelled.": "",
    "Explains how a statement would be executed.": "",
    "Reads x. Does not change it.": "",
    "Deleted files of a user.": "",
    "Deleted the file.": "deleted",
    "If there is no key, creates one.": "creates",
    "Does not delete it, but marks it as seen.": "marks",
    "Reads x, and is then removed.": "removed",
    "Whatever was found will vanish.": "vanish",
    "Zaps the account.": "zaps",
    "Gets it and zaps the account.": "zaps",
    "Re-sends mail.": "re-sends",
    "Top up a card.": "top",
    "Use it to order pizza.": "order",
    "Löscht die Datei.": "löscht",
    "删除文件": "删除文件",
}


@pytest.mark.parametrize("docs", POSITIONS)
def test_a_word_is_an_act_where_a_verb_stands(docs):
    found = draft(tool("get_x", docs))
    said = POSITIONS[docs]
    assert (found.effect is None) == bool(said)
    assert not said or found.unsaid["effect"] == f"its name says 'get', but its docs say {said!r}"


@pytest.mark.parametrize(
    ("name", "docs", "parameter"),
    [
        ("google_search", "Search Google and return results.", "query"),
        ("search_arxiv", "Search arXiv papers.", "query"),
        ("search", "Search for information.", "q"),
        ("get-library-docs", "Fetches documentation for a library.", "topic"),
    ],
)
def test_whom_a_search_asks_is_left_unsaid_if_nothing_shows_it(name, docs, parameter):
    drafted = draft(tool(name, docs, **{parameter: "x"}))
    assert drafted.effect == "read"
    assert drafted.facts.reach is None
    assert parameter in drafted.unsaid["reach"]


@pytest.mark.parametrize("name", ["search_emails", "search_notes", "find_memories", "search_orders"])
def test_a_search_in_what_the_user_keeps_stays_there(name):
    assert draft(tool(name, "Search.", query="x")).facts.reach == "user"
