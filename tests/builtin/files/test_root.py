"""A granted directory, and everything that is not in it."""

import errno
import gc
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builtin.files.kit import RESOLVERS, refusal, use
from effort import often
from rightcall.builtin.files.fs_tool import fs
from rightcall.builtin.files.root import (
    Root,
    RootedPath,
    has_openat2,
    open_by_kernel,
    open_by_walk,
    parse_root_grant,
)
from rightcall.errors import ToolFailure, UsageError

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="openat2 is Linux's")
OUTSIDE = "this leads outside of the root, through a symbolic link or onto another file system."


CIRCLE = "its symbolic links are not followed: they go in a circle, or are the kernel's own."


def open_files() -> list[str]:
    # What earlier tests left behind may be closed at any time.
    gc.collect()
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


@pytest.fixture(params=[pytest.param("openat2", marks=LINUX), "walk"])
def resolver(request):
    return request.param


@pytest.fixture
def root(tmp_path) -> Path:
    """A directory with every kind of link in it, beside one with a secret."""
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "root/file").write_text("top")
    (tmp_path / "root/a/b/file").write_text("deep")
    (tmp_path / "secret").write_text("secret")
    links = {
        "to_file": "file",
        "a/up": "../file",
        "a/b/up": "../../file",
        "to_directory": "a/b",
        "a/through": "../to_directory/up",
        "chain": "to_directory",
        "dot": ".",
        "a/back": "b/..",
        "out": "../secret",
        "a/out": "../../secret",
        "out_and_in": "../root/file",
        "absolute": str(tmp_path / "root/file"),
        "absolute_out": str(tmp_path / "secret"),
        "broken": "nothing",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "slashes": "a//b///file",
    }
    for name, target in links.items():
        (tmp_path / "root" / name).symlink_to(target)
    return tmp_path / "root"


RESOLVED = {
    "file": "file",
    "a/b/file": "a/b/file",
    "to_file": "file",
    "a/up": "file",
    "a/b/up": "file",
    "to_directory": "a/b",
    "to_directory/file": "a/b/file",
    "to_directory/up": "file",
    "a/through": "file",
    "chain/file": "a/b/file",
    "dot": ".",
    "dot/dot/file": "file",
    "a/back": "a",
    "a/back/b/file": "a/b/file",
    "slashes": "a/b/file",
    ".": ".",
    "a/../file": "file",
    "out": errno.EXDEV,
    "a/out": errno.EXDEV,
    "to_directory/../../../secret": errno.EXDEV,
    "..": errno.EXDEV,
    "../root": errno.EXDEV,
    "out_and_in": errno.EXDEV,
    "absolute": errno.EXDEV,
    "absolute_out": errno.EXDEV,
    "broken": errno.ENOENT,
    "nothing": errno.ENOENT,
    "a/nothing/x": errno.ENOENT,
    "loop": errno.ELOOP,
    "ping/x": errno.ELOOP,
    "file/x": errno.ENOTDIR,
    "to_file/x": errno.ENOTDIR,
    "x" * 300: errno.ENAMETOOLONG,
}


@pytest.mark.parametrize(("path", "result"), RESOLVED.items(), ids=[*RESOLVED])
@pytest.mark.parametrize("how", ["look", "open"])
def test_a_path_leads_to_the_same_place_by_either_way(path, result, how, resolver, root):
    resolve = {"openat2": open_by_kernel, "walk": open_by_walk}[resolver]
    flags = os.O_PATH if how == "look" else os.O_RDONLY
    directory = os.open(root, os.O_RDONLY)
    try:
        opened = resolve(directory, path, flags)
    except OSError as error:
        found: object = error.errno
    else:
        found = "same" if os.path.samestat(os.fstat(opened), (root / str(result)).stat()) else "another"
        os.close(opened)
    finally:
        os.close(directory)
    assert found == (result if isinstance(result, int) else "same")


NAMES = [
    "file",
    "a",
    "b",
    "up",
    "dot",
    "back",
    "through",
    "to_directory",
    "chain",
    "out",
    "loop",
    "x",
    "..",
]


@LINUX
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=often(200))
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=60).map("/".join))
def test_both_ways_agree_on_every_path(root, path):
    directory = os.open(root, os.O_RDONLY)
    found = []
    for open_beneath in (open_by_kernel, open_by_walk):
        try:
            opened = open_beneath(directory, path, os.O_PATH)
        except OSError as error:
            found.append(error.errno)
        else:
            found.append(os.fstat(opened).st_ino)
            os.close(opened)
    os.close(directory)
    assert found[0] == found[1]


def test_nothing_stays_open(resolver, root):
    tool = fs(Root(root, resolver=resolver))
    before = open_files()
    for path in [*RESOLVED, "a"]:
        for mode in ({"mode": "read"}, {"mode": "list"}, {"mode": "write", "content": ""}):
            try:
                use(tool, path=path, **mode)
            except ToolFailure:
                continue
    assert open_files() == before


def test_the_root_is_closed_when_it_is_forgotten(tmp_path):
    before = open_files()
    granted = Root(tmp_path)
    assert open_files() != before
    del granted
    assert open_files() == before


