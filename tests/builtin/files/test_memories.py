"""Notes that outlast a conversation."""

from typing import get_args

import pytest

from builtin.files.kit import attacking, refusal, tree, use
from later import Later
from rightcall.builtin.files.fs_tool import memory
from rightcall.builtin.files.root import Root
from rightcall.builtin.files.textfile import version_of


@pytest.fixture
def tool(tmp_path):
    return memory(tmp_path)


def test_its_commands_and_their_parameters_are_the_vendors(tool):
    commands = get_args(get_args(Later("anthropic.types.beta").BetaMemoryTool20250818Command)[0])
    names = {get_args(command.model_fields["command"].annotation)[0] for command in commands}
    parameters = {name for command in commands for name in command.model_fields}
    properties = tool.parameters["properties"]
    assert (tool.name, set(properties["command"]["enum"]), set(properties)) == (
        "memory",
        names,
        parameters,
    )


def test_notes_are_kept_viewed_and_changed(tool, tmp_path):
    version = version_of(b"Likes tea.\n")
    assert use(tool, command="create", path="/memories/people/ada.md", file_text="Likes tea.\n") == (
        f"Created /memories/people/ada.md (11 bytes, version {version})."
    )
    assert use(tool, command="view", path="/memories") == (
        "/memories:\npeople/\npeople/ada.md (11 bytes)"
    )
    assert use(tool, command="view", path="/memories/people/ada.md") == (
        f"/memories/people/ada.md: line 1 of 1 line (11 bytes, version {version})\n     1\tLikes tea."
    )
    use(tool, command="str_replace", path="/memories/people/ada.md", old_str="tea", new_str="coffee")
    use(tool, command="insert", path="/memories/people/ada.md", insert_line=1, insert_text="Has a cat.")
    assert (tmp_path / "people/ada.md").read_text() == "Likes coffee.\nHas a cat.\n"


def test_notes_are_renamed_and_deleted(tool, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.md").write_text("a")
    said = use(tool, command="rename", old_path="/memories/old", new_path="/memories/in/new")
    assert said == "Renamed /memories/old to /memories/in/new."
    assert tree(tmp_path) == {"in": "directory", "in/new": "directory", "in/new/a.md": b"a"}
    assert use(tool, command="delete", path="/memories/in/new/a.md") == "Deleted /memories/in/new/a.md."
    assert use(tool, command="delete", path="/memories/in/") == "Deleted /memories/in."
    assert tree(tmp_path) == {}


PREFIX = "Paths of notes begin with /memories, like /memories/people/ada.md."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": "view"}, "view needs path."),
        ({"command": "rename", "old_path": "/memories/a.md"}, "rename needs new_path."),
        ({"command": "view", "path": "a.md"}, PREFIX),
        ({"command": "view", "path": "/memoriesa.md"}, PREFIX),
        ({"command": "view", "path": "/etc/passwd"}, PREFIX),
        (
            {"command": "view", "path": "/memories/../secret"},
            '"../secret": ".." is not taken. Write the path from the root down.',
        ),
        (
            {"command": "view", "path": "/memories/b.md"},
            "There is no /memories/b.md. Did you mean /memories/a.md or /memories/c.md?",
        ),
        (
            {"command": "create", "path": "/memories/a.md", "file_text": "x"},
            "/memories/a.md exists already (1 byte). To change it, use str_replace.",
        ),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/c.md"},
            "/memories/c.md exists already. Delete it first, or take another name.",
        ),
        (
            {"command": "rename", "old_path": "/memories/zzzz", "new_path": "/memories/d.md"},
            "There is no /memories/zzzz.",
        ),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories"},
            "/memories itself can be neither deleted nor renamed.",
        ),
        (
            {"command": "delete", "path": "/memories"},
            "/memories itself can be neither deleted nor renamed.",
        ),
        ({"command": "delete", "path": "/memories/zzzz"}, "There is no /memories/zzzz."),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(arguments, words, tool, tmp_path):
    for name in ("a.md", "c.md"):
        (tmp_path / name).write_text(name[0])
    before = tree(tmp_path)
    assert refusal(tool, **arguments) == words
    assert tree(tmp_path) == before


def test_a_deletion_follows_no_link(tmp_path):
    (tmp_path / "notes/inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("precious")
    (tmp_path / "notes/inner/link").symlink_to(tmp_path / "outside")
    (tmp_path / "notes/link").symlink_to(tmp_path / "outside")
    tool = memory(tmp_path / "notes")
    assert "leads outside" in refusal(tool, command="delete", path="/memories/link/file")
    use(tool, command="delete", path="/memories/inner")
    use(tool, command="delete", path="/memories/link")
    assert tree(tmp_path) == {"notes": "directory", "outside": "directory", "outside/file": b"precious"}


@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_nothing_outside_is_deleted_while_things_are_swapped(resolver, tmp_path):
    (tmp_path / "root/directory").mkdir(parents=True)
    (tmp_path / "outside/place").mkdir(parents=True)
    (tmp_path / "root/other").symlink_to(tmp_path / "outside")
    for number in range(500):
        (tmp_path / f"outside/file{number}").touch()
    before = tree(tmp_path / "outside")
    tool = memory(Root(tmp_path / "root", resolver=resolver))
    with attacking("swap_directory", tmp_path):
        for number in range(500):
            refusal(tool, command="delete", path=f"/memories/directory/file{number}")
            refusal(
                tool,
                command="rename",
                old_path=f"/memories/directory/file{number}",
                new_path="/memories/stolen",
            )
    assert tree(tmp_path / "outside") == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_notes": 2}, "There are 2 notes of 6 bytes, and room for no more. Delete some."),
        ({"max_bytes": 6}, "There are 2 notes of 6 bytes, and room for no more. Delete some."),
    ],
)
def test_there_is_room_for_so_many_notes(options, words, tmp_path):
    tool = memory(tmp_path, **options)
    for name in ("a", "b"):
        use(tool, command="create", path=f"/memories/{name}", file_text="abc")
    assert refusal(tool, command="create", path="/memories/c", file_text="") == words
    use(tool, command="delete", path="/memories/b")
    use(tool, command="create", path="/memories/c", file_text="abc")
    assert sorted(tree(tmp_path)) == ["a", "c"]


def test_notes_may_be_only_for_reading(tmp_path):
    (tmp_path / "a.md").write_text("a")
    tool = memory(tmp_path, read_only=True)
    assert tool.parameters["properties"]["command"]["enum"] == ["view"]
    assert (tool.effect, tool.facts.targets) == ("read", ("path",))
    assert use(tool, command="view", path="/memories/a.md").endswith("     1\ta")


def test_notes_are_not_to_be_trusted(tool):
    assert (tool.effect, tool.serial) == ("write", True)
    assert (tool.facts.untrusted, tool.facts.private, tool.facts.reach) == (True, True, "user")
    assert tool.facts.targets == ("path", "old_path", "new_path")
