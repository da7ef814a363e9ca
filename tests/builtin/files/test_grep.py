"""Listings, globs and greps, as far as the limits go."""

import os
from time import perf_counter

import pytest

from builtin.files.kit import refusal, use
from rightcall.builtin.files.fs_tool import fs
from rightcall.builtin.files.grep import Grep, grep
from rightcall.builtin.files.root import Root, RootedPath
from rightcall.builtin.files.tree import Access, FileLimits, Tree


@pytest.fixture
def project(tmp_path):
    files = {
        "README.md": "# Title\n",
        "src/app.py": "import os\n\n\ndef main():\n    print('TODO')\n    return 0\n",
        "src/lib/tool.py": "# todo: all of it\n",
        "src/lib/data.bin": "\0\1\2",
        ".hidden": "TODO\n",
        ".git/config": "TODO\n",
        "node_modules/x/index.js": "TODO\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "src/link").symlink_to("lib")
    (tmp_path / "out").symlink_to("/")
    return tmp_path


def searching(directory, **limits):
    return fs(directory, read_only=True, limits=FileLimits(**limits))


def test_a_directory_is_listed_in_order(project):
    assert use(searching(project), mode="list").split("\n") == [
        ".:",
        ".git/",
        ".hidden (5 bytes)",
        "README.md (8 bytes)",
        "node_modules/",
        "out (symbolic link)",
        "src/",
    ]


def test_a_directory_is_listed_as_deep_as_is_asked(project):
    assert use(searching(project), mode="list", path="src", depth=2).split("\n") == [
        "src:",
        "app.py (55 bytes)",
        "lib/",
        "lib/data.bin (3 bytes)",
        "lib/tool.py (18 bytes)",
        "link (symbolic link)",
    ]
    assert use(searching(project), mode="list", depth=5).endswith(
        "[Not looked into: .git, node_modules]"
    )
    assert use(searching(project), mode="list", path=".git", depth=5) == ".git:\nconfig (5 bytes)"


def test_a_long_listing_is_cut_and_counted(project):
    assert use(searching(project, max_entries=2), mode="list").split("\n") == [
        ".:",
        ".git/",
        ".hidden (5 bytes)",
        "[… and 4 more]",
    ]


def test_an_empty_directory_is_said_to_be(tmp_path):
    assert use(searching(tmp_path), mode="list") == ". is an empty directory."
    assert use(searching(tmp_path), mode="glob", pattern="*") == "Nothing matches."


@pytest.mark.parametrize("call", [{"mode": "list"}, {"mode": "glob", "pattern": "*"}])
def test_what_is_no_directory_is_said_not_to_be(call, project):
    assert refusal(searching(project), path="README.md", **call) == "README.md is not a directory."
    assert (
        refusal(searching(project), path="READM", **call) == "There is no READM. Did you mean README.md?"
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            {"pattern": "*.py"},
            ["src/app.py", "src/lib/tool.py", "[Not looked into: .git, node_modules]"],
        ),
        ({"pattern": "*.py", "path": "src/lib"}, ["src/lib/tool.py"]),
        ({"pattern": "lib/*", "path": "src"}, ["src/lib/data.bin", "src/lib/tool.py"]),
        ({"pattern": "**/lib", "path": "src"}, ["src/lib/"]),
        ({"pattern": "**/config", "path": ".git"}, [".git/config"]),
        ({"pattern": "*.rs", "path": "src"}, ["Nothing matches."]),
    ],
)
def test_paths_are_found_by_a_glob(arguments, found, project):
    assert use(searching(project), mode="glob", **arguments).split("\n") == found


def test_a_glob_is_cut_and_counted(project):
    assert use(searching(project, max_entries=1), mode="glob", path="src", pattern="**").split("\n") == [
        "src/app.py",
        "[… and 4 more]",
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            {"pattern": "TODO"},
            [
                ".hidden",
                "     1: TODO",
                "src/app.py",
                "     5:     print('TODO')",
                "[1 file not searched: not text, or not to be opened]",
                "[Not looked into: .git, node_modules]",
            ],
        ),
        (
            {"pattern": "todo", "ignore_case": True, "include": "*.py"},
            [
                "src/app.py",
                "     5:     print('TODO')",
                "src/lib/tool.py",
                "     1: # todo: all of it",
                "[Not looked into: .git, node_modules]",
            ],
        ),
        (
            {"pattern": "^(def|import)", "path": "src/app.py", "context_lines": 1},
            [
                "src/app.py",
                "     1: import os",
                "     2- ",
                "     3- ",
                "     4: def main():",
                "     5-     print('TODO')",
            ],
        ),
        (
            {"pattern": "os$|return", "path": "src/app.py", "context_lines": 1},
            [
                "src/app.py",
                "     1: import os",
                "     2- ",
                "     …",
                "     5-     print('TODO')",
                "     6:     return 0",
            ],
        ),
        (
            {"pattern": "def|print", "path": "src/app.py", "context_lines": 1},
            [
                "src/app.py",
                "     3- ",
                "     4: def main():",
                "     5:     print('TODO')",
                "     6-     return 0",
            ],
        ),
        ({"pattern": r"\Adef", "path": "src/app.py"}, ["src/app.py", "     4: def main():"]),
        ({"pattern": "nowhere", "path": "README.md"}, ["Nothing matches."]),
    ],
)
def test_lines_are_found_by_an_expression(arguments, found, project):
    assert use(searching(project), mode="grep", **arguments).split("\n") == found


