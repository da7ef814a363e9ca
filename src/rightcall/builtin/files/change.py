"""Changes files for a model: a whole new text, an exact replacement, or an insertion.

A write is all or nothing: the bytes go to a new file beside the old one, are synced to the disk, and
replace it by one rename. Neither a crash nor a full disk leaves half a file. Nothing is ever written
through a name that was there before: a symbolic link is replaced and not followed, and a file's other
hard links keep what they had.
"""

import os
import re
import secrets
import stat
import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import SequenceMatcher

from msgspec import Struct

from rightcall.builtin.files.root import CREATE, Root, RootedPath, kind_of, rename_new
from rightcall.builtin.files.textfile import (
    Loaded,
    TextFile,
    format_size,
    load_whole,
    number_lines,
    version_of,
)
from rightcall.builtin.files.tree import Access, FileLimits, explain_os_errors
from rightcall.core.jsontext import dump
from rightcall.errors import ToolFailure
from rightcall.platforms import posix_only

_NUMBERED = re.compile(r"\s*\d+\t")
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        **dict.fromkeys("\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u200b\ufeff"),
    }
)
_MOST_FOLDED = 50_000
"""Lines of a file that are searched for small differences."""
_MOST_LINES = 5000
"""Lines of a file that are searched by similarity, which takes longer."""
_MOST_WANTED = 200
_SHOWN_LINES = 12
_SHOWN_PLACES = 10
_SHOWN_CHARACTERS = 200
_NEAR = 0.6


def explain_miss(text: str, old: str, new: str) -> str:
    """Why ``old`` is not in ``text``, as far as can be determined.

    The commonest causes come first: copied line numbers, white space, look-alike characters, an edit
    that was already made. Otherwise the most similar lines are shown verbatim.
    """
    words = "The text to replace is not in the file."
    wanted = old.split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and old.strip():
        return f"{words} It begins with line numbers, which are not part of the file. Leave them out."
    lines = text.split("\n", _MOST_FOLDED)[:_MOST_FOLDED]
    for difference, fold in _FOLDS:
        at = _find(lines, wanted, fold)
        if at is not None:
            span = _span(at, len(wanted))
            shown = _show(lines, at, wanted)
            return f"{words} Only {difference} set it apart from {span}:\n{shown}"
    if new.strip() and new in text:
        number = line_of(text, text.index(new))
        return f"{words} The new text is, at line {number}: the edit may have been made already."
    near = _nearest(lines, wanted)
    if near is None:
        return f"{words} Nothing in it is like it. Read the file again."
    return f"{words} The nearest is at {_span(near, len(wanted))}:\n{_show(lines, near, wanted)}"


def explain_many(text: str, starts: Sequence[int], wanted: int) -> str:
    """A message that a text occurs more often than expected, and where."""
    numbers = [str(line_of(text, start)) for start in starts[:_SHOWN_PLACES]]
    more = ""
    if len(starts) > len(numbers):
        more = f" and {len(starts) - len(numbers)} more"
    return (
        f"The text to replace is in the file {_times(len(starts))}, not {_times(wanted)}: "
        f"at line {', '.join(numbers)}{more}. Give more of the lines around the one that is meant."
    )


def _times(count: int) -> str:
    if count == 1:
        return "once"
    return f"{count:,} times"


def line_of(text: str, at: int) -> int:
    """The number of the line that holds a position in the text."""
    return text.count("\n", 0, at) + 1


def _fold_space(line: str) -> str:
    return " ".join(line.split())


def _fold_shape(line: str) -> str:
    return _fold_space(unicodedata.normalize("NFKC", line.translate(_LOOK_ALIKES)))


_FOLDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("white space at the end of lines", str.rstrip),
    ("white space, such as tabs for spaces or another indentation", _fold_space),
    ("characters that look alike, such as quotes, dashes or spaces", _fold_shape),
    ("upper and lower case", lambda line: _fold_shape(line).casefold()),
)


