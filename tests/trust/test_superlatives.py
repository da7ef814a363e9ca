"""What a user singles out without naming it."""

import pytest

import rightcall as rc
from rightcall.core.decision import Allow
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from trust.kit import checked, exchange


def files(query: str = "") -> list[dict[str, object]]:
    """The files."""
    return []


def delete_file(file_id: str) -> str:
    """Delete one."""
    return "gone"


def delete_event(event_id: str) -> str:
    """Delete one."""
    return "gone"


FACTS = rc.Facts(untrusted=("note",), private=True, reach="user", targets=())
DELETES = {"untrusted": False, "private": False, "reach": "user", "dangers": ("deletes",)}
TOOLS = [
    rc.tool(files, effect="read", facts=FACTS),
    rc.tool(delete_file, facts=rc.Facts(**DELETES, targets=("file_id",))),
    rc.tool(delete_event, facts=rc.Facts(**DELETES, targets=("event_id",))),
]
LISTED = [
    {"id": "11", "size": 900, "modified": "2026-01-01", "note": "small", "price": 5},
    {"id": "12", "size": 100, "modified": "2026-03-01T10:00", "note": "large", "price": 5},
    {"id": "13", "size": 500, "modified": "2025-01-01", "note": "x", "price": 7},
]


def deletes(words: str, number: str, listed=LISTED, tool="delete_file", **arguments) -> bool:
    guard = Guard(Rules(), rc.Toolbox(TOOLS))
    guard.see(rc.User((rc.Text(words),)))
    # Once to be tainted, and once more as a hijacked model would ask.
    clean = [({"query": "a"}, LISTED)] if arguments else []
    for given, value in (*clean, (arguments, listed)):
        for message in exchange(TOOLS, "files", value, **given):
            guard.see(message)
    name = "file_id" if tool == "delete_file" else "event_id"
    return isinstance(guard.judge(checked(TOOLS, tool, **{name: number})).decision, Allow)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("Find and delete the largest file in the drive.", "11"),
        ("Delete the smallest file.", "12"),
        ("Delete the newest file.", "12"),
        ("Delete the oldest shared file.", "13"),
        ("Delete the most expensive file.", "13"),
    ],
)
def test_a_record_is_named_by_its_rank(words, number):
    assert [each["id"] for each in LISTED if deletes(words, each["id"])] == [number]


@pytest.mark.parametrize(
    "words",
    [
        "Delete the cheapest file.",
        "Do not delete the largest file.",
        "Largest of all.",
        "Delete a file.",
    ],
    ids=["two of them", "forbidden", "nothing that is so", "no rank"],
)
def test_nothing_is_named_where_it_is_in_doubt(words):
    assert not any(deletes(words, each["id"]) for each in LISTED)


def test_only_what_is_of_that_name_is_singled_out():
    assert not deletes("Read the largest file.", "11", tool="delete_event")


def test_a_list_that_a_hijacked_model_has_narrowed_has_no_first():
    assert not deletes("Delete the largest file.", "13", [LISTED[2]], query="b")


def test_what_outsiders_wrote_has_no_rank():
    listed = [{"id": "11", "note": {"size": 1}}, {"id": "12", "note": {"size": 2}}]
    assert not deletes("Delete the largest file.", "12", listed)


@pytest.mark.parametrize("listed", [[{"id": "1"}], [{"id": "1", "size": True}], ["x"], "the text"])
def test_what_cannot_be_ranked_is_not(listed):
    assert not deletes("Delete the largest file.", "1", listed)
