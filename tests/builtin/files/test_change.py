"""Writing and editing: all or nothing, and never over something unseen."""

import os
import resource
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from builtin.files.kit import refusal, tree, use
from rightcall.builtin.files import change, root
from rightcall.builtin.files.change import Replacement, create, edit, insert
from rightcall.builtin.files.fs_tool import fs
from rightcall.builtin.files.root import Root, RootedPath
from rightcall.builtin.files.textfile import version_of
from rightcall.builtin.files.tree import Access, FileLimits
from rightcall.errors import ToolFailure


@pytest.fixture
def tool(tmp_path):
    return fs(tmp_path)


def test_a_new_file_is_made_with_the_directories_above_it(tool, tmp_path):
    said = use(tool, mode="write", path="src/new/a.py", content="x = 1\n")
    version = version_of((tmp_path / "src/new/a.py").read_bytes())
    assert said == f"Created src/new/a.py (6 bytes, version {version})."
    assert tree(tmp_path) == {"src": "directory", "src/new": "directory", "src/new/a.py": b"x = 1\n"}


@pytest.mark.parametrize("rename", [root.rename_new, change.link_new], ids=["one step", "two steps"])
def test_a_new_name_is_never_an_old_one(rename, tmp_path):
    if sys.platform != "linux" and rename is root.rename_new:
        pytest.skip("this system does it in two steps")
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(FileExistsError):
            rename(directory, "one", "two")
        rename(directory, "one", "three")
    finally:
        os.close(directory)
    assert tree(tmp_path) == {"two": b"two", "three": b"one"}


def test_a_new_file_has_the_permissions_of_any_new_file(tool, tmp_path):
    use(tool, mode="write", path="ours", content="")
    (tmp_path / "theirs").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_a_file_that_exists_is_not_overwritten_unseen(tool, tmp_path):
    (tmp_path / "a.txt").write_text("precious")
    assert refusal(tool, mode="write", path="a.txt", content="x") == (
        "a.txt exists already (8 bytes). To change a part of it, edit it. To replace all of it, read it "
        "first and give the version that is shown."
    )
    assert tree(tmp_path) == {"a.txt": b"precious"}