@LINUX
@pytest.mark.parametrize("cross_mounts", [False, True])
@pytest.mark.parametrize(
    "path",
    ["proc/self/environ", "proc/self/root/etc/hostname", "proc/self/fd/0", "proc/version", "proc"],
)
def test_nothing_in_proc_is_opened_even_where_all_is_granted(path, cross_mounts, resolver):
    tool = fs(Root("/", resolver=resolver, cross_mounts=cross_mounts), read_only=True)
    mode = "list" if path == "proc" else "read"
    assert refusal(tool, mode=mode, path=path) in (f"{path}: {OUTSIDE}", f"{path}: {CIRCLE}")


@LINUX
def test_other_file_systems_are_a_grant_of_their_own(resolver):
    words = refusal(fs(Root("/", resolver=resolver)), mode="read", path="dev/null")
    assert words == f"dev/null: {OUTSIDE}"
    words = refusal(fs(Root("/", resolver=resolver, cross_mounts=True)), mode="read", path="dev/null")
    assert words == "dev/null is a device, which is not opened."


def test_proc_cannot_be_granted():
    with pytest.raises(UsageError, match=r"a root cannot lie in /proc"):
        Root("/proc/self")


@pytest.mark.parametrize("path", ["nothing", "file"])
def test_only_a_directory_can_be_granted(path, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be granted: .*; name a directory that exists"):
        Root(tmp_path / path)


def test_the_kernels_own_way_is_taken_where_there_is_one(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    available = has_openat2(directory)
    os.close(directory)
    assert Root(tmp_path).resolver == ("openat2" if available else "walk")


def test_what_is_no_plain_file_is_not_opened(resolver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool = fs(Root(tmp_path, resolver=resolver))
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert refusal(tool, mode="read", path="socket") == "socket is a socket, which is not opened."
    assert refusal(tool, mode="read", path="pipe") == "pipe is a named pipe, which is not opened."
    assert refusal(tool, mode="grep", path="pipe", pattern="x") == (
        "pipe is a named pipe, which is not opened."
    )
    assert refusal(tool, mode="read", path=".") == ". is a directory, not a file."
    assert use(tool, mode="list") == (".:\npipe (not a plain file)\nsocket (not a plain file)")


def test_a_file_with_a_second_name_may_be_from_outside(resolver, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("secret")
    os.link(tmp_path / "secret", tmp_path / "root/planted")
    tool = fs(Root(tmp_path / "root", resolver=resolver))
    words = "planted has 2 hard links: it may be a file from outside of the root, and is not opened."
    assert refusal(tool, mode="read", path="planted") == words
    assert refusal(tool, mode="edit", path="planted", old_text="secret", new_text="x") == words
    assert use(tool, mode="grep", pattern="secret") == (
        "Nothing matches.\n[1 file not searched: not text, or not to be opened]"
    )
    assert (tmp_path / "secret").read_text() == "secret"


def test_hard_links_can_be_allowed_and_are_not_written_through(resolver, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "other").write_text("text")
    os.link(tmp_path / "other", tmp_path / "root/name")
    tool = fs(Root(tmp_path / "root", resolver=resolver, hard_links=True))
    assert "text" in use(tool, mode="read", path="name")
    use(tool, mode="edit", path="name", old_text="text", new_text="new")
    assert ((tmp_path / "other").read_text(), (tmp_path / "root/name").read_text()) == ("text", "new")


def test_a_root_that_moves_stays_the_same_root(resolver, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("granted")
    tool = fs(Root(tmp_path / "root", resolver=resolver))
    (tmp_path / "root").rename(tmp_path / "moved")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("not granted")
    assert use(tool, mode="read", path="file").endswith("granted")
    assert "not granted" not in use(tool, mode="read", path="file")


def test_directories_are_made_only_where_they_are_missing(resolver, root):
    granted = Root(root, resolver=resolver)
    granted.make_directory(RootedPath(("a", "new", "er")))
    granted.make_directory(RootedPath(("to_directory", "inner")))
    granted.make_directory(RootedPath(("a", "b")))
    assert (root / "a/new/er").is_dir()
    assert (root / "a/b/inner").is_dir()
    with pytest.raises(OSError, match=r"cross-device"):
        granted.make_directory(RootedPath(("out", "inner")))


def test_both_ways_are_tested():
    assert RESOLVERS == ("openat2", "walk")


@pytest.mark.parametrize(
    ("directory", "suffix", "read_only"),
    [("data", "", False), ("data", ":ro", True), ("data", ":rw", False), ("data:ro", ":rw", False)],
)
def test_a_grant_says_what_and_whether_only_for_reading(directory, suffix, read_only, tmp_path):
    (tmp_path / directory).mkdir()
    root = parse_root_grant(f"{tmp_path / directory}{suffix}")
    assert (root.names[0], root.read_only) == (str(tmp_path / directory), read_only)


@pytest.mark.parametrize("text", ["", ":ro"])
def test_a_grant_names_a_directory(text):
    with pytest.raises(UsageError, match="grants no directory; write ROOT or ROOT:ro"):
        parse_root_grant(text)


def test_a_grant_of_nothing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be granted"):
        parse_root_grant(f"{tmp_path}/nothing:ro")
