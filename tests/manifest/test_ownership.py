"""A file that somebody else could have written decides nothing."""

import os
from pathlib import Path

import pytest

from manifest.kit import Layout, look, manifest, plain, said
from rightcall.manifest.command_tool import Distrust, distrust
from rightcall.manifest.document import inspect

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir(mode=0o755)
    path = folder / "program"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_what_is_ours_and_closed_is_trusted(program):
    assert distrust(program) is None
    assert distrust(Path("/bin/ls")) is None


@pytest.mark.parametrize(("mode", "shown"), [(0o757, "0757"), (0o777, "0777"), (0o702, "0702")])
def test_a_file_that_anyone_may_write_is_not(program, mode, shown):
    program.chmod(mode)
    assert distrust(program) == Distrust(
        f"anyone may write the file {program} (mode {shown})", f"run chmod o-w {program}"
    )


def test_a_directory_that_anyone_may_write_is_not(program):
    program.parent.chmod(0o777)
    assert distrust(program) == Distrust(
        f"anyone may write the directory {program.parent} (mode 0777)", f"run chmod o-w {program.parent}"
    )


def test_a_sticky_directory_is_as_good_as_closed(program):
    program.parent.chmod(0o1777)
    assert distrust(program) is None


@needs_root
@pytest.mark.parametrize("which", ["file", "directory"])
def test_a_strangers_is_not(program, which):
    place = program if which == "file" else program.parent
    os.chown(place, STRANGER, -1)
    found = distrust(program)
    assert found.reason == f"the {which} {place} belongs to user {STRANGER}, neither you nor root"
    assert found.fix.startswith("run chown ")


def test_a_link_is_judged_by_where_it_is_and_by_where_it_leads(program, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(program)
    assert distrust(link) is None
    program.chmod(0o777)
    assert distrust(link).reason == f"anyone may write the file {program} (mode 0777)"
    program.chmod(0o755)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    other = open_to_all / "link"
    other.symlink_to(program)
    assert distrust(other).reason == f"anyone may write the directory {open_to_all} (mode 0777)"


def test_a_manifest_that_anyone_may_write_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(Layout(manifest(plain())).text)
    path.chmod(0o666)
    assert [str(each) for each in inspect(path).problems] == [
        f"{path}:1:1: anyone may write the file {path} (mode 0666); run chmod o-w {path}"
    ]


@needs_root
def test_a_strangers_manifest_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(Layout(manifest(plain())).text)
    os.chown(path, STRANGER, -1)
    (problem,) = inspect(path).problems
    assert problem.message == f"the file {path} belongs to user {STRANGER}, neither you nor root"


def test_a_command_that_anyone_may_write_is_refused_with_the_reason(tmp_path, program):
    program.chmod(0o757)
    layout = Layout(manifest(plain(command=str(program))))
    line, column = layout.values["tools", 0, "command"]
    (found,) = said(look(tmp_path, layout.text))
    assert found == (
        f"{line}:{column}: tools[0].command: "
        f"anyone may write the file {program} (mode 0757); run chmod o-w {program}"
    )


def test_a_file_that_is_none_is_said_so(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place, words in (
        (tmp_path, "is not a regular file"),
        (tmp_path / "pipe", "is not a regular file"),
        (tmp_path / "absent", "cannot be read: No such file or directory"),
    ):
        assert [str(each) for each in inspect(place).problems] == [f"{place}:1:1: {words}"]
