"""Changes files for a model: a whole new text, an exact replacement, or an insertion.

A write is all or nothing: the bytes go to a new file beside the old one, are synced to the disk, and
replace it by one rename. Neither a crash nor a full disk leaves half a file. Nothing is ever written
through a name that was there before: a symbolic link is replaced and not followed, and a file's other
hard links keep what they had.
"""

import os
import secrets
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from rightcall.builtin.files import resolve
from rightcall.builtin.files.miss import explain_many, explain_miss, line_of
from rightcall.builtin.files.place import Place
from rightcall.builtin.files.root import Root, kind_of
from rightcall.builtin.files.textfile import Loaded, TextFile, in_bytes, load_whole, numbered, version_of
from rightcall.builtin.files.tree import Access, FileLimits, in_words
from rightcall.errors import ToolFailure
from rightcall.platforms import posix_only

_AROUND = 3
"""Lines shown before and after an edit."""
_MOST_SHOWN = 40


class Replacement(Struct, frozen=True, kw_only=True):
    """An exact replacement, and how often its text must occur."""

    old: str
    new: str
    count: int = 1
    every: bool = False
    """Replace every occurrence, however many there are."""


def create(access: Access, place: Place, content: str) -> str:
    """Create a new file and its missing parent directories."""
    data = _encode(TextFile(content), place, access.limits.max_write_bytes)
    _refuse_root(place)
    with in_words(access.root, place), access.root.changing():
        access.root.make_directory(place.parent)
        try:
            put_new(access.root, place, data, is_cancelled=access.is_cancelled)
        except FileExistsError:
            raise ToolFailure(_exists(access, place)) from None
    return f"Created {place.shown} ({in_bytes(len(data))}, version {version_of(data)})."


