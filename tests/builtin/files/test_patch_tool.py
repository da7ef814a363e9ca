"""``apply_patch`` on real files: what it does, and what it never does."""

import os
import stat

import pytest

from builtin.files.kit import CANARY, refusal, tree, use
from rightcall.builtin.files.patch_tool import apply_patch
from rightcall.builtin.files.root import Root
from rightcall.builtin.files.tree import FileLimits
from rightcall.core.handler import Context
from rightcall.core.jsontext import dump
from rightcall.core.problem import Valid
from rightcall.core.tool import Facts, Tool
from rightcall.errors import ToolFailure, UsageError

PATCH = "@@ def main():\n-    return 1\n+    return 2\n"


@pytest.fixture
def root(tmp_path):
    inside = tmp_path / "root"
    (inside / "src").mkdir(parents=True)
    (inside / "src" / "app.py").write_text("import os\n\n\ndef main():\n    return 1\n")
    (tmp_path / "outside.txt").write_text(CANARY)
    return inside


def create(tool: Tool, path: str, diff: str) -> str:
    return use(tool, type="create_file", path=path, diff=diff)


def test_a_file_is_made_changed_and_deleted(root):
    tool = apply_patch(root)
    assert create(tool, "docs/new.md", "+# New\n+\n+Text.\n").startswith("Created docs/new.md (13 bytes")
    assert (root / "docs/new.md").read_bytes() == b"# New\n\nText.\n"
    updated = use(
        tool, type="update_file", path="docs/new.md", diff="@@\n # New\n \n-Text.\n+More text.\n"
    )
    assert updated == "Updated docs/new.md at line 3."
    assert (root / "docs/new.md").read_bytes() == b"# New\n\nMore text.\n"
    assert use(tool, type="delete_file", path="docs/new.md") == "Deleted docs/new.md."
    assert list((root / "docs").iterdir()) == []


def test_the_result_says_where_and_how_exactly(root):
    (root / "a").write_text("".join(f"{number}\n" for number in range(12)))
    tool = apply_patch(root)
    diff = "".join(f"@@\n-{number}\n+{number}.\n" for number in range(12))
    assert use(tool, type="update_file", path="a", diff=diff) == (
        "Updated a at line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more."
    )
    loose = use(tool, type="update_file", path="src/app.py", diff="@@\n-return 1\n+    return 3")
    assert loose == "Updated src/app.py at line 5; white space was not everywhere as in the diff."


def test_what_the_diff_does_not_touch_stays_byte_for_byte(root):
    path = root / "mixed.txt"
    path.write_bytes("\ufeffäh\r\nb \r\nc\nd".encode())
    path.chmod(0o640)
    use(apply_patch(root), type="update_file", path="mixed.txt", diff="@@\n äh\n-b\n+x\n+y\n")
    assert path.read_bytes() == "\ufeffäh\r\nx\r\ny\r\nc\nd".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


REFUSED = {
    "a file that is there": ("create_file", "src/app.py", "+x", "src/app.py exists already (37 bytes)."),
    "a file that is not there": (
        "update_file",
        "app.py",
        PATCH,
        "There is no app.py. Did you mean src/app",
    ),
    "nothing to delete": (
        "delete_file",
        "src/ap.py",
        None,
        "There is no src/ap.py. Did you mean src/app.py",
    ),
    "a directory to delete": ("delete_file", "src", None, "src is a directory, not a file."),
    "the root": ("delete_file", ".", None, "The root is a directory."),
    "the root as a new file": ("create_file", ".", "+x", "The root is a directory."),
    "a directory to change": ("update_file", "src", PATCH, "src is a directory, not a file."),
    "no diff": ("update_file", "src/app.py", None, "update_file needs diff."),
    "no diff for a new file": ("create_file", "new", None, "create_file needs diff."),
    "a diff to delete": (
        "delete_file",
        "src/app.py",
        "-x",
        "delete_file takes no diff. Nothing was done.",
    ),
    "a diff that is none": ("update_file", "src/app.py", "x", 'Line 1 of the diff is "x".'),
    "another text": (
        "update_file",
        "src/app.py",
        "@@\n-    return 7\n",
        "src/app.py was not changed. The hunk at line 1 of the diff: The text to replace is not in",
    ),
    "a way out": ("update_file", "../outside.txt", PATCH, '"../outside.txt": ".." is not taken.'),
    "an absolute path": ("create_file", "/etc/x", "+x", '"/etc/x": absolute paths are not taken.'),
    "a link out": ("update_file", "link", "@@\n-CANARY\n+x", "link: this leads outside of the root"),
    "a way out through a link": ("create_file", "out/x", "+x", "out"),
    "a deletion through a link": ("delete_file", "out/outside.txt", None, "out"),
    "a diff that is too long": (
        "create_file",
        "new",
        "+" + "x" * 300,
        "A diff of 301 bytes is more than",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_changes_nothing_and_says_why(name, root):
    operation, path, diff, words = REFUSED[name]
    (root / "link").symlink_to("../outside.txt")
    (root / "out").symlink_to("..")
    before = tree(root.parent)
    given = {"type": operation, "path": path} | ({} if diff is None else {"diff": diff})
    assert refusal(apply_patch(root, limits=FileLimits(max_write_bytes=300)), **given).startswith(words)
    assert tree(root.parent) == before


def test_deleting_a_link_leaves_what_it_stands_for(root):
    (root / "link").symlink_to("../outside.txt")
    assert use(apply_patch(root), type="delete_file", path="link") == "Deleted link."
    assert (root.parent / "outside.txt").read_text() == CANARY
    assert not (root / "link").is_symlink()


def test_a_file_with_another_name_is_not_changed(root):
    os.link(root.parent / "outside.txt", root / "hard")
    words = refusal(apply_patch(root), type="update_file", path="hard", diff=f"@@\n-{CANARY}\n+x")
    assert words.startswith("hard has 2 hard links")
    assert (root.parent / "outside.txt").read_text() == CANARY


def test_a_large_file_may_be_changed_by_a_small_diff(root):
    (root / "large").write_text("line\n" * 1000 + "last\n")
    tool = apply_patch(root, limits=FileLimits(max_write_bytes=100, max_file_bytes=10_000))
    assert use(tool, type="update_file", path="large", diff="@@\n-last\n+end") == (
        "Updated large at line 1,001."
    )


def test_a_call_that_was_given_up_deletes_nothing(root):
    tool = apply_patch(root)
    given = {"type": "delete_file", "path": "src/app.py"}
    verdict = tool.validate(dump(given), given)
    assert isinstance(verdict, Valid)
    context = Context(call_id="c", tool=tool.name, dependencies=None, is_cancelled=lambda: True)
    with pytest.raises(ToolFailure, match="The call was given up; nothing was deleted"):
        tool.invocation.call(verdict.bound, context)
    assert (root / "src" / "app.py").exists()


def test_a_root_for_reading_has_nothing_to_patch(root):
    with pytest.raises(UsageError, match="granted for reading only"):
        apply_patch(Root(root, read_only=True))


def test_what_it_is_is_said_plainly(root):
    tool = apply_patch(root)
    assert (tool.name, list(tool.parameters["properties"])) == ("apply_patch", ["type", "path", "diff"])
    assert (tool.effect, tool.serial, tool.approval) == ("write", True, False)
    assert tool.facts == Facts(untrusted=True, private=True, reach="user", targets=("path",))
    assert tool.native == {"openai_responses": {"type": "apply_patch"}}