def _find(lines: list[str], wanted: list[str], fold: Callable[[str], str]) -> int | None:
    """The line at which the wanted lines begin in the text, when both are folded.

    The first and the last wanted line may be parts of lines.
    """
    folded = [fold(line) for line in wanted]
    if not any(folded):
        return None
    haystack = [fold(line) for line in lines]
    for at in range(len(haystack) - len(folded) + 1):
        last = at + len(folded) - 1
        if len(folded) == 1:
            is_here = folded[0] in haystack[at]
        else:
            is_here = (
                haystack[at].endswith(folded[0])
                and haystack[last].startswith(folded[-1])
                and haystack[at + 1 : last] == folded[1:-1]
            )
        if is_here:
            return at
    return None


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The line at which the text is most similar to the wanted text; None if nothing is similar.

    Only the longest wanted line is compared first; ties and small files need no more.
    """
    key = max(range(min(len(wanted), _MOST_WANTED)), key=lambda index: len(wanted[index].strip()))
    pattern = wanted[key].strip()[:_SHOWN_CHARACTERS]
    if not pattern:
        return None
    matcher = SequenceMatcher(b=pattern, autojunk=False)
    best = _NEAR
    found = None
    for number, line in enumerate(lines[:_MOST_LINES]):
        matcher.set_seq1(line.strip()[:_SHOWN_CHARACTERS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best = matcher.ratio()
            found = number
    if found is None:
        return None
    return max(found - key, 0)


def _span(at: int, count: int) -> str:
    if count == 1:
        return f"line {at + 1}"
    return f"lines {at + 1} to {at + count}"


def _show(lines: list[str], at: int, wanted: list[str]) -> str:
    """The file's lines as JSON strings, so that all white space is visible."""
    shown = []
    count = min(len(wanted), _SHOWN_LINES)
    for number, line in enumerate(lines[at : at + count], start=at + 1):
        more = "…" if len(line) > _SHOWN_CHARACTERS else ""
        shown.append(f"{number:>6}\t{dump(line[:_SHOWN_CHARACTERS])}{more}")
    return "\n".join(shown)


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


def create(access: Access, place: RootedPath, content: str) -> str:
    """Create a new file and its missing parent directories."""
    data = _encode(TextFile(content), place, access.limits.max_write_bytes)
    if not place.parts:
        raise ToolFailure("The root is a directory. Name a file in it.", own=True)
    with explain_os_errors(access.root, place), access.root.changing():
        access.root.make_directory(place.parent)
        try:
            put_new(access.root, place, data, is_cancelled=access.is_cancelled)
        except FileExistsError:
            size = ""
            with suppress(OSError):
                size = f" ({format_size(access.root.stat(place).st_size)})"
            raise ToolFailure(
                f"{place.display_path} exists already{size}. {access.instead}".rstrip(), own=True
            ) from None
    return f"Created {place.display_path} ({format_size(len(data))}, version {version_of(data)})."


