"""A model's path into a place, or words that say why it is none."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rightcall.builtin.files.root import MAX_PARTS, RootedPath, display_name, parse_path
from rightcall.errors import ToolFailure

PIECES = st.sampled_from(
    ["a", "b.txt", ".", "..", "", "/", "//", "~", "\\", "é", "\0", "\n", "\\xe9", " "]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("/".join), st.lists(PIECES).map("".join))


@given(TEXTS)
@example("a/../../b")
@example("/srv/data/../x")
@example("/srv/data../x")
def test_whatever_is_taken_stays_beneath(text):
    try:
        found = parse_path(text, ["/srv/data"])
    except ToolFailure:
        return
    assert not {"", ".", ".."} & set(found.parts)
    assert not [part for part in found.parts if "/" in part or "\0" in part]
    assert os.path.normpath(found.path) == found.path


@given(st.binary(min_size=1, max_size=20).filter(lambda name: not set(name) & set(b"/\0\\")))
def test_a_name_that_is_shown_can_be_given_back(raw):
    name = os.fsdecode(raw)
    shown = RootedPath((name,)).display_path
    assert shown.isprintable() or not set(shown) & set("\n\r\x1b")
    shown.encode()
    if (
        name in (".", "..")
        or name.startswith("~")
        or display_name(name.encode(errors="ignore").decode()) != (name.encode(errors="ignore").decode())
    ):
        return
    assert parse_path(f"./{shown}").parts == (name,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (".", ()),
        ("", ()),
        ("/", ()),
        ("./a//b/", ("a", "b")),
        ("a\\b", ("a\\b",)),
        ("/srv/data", ()),
        ("/srv/data/a.py", ("a.py",)),
        ("/real/a.py", ("a.py",)),
        ("caf\\xe9.txt", ("caf\udce9.txt",)),
        ("caf\\xc3\\xa9.txt", ("caf\\xc3\\xa9.txt",)),
        ("\\x41", ("\\x41",)),
    ],
)
def test_paths_that_are_taken(text, parts):
    assert parse_path(text, ["/srv/data", "/real"]) == RootedPath(parts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("../a", '"../a": ".." is not taken. Write the path from the root down.'),
        ("a/../b", '"a/../b": ".." is not taken. Write the path from the root down.'),
        ("/srv/data/../a", '"/srv/data/../a": ".." is not taken. Write the path from the root down.'),
        (
            "/etc/passwd",
            (
                '"/etc/passwd": absolute paths are not taken. Write paths relative to the root, like '
                '"src/main.py"; "." is the root.'
            ),
        ),
        (
            "/srv/database",
            (
                '"/srv/database": absolute paths are not taken. Write paths relative to the root, like '
                '"src/main.py"; "." is the root.'
            ),
        ),
        (
            "~/a",
            (
                '"~/a": there is no home directory here. Write paths relative to the root, like '
                '"src/main.py"; "." is the root.'
            ),
        ),
        ("a\0b", "A path cannot hold a NUL character."),
        ("a/" * (MAX_PARTS + 1), "The path is too long: at most 128 parts and 4,096 bytes."),
        ("é" * 3000, "The path is too long: at most 128 parts and 4,096 bytes."),
    ],
)
def test_paths_that_are_refused(text, words):
    with pytest.raises(ToolFailure) as caught:
        parse_path(text, ["/srv/data"])
    assert caught.value.message == words


def test_everything_is_beneath_a_root_that_is_all():
    assert parse_path("/etc/hosts", ["/"]) == RootedPath(("etc", "hosts"))


def test_a_place_knows_what_is_around_it():
    notes = RootedPath(("people", "ada.md"), "/memories")
    assert (notes.display_path, notes.path, notes.name) == (
        "/memories/people/ada.md",
        "people/ada.md",
        "ada.md",
    )
    assert notes.parent == RootedPath(("people",), "/memories")
    assert notes.parent.parent.display_path == "/memories"
    assert (RootedPath().display_path, RootedPath().path, RootedPath().name, RootedPath().parent) == (
        ".",
        ".",
        "",
        RootedPath(),
    )
    assert RootedPath().child("a").child("b") == RootedPath(("a", "b"))