def overwrite(access: Access, place: Place, content: str, version: str) -> str:
    """Replace the whole text of the file, if its content is still ``version``."""
    with in_words(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        # A file in UTF-16 or with a byte order mark stays so; line ends are written as given.
        file = TextFile(content, loaded.file.encoding, loaded.file.mark)
        data = _encode(file, place, access.limits.max_write_bytes)
        _replace(access, loaded, data)
    return f"Replaced {place.shown} ({in_bytes(len(data))}, version {version_of(data)})."


def edit(access: Access, place: Place, replacement: Replacement, version: str = "") -> str:
    """Replace a text that occurs exactly as given; otherwise report what the file has instead."""
    old, new = (each.replace("\r\n", "\n") for each in (replacement.old, replacement.new))
    if not old:
        raise ToolFailure("The text to replace is empty. Give it exactly as it is in the file.")
    if old == new:
        raise ToolFailure("The new text is the same as the old; nothing would change.")
    with in_words(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        starts = _occurrences(loaded.file.text, old)
        if not starts:
            raise ToolFailure(f"{place.shown}: {explain_miss(loaded.file.text, old, new)}")
        if len(starts) != replacement.count and not replacement.every:
            words = explain_many(loaded.file.text, starts, replacement.count)
            raise ToolFailure(f"{place.shown}: {words} {access.several}".rstrip())
        changed = loaded.file.replaced(starts, len(old), new)
        data = _encode(changed, place, access.limits.max_file_bytes)
        _replace(access, loaded, data)
    first = line_of(loaded.file.text, starts[0])
    times = "" if len(starts) == 1 else f" in {len(starts):,} places, the first"
    words = f"Edited {place.shown}{times} at line {first:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, first, new, access.limits)}"


def insert(access: Access, place: Place, after: int, text: str, version: str = "") -> str:
    """Insert lines after the line of that number; 0 is the beginning of the file."""
    with in_words(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        lines = loaded.file.lines
        if not 0 <= after <= len(lines):
            raise ToolFailure(f"{place.shown} has {len(lines):,} lines; there is no line {after:,}.")
        new = text.replace("\r\n", "\n").removesuffix("\n") + "\n"
        at = sum(len(line) + 1 for line in lines[:after])
        if at > len(loaded.file.text):
            # The last line has no line end yet, and the new last line gets none either.
            at, new = at - 1, "\n" + new.removesuffix("\n")
        changed = loaded.file.replaced([at], 0, new)
        data = _encode(changed, place, access.limits.max_file_bytes)
        _replace(access, loaded, data)
    words = f"Edited {place.shown} after line {after:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, after + 1, text, access.limits)}"


def _replace(access: Access, loaded: Loaded, data: bytes) -> None:
    put_over(access.root, loaded.place, data, loaded.found, is_cancelled=access.is_cancelled)


def _encode(file: TextFile, place: Place, most: int) -> bytes:
    try:
        data = file.encode()
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ToolFailure(
            f"{place.shown} is in {file.encoding}, which has no {character!r}. Nothing was changed."
        ) from None
    if len(data) > most:
        raise ToolFailure(
            f"{in_bytes(len(data))} are more than the {most:,} that may be written at once."
        )
    return data


def _check_version(loaded: Loaded, version: str) -> None:
    if version and version != loaded.version:
        raise ToolFailure(
            f"{loaded.place.shown} has changed: it is no longer version {version}. Read it again."
        )


def _refuse_root(place: Place) -> None:
    if not place.parts:
        raise ToolFailure("The root is a directory. Name a file in it.")


def _exists(access: Access, place: Place) -> str:
    size = ""
    with suppress(OSError):
        size = f" ({in_bytes(access.root.stat(place).st_size)})"
    return f"{place.shown} exists already{size}. {access.instead}".rstrip()


def _occurrences(text: str, old: str) -> Sequence[int]:
    starts, at = [], text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + len(old))
    return starts


def _around(file: TextFile, first: int, new: str, limits: FileLimits) -> str:
    """The edited lines, and a few before and after."""
    start = max(first - _AROUND, 1)
    more = min(new.removesuffix("\n").count("\n"), _MOST_SHOWN)
    end = min(first + more + _AROUND, len(file.lines))
    return "\n".join(numbered(file.lines, start, end, limits))


_NEW_MODE = 0o666
_PRIVATE_MODE = 0o600
_IDENTITY = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
"""The stat fields that show whether a file is still the one that was read, with the same content."""


def put_new(root: Root, place: Place, data: bytes, *, is_cancelled: Callable[[], bool] = bool) -> None:
    """Create a new file. Raises FileExistsError if the name exists."""
    with root.directory(place.parent) as directory:
        temporary = _write_beside(directory, data, None)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            if not resolve.rename_new(directory, temporary, place.name):
                link_new(directory, temporary, place.name)
        except BaseException:
            _forget(directory, temporary)
            raise
        os.fsync(directory)


def put_over(
    root: Root,
    place: Place,
    data: bytes,
    expected: os.stat_result,
    *,
    is_cancelled: Callable[[], bool] = bool,
) -> None:
    """Replace the content of a file that was read, unless it has changed since."""
    with root.directory(place.parent) as directory:
        _require_plain(directory, place)
        temporary = _write_beside(directory, data, expected)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            _require_unchanged(directory, place, expected)
            os.rename(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            _forget(directory, temporary)
            raise
        os.fsync(directory)


def link_new(directory: int, old: str, new: str) -> None:
    """Rename in two steps, for systems without a no-replace rename: a link never overwrites a name."""
    os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    _forget(directory, old)


def _forget(directory: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def _require_plain(directory: int, place: Place) -> None:
    """Require that the name is a plain file itself: a rename would replace a symbolic link."""
    found = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        hint = " Name the file that it stands for." if stat.S_ISLNK(found.st_mode) else ""
        raise ToolFailure(f"{place.shown} is {kind_of(found)}, which is not written to.{hint}")


def _require_unchanged(directory: int, place: Place, before: os.stat_result) -> None:
    now = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
    if any(getattr(now, field) != getattr(before, field) for field in _IDENTITY):
        raise ToolFailure(f"{place.shown} has just been changed by something else. Read it again.")


def _write_beside(directory: int, data: bytes, like: os.stat_result | None) -> str:
    """Create a temporary file in the directory under an unused name; returns the name."""
    name = f".rightcall-{secrets.token_hex(8)}.tmp"
    opened = os.open(
        name, resolve.CREATE, _NEW_MODE if like is None else _PRIVATE_MODE, dir_fd=directory
    )
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(opened, left) :]
            if like is not None:
                _take_after(opened, like)
            os.fsync(opened)
        finally:
            os.close(opened)
    except BaseException:
        _forget(directory, name)
        raise
    return name


def _take_after(opened: int, like: os.stat_result) -> None:
    """Give the file the owner and the permissions of the file it will replace."""
    if sys.platform == "win32":
        raise posix_only("changing files")
    with suppress(PermissionError):
        os.fchown(opened, like.st_uid, like.st_gid)
    # Without set-user-ID and the like, because the content is new.
    os.fchmod(opened, stat.S_IMODE(like.st_mode) & 0o777)


def _require_wanted(root: Root, place: Place, directory: int, is_cancelled: Callable[[], bool]) -> None:
    """Check, before the rename, that the call is not cancelled and that the directory has not moved."""
    if is_cancelled():
        raise ToolFailure("The call was given up; nothing was changed.")
    if not os.path.samestat(os.fstat(directory), root.stat(place.parent)):
        raise ToolFailure(f"{place.parent.shown} has just been moved by something else. Try again.")
