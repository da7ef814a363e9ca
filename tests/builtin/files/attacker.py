"""A process that swaps names in a loop until it is killed: python attacker.py KIND BASE

BASE holds ``root``, which is granted, and ``outside``, which is not.
"""
# The shortest way to the system is the quickest attack.
# ruff: noqa: PTH104, PTH108, T201

import ctypes
import itertools
import os
import sys
from collections.abc import Callable
from contextlib import suppress

EXCHANGE = 2
HERE = -100
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: str, other: str) -> None:
    """Swap two names in a single step."""
    if libc.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def swap_file() -> None:
    """A file, and a symbolic link to one outside, change places."""
    exchange("root/file", "root/link")


def swap_directory() -> None:
    """A directory, and a symbolic link to one outside, change places."""
    exchange("root/directory", "root/other")


def swap_inner() -> None:
    """The same, where the link goes up and over: relative, not absolute."""
    exchange("root/deep/er", "root/deep/up")


def move_out() -> None:
    """A directory goes out of the root and comes back, while ``..`` is resolved from within it."""
    os.rename("root/deep/down", "outside/place/down")
    os.rename("outside/place/down", "root/deep/down")


def relink() -> None:
    """A name in the root is a hard link to a file outside, on and off."""
    os.link("outside/secret", "root/planted")
    os.rename("root/planted", "root/file")
    os.unlink("root/file")
    with suppress(FileNotFoundError):
        # Renaming a link onto another of the same file does nothing.
        os.unlink("root/planted")


def relink_quickly() -> None:
    """The same, gone again before anybody can count the links."""
    with suppress(FileExistsError):
        os.link("outside/secret", "root/file")
    os.unlink("root/file")


def main() -> None:
    kinds: dict[str, Callable[[], None]] = {
        each.__name__: each
        for each in (swap_file, swap_directory, swap_inner, move_out, relink, relink_quickly)
    }
    attack = kinds[sys.argv[1]]
    os.chdir(sys.argv[2])
    for round_number in itertools.count():
        attack()
        if round_number == 1:
            print("attacking", flush=True)


main()
