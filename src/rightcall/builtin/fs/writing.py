"""What a model wants changed into a changed file: a whole text, an exact replacement, an insertion."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from rightcall.builtin.fs import atomic
from rightcall.builtin.fs.beneath import Root
from rightcall.builtin.fs.limits import FileLimits
from rightcall.builtin.fs.miss import explain_many, explain_miss, line_of
from rightcall.builtin.fs.paths import Place
from rightcall.builtin.fs.reading import Loaded, load_whole, numbered, version_of
from rightcall.builtin.fs.text import TextFile, in_bytes
from rightcall.builtin.fs.words import in_words
from rightcall.errors import ToolFailure

_AROUND = 3
"""Lines shown before and after an edit."""
_MOST_SHOWN = 40


class Desk(Struct, frozen=True):
    """Where changes are made: the root, the limits, and whether the call is still wanted."""

    root: Root
    limits: FileLimits
    is_cancelled: Callable[[], bool] = bool
    instead: str = ""
    """What a model can do about a file that is there already, in words."""
    several: str = ""
    """What else it can do about a text that is there several times."""


class Replacement(Struct, frozen=True, kw_only=True):
    """An exact replacement, and how often its text is expected to be there."""

    old: str
    new: str
    count: int = 1
    every: bool = False
    """However often it is there."""


def create(desk: Desk, place: Place, content: str) -> str:
    """Make a new file, and the directories above it."""
    data = _encode(TextFile(content), place, desk.limits.max_write_bytes)
    _refuse_root(place)
    with in_words(desk.root, place), desk.root.changing():
        desk.root.make_directory(place.parent)
        try:
            atomic.create(desk.root, place, data, is_cancelled=desk.is_cancelled)
        except FileExistsError:
            raise ToolFailure(_exists(desk, place)) from None
    return f"Created {place.shown} ({in_bytes(len(data))}, version {version_of(data)})."


def overwrite(desk: Desk, place: Place, content: str, version: str) -> str:
    """Put a whole new text in the place of the one that ``version`` names."""
    with in_words(desk.root, place), desk.root.changing():
        loaded = load_whole(desk.root, place, desk.limits)
        _check_version(loaded, version)
        # What was written in UTF-16 or with a mark stays so; line ends are as they are given.
        file = TextFile(content, loaded.file.encoding, loaded.file.mark)
        data = _encode(file, place, desk.limits.max_write_bytes)
        _replace(desk, loaded, data)
    return f"Replaced {place.shown} ({in_bytes(len(data))}, version {version_of(data)})."


def edit(desk: Desk, place: Place, replacement: Replacement, version: str = "") -> str:
    """Replace a text that is there exactly as given; otherwise say what is there instead."""
    old, new = (each.replace("\r\n", "\n") for each in (replacement.old, replacement.new))
    if not old:
        raise ToolFailure("The text to replace is empty. Give it exactly as it is in the file.")
    if old == new:
        raise ToolFailure("The new text is the same as the old; nothing would change.")
    with in_words(desk.root, place), desk.root.changing():
        loaded = load_whole(desk.root, place, desk.limits)
        _check_version(loaded, version)
        starts = _occurrences(loaded.file.text, old)
        if not starts:
            raise ToolFailure(f"{place.shown}: {explain_miss(loaded.file.text, old, new)}")
        if len(starts) != replacement.count and not replacement.every:
            words = explain_many(loaded.file.text, starts, replacement.count)
            raise ToolFailure(f"{place.shown}: {words} {desk.several}".rstrip())
        changed = loaded.file.replaced(starts, len(old), new)
        data = _encode(changed, place, desk.limits.max_file_bytes)
        _replace(desk, loaded, data)
    first = line_of(loaded.file.text, starts[0])
    times = "" if len(starts) == 1 else f" in {len(starts):,} places, the first"
    words = f"Edited {place.shown}{times} at line {first:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, first, new, desk.limits)}"


def insert(desk: Desk, place: Place, after: int, text: str, version: str = "") -> str:
    """Put lines after the line of that number; after line 0 is the beginning."""
    with in_words(desk.root, place), desk.root.changing():
        loaded = load_whole(desk.root, place, desk.limits)
        _check_version(loaded, version)
        lines = loaded.file.lines
        if not 0 <= after <= len(lines):
            raise ToolFailure(f"{place.shown} has {len(lines):,} lines; there is no line {after:,}.")
        new = text.replace("\r\n", "\n").removesuffix("\n") + "\n"
        at = sum(len(line) + 1 for line in lines[:after])
        if at > len(loaded.file.text):
            # The last line has no end of its own yet, and the new last one gets none either.
            at, new = at - 1, "\n" + new.removesuffix("\n")
        changed = loaded.file.replaced([at], 0, new)
        data = _encode(changed, place, desk.limits.max_file_bytes)
        _replace(desk, loaded, data)
    words = f"Edited {place.shown} after line {after:,} (version {version_of(data)})."
    return f"{words}\n{_around(changed, after + 1, text, desk.limits)}"


def _replace(desk: Desk, loaded: Loaded, data: bytes) -> None:
    atomic.replace(desk.root, loaded.place, data, loaded.found, is_cancelled=desk.is_cancelled)


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


def _exists(desk: Desk, place: Place) -> str:
    size = ""
    with suppress(OSError):
        size = f" ({in_bytes(desk.root.stat(place).st_size)})"
    return f"{place.shown} exists already{size}. {desk.instead}".rstrip()


def _occurrences(text: str, old: str) -> Sequence[int]:
    starts, at = [], text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + len(old))
    return starts


def _around(file: TextFile, first: int, new: str, limits: FileLimits) -> str:
    """The lines of an edit, and a few before and after."""
    start = max(first - _AROUND, 1)
    more = min(new.removesuffix("\n").count("\n"), _MOST_SHOWN)
    end = min(first + more + _AROUND, len(file.lines))
    return "\n".join(numbered(file.lines, start, end, limits))
