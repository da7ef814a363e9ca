"""V4A diffs: into hunks, and those into a text."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.files.patch_tool import (
    MAX_HUNKS,
    Hunk,
    LineChange,
    Patched,
    apply,
    parse_hunks,
    parse_new,
)
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
    "one change": ("@@\n a\n-b\n+c\n d\n", (Hunk(1, (), ("a", "b", "d"), (LineChange(1, 1, ("c",)),)),)),
    "no @@": ("-b\n+c", (Hunk(1, (), ("b",), (LineChange(0, 1, ("c",)),)),)),
    "additions before removals": ("+c\n-b", (Hunk(1, (), ("b",), (LineChange(0, 1, ("c",)),)),)),
    "several changes": (
        "@@\n-a\n b\n+c\n d\n-e\n-f\n+g\n+h",
        (
            Hunk(
                1,
                (),
                ("a", "b", "d", "e", "f"),
                (LineChange(0, 1, ()), LineChange(2, 0, ("c",)), LineChange(3, 2, ("g", "h"))),
            ),
        ),
    ),
    "anchors": (
        "@@ class A:\n@@     def b(self):\n+x\n@@\n-y",
        (
            Hunk(1, ("class A:", "    def b(self):"), (), (LineChange(0, 0, ("x",)),)),
            Hunk(4, (), ("y",), (LineChange(0, 1, ()),)),
        ),
    ),
    "an anchor without a space": (
        "@@def a\n+x",
        (Hunk(1, ("def a",), (), (LineChange(0, 0, ("x",)),)),),
    ),
    "the end of the file": (
        "@@\n-a\n*** End of File\n@@ b\n+c\n*** End of File \n",
        (
            Hunk(1, (), ("a",), (LineChange(0, 1, ()),), is_last=True),
            Hunk(4, ("b",), (), (LineChange(0, 0, ("c",)),), is_last=True),
        ),
    ),
    "an empty line stays": ("@@\n a\n\n-b", (Hunk(1, (), ("a", "", "b"), (LineChange(2, 1, ()),)),)),
    "a hunk that only says where": (
        "@@\n a\n@@\n-b",
        (Hunk(1, (), ("a",), ()), Hunk(3, (), ("b",), (LineChange(0, 1, ()),))),
    ),
}


@pytest.mark.parametrize("name", HUNKS)
def test_a_diff_is_read_as_hunks(name):
    diff, hunks = HUNKS[name]
    assert parse_hunks(diff) == hunks
    assert parse_hunks(diff.replace("\n", "\r\n")) == hunks
    assert parse_hunks(diff.removesuffix("\n") + "\n*** End Patch\n") == hunks


REFUSED_DIFFS = {
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


@pytest.mark.parametrize("name", REFUSED_DIFFS)
def test_a_diff_that_is_none_is_refused_with_the_line_that_is_wrong(name):
    parse, diff, words = REFUSED_DIFFS[name]
    with pytest.raises(ToolFailure) as caught:
        parse(diff)
    assert caught.value.message.startswith(words)


CLASSES = """\
class A:
    def run(self):
        return 1

    def stop(self):
        return 1


class B:
    def run(self):
        return 1
