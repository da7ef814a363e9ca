"""The text editor that Anthropic's models know."""

from typing import get_args, get_type_hints

import pytest

from builtin.files.kit import refusal, tree, use
from later import Later
from rightcall.builtin.files.fs_tool import text_editor
from rightcall.builtin.files.textfile import version_of


@pytest.fixture
def tool(tmp_path):
    return text_editor(tmp_path)


def test_it_goes_by_the_vendors_name(tool):
    assert get_args(get_type_hints(Later("anthropic.types").ToolTextEditor20250728Param)["name"]) == (
        tool.name,
    )


def test_files_are_made_and_viewed(tool, tmp_path):
    version = version_of(b"one\ntwo\nthree\n")
    assert use(tool, command="create", path="src/a.txt", file_text="one\ntwo\nthree\n") == (
        f"Created src/a.txt (14 bytes, version {version})."
    )
    assert use(tool, command="view", path="src/a.txt", view_range=[2, -1]) == (
        f"src/a.txt: lines 2 to 3 of 3 lines (14 bytes, version {version})\n     2\ttwo\n     3\tthree"
    )
    assert use(tool, command="view", path="src/a.txt").endswith(
        "     1\tone\n     2\ttwo\n     3\tthree"
    )
    assert use(tool, command="view", path=".") == ".:\nsrc/\nsrc/a.txt (14 bytes)"
    assert use(tool, command="view", path=str(tmp_path)) == ".:\nsrc/\nsrc/a.txt (14 bytes)"


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({"command": "str_replace", "old_str": "b", "new_str": "B"}, b"a\nB\n"),
        ({"command": "str_replace", "old_str": "b\n"}, b"a\n"),
        ({"command": "insert", "insert_line": 1, "insert_text": "x"}, b"a\nx\nb\n"),
        ({"command": "insert", "insert_line": 0, "new_str": "x"}, b"x\na\nb\n"),
    ],
    ids=["replace", "delete", "insert", "insert as it was called before"],
)
def test_files_are_edited(arguments, content, tool, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\nb\n")
    use(tool, path="a.txt", **arguments)
    assert tree(tmp_path) == {"a.txt": content}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": "create"}, "create needs file_text."),
        (
            {"command": "create", "file_text": "x"},
            "a.txt exists already (4 bytes). To change it, use str_replace.",
        ),
        ({"command": "str_replace"}, "str_replace needs old_str."),
        (
            {"command": "str_replace", "old_str": "A", "new_str": "x"},
            (
                "a.txt: The text to replace is not in the file. Only upper and lower case set it apart "
                'from line 1:\n     1\t"a"'
            ),
        ),
        ({"command": "insert", "insert_line": 1}, "insert needs insert_text."),
        ({"command": "insert", "insert_text": "x"}, "insert needs insert_line."),
        (
            {"command": "view", "view_range": [1]},
            "view_range is two line numbers, the first and the last.",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_the_editors_words(arguments, words, tool, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\na\n")
    assert refusal(tool, path="a.txt", **arguments) == words
    assert tree(tmp_path) == {"a.txt": b"a\na\n"}


def test_a_view_can_be_all_there_is(tmp_path):
    tool = text_editor(tmp_path, read_only=True)
    assert tool.parameters["properties"].keys() == {"command", "path", "view_range"}
    assert tool.parameters["properties"]["command"]["enum"] == ["view"]
    assert (tool.effect, text_editor(tmp_path).effect) == ("read", "write")
