"""What a description says that a tool is for, and what it is not for."""

import pytest

from rightcall.local.guided.denial import said_of


@pytest.mark.parametrize(
    ("description", "kept", "denied"),
    [
        ("Find a baker, not a butcher.", "Find a baker", "not a butcher"),
        ("Lend a boat; does not repair it.", "Lend a boat does", "not repair it"),
        ("Lend a boat. Repairs are not made here.", "Lend a boat", "Repairs are not made here"),
        ("Lend a boat. Sails can't be lent.", "Lend a boat", "Sails can't be lent"),
        ("Lend a boat. Don't use it for canoes.", "Lend a boat", "Don't use it for canoes"),
        ("Draw a map instead of a photo.", "Draw a map", "instead of a photo"),
        ("Draw a map. For photos, use take_photo.", "Draw a map", "For photos, use take_photo"),
        ("Draw a map (not photos) of a town.", "Draw a map ( of a town", "not photos"),
        ("List boats that are not rented.", "List boats that are not rented", ""),
        ("Note that a boat will not come back.", "Note that a boat will not come back", ""),
        ("Draw a map of a town.", "Draw a map of a town", ""),
        ("", "", ""),
    ],
)
def test_what_is_denied_is_told_apart(description: str, kept: str, denied: str):
    assert tuple(" ".join(each.split()) for each in said_of(description)) == (kept, denied)
