"""What names, formats and schemas say of values, where their author said nothing."""

import pytest

import rightcall as rc
from rightcall.core.facts import Facts
from rightcall.errors import DeclarationError
from rightcall.trust.facts import resolve_facts
from rightcall.trust.kinds import is_identity, is_source, is_widening, kind_of, kind_of_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("to", "address"),
        ("user_email", "address"),
        ("recipients", "address"),
        ("from_account", "account"),
        ("iban", "account"),
        ("imageUrl", "web"),
        ("file_path", "path"),
        ("file_name", "path"),
        ("file_id", "record"),
        ("id_", "record"),
        ("user", "person"),
        ("channel_name", "channel"),
        ("amount", "amount"),
        ("max_price", "amount"),
        ("start_day", "date"),
        ("name", "free"),
        ("hotel_names", None),
        ("x", None),
        ("", None),
    ],
)
def test_a_name_says_what_it_holds(name, kind):
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"format": "email"}, "address"),
        ({"type": "array", "items": {"format": "uri"}}, "web"),
        ({"anyOf": [{"type": "array", "items": {"format": "uuid"}}, {"type": "null"}]}, "record"),
        ({"format": "odd"}, None),
        (True, None),
    ],
)
def test_a_format_says_it_before_a_name_does(schema, kind):
    assert kind_of("what", schema) == kind


def test_identities_sources_and_wide_choices_are_known_by_their_names():
    assert all(
        map(is_identity, ["sender", "From", "created_by", "shared_with", "reply_to", "ownerName"])
    )
    assert not any(map(is_identity, ["subject", "id", "standby", "by"]))
    assert is_source("from_account")
    assert not is_source("to_account")
    assert all(map(is_widening, ["public", "anyoneWithLink", "admin", "read-write", "owner"]))
    assert not any(map(is_widening, ["private", "read", "viewer"]))


def share(file: str, visibility: str = "private", amount: float = 0, source: str = "") -> str:
    """Share."""
    return file


def test_what_is_stated_comes_before_what_names_say():
    facts = resolve_facts(rc.tool(share, facts=Facts(kinds={"file": "record", "*": "person"})))
    assert (facts.kinds["file"], facts.guessed["amount"]) == ("record", "amount")
    assert (facts.bounded, facts.sources) == (("amount",), ("source",))
    assert facts.kind_in("any.thing") == "person"
    stated = Facts(identity=("by",))
    facts = resolve_facts(rc.tool(share, facts=stated))
    assert set(facts.widens) == {"visibility"}
    assert facts.is_identity("made.by.name")
    assert not facts.is_identity("sender")


def test_fields_are_of_the_kind_that_the_nearest_name_says():
    facts = resolve_facts(rc.tool(share, facts=Facts(kinds={"author.handle": "channel"})))
    assert facts.kind_in("mail.sender.name") == "free"
    assert facts.kind_in("mail.sender.text") == "address"
    assert facts.kind_in("author.handle") == "channel"
    assert facts.kind_in("note") is None
    assert facts.kind_in("") is None


def test_a_directory_names_nobody_who_got_in_touch():
    assert not resolve_facts(rc.tool(share, facts=Facts(identity=()))).is_identity("owner")
    assert resolve_facts(rc.tool(share)).is_identity("owner")


@pytest.mark.parametrize(
    "facts",
    [{"targets": ("no",)}, {"kinds": {"file": "x"}}],
)
def test_facts_about_what_is_not_there_are_refused(facts):
    with pytest.raises(DeclarationError):
        rc.tool(share, facts=Facts(**facts))
