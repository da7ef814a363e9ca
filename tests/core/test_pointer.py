import pytest

from rightcall.core.jsontext import at, nodes

DOCUMENT = {"a": {"b": [{"c": 1}, 2]}, "d/e": {"~": 3}, "f g": 4, "%25": 5}
POINTERS = {
    "everything": ("#", DOCUMENT),
    "a member": ("#/a/b/0/c", 1),
    "an item": ("#/a/b/1", 2),
    "a slash and a tilde in names": ("#/d~1e/~0", 3),
    "what a URI escapes": ("#/f%20g", 4),
    "an escaped percent sign": ("#/%2525", 5),
    "no such member": ("#/a/x", None),
    "no such item": ("#/a/b/2", None),
    "an item before the first": ("#/a/b/-1", None),
    "below a scalar": ("#/a/b/1/x", None),
}


@pytest.mark.parametrize(("pointer", "found"), POINTERS.values(), ids=POINTERS)
def test_a_pointer_points_at_what_is_there(pointer, found):
    assert at(DOCUMENT, pointer) == found


def test_every_object_is_found_the_outermost_first():
    found = list(nodes(DOCUMENT))
    assert found[0] is DOCUMENT
    assert sorted(map(len, found)) == [1, 1, 1, 4]


def test_what_is_no_object_holds_none():
    assert list(nodes([1, "x", None])) == []