def test_a_version_that_was_read_can_be_replaced(tool, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    said = use(tool, mode="write", path="a.txt", content="new", version=version_of(b"old"))
    assert said == f"Replaced a.txt (3 bytes, version {version_of(b'new')})."
    assert tree(tmp_path) == {"a.txt": b"new"}


@pytest.mark.parametrize(
    "call",
    [
        {"mode": "write", "content": "mine"},
        {"mode": "edit", "old_text": "theirs", "new_text": "mine"},
    ],
    ids=["write", "edit"],
)
def test_a_version_that_is_gone_is_not_replaced(call, tool, tmp_path):
    (tmp_path / "a.txt").write_text("theirs")
    assert refusal(tool, path="a.txt", version=version_of(b"old"), **call) == (
        f"a.txt has changed: it is no longer version {version_of(b'old')}. Read it again."
    )
    assert tree(tmp_path) == {"a.txt": b"theirs"}


def test_a_version_of_a_file_that_is_gone_is_a_miss(tool):
    assert refusal(tool, mode="write", path="a", content="", version="abc") == "There is no a."


def test_an_edit_shows_what_is_there_now(tool, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    said = use(tool, mode="edit", path="a.txt", old_text="line 5\n", new_text="five\nand a half\n")
    first, *shown = said.split("\n")
    assert first == f"Edited a.txt at line 5 (version {version_of((tmp_path / 'a.txt').read_bytes())})."
    assert shown == [
        "     2\tline 2",
        "     3\tline 3",
        "     4\tline 4",
        "     5\tfive",
        "     6\tand a half",
        "     7\tline 6",
        "     8\tline 7",
        "     9\tline 8",
    ]


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({"old_text": "b", "new_text": ""}, b"a\r\n\r\na\n"),
        ({"old_text": "a\nb", "new_text": "x\ny\nz"}, b"x\r\ny\r\nz\r\na\n"),
        ({"old_text": "a", "new_text": "A", "count": 2}, b"A\r\nb\r\nA\n"),
        ({"old_text": "a", "new_text": "A", "replace_all": True}, b"A\r\nb\r\nA\n"),
        ({"old_text": "b", "new_text": "B", "replace_all": True}, b"a\r\nB\r\na\n"),
    ],
    ids=["delete", "lines", "count", "all", "all of one"],
)
def test_an_edit_changes_what_it_names_and_nothing_else(arguments, content, tool, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\r\na\n")
    use(tool, mode="edit", path="a.txt", **arguments)
    assert (tmp_path / "a.txt").read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"old_text": "a", "new_text": "x"},
            (
                "a.txt: The text to replace is in the file 2 times, not once: at line 1, 3. "
                "Give more of the lines around the one that is meant. Or set replace_all."
            ),
        ),
        (
            {"old_text": "a", "new_text": "x", "count": 3},
            (
                "a.txt: The text to replace is in the file 2 times, not 3 times: at line 1, 3. "
                "Give more of the lines around the one that is meant. Or set replace_all."
            ),
        ),
        (
            {"old_text": "c", "new_text": "x"},
            (
                "a.txt: The text to replace is not in the file. Nothing in it is like it. "
                "Read the file again."
            ),
        ),
        (
            {"old_text": "", "new_text": "x"},
            "The text to replace is empty. Give it exactly as it is in the file.",
        ),
        (
            {"old_text": "a\r\n", "new_text": "a\n"},
            "The new text is the same as the old; nothing would change.",
        ),
    ],
    ids=["twice", "not three times", "missing", "empty", "same"],
)
def test_an_edit_that_cannot_be_made_changes_nothing(arguments, words, tool, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\nb\na\n")
    assert refusal(tool, mode="edit", path="a.txt", **arguments) == words
    assert tree(tmp_path) == {"a.txt": b"a\nb\na\n"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_an_edit_keeps_the_encoding(encoding, tool, tmp_path):
    (tmp_path / "a.txt").write_bytes("naïve one".encode(encoding))
    use(tool, mode="edit", path="a.txt", old_text="one", new_text="twø")
    assert (tmp_path / "a.txt").read_bytes() == "naïve twø".encode(encoding)


def test_what_an_encoding_cannot_hold_is_not_written(tool, tmp_path):
    (tmp_path / "a.txt").write_bytes("naïve".encode("cp1252"))
    assert refusal(tool, mode="edit", path="a.txt", old_text="na", new_text="日") == (
        "a.txt is in cp1252, which has no '日'. Nothing was changed."
    )


def test_an_edit_keeps_permissions_except_the_dangerous_ones(tool, tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("one")
    path.chmod(0o4751)
    use(tool, mode="edit", path="run.sh", old_text="one", new_text="two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_an_edit_keeps_the_owner(tool, tmp_path):
    path = tmp_path / "theirs"
    path.write_text("one")
    os.chown(path, 65534, 65534)
    use(tool, mode="edit", path="theirs", old_text="one", new_text="two")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


@pytest.mark.parametrize(
    "call",
    [
        {"mode": "write", "content": "new", "version": version_of(b"text")},
        {"mode": "edit", "old_text": "text", "new_text": "new"},
    ],
    ids=["write", "edit"],
)
def test_a_symbolic_link_is_not_written_through(call, tool, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "link").symlink_to("a.txt")
    before = tree(tmp_path)
    assert refusal(tool, path="link", **call) == (
        "link is a symbolic link, which is not written to. Name the file that it stands for."
    )
    assert tree(tmp_path) == before


def test_nothing_is_made_where_a_broken_link_points(tool, tmp_path):
    (tmp_path / "link").symlink_to("nothing")
    assert refusal(tool, mode="write", path="link", content="x").startswith("link exists already.")
    assert tree(tmp_path) == {"link": "nothing"}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".", "The root is a directory. Name a file in it."),
        ("directory", "directory exists already ("),
        ("file/x", "file/x: a part of the path is a file and not a directory."),
    ],
)
def test_only_files_are_written(path, words, tool, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    assert refusal(tool, mode="write", path=path, content="x").startswith(words)


def test_a_write_has_a_size(tmp_path):
    tool = fs(tmp_path, limits=FileLimits(max_write_bytes=10))
    assert refusal(tool, mode="write", path="a", content="é" * 6) == (
        "12 bytes are more than the 10 that may be written at once."
    )
    assert tree(tmp_path) == {}


@contextmanager
def room_for(size):
    """Let files grow no larger than this, as if the disk were full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_in_the_middle_leaves_nothing_behind(tool, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    with room_for(1000):
        words = [
            refusal(tool, mode="write", path="b.txt", content="x" * 5000),
            refusal(tool, mode="edit", path="a.txt", old_text="one", new_text="x" * 5000),
        ]
    full = "the file would be too large for the file system; nothing was changed."
    assert words == [f"b.txt: {full}", f"a.txt: {full}"]
    assert tree(tmp_path) == {"a.txt": b"one"}


def test_a_call_that_was_given_up_changes_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    access = Access(Root(tmp_path), FileLimits(), lambda: True)
    with pytest.raises(ToolFailure, match="given up; nothing was changed"):
        create(access, RootedPath(("b.txt",)), "x")
    with pytest.raises(ToolFailure, match="given up; nothing was changed"):
        edit(access, RootedPath(("a.txt",)), Replacement(old="one", new="two"))
    assert tree(tmp_path) == {"a.txt": b"one"}


def test_a_file_that_changes_meanwhile_is_not_replaced(tmp_path):
    path, root = tmp_path / "a.txt", Root(tmp_path)
    path.write_text("one")
    found = path.stat()
    path.write_text("two")
    with pytest.raises(ToolFailure, match=r"a\.txt has just been changed by something else"):
        change.put_over(root, RootedPath(("a.txt",)), b"three", found)
    assert tree(tmp_path) == {"a.txt": b"two"}


def test_a_directory_that_moves_away_meanwhile_is_not_written_to(tmp_path):
    (tmp_path / "root/inner").mkdir(parents=True)

    def move() -> bool:
        (tmp_path / "root/inner").rename(tmp_path / "inner")
        (tmp_path / "root/inner").mkdir()
        return False

    with pytest.raises(ToolFailure, match="inner has just been moved by something else"):
        change.put_new(Root(tmp_path / "root"), RootedPath(("inner", "a.txt")), b"x", is_cancelled=move)
    assert tree(tmp_path) == {"root": "directory", "root/inner": "directory", "inner": "directory"}


def test_edits_at_the_same_time_are_all_made(tool, tmp_path):
    marks = [f"<{number}>" for number in range(40)]
    (tmp_path / "a.txt").write_text("\n".join(marks))
    with ThreadPoolExecutor(8) as threads:
        calls = [
            threads.submit(
                use, tool, mode="edit", path="a.txt", old_text=mark, new_text=mark.upper() + "!"
            )
            for mark in marks
        ]
        for call in calls:
            call.result()
    assert (tmp_path / "a.txt").read_text() == "\n".join(f"{mark}!" for mark in marks)


def test_of_two_that_make_the_same_file_one_does(tool, tmp_path):
    def make(number: int) -> bool:
        try:
            use(tool, mode="write", path="a.txt", content=str(number))
        except ToolFailure:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(make, range(8)))
    assert made.count(True) == 1
    assert tree(tmp_path) == {"a.txt": str(made.index(True)).encode()}


@pytest.mark.parametrize(
    ("content", "after", "text", "expected"),
    [
        (b"a\nb\n", 0, "x", b"x\na\nb\n"),
        (b"a\nb\n", 1, "x\n", b"a\nx\nb\n"),
        (b"a\nb\n", 2, "x\ny", b"a\nb\nx\ny\n"),
        (b"a\nb", 2, "x", b"a\nb\nx"),
        (b"a\r\nb\r\n", 1, "x\ny", b"a\r\nx\r\ny\r\nb\r\n"),
        (b"", 0, "x", b"x\n"),
    ],
    ids=["begin", "middle", "end", "end without line end", "crlf", "empty"],
)
def test_lines_are_inserted_after_a_line(content, after, text, expected, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    insert(Access(Root(tmp_path), FileLimits()), RootedPath(("a.txt",)), after, text)
    assert (tmp_path / "a.txt").read_bytes() == expected


def test_lines_are_inserted_only_where_there_are_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\nb\n")
    with pytest.raises(ToolFailure, match=r"a\.txt has 2 lines; there is no line 3\."):
        insert(Access(Root(tmp_path), FileLimits()), RootedPath(("a.txt",)), 3, "x")