"""


def patched(text: str, diff: str, newline: str = "\n") -> Patched:
    return apply(parse_hunks(diff), text, newline)


def refusal(text: str, diff: str) -> str:
    with pytest.raises(ToolFailure) as caught:
        patched(text, diff)
    return caught.value.message


DONE = {
    "a line": ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n", (2,)),
    "the first of several": ("a\nb\na\n", "-a\n+A", "A\nb\na\n", (1,)),
    "each of several in turn": ("a\nb\na\n", "-a\n+A\n@@\n-a\n+C", "A\nb\nC\n", (1, 3)),
    "removal": ("a\nb\nc\n", "@@\n-b", "a\nc\n", (2,)),
    "all lines": ("a\nb\n", "-a\n-b", "", (1,)),
    "insertion": ("a\nb\n", " a\n+x\n+y", "a\nx\ny\nb\n", (2,)),
    "insertion before": ("a\nb\n", "+x\n a", "x\na\nb\n", (1,)),
    "two changes in one hunk": ("a\nb\nc\nd\n", "-a\n b\n-c\n+C\n+D\n d", "b\nC\nD\nd\n", (1, 2)),
    "after an anchor": (
        CLASSES,
        "@@ class B:\n-        return 1\n+        return 2",
        CLASSES[::-1].replace("1 nruter", "2 nruter", 1)[::-1],
        (11,),
    ),
    "after stacked anchors": (
        CLASSES,
        "@@ class A:\n@@     def stop(self):\n-        return 1\n+        return 2",
        CLASSES.replace("return 1\n\n\n", "return 2\n\n\n"),
        (6,),
    ),
    "an anchor with other white space": (
        "  def f( ):\n    1\n",
        "@@ def f( ):\n+    0",
        "  def f( ):\n    0\n    1\n",
        (2,),
    ),
    "an addition after an anchor": ("a\nb\n", "@@ a\n+x", "a\nx\nb\n", (2,)),
    "an anchor that is not there, where one place fits": (
        "a\nb\n",
        "@@ -1,2 +1,2 @@\n-b\n+c",
        "a\nc\n",
        (2,),
    ),
    "an anchor that is the first line itself": ("a\nb\n", "@@ b\n-b\n+c", "a\nc\n", (2,)),
    "an anchor that was passed": ("f\na\nb\n", "@@ f\n-a\n+A\n@@ f\n-b\n+B", "f\nA\nB\n", (2, 3)),
    "the end of the file": ("a\nb\na\n", "@@\n-a\n+A\n*** End of File", "a\nb\nA\n", (3,)),
    "an end that is not there, where one place fits": (
        "a\nb\n",
        "-a\n+A\n*** End of File",
        "A\nb\n",
        (1,),
    ),
    "an addition at the end": ("a\n", "@@\n+b\n*** End of File", "a\nb\n", (2,)),
    "an addition at the end after a line": ("a\n", "@@\n a\n+b\n*** End of File", "a\nb\n", (2,)),
    "an addition to an empty file": ("", "@@\n+a", "a\n", (1,)),
    "an empty line after the last": ("a\nb\n", "@@\n-b\n+c\n \n", "a\nc\n", (2,)),
    "an addition after the empty line after the last": ("a\n", "@@\n a\n \n+b", "a\nb\n", (2,)),
    "a file without a last end": ("a\nb", "@@\n-b\n+c", "a\nc", (2,)),
    "an addition to a file without a last end": ("a\nb", "@@\n b\n+c", "a\nb\nc", (3,)),
    "a file of one empty line": ("\n", "@@\n \n+a", "\na\n", (2,)),
}


@pytest.mark.parametrize("name", DONE)
def test_a_hunk_goes_where_its_lines_stand(name):
    text, diff, expected, lines = DONE[name]
    found = patched(text, diff)
    assert (found.text, found.lines) == (expected, lines)


LOOSE = {
    "spaces at the ends of lines": ("a  \nb\t\nc\n", " a\n-b\n+B", "a  \nB\nc\n"),
    "spaces in the diff": ("a\nb\n", " a \n-b \n+B", "a\nB\n"),
    "indentation": ("\tif x:\n\t\ty\n", "@@\n if x:\n-    y\n+\t\tz", "\tif x:\n\t\tz\n"),
    "no indentation at all": ("    a\n    b\n", "@@\n a\n-b\n+    c", "    a\n    c\n"),
}


@pytest.mark.parametrize("name", LOOSE)
def test_white_space_may_differ_and_the_lines_that_stay_keep_their_own(name):
    text, diff, expected = LOOSE[name]
    found = patched(text, diff)
    assert (found.text, found.is_loose) == (expected, True)


def test_the_most_exact_place_wins_over_an_earlier_one():
    assert patched("  a\na \na\n", "-a\n+b") == Patched("  a\na \nb\n", (3,), is_loose=False)
    assert patched("  a\na \n", "-a\n+b") == Patched("  a\nb\n", (2,), is_loose=True)


def test_lines_that_stay_keep_their_ends_and_new_ones_get_the_files():
    mixed = "a\r\nb\r\nc\nd"
    assert patched(mixed, " a\n-b\n+x\n+y\n c", "\r\n").text == "a\r\nx\r\ny\r\nc\nd"
    assert patched(mixed, " d\n+e", "\r\n").text == "a\r\nb\r\nc\nd\r\ne"


AGAIN = "its lines stand at line 1 and again below, and nothing says which are meant. Give more of the"
ANYWHERE = "it only adds lines, and nothing says where. Give a few of the lines before or after them"
REFUSED = {
    "lines that are not there": (
        "def f():\n    return 1\n",
        "@@\n-    return 2\n+    return 3",
        'The text to replace is not in the file. The nearest is at line 2:\n     2\t"    return 1"',
    ),
    "lines that came already": (
        "a\nb\n",
        "-b\n+B\n@@\n-a\n+A",
        "its lines stand at line 1, above the line after @@ or the hunk before it. Give the hunks",
    ),
    "an anchor that is not there, where two places fit": ("a\nb\na\n", "@@ x\n-a", AGAIN),
    "an end that is not there, where two places fit": ("a\na\nb\n", "-a\n*** End of File", AGAIN),
    "an anchor that is the first line, which is there again": ("a\nb\na\n", "@@ a\n-a", AGAIN),
    "an anchor that was passed, where two places fit": (
        "f\na\nb\nf\nb\n",
        "@@ f\n-a\n@@ f\n-b",
        AGAIN.replace("1", "3"),
    ),
    "stacked anchors that are not all there": (
        CLASSES,
        "@@ class B:\n@@     def stop(self):\n-        return 1",
        '"    def stop(self):", which stands after @@, is not in the file, or not below the one',
    ),
    "an addition anywhere": ("a\n", "@@\n+b", ANYWHERE),
    "an addition after an anchor that is not there": ("a\n", "@@ x\n+b", ANYWHERE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hunk_whose_place_is_in_doubt_is_refused_in_words(name):
    text, diff, words = REFUSED[name]
    hunk = diff[: diff.rindex("@@")].count("\n") if "passed" in name or "already" in name else 0
    assert refusal(text, diff).startswith(f"The hunk at line {hunk + 1} of the diff: {words}")


def test_a_diff_that_leaves_all_as_it_is_is_refused():
    assert refusal("a\n", "-a\n+a") == "The diff would leave the file as it is."


LINES = st.lists(st.sampled_from(["", "a", "b", " a", "c"]), max_size=8)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_diff_of_a_whole_text_makes_the_other_one(old, new, newline, is_ended):
    end = newline if is_ended or not old else ""
    text = newline.join(old) + (end if old else "")
    expected = newline.join(new) + (end if new else "")
    diff = "\n".join(["@@", *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    # A text that ends in an empty line without an end is no text of so many lines.
    if text == expected or not (old or new) or (end == "" and (old[-1:] == [""] or new[-1:] == [""])):
        return
    assert patched(text, diff, newline).text == expected


def test_a_search_that_takes_too_long_is_given_up():
    over = iter([False, True])
    with pytest.raises(ToolFailure) as caught:
        apply(parse_hunks("-a\n@@\n-b"), "a\nb\n", is_over=lambda: next(over))
    assert caught.value.message == (
        "The hunk at line 2 of the diff: looking for it took too long. Give fewer hunks at once."
    )


def test_many_hunks_in_a_long_file_take_no_long_time():
    text = "same\n" * 200_000
    hunks = "@@\n same\n same\n-same \n+other\n" * 1000
    miss = "@@\n" + " same\n" * 20_000 + "-other\n"
    lines = [f"    line {number} of a long file" for number in range(100_000)]
    spread = "".join(f"@@ nowhere\n-{line.strip()}\n+x\n" for line in lines[::101])
    began = process_time()
    assert patched("\n".join(lines), spread).text.count("x\n") == 991
    found = patched(text, hunks)
    assert found.text.count("other\n") == 1000
    assert refusal(text, miss).startswith(
        "The hunk at line 1 of the diff: The text to replace is not in"
    )
    assert process_time() - began < 10
