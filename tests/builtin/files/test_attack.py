"""Another process swaps names in a loop, and never gets a byte out of the root or into it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import pytest

from builtin.files.kit import CANARY, INSIDE, RESOLVERS, attacking, tree, use
from rightcall.builtin.files.fs_tool import fs
from rightcall.builtin.files.root import Root
from rightcall.errors import ToolFailure

TIMES = 100_000
SECONDS = 0.25
"""What is refused takes little time, so that this holds thousands of attempts."""
PATIENCE = 20.0
"""Seconds after which an attacker that leaves no chance at all has won."""


@pytest.fixture
def base(tmp_path) -> Path:
    for directory in ("root/directory", "root/deep/er", "root/deep/down", "outside/place"):
        (tmp_path / directory).mkdir(parents=True)
    for inside in ("root/file", "root/directory/file", "root/deep/er/file", "root/inside"):
        (tmp_path / inside).write_text(INSIDE)
    for outside in ("outside/secret", "outside/file", "outside/inside", "outside/place/file"):
        (tmp_path / outside).write_text(CANARY)
    (tmp_path / "root/link").symlink_to(tmp_path / "outside/secret")
    (tmp_path / "root/other").symlink_to(tmp_path / "outside")
    (tmp_path / "root/deep/up").symlink_to("../../outside")
    # Within the root it leads to root/inside; two levels above outside/place/down, to outside/inside.
    (tmp_path / "root/deep/down/over").symlink_to("../../inside")
    return tmp_path


@contextmanager
def opened(path: str | Path, directory: int | None = None) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY, dir_fd=directory)
    try:
        yield file
    finally:
        os.close(file)


def repeat(act: Callable[[int], str], least: int = 1) -> list[str]:
    """What the tool said each time it did not refuse: so often at least, unless it never does."""
    said: list[str] = []
    started = monotonic()
    for number in range(TIMES):
        with suppress(ToolFailure):
            said.append(act(number))
        if monotonic() > started + (SECONDS if len(said) >= least else PATIENCE):
            break
    return said


SWAPS = {
    "swap_file": "file",
    "swap_directory": "directory/file",
    "swap_inner": "deep/er/file",
    "move_out": "deep/down/over",
}
LINKS = ("relink", "relink_quickly")


@pytest.mark.parametrize("attack", [*SWAPS, *LINKS])
def test_the_attacks_work_on_whoever_trusts_a_directory(attack, base):
    """Opened once, and then read from without care. Without this the other tests would show nothing."""
    path = base / "root" / SWAPS.get(attack, "file")
    if attack in LINKS:
        path.unlink()
    seen, end = b"", monotonic() + 20
    with attacking(attack, base):
        while seen != CANARY.encode() and monotonic() < end:
            with (
                suppress(OSError),
                opened(path.parent) as directory,
                opened(path.name, directory) as file,
            ):
                seen = os.read(file, 1000)
    assert seen == CANARY.encode()


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("attack", SWAPS)
def test_no_swap_lets_a_byte_from_outside_be_read(attack, resolver, base):
    # Being renamed changes a file's ctime, and the guard against hard links would refuse nearly always.
    tool = fs(Root(base / "root", resolver=resolver, hard_links=True), read_only=True)
    with attacking(attack, base):
        said = repeat(lambda _: use(tool, mode="read", path=SWAPS[attack]))
    assert {INSIDE in each for each in said} == {True}
    assert not [each for each in said if CANARY in each]


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("attack", ["swap_directory", "swap_inner"])
def test_no_swap_lets_a_search_look_outside(attack, resolver, base):
    tool = fs(Root(base / "root", resolver=resolver), read_only=True)
    with attacking(attack, base):
        said = repeat(lambda _: use(tool, mode="grep", pattern="lies"))
        said += repeat(lambda _: use(tool, mode="glob", pattern="**"))
    assert said
    assert not [each for each in said if CANARY in each or "secret" in each]


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("attack", ["swap_file", "swap_directory", "swap_inner"])
def test_no_swap_lets_a_byte_be_written_outside(attack, resolver, base):
    tool = fs(Root(base / "root", resolver=resolver, hard_links=True))
    path = SWAPS[attack]
    before = tree(base / "outside")

    def change(number: int) -> str:
        match number % 3:
            case 0:
                return use(tool, mode="write", path=f"{path}-{number}", content="written")
            case 1:
                return use(tool, mode="edit", path=path, old_text="lies", new_text="also lies")
            case _:
                version = use(tool, mode="read", path=path).partition("version ")[2][:12]
                return use(tool, mode="write", path=path, content=INSIDE, version=version)

    with attacking(attack, base):
        done = repeat(change)
    assert done
    assert tree(base / "outside") == before


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("attack", LINKS)
def test_a_hard_link_that_comes_and_goes_is_never_read(attack, resolver, base):
    (base / "root/file").unlink()
    root = Root(base / "root", resolver=resolver)
    tool = fs(root, read_only=True)
    with attacking(attack, base):
        said = repeat(lambda _: use(tool, mode="read", path="file"), least=0)
    assert said == []


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_a_hard_link_that_comes_and_goes_is_never_written_to(resolver, base):
    (base / "root/file").unlink()
    tool = fs(Root(base / "root", resolver=resolver))
    with attacking("relink_quickly", base):
        repeat(lambda _: use(tool, mode="write", path="file", content="written"))
        repeat(lambda _: use(tool, mode="edit", path="file", old_text="CANARY", new_text="x"), least=0)
    assert (base / "outside/secret").read_text() == CANARY
