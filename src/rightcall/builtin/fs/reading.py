"""A file into its text, and the text into numbered lines that a model can read and edit from."""

import os
from hashlib import blake2b

from msgspec import Struct

from rightcall.builtin.fs.beneath import Root
from rightcall.builtin.fs.limits import FileLimits
from rightcall.builtin.fs.paths import Place
from rightcall.builtin.fs.text import TextFile, decode, in_bytes, name_kind
from rightcall.builtin.fs.words import in_words
from rightcall.errors import ToolFailure

_CHUNK = 1024 * 1024
_NUMBER_WIDTH = 6


class Loaded(Struct, frozen=True):
    """A text file as it was at one moment."""

    place: Place
    file: TextFile
    found: os.stat_result
    version: str = ""
    """Names the content; empty when not all of it was read."""

    @property
    def is_whole(self) -> bool:
        """Whether this is all of the file."""
        return bool(self.version)


def read_bytes(opened: int, most: int) -> bytes:
    """What the open file holds, up to ``most`` bytes."""
    pieces, left = [], most
    while left > 0 and (piece := os.read(opened, min(left, _CHUNK))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def version_of(data: bytes) -> str:
    """A short name for content; other content has another one."""
    return blake2b(data, digest_size=6).hexdigest()


def load(root: Root, place: Place, limits: FileLimits) -> Loaded:
    """The file's text, or a ToolFailure."""
    with in_words(root, place), root.file(place) as (opened, found):
        data = read_bytes(opened, limits.max_file_bytes + 1)
    is_cut = len(data) > limits.max_file_bytes
    file = decode(data[: limits.max_file_bytes], is_cut=is_cut)
    if file is None:
        raise ToolFailure(
            f"{place.shown} is not text: {name_kind(data)}, {in_bytes(found.st_size)}. It is not shown."
        )
    return Loaded(place, file, found, "" if is_cut else version_of(data))


def load_whole(root: Root, place: Place, limits: FileLimits) -> Loaded:
    """The same, for a file that is to be changed."""
    loaded = load(root, place, limits)
    if not loaded.is_whole:
        raise ToolFailure(
            f"{place.shown} has {in_bytes(loaded.found.st_size)}; files of more than "
            f"{limits.max_file_bytes:,} are not edited."
        )
    return loaded


def read(loaded: Loaded, limits: FileLimits, start: int | None = None, end: int | None = None) -> str:
    """Lines ``start`` to ``end`` with their numbers, under a line that says what they are."""
    lines = loaded.file.lines
    first = max(start or 1, 1)
    last = len(lines) if end is None or end < 0 else min(end, len(lines))
    if not lines and first == 1:
        return f"{loaded.place.shown} is empty (version {loaded.version})."
    if first > len(lines):
        raise ToolFailure(f"{loaded.place.shown} has {_lines(loaded)}; there is no line {first:,}.")
    if last < first:
        raise ToolFailure(f"The last line, {last:,}, is before the first, {first:,}.")
    shown = numbered(lines, first, last, limits)
    reached = first + len(shown) - 1
    words = [f"{loaded.place.shown}: {_span(first, reached)} of {_lines(loaded)}{_details(loaded)}"]
    if reached < last:
        words.append(f"[Cut here. Go on from line {reached + 1:,}.]")
    elif not loaded.is_whole and last == len(lines):
        words.append(f"[Only the first {limits.max_file_bytes:,} bytes of a file can be read.]")
    return "\n".join([words[0], *shown, *words[1:]])


def numbered(lines: list[str], first: int, last: int, limits: FileLimits) -> list[str]:
    """Lines with their numbers and a tab before them, as far as the limits go, and at least one."""
    shown: list[str] = []
    room = limits.max_characters
    for number in range(first, min(last, first + limits.max_lines - 1) + 1):
        line = f"{number:>{_NUMBER_WIDTH}}\t{cut_line(lines[number - 1], limits)}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return shown


def cut_line(line: str, limits: FileLimits) -> str:
    """The line, or its beginning and how much more there is."""
    if len(line) <= limits.max_line_characters:
        return line
    more = len(line) - limits.max_line_characters
    return f"{line[: limits.max_line_characters]}[… {more:,} more characters]"


def _lines(loaded: Loaded) -> str:
    count = len(loaded.file.lines)
    more = "" if loaded.is_whole else "more than "
    return f"{more}{count:,} line{'' if count == 1 else 's'}"


def _span(first: int, last: int) -> str:
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"


def _details(loaded: Loaded) -> str:
    details = [in_bytes(loaded.found.st_size)]
    if loaded.file.encoding != "utf-8":
        details.append(loaded.file.encoding)
    if loaded.file.newline == "\r\n":
        details.append("CRLF line ends")
    if loaded.version:
        details.append(f"version {loaded.version}")
    return f" ({', '.join(details)})"
