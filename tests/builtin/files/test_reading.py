"""Reading a file: lines with their numbers, within bounds."""

import os

import pytest

from builtin.files.kit import refusal, use
from rightcall.builtin.files.fs_tool import fs
from rightcall.builtin.files.textfile import version_of
from rightcall.builtin.files.tree import FileLimits
from rightcall.errors import UsageError


def reading(directory, **limits):
    return fs(directory, read_only=True, limits=FileLimits(**limits))


@pytest.fixture
def ten(tmp_path):
    (tmp_path / "ten.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    return tmp_path


def test_a_file_is_shown_with_numbers_under_what_it_is(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n\treturn 1\n")
    version = version_of((tmp_path / "a.py").read_bytes())
    assert use(reading(tmp_path), mode="read", path="a.py") == (
        f"a.py: lines 1 to 2 of 2 lines (19 bytes, version {version})\n"
        "     1\tdef f():\n"
        "     2\t\treturn 1"
    )


@pytest.mark.parametrize(
    ("span", "head", "lines"),
    [
        ({"start_line": 9}, "lines 9 to 10 of 10 lines", ["     9\tline 9", "    10\tline 10"]),
        ({"end_line": 2}, "lines 1 to 2 of 10 lines", ["     1\tline 1", "     2\tline 2"]),
        ({"start_line": 4, "end_line": 4}, "line 4 of 10 lines", ["     4\tline 4"]),
        ({"start_line": 10, "end_line": 99}, "line 10 of 10 lines", ["    10\tline 10"]),
    ],
)
def test_some_lines_can_be_chosen(span, head, lines, ten):
    first, *shown = use(reading(ten), mode="read", path="ten.txt", **span).split("\n")
    assert first.startswith(f"ten.txt: {head} (")
    assert shown == lines


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ({"start_line": 11}, "ten.txt has 10 lines; there is no line 11."),
        ({"start_line": 5, "end_line": 4}, "The last line, 4, is before the first, 5."),
    ],
)
def test_lines_that_are_not_there_are_said_not_to_be(span, words, ten):
    assert refusal(reading(ten), mode="read", path="ten.txt", **span) == words


def test_a_long_file_comes_in_pieces(ten):
    tool = reading(ten, max_lines=4)
    *_, last, hint = use(tool, mode="read", path="ten.txt").split("\n")
    assert (last, hint) == ("     4\tline 4", "[Cut here. Go on from line 5.]")
    *_, last = use(tool, mode="read", path="ten.txt", start_line=9).split("\n")
    assert last == "    10\tline 10"


def test_a_result_has_a_size(ten):
    shown = use(reading(ten, max_characters=30), mode="read", path="ten.txt")
    assert shown.split("\n")[1:] == [
        "     1\tline 1",
        "     2\tline 2",
        "[Cut here. Go on from line 3.]",
    ]


def test_a_long_line_is_cut_and_says_so(tmp_path):
    (tmp_path / "long").write_text("x" * 5000)
    tool = reading(tmp_path, max_line_characters=10, max_characters=5)
    assert use(tool, mode="read", path="long").split("\n")[1:] == [
        f"     1\t{'x' * 10}[… 4,990 more characters]"
    ]


def test_a_huge_file_is_read_only_as_far_as_the_limit(tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"first\nsecond\nthird\n")
        file.truncate(1 << 40)
    tool = reading(tmp_path, max_file_bytes=15)
    assert use(tool, mode="read", path="huge").split("\n") == [
        "huge: lines 1 to 2 of more than 2 lines (1,099,511,627,776 bytes)",
        "     1\tfirst",
        "     2\tsecond",
        "[Only the first 15 bytes of a file can be read.]",
    ]
    assert refusal(tool, mode="read", path="huge", start_line=3) == (
        "huge has more than 2 lines; there is no line 3."
    )
    assert refusal(
        fs(tmp_path, limits=FileLimits(max_file_bytes=15)),
        mode="edit",
        path="huge",
        old_text="first",
        new_text="1st",
    ) == ("huge has 1,099,511,627,776 bytes; files of more than 15 are not edited.")


