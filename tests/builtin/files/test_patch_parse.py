"""Diffs into hunks, and what is said of those that are none."""

import pytest

from rightcall.builtin.files.patch import MAX_HUNKS, Change, Hunk, parse_hunks, parse_new
from rightcall.errors import ToolFailure

NEW = {
    "lines": ("+hello\n+world\n", "hello\nworld\n"),
    "empty lines": ("+\n+a\n+\n", "\na\n\n"),
    "without a last end": ("+a", "a\n"),
    "what looks like a diff": ("++a\n+-b\n+@@", "+a\n-b\n@@\n"),
    "Windows's line ends": ("+a\r\n+b\r\n", "a\nb\n"),
    "an end that belongs to an envelope": ("+a\n*** End Patch", "a\n"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", NEW)
def test_the_lines_of_a_new_file_stand_after_a_plus(name):
    diff, text = NEW[name]
    assert parse_new(diff) == text


HUNKS = {
    "one change": ("@@\n a\n-b\n+c\n d\n", (Hunk(1, (), ("a", "b", "d"), (Change(1, 1, ("c",)),)),)),
    "no @@": ("-b\n+c", (Hunk(1, (), ("b",), (Change(0, 1, ("c",)),)),)),
    "additions before removals": ("+c\n-b", (Hunk(1, (), ("b",), (Change(0, 1, ("c",)),)),)),
    "several changes": (
        "@@\n-a\n b\n+c\n d\n-e\n-f\n+g\n+h",
        (
            Hunk(
                1,
                (),
                ("a", "b", "d", "e", "f"),
                (Change(0, 1, ()), Change(2, 0, ("c",)), Change(3, 2, ("g", "h"))),
            ),
        ),
    ),
    "anchors": (
        "@@ class A:\n@@     def b(self):\n+x\n@@\n-y",
        (
            Hunk(1, ("class A:", "    def b(self):"), (), (Change(0, 0, ("x",)),)),
            Hunk(4, (), ("y",), (Change(0, 1, ()),)),
        ),
    ),
    "an anchor without a space": ("@@def a\n+x", (Hunk(1, ("def a",), (), (Change(0, 0, ("x",)),)),)),
    "the end of the file": (
        "@@\n-a\n*** End of File\n@@ b\n+c\n*** End of File \n",
        (
            Hunk(1, (), ("a",), (Change(0, 1, ()),), is_last=True),
            Hunk(4, ("b",), (), (Change(0, 0, ("c",)),), is_last=True),
        ),
    ),
    "an empty line stays": ("@@\n a\n\n-b", (Hunk(1, (), ("a", "", "b"), (Change(2, 1, ()),)),)),
    "a hunk that only says where": (
        "@@\n a\n@@\n-b",
        (Hunk(1, (), ("a",), ()), Hunk(3, (), ("b",), (Change(0, 1, ()),))),
    ),
}


@pytest.mark.parametrize("name", HUNKS)
def test_a_diff_is_read_as_hunks(name):
    diff, hunks = HUNKS[name]
    assert parse_hunks(diff) == hunks
    assert parse_hunks(diff.replace("\n", "\r\n")) == hunks
    assert parse_hunks(diff.removesuffix("\n") + "\n*** End Patch\n") == hunks


REFUSED = {
    "no sign": (parse_hunks, "@@\n a\nb", 'Line 3 of the diff is "b". Lines begin with a space if'),
    "an envelope": (
        parse_hunks,
        "*** Begin Patch\n*** Update File: a\n@@\n-b",
        'Line 1 of the diff is "*** Begin Patch". Give the hunks alone',
    ),
    "another file": (
        parse_hunks,
        "@@\n-b\n*** Delete File: x",
        'Line 3 of the diff is "*** Delete File: x"',
    ),
    "an empty hunk": (parse_hunks, "@@ a\n@@ b\n", "Line 1 of the diff begins a hunk, and no lines"),
    "an empty hunk below": (parse_hunks, "-a\n@@\n", "Line 2 of the diff begins a hunk, and no lines"),
    "no change": (parse_hunks, "@@\n a\n b", "The diff changes nothing"),
    "nothing": (parse_hunks, "", "The diff changes nothing"),
    "too many": (parse_hunks, "@@\n-a\n" * (MAX_HUNKS + 1), "The diff has more than 1,000 hunks"),
    "a new file's line without a plus": (
        parse_new,
        "+a\nb",
        'Line 2 of the diff is "b". In the diff of a',
    ),
    "a new file's empty line": (parse_new, "+a\n\n+b", 'Line 2 of the diff is "". In the diff of a new'),
    "a new file with a hunk": (parse_new, "@@\n+a", 'Line 1 of the diff is "@@". In the diff of a new'),
    "a new file in an envelope": (
        parse_new,
        "*** Begin Patch\n*** Add File: a\n+b",
        'Line 1 of the diff is "*** Begin Patch". Give the hunks alone',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_diff_that_is_none_is_refused_with_the_line_that_is_wrong(name):
    parse, diff, words = REFUSED[name]
    with pytest.raises(ToolFailure) as caught:
        parse(diff)
    assert caught.value.message.startswith(words)
