"""What references give: which records, which field, and who could have written or chosen it."""

import pytest

import rightcall as rc
from rightcall.core.jsontext import dump
from rightcall.errors import UsageError
from rightcall.trust import read_intents
from rightcall.trust.references import LookedUp, is_mentioned, resolve
from rightcall.trust.task_intents import OUTSIDE, SEARCHED, SYSTEM, TYPED
from trust.kit import tool

MAILS = [
    {"id": "m1", "sender": "ann@x.example", "subject": "Lunch", "size": 10, "date": "2025-01-02"},
    {"id": "m2", "sender": "bob@x.example", "subject": "Invoice 7", "size": 30, "date": "2025-03-01"},
    {"id": "m3", "sender": "bob@x.example", "subject": "Lunch", "size": 20, "date": "2024-12-31"},
]
MEMBERS = {"general": ["ann", "bob", "cy"], "random": ["ann"], "empty": []}
CHANNELS = {"channel": {"from": "channels"}}
EACH = {"from": "members", "args": CHANNELS, "each": "channel", "field": "arg:channel"}
PAGE = "Pay DE89370400440532013000 40 until 2025-01-31, see x.example/a or write a@b.example"
SUBJECTS = {"from": "mails", "field": "subject"}
LARGEST = {"from": "mails", "pick": "max:size", "field": "id"}
WORLD = {
    "mails": lambda _: MAILS,
    "channels": lambda _: ["general", "random", "empty"],
    "members": lambda arguments: [{"user": each} for each in MEMBERS[arguments["channel"]]],
    "prices": lambda _: {"Inn": 80, "Mill": 120.5},
    "echo": lambda arguments: [{"id": f"of {arguments['of']}"}],
    "account": lambda _: {"iban": "DE89", "owner": {"name": "Ann"}, "orders": [{"id": 1}, {"id": 2}]},
    "page": lambda _: (
        "Pay DE89370400440532013000 40 until 2025-01-31, see x.example/a or write a@b.example"
    ),
}
TOOLS = {
    each.name: each
    for each in (
        tool("mails", "read", untrusted=("subject",)),
        tool("channels", "read"),
        tool("members", "read", parameters={"channel": "string"}),
        tool("prices", "read"),
        tool("echo", "read", parameters={"of": "string"}),
        tool("account", "read"),
        tool("page", "read", untrusted=True),
        tool("act"),
    )
}


def given(reference: dict, *, failing: str = ""):
    """The values of a reference with their grades, and its problem."""
    (stated,) = read_intents([{"tool": "act", "values": {"x": reference}}])
    resolving = resolve([stated], TOOLS.get)
    try:
        lookup = next(resolving)
        while True:
            text = WORLD[lookup.tool](lookup.arguments)
            if lookup.tool == failing:
                lookup = resolving.send(LookedUp(problem="it is closed"))
            else:
                lookup = resolving.send(LookedUp(text if isinstance(text, str) else dump(text)))
    except StopIteration as end:
        (found,) = end.value
    return [(each.value, each.grade) for each in found.candidates], found.problem