def test_a_file_that_is_no_text_is_named_and_not_shown(tmp_path):
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(92))
    assert refusal(reading(tmp_path), mode="read", path="logo.png") == (
        "logo.png is not text: a PNG image, 100 bytes. It is not shown."
    )


def test_an_empty_file_is_empty(tmp_path):
    (tmp_path / "empty").touch()
    assert (
        use(reading(tmp_path), mode="read", path="empty")
        == f"empty is empty (version {version_of(b'')})."
    )
    assert refusal(reading(tmp_path), mode="read", path="empty", start_line=2) == (
        "empty has 0 lines; there is no line 2."
    )


def test_what_is_unusual_about_a_file_is_said(tmp_path):
    (tmp_path / "old.txt").write_bytes("naïve\r\nso\r\n".encode("utf-16"))
    shown = use(reading(tmp_path), mode="read", path="old.txt")
    assert shown.startswith(
        "old.txt: lines 1 to 2 of 2 lines (24 bytes, utf-16-le, CRLF line ends, version "
    )
    assert shown.endswith("\n     1\tnaïve\n     2\tso")


def test_a_name_that_is_no_text_can_be_read(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("open")
    tool = reading(tmp_path)
    assert use(tool, mode="list") == ".:\ncaf\\xe9 (4 bytes)"
    assert use(tool, mode="read", path="caf\\xe9").startswith("caf\\xe9: line 1 of 1 line (4 bytes")


@pytest.mark.parametrize("name", ["日本語.txt", "e\u0301.txt", "a b", "-rf", "a\\b", "😀"])
def test_unusual_names_are_names(name, tmp_path):
    (tmp_path / name).write_text("here")
    assert use(reading(tmp_path), mode="read", path=name).endswith("\there")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("main.pi", "There is no main.pi. Did you mean main.py?"),
        ("MAIN.PY", "There is no MAIN.PY. Did you mean main.py?"),
        ("scr/other", "There is no scr/other. There is no scr. Did you mean src?"),
        ("a/b/c", "There is no a/b/c. There is no a/b. There is no a."),
        ("other.txt", "There is no other.txt. Did you mean src/other.txt?"),
        ("lib/util.py", "There is no lib/util.py. Did you mean src/util.py?"),
        ("src/utill.py", "There is no src/utill.py. Did you mean src/util.py or src/utils.py?"),
        ("zebra", "There is no zebra."),
        ("main.py/x", "main.py/x: a part of the path is a file and not a directory."),
        ("x" * 300, f"{'x' * 300}: the name is too long."),
    ],
)
def test_a_path_to_nothing_says_what_there_is(path, words, tmp_path):
    (tmp_path / "src").mkdir()
    for name in ("main.py", "src/util.py", "src/utils.py", "src/other.txt"):
        (tmp_path / name).touch()
    assert refusal(reading(tmp_path), mode="read", path=path) == words


@pytest.fixture
def plain_user():
    """Not the superuser, for whom nothing is forbidden."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_what_the_process_may_not_read_is_refused_in_words(tmp_path, request):
    (tmp_path / "private").write_text("secret")
    (tmp_path / "private").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "open.txt").write_text("secret")
    tmp_path.chmod(0o755)
    tool = fs(tmp_path)
    request.getfixturevalue("plain_user")
    denied = "permission denied: whoever runs this tool may not do that here."
    assert refusal(tool, mode="read", path="private") == f"private: {denied}"
    assert refusal(tool, mode="list", path="closed") == f"closed: {denied}"
    assert refusal(tool, mode="read", path="closed/file") == f"closed/file: {denied}"
    found = use(tool, mode="grep", pattern="secret").split("\n")
    assert found == [
        "open.txt",
        "     1: secret",
        "[1 file not searched: not text, or not to be opened]",
        "[1 directory could not be read]",
    ]


def test_limits_are_more_than_nothing():
    with pytest.raises(UsageError, match="file limits: max_lines must be more than 0, not 0"):
        FileLimits(max_lines=0)