def overwrite(access: Access, place: RootedPath, content: str, version: str) -> str:
    """Replace the whole text of the file, if its content is still ``version``."""
    with explain_os_errors(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        # A file in UTF-16 or with a byte order mark stays so; line ends are written as given.
        file = TextFile(content, loaded.file.encoding, loaded.file.mark)
        data = _encode(file, place, access.limits.max_write_bytes)
        _replace(access, loaded, data)
    return f"Replaced {place.display_path} ({format_size(len(data))}, version {version_of(data)})."


def edit(access: Access, place: RootedPath, replacement: Replacement, version: str = "") -> str:
    """Replace a text that occurs exactly as given; otherwise report what the file has instead."""
    old, new = (each.replace("\r\n", "\n") for each in (replacement.old, replacement.new))
    if not old:
        raise ToolFailure(
            "The text to replace is empty. Give it exactly as it is in the file.", own=True
        )
    if old == new:
        raise ToolFailure("The new text is the same as the old; nothing would change.", own=True)
    with explain_os_errors(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        text = loaded.file.text
        starts = []
        at = text.find(old)
        while at >= 0:
            starts.append(at)
            at = text.find(old, at + len(old))
        if not starts:
            raise ToolFailure(f"{place.display_path}: {explain_miss(loaded.file.text, old, new)}")
        if len(starts) != replacement.count and not replacement.every:
            words = explain_many(loaded.file.text, starts, replacement.count)
            raise ToolFailure(f"{place.display_path}: {words} {access.several}".rstrip(), own=True)
        changed = loaded.file.replace_at(starts, len(old), new)
        data = _encode(changed, place, access.limits.max_file_bytes)
        _replace(access, loaded, data)
    first = line_of(loaded.file.text, starts[0])
    times = ""
    if len(starts) > 1:
        times = f" in {len(starts):,} places, the first"
    words = f"Edited {place.display_path}{times} at line {first:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, first, new, access.limits)}"


def insert(access: Access, place: RootedPath, after: int, text: str, version: str = "") -> str:
    """Insert lines after the line of that number; 0 is the beginning of the file."""
    with explain_os_errors(access.root, place), access.root.changing():
        loaded = load_whole(access.root, place, access.limits)
        _check_version(loaded, version)
        lines = loaded.file.lines
        if not 0 <= after <= len(lines):
            raise ToolFailure(
                f"{place.display_path} has {len(lines):,} lines; there is no line {after:,}.", own=True
            )
        new = text.replace("\r\n", "\n").removesuffix("\n") + "\n"
        at = sum(len(line) + 1 for line in lines[:after])
        if at > len(loaded.file.text):
            # The last line has no line end yet, and the new last line gets none either.
            at = at - 1
            new = "\n" + new.removesuffix("\n")
        changed = loaded.file.replace_at([at], 0, new)
        data = _encode(changed, place, access.limits.max_file_bytes)
        _replace(access, loaded, data)
    words = f"Edited {place.display_path} after line {after:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, after + 1, text, access.limits)}"


def _replace(access: Access, loaded: Loaded, data: bytes) -> None:
    put_over(access.root, loaded.place, data, loaded.found, is_cancelled=access.is_cancelled)


def _encode(file: TextFile, place: RootedPath, most: int) -> bytes:
    try:
        data = file.encode()
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ToolFailure(
            f"{place.display_path} is in {file.encoding}, which has no {character!r}. "
            "Nothing was changed.",
            own=True,
        ) from None
    if len(data) > most:
        raise ToolFailure(
            f"{format_size(len(data))} are more than the {most:,} that may be written at once.", own=True
        )
    return data


def _check_version(loaded: Loaded, version: str) -> None:
    if version and version != loaded.version:
        raise ToolFailure(
            f"{loaded.place.display_path} has changed: it is no longer version {version}. "
            "Read it again.",
            own=True,
        )


def _around(file: TextFile, first: int, new: str, limits: FileLimits) -> str:
    """The edited lines, and a few before and after."""
    start = max(first - _AROUND, 1)
    more = min(new.removesuffix("\n").count("\n"), _MOST_SHOWN)
    end = min(first + more + _AROUND, len(file.lines))
    return "\n".join(number_lines(file.lines, start, end, limits))


_NEW_MODE = 0o666
_PRIVATE_MODE = 0o600
_IDENTITY = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
"""The stat fields that show whether a file is still the one that was read, with the same content."""


def put_new(
    root: Root, place: RootedPath, data: bytes, *, is_cancelled: Callable[[], bool] = bool
) -> None:
    """Create a new file. Raises FileExistsError if the name exists."""
    with root.directory(place.parent) as directory:
        temporary = _write_beside(directory, data, None)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            if not rename_new(directory, temporary, place.name):
                link_new(directory, temporary, place.name)
        except BaseException:
            _forget(directory, temporary)
            raise
        os.fsync(directory)


def put_over(
    root: Root,
    place: RootedPath,
    data: bytes,
    expected: os.stat_result,
    *,
    is_cancelled: Callable[[], bool] = bool,
) -> None:
    """Replace the content of a file that was read, unless it has changed since."""
    with root.directory(place.parent) as directory:
        # The name must be a plain file itself: a rename would replace a symbolic link.
        found = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            hint = " Name the file that it stands for." if stat.S_ISLNK(found.st_mode) else ""
            raise ToolFailure(
                f"{place.display_path} is {kind_of(found)}, which is not written to.{hint}", own=True
            )
        temporary = _write_beside(directory, data, expected)
        try:
            _require_wanted(root, place, directory, is_cancelled)
            now = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
            if any(getattr(now, field) != getattr(expected, field) for field in _IDENTITY):
                changed = f"{place.display_path} has just been changed by something else. Read it again."
                raise ToolFailure(changed, own=True)  # noqa: TRY301 - the new file is removed below
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


def _write_beside(directory: int, data: bytes, like: os.stat_result | None) -> str:
    """Create a temporary file in the directory under an unused name; returns the name."""
    name = f".rightcall-{secrets.token_hex(8)}.tmp"
    opened = os.open(name, CREATE, _NEW_MODE if like is None else _PRIVATE_MODE, dir_fd=directory)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(opened, left) :]
            if like is not None:
                # Give the file the owner and the permissions of the file it will replace.
                if sys.platform == "win32":
                    raise posix_only("changing files")
                with suppress(PermissionError):
                    os.fchown(opened, like.st_uid, like.st_gid)
                # Without set-user-ID and the like, because the content is new.
                os.fchmod(opened, stat.S_IMODE(like.st_mode) & 0o777)
            os.fsync(opened)
        finally:
            os.close(opened)
    except BaseException:
        _forget(directory, name)
        raise
    return name


def _require_wanted(
    root: Root, place: RootedPath, directory: int, is_cancelled: Callable[[], bool]
) -> None:
    """Check, before the rename, that the call is not cancelled and that the directory has not moved."""
    if is_cancelled():
        raise ToolFailure("The call was given up; nothing was changed.", own=True)
    if not os.path.samestat(os.fstat(directory), root.stat(place.parent)):
        raise ToolFailure(
            f"{place.parent.display_path} has just been moved by something else. Try again.", own=True
        )