def values(reference: dict) -> list:
    return [value for value, _ in given(reference)[0]]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"from": "mails", "field": "id"}, ["m1", "m2", "m3"]),
        ({"from": "mails", "where": {"subject": {"is": "lunch"}}, "field": "id"}, ["m1", "m3"]),
        ({"from": "mails", "where": {"subject": {"contains": "voice"}}, "field": "id"}, ["m2"]),
        ({"from": "mails", "where": {"subject": {"starts": "inv"}}, "field": "id"}, ["m2"]),
        ({"from": "mails", "where": {"size": 20}, "field": "id"}, ["m3"]),
        ({"from": "mails", "where": {"date": {"is": {"day": "2025-01-02"}}}, "field": "id"}, ["m1"]),
        (
            {"from": "mails", "where": {"id": {"is": {"one_of": ["m1", "m3"]}}}, "field": "size"},
            [10, 20],
        ),
        ({"from": "mails", "pick": "max:size", "field": "id"}, ["m2"]),
        ({"from": "mails", "pick": "min:date", "field": "id"}, ["m3"]),
        ({"from": "mails", "pick": "most", "field": "sender"}, ["bob@x.example"]),
        ({"from": "channels"}, ["general", "random", "empty"]),
        ({"from": "account", "field": "iban"}, ["DE89"]),
        ({"from": "account", "field": "owner.name"}, ["Ann"]),
        ({"from": "account", "field": "orders.id"}, [1, 2]),
        ({"from": "prices", "where": {"@key": "Inn"}, "field": "@value"}, [80]),
        ({"from": "prices", "pick": "max:@value", "field": "@key"}, ["Mill"]),
        ({**EACH, "pick": "most"}, ["general"]),
        ({**EACH, "pick": "fewest"}, ["empty"]),
        ({**EACH, "where": {"user": "bob"}}, ["general"]),
        ({"from": "mails", "where": {"id": {"is": LARGEST}}, "field": "date"}, ["2025-03-01"]),
    ],
)
def test_a_reference_gives_the_field_of_the_records_that_are_meant(reference, expected):
    assert values(reference) == expected


@pytest.mark.parametrize(
    ("name", "is_she"),
    [
        (" ann LEE ", True),
        ("Ann  Lee", False),
        ("\uff21nn Lee", False),
        ("Ann\u200b Lee", False),
        ("Ann Lee.", False),
        ("\u212aann", False),
    ],
)
def test_a_condition_on_a_name_is_met_by_that_name_alone(monkeypatch, name, is_she):
    monkeypatch.setitem(WORLD, "mails", lambda _: [{"id": "m9", "subject": name}])
    for wanted in ("Ann Lee", "kann"):
        reference = {"from": "mails", "where": {"subject": {"is": wanted}}, "field": "id"}
        assert values(reference) == (["m9"] if is_she and wanted == "Ann Lee" else [])


@pytest.mark.parametrize(
    ("reference", "grade"),
    [
        ({"from": "mails", "field": "id"}, SYSTEM),
        ({"from": "mails", "where": {"size": 20}, "field": "id"}, SYSTEM),
        ({"from": "mails", "where": {"subject": "Lunch"}, "field": "id"}, SEARCHED),
        ({"from": "mails", "where": {"id": "m1"}, "field": "sender"}, OUTSIDE),
        ({"from": "mails", "where": {"id": "m1"}, "field": "subject"}, OUTSIDE),
        ({"from": "mails", "pick": "most", "field": "id"}, SEARCHED),
        ({"from": "page"}, OUTSIDE),
        ({"from": "echo", "args": {"of": SUBJECTS}, "field": "id"}, OUTSIDE),
        ({"from": "channels"}, SYSTEM),
        ({"from": "members", "args": {"channel": "general"}, "field": "arg:channel"}, SYSTEM),
    ],
)
def test_its_grade_follows_from_the_facts(reference, grade):
    found, problem = given(reference)
    assert (problem, {each for _, each in found}) == ("", {grade})
    assert TYPED < SYSTEM < SEARCHED < OUTSIDE


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (
            {"from": "mails", "where": {"id": "m9"}, "field": "sender"},
            "mails(id is m9).sender gave nothing",
        ),
        ({"from": "mails", "field": "colour"}, "mails().colour gave nothing"),
        ({"from": "nobody"}, "there is no tool 'nobody'"),
        ({"from": "act"}, "act does not only read"),
        ({"from": "members", "each": "channel"}, "is none of its args"),
    ],
)
def test_what_gives_nothing_says_why(reference, words):
    assert given(reference)[0] == []
    assert words in given(reference)[1]


def test_a_lookup_that_fails_says_so():
    assert given({"from": "mails", "field": "id"}, failing="mails") == ([], "mails().id: it is closed")


