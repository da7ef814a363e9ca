"""Checks who can write a file, or replace it, and so whether to trust it."""

import os
import stat
import sys
from pathlib import Path

from msgspec import Struct

from rightcall.platforms import posix_only, user_name


class Distrust(Struct, frozen=True):
    """Why a file is not trusted, and what to do about it."""

    reason: str
    fix: str


def distrust(path: Path) -> Distrust | None:
    """Why a file must not decide what is run: another user can write it, or a directory above it.

    For a symbolic link, both the link and its target are checked.
    """
    target = path.resolve()
    for place in dict.fromkeys([target, *target.parents, *path.absolute().parents]):
        if found := _judge(place, place.stat()):
            return found
    return None


def distrust_open(path: Path, file: int) -> Distrust | None:
    """The same for an open file, so that the checked file is the one that is read."""
    return _judge(path, os.fstat(file)) or distrust(path)


def _judge(place: Path, status: os.stat_result) -> Distrust | None:
    if sys.platform == "win32":
        raise posix_only("a manifest")
    kind = "directory " if stat.S_ISDIR(status.st_mode) else ""
    if status.st_uid not in {0, os.geteuid()}:
        return Distrust(
            f"the {kind or 'file '}{place} belongs to {user_name(status.st_uid)}, neither you nor root",
            f"run chown {user_name(os.geteuid())} {place}, if you trust what is in it",
        )
    # In a sticky directory, such as /tmp, nobody can replace another user's files.
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if status.st_mode & stat.S_IWOTH and not sticky:
        mode = stat.S_IMODE(status.st_mode)
        return Distrust(
            f"anyone may write the {kind or 'file '}{place} (mode {mode:04o})", f"run chmod o-w {place}"
        )
    return None
