"""Markers in text, and how much of its end could become one."""

import pytest

from rightcall.local.families.scanner import JsonEnd, Scanner

FOUND = {
    "the leftmost": (("ab", "x"), "..x.ab", (2, "x")),
    "the longest at one place": (("ab", "abc"), "abc.", (0, "abc")),
    "one that may yet be longer": (("ab", "abc"), "..ab", (2, "")),
    "one that is not": (("ab", "abc"), "..ab.", (2, "ab")),
    "one that begins earlier and may yet come": (("b", "abc"), ".ab", (1, "")),
    "one that began earlier and did not": (("b", "abc"), ".ab.", (2, "b")),
    "the beginning of one": (("<tool>",), "a <to", (2, "")),
    "no beginning of one": (("<tool>",), "a <tx", (5, "")),
    "a beginning inside of a beginning": (("aab",), "aa", (0, "")),
    "nothing to find": ((), "abc", (3, "")),
    "letters that mean something to patterns": (("[x]", "(?"), "a(?", (1, "(?")),
}


@pytest.mark.parametrize(("markers", "text", "found"), FOUND.values(), ids=FOUND)
def test_the_first_marker_is_found_or_as_much_as_is_free_of_any(
    markers: tuple[str, ...], text: str, found: tuple[int, str]
):
    assert Scanner(markers).find(text) == found


def test_at_the_end_nothing_longer_can_come():
    assert Scanner(("ab", "abc")).find("..ab", is_last=True) == (2, "ab")
    assert Scanner(("abc",)).find("..ab", is_last=True) == (4, "")


def test_a_text_begins_with_a_marker_or_not_or_it_cannot_be_told():
    scanner = Scanner(("ab", "abc", "x"))
    assert scanner.at_start("abz") == "ab"
    assert scanner.at_start("ab") is None
    assert scanner.at_start("ab", is_last=True) == "ab"
    assert scanner.at_start("a") is None
    assert scanner.at_start("zx") == ""


ENDS = {
    "an object": ('{"a": "}"} rest', '{"a": "}"}'),
    "an array": ("[[1], {}] ]", "[[1], {}]"),
    "a string": ('"a\\"b" c', '"a\\"b"'),
    "a number": ("12, 3", "12"),
    "a word": ("null}", "null"),
    "one that a marker breaks off": ('{"a": 1</x>', '{"a": 1'),
    "a marker inside of a string": ('{"a": "</x>"}', '{"a": "</x>"}'),
    "one that is not over": ('{"a": [', '{"a": ['),
}


@pytest.mark.parametrize(("text", "value"), ENDS.values(), ids=ENDS)
def test_a_json_value_ends_where_it_ends_at_every_cut(text: str, value: str):
    for at in range(len(text) + 1):
        end = JsonEnd()
        size = end.feed(text[:at])
        if not end.is_over:
            size = at + end.feed(text[at:])
        assert text[:size] == value