def test_a_grep_stops_at_its_limit(tmp_path):
    (tmp_path / "a").write_text("x\n" * 10)
    (tmp_path / "b").write_text("x\n" * 10)
    stopped = "[Stopped after 3 matching lines. Narrow the pattern or the path.]"
    found = use(searching(tmp_path, max_matches=3), mode="grep", pattern="x").split("\n")
    assert found == ["a", "     1: x", "     2: x", "     3: x", stopped]
    assert len(use(searching(tmp_path, max_characters=40), mode="grep", pattern="x")) < 150
    found = use(searching(tmp_path, max_matches=20), mode="grep", pattern="x").split("\n")
    assert len(found) == 22


def test_a_grep_in_one_file_that_cannot_be_searched_fails(project):
    assert refusal(searching(project), mode="grep", path="src/lib/data.bin", pattern="x") == (
        "src/lib/data.bin is not text: binary data, 3 bytes. It is not shown."
    )


def test_a_large_file_is_passed_by(tmp_path):
    (tmp_path / "large").write_text("needle\n" * 100)
    tool = searching(tmp_path, max_file_bytes=100)
    assert (
        use(tool, mode="grep", pattern="needle") == "Nothing matches.\n[1 file not searched: too large]"
    )


def test_long_files_and_long_lines_are_searched_in_pieces(tmp_path):
    lines = ["x" * 100] * 2000
    lines[1500] = "needle"
    lines[1600] = "y" * 200_000 + "needle"
    (tmp_path / "long").write_text("\n".join(lines))
    found = use(searching(tmp_path), mode="grep", pattern="^needle$").split("\n")
    assert found == ["long", "  1501: needle"]


def test_a_search_gives_up_when_there_is_too_much(tmp_path):
    for number in range(30):
        (tmp_path / f"file{number:02}").touch()
    tool = searching(tmp_path, max_visited=10)
    *found, note = use(tool, mode="glob", pattern="*").split("\n")
    assert len(found) == 10
    assert note == "[Stopped: there is too much here. Start further down or narrow the pattern.]"


def test_a_search_ends_with_its_time_or_when_nobody_waits(project):
    late = Access(Root(project), FileLimits(search_seconds=1e-9))
    for access in (late, Access(Root(project), FileLimits(), lambda: True)):
        assert grep(access, RootedPath(), Grep(pattern="TODO")) == (
            "Nothing matches.\n"
            "[Stopped: there is too much here. Start further down or narrow the pattern.]"
        )
    assert grep(late, RootedPath((".hidden",)), Grep(pattern="TODO")) == (
        "Nothing matches.\n[Stopped after 0 matching lines. Narrow the pattern or the path.]"
    )


def test_a_tree_deeper_than_any_path_is_left_there(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    for _ in range(200):
        os.mkdir("d", dir_fd=directory)
        inner = os.open("d", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = inner
    os.close(directory)
    tree = Tree(Access(Root(tmp_path), FileLimits()))
    assert len(list(tree.entries(RootedPath()))) == 128
    assert (tree.unreadable, tree.is_cut) == (1, False)


def test_links_are_named_and_never_followed(project):
    (project / "src/lib/circle").symlink_to("..")
    found = use(searching(project), mode="glob", path="src", pattern="**").split("\n")
    assert found == [
        "src/app.py",
        "src/lib/",
        "src/lib/circle",
        "src/lib/data.bin",
        "src/lib/tool.py",
        "src/link",
    ]


def test_many_files_are_searched_soon(tmp_path):
    for number in range(1000):
        (tmp_path / f"file{number}").write_text("some text\n" * 50)
    started = perf_counter()
    assert use(searching(tmp_path), mode="grep", pattern="(a+)+needle") == "Nothing matches."
    assert perf_counter() - started < 5