@pytest.mark.parametrize(
    ("value", "kind", "is_there"),
    [
        ("DE89 3704 0044 0532 0130 00", "account", True),
        ("x.example/a", "account", False),
        ("https://x.example/a", "web", True),
        ("x.example/b", "web", False),
        ("a@b.example", "address", True),
        ("x.example/a", "address", False),
        ("40", "amount", True),
        ("41", "amount", False),
        ("2025-01-31", "date", True),
        ("see", None, True),
        ("a or write", None, False),
        ("", None, False),
    ],
)
def test_what_is_mentioned_is_of_the_kind_and_verbatim(value, kind, is_there):
    assert is_mentioned(WORLD["page"]({}), value, kind) is is_there


BOUND = {"at_most": 4, "scale": 2, "plus": 1}
NOTATION = [
    {"tool": "act", "values": {"x": "1", "y": 2, "z": True, "w": None}, "times": 3},
    {"tool": "act", "values": {"x": {"like": "a {}"}, "y": {"day": "2025-01-31"}}, "id": "a"},
    {"tool": "act", "values": {"x": {"one_of": ["a", {"from": "mails", "field": "id"}]}}, "each": "x"},
    {
        "tool": "act",
        "values": {"x": {"mentioned": {"from": "page"}}, "y": {"free": True}},
        "instead_of": "a",
    },
    {"tool": "act", "values": {"x": {"result_of": "a", "field": "b"}, "y": BOUND}},
    {
        "tool": "act",
        "values": {
            "x": {
                "from": "mails",
                "args": {"a": 1},
                "where": {"b": {"contains": "c"}, "d": {"is": {"mentioned": {"from": "page"}}}},
                "field": "e",
                "pick": "max:f",
                "each": "a",
            }
        },
    },
    {"delegates": {"from": "page"}},
]


def test_the_notation_is_read_and_written_alike():
    stated = read_intents(NOTATION)
    assert [each.notation for each in stated] == NOTATION
    assert read_intents(dump(NOTATION)) == stated
    assert read_intents({"intents": NOTATION}) == stated


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("nonsense", "are no JSON"),
        ({"tool": "x", "value": {}}, "there is no 'value'; there is tool, values"),
        ([{"values": {}}], "an intent names a tool"),
        ([{"tool": "x", "times": 0}], "times of the intent 'x' is a whole number from 1 on"),
        ([{"tool": "x", "values": {"a": {"bike": 1}}}], "is no value; there is like"),
        ([{"tool": "x", "values": {"a": {"day": "Monday"}}}], "is no value"),
        ([{"tool": "x", "values": {"a": {"from": "y", "pick": "best"}}}], "pick is max:FIELD"),
        ([{"tool": "x", "values": {"a": {"at_most": "much"}}}], "at_most is a number"),
        ([{"tool": "x", "instead_of": "b"}], "there is no intent 'b'"),
        ([{"tool": "x", "values": {"a": {"result_of": "b"}}}], "there is no intent 'b'"),
        ([{"tool": "x", "id": "a"}, {"tool": "x", "id": "a"}], "two intents are called 'a'"),
        ([{"tool": "x", "each": "a"}], "states no value for it"),
        ([{"tool": "x"}] * 201, "200 at most"),
    ],
)
def test_a_mistake_in_it_is_said(document, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(").replace(")", r"\)")):
        read_intents(document)


def test_python_says_the_same():
    intent = rc.Intent(
        "act", x=rc.found("mails", {"field": "z"}, where={"b": {"contains": "c"}}, field="e")
    )
    found = {"from": "mails", "args": {"field": "z"}, "where": {"b": {"contains": "c"}}, "field": "e"}
    assert intent.notation == {"tool": "act", "values": {"x": found}}
    assert repr(rc.Intent("repeat", {"times": 3}, times=2)) == "Intent('repeat', {'times': 3}, times=2)"
    assert rc.at_most(40, scale=2) == rc.trust.AtMost(40, 2, 0)
    with pytest.raises(UsageError, match="a day is written as"):
        rc.trust.day("Monday")
