"""The names of local models: kept in a file that is never half written."""

import json
import stat
from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.models import catalogue
from rightcall.models.catalogue import CatalogueEntry


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes(96))
    (tmp_path / "b.gguf").write_bytes(b"GGUF")
    return tmp_path


def registry(home: Path) -> Path:
    return home / "config" / "rightcall" / "models.json"


def test_nothing_has_a_name_at_first():
    assert (catalogue.entries(), catalogue.path_of("qwen")) == ((), None)


def test_a_file_gets_a_name_and_keeps_it(home):
    added = catalogue.add("qwen", "a.gguf")
    assert added == CatalogueEntry(name="qwen", path=home / "a.gguf")
    assert (added.size, catalogue.path_of("qwen")) == (100, home / "a.gguf")
    catalogue.add("Alpha-2.5_q4", home / "b.gguf")
    assert [entry.name for entry in catalogue.entries()] == ["Alpha-2.5_q4", "qwen"]
    assert json.loads(registry(home).read_text()) == {
        "version": 1,
        "models": {
            "qwen": {"path": str(home / "a.gguf")},
            "Alpha-2.5_q4": {"path": str(home / "b.gguf")},
        },
    }


def test_a_name_is_taken_away_and_the_file_stays(home):
    catalogue.add("qwen", "a.gguf")
    assert catalogue.remove("qwen") == CatalogueEntry(name="qwen", path=home / "a.gguf")
    assert (catalogue.entries(), (home / "a.gguf").exists()) == ((), True)


def test_a_model_whose_file_is_gone_is_still_listed(home):
    catalogue.add("qwen", "a.gguf")
    (home / "a.gguf").unlink()
    (entry,) = catalogue.entries()
    assert (entry.name, entry.size) == ("qwen", None)


def test_a_link_stays_a_link(home):
    (home / "link.gguf").symlink_to(home / "a.gguf")
    assert catalogue.add("qwen", "link.gguf").path == home / "link.gguf"


def test_a_tilde_is_home(home):
    assert catalogue.add("qwen", "~/a.gguf").path == home / "a.gguf"


@pytest.mark.parametrize(
    "name", ["", "-x", ".x", "a b", "a/b", "a:b", "a|b", "ä", "x" * 65, "a\n", "../x"]
)
def test_a_name_that_could_be_mistaken_for_something_else_is_refused(name):
    with pytest.raises(UsageError, match="cannot be a model's name"):
        catalogue.add(name, "a.gguf")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: catalogue.add("embedded", "a.gguf"), "'embedded' is the name of the model that comes"),
        (lambda: catalogue.add("x", "absent.gguf"), "absent.gguf cannot be read: No such file"),
        (lambda: catalogue.add("x", "."), "cannot be read: Is a directory"),
        (lambda: catalogue.add("x", "bad.gguf"), "bad.gguf is not a GGUF file: it does not begin with"),
        (lambda: catalogue.add("qwen", "b.gguf"), "'qwen' is the name of .*a.gguf; remove it first"),
        (lambda: catalogue.remove("qwn"), "no model is called 'qwn'; there is qwen"),
        (lambda: catalogue.remove("embedded"), "comes with rightcall and cannot be removed"),
    ],
    ids=["reserved", "absent", "directory", "not-gguf", "taken", "unknown", "keep-embedded"],
)
def test_what_cannot_be_done_is_said_in_words_and_changes_nothing(home, act, words):
    (home / "bad.gguf").write_bytes(b"PK\x03\x04")
    catalogue.add("qwen", "a.gguf")
    before = registry(home).read_bytes()
    with pytest.raises(UsageError, match=words):
        act()
    assert registry(home).read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "is not a list of models"),
        (b"[]", "is not a list of models"),
        (b'{"models": {"x": 1}}', "is not a list of models"),
        (b"\xff\xfe", "is not a list of models"),
        (b'{"version": 2, "models": {}}', "has version 2, and this rightcall knows 1"),
    ],
)
def test_a_damaged_list_is_reported_and_not_overwritten(home, text, words):
    registry(home).parent.mkdir(parents=True)
    registry(home).write_bytes(text)
    for act in (catalogue.entries, lambda: catalogue.add("x", "a.gguf"), lambda: catalogue.remove("x")):
        with pytest.raises(UsageError, match=words):
            act()
    assert registry(home).read_bytes() == text


def test_a_list_that_cannot_be_written_is_said_to_be_so(home):
    (home / "config").write_text("a file where a directory should be")
    with pytest.raises(UsageError, match=r"cannot be (read|written): Not a directory"):
        catalogue.add("qwen", "a.gguf")


def test_writing_leaves_nothing_else_behind(home):
    catalogue.add("qwen", "a.gguf")
    catalogue.add("other", "b.gguf")
    assert list(registry(home).parent.iterdir()) == [registry(home)]
    assert stat.S_IMODE(registry(home).stat().st_mode) & 0o077 == 0


def test_a_relative_configuration_directory_is_ignored(home, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert catalogue.place() == home / ".config" / "rightcall" / "models.json"
