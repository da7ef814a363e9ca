"""Decodes a file, shows its text as numbered lines that a model can edit, and encodes it again.

Unchanged parts are written back byte for byte. The text that is shown and edited has LF for every line
end. The original line ends are kept, so that an edit changes only its own.
"""

import codecs
import os
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b

from msgspec import Struct

from rightcall.builtin.files.root import Root, RootedPath
from rightcall.builtin.files.tree import FileLimits, explain_os_errors
from rightcall.errors import ToolFailure

# Longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED = ("utf-8", "cp1252", "latin-1")
"""Encodings, tried in order. The last accepts any bytes."""
_SAMPLE = 8192
_MANY_CONTROLS = 0.1
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))

_SIGNATURES = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\0", "an SQLite database"),
)


class TextFile(Struct, frozen=True, dict=True):
    """A file's text, with what is needed to write it back."""

    original: str
    """The decoded text with its original line ends, without a byte order mark."""
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark."""

    @cached_property
    def text(self) -> str:
        """The text with LF for every line end."""
        return self.original.replace("\r\n", "\n")

    @cached_property
    def newline(self) -> str:
        """The most frequent line end."""
        if self.original.count("\r\n") * 2 > self.original.count("\n"):
            return "\r\n"
        return "\n"

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends. A line end at the end of the text starts no further line."""
        lines = self.text.split("\n")
        if lines[-1] == "":
            return lines[:-1]
        return lines

    def replace_at(self, starts: Sequence[int], length: int, new: str) -> "TextFile":
        """Replaces a length of text at each start; ``new`` gets the file's line ends."""
        middle = new.replace("\r\n", "\n").replace("\n", self.newline)
        parts = []
        at = 0
        for start in starts:
            parts.append(self.original[at : self._offset(start)])
            at = self._offset(start + length)
        changed = middle.join([*parts, self.original[at:]])
        return TextFile(changed, self.encoding, self.mark)

    def encode(self) -> bytes:
        """The encoded bytes. Raises UnicodeEncodeError for text that the encoding cannot represent."""
        return self.mark + self.original.encode(self.encoding)

    @cached_property
    def _returns(self) -> list[int]:
        """The offsets in the text of line ends that are two characters in the original."""
        places: list[int] = []
        at = self.original.find("\r\n")
        while at >= 0:
            places.append(at - len(places))
            at = self.original.find("\r\n", at + 2)
        return places

    def _offset(self, at: int) -> int:
        """Converts an offset in the text to an offset in the original."""
        return at + bisect_left(self._returns, at)


def decode(data: bytes, *, is_cut: bool = False) -> TextFile | None:
    """The decoded text of the bytes; None if they are not text.

    ``is_cut`` means that bytes are missing at the end: an incomplete last character or line is dropped.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _decode(data[len(mark) :], encoding, is_cut=is_cut)
            if text is None:
                return None
            return TextFile(text, encoding, mark)
    if is_binary(data):
        return None
    for encoding in _UNMARKED:
        text = _decode(data, encoding, is_cut=is_cut)
        if text is not None:
            return TextFile(text, encoding)
    raise AssertionError("Latin-1 takes any bytes")


def _decode(data: bytes, encoding: str, *, is_cut: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return None
    if is_cut:
        return text[: text.rfind("\n") + 1] or text
    return text


def is_binary(data: bytes) -> bool:
    """Whether the bytes look like binary data: a NUL, or many control characters."""
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return b"\0" in sample or controls > len(sample) * _MANY_CONTROLS


def format_size(size: int) -> str:
    """A size for people."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def name_kind(data: bytes) -> str:
    """The kind of binary data, as far as its first bytes show."""
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "binary data")


_CHUNK = 1024 * 1024
_NUMBER_WIDTH = 6


class Loaded(Struct, frozen=True):
    """A text file as it was at one moment."""

    place: RootedPath
    file: TextFile
    found: os.stat_result
    version: str = ""
    """A hash of the content; empty if the file was not read whole."""

    @property
    def is_whole(self) -> bool:
        """Whether the whole file was read."""
        return bool(self.version)


def read_bytes(opened: int, most: int) -> bytes:
    """The content of the open file, up to ``most`` bytes."""
    pieces = []
    left = most
    while left > 0 and (piece := os.read(opened, min(left, _CHUNK))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def version_of(data: bytes) -> str:
    """A short hash of the content."""
    return blake2b(data, digest_size=6).hexdigest()


def load(root: Root, place: RootedPath, limits: FileLimits) -> Loaded:
    """The file's text. Raises ToolFailure."""
    with explain_os_errors(root, place), root.file(place) as (opened, found):
        data = read_bytes(opened, limits.max_file_bytes + 1)
    is_cut = len(data) > limits.max_file_bytes
    file = decode(data[: limits.max_file_bytes], is_cut=is_cut)
    if file is None:
        raise ToolFailure(
            f"{place.display_path} is not text: {name_kind(data)}, {format_size(found.st_size)}. "
            "It is not shown.",
            own=True,
        )
    return Loaded(place, file, found, "" if is_cut else version_of(data))


def load_whole(root: Root, place: RootedPath, limits: FileLimits) -> Loaded:
    """The file's text, for a file that will be changed. Raises ToolFailure."""
    loaded = load(root, place, limits)
    if not loaded.is_whole:
        raise ToolFailure(
            f"{place.display_path} has {format_size(loaded.found.st_size)}; files of more than "
            f"{limits.max_file_bytes:,} are not edited.",
            own=True,
        )
    return loaded


def read(loaded: Loaded, limits: FileLimits, start: int | None = None, end: int | None = None) -> str:
    """Lines ``start`` to ``end`` with their numbers, below a header line."""
    lines = loaded.file.lines
    first = max(start or 1, 1)
    last = len(lines) if end is None or end < 0 else min(end, len(lines))
    if not lines and first == 1:
        return f"{loaded.place.display_path} is empty (version {loaded.version})."
    if first > len(lines):
        raise ToolFailure(
            f"{loaded.place.display_path} has {_lines(loaded)}; there is no line {first:,}.", own=True
        )
    if last < first:
        raise ToolFailure(f"The last line, {last:,}, is before the first, {first:,}.", own=True)
    shown = number_lines(lines, first, last, limits)
    reached = first + len(shown) - 1
    span = f"line {first:,}" if first == reached else f"lines {first:,} to {reached:,}"
    details = [format_size(loaded.found.st_size)]
    if loaded.file.encoding != "utf-8":
        details.append(loaded.file.encoding)
    if loaded.file.newline == "\r\n":
        details.append("CRLF line ends")
    if loaded.version:
        details.append(f"version {loaded.version}")
    header = f"{loaded.place.display_path}: {span} of {_lines(loaded)} ({', '.join(details)})"
    notes = []
    if reached < last:
        notes.append(f"[Cut here. Go on from line {reached + 1:,}.]")
    elif not loaded.is_whole and last == len(lines):
        notes.append(f"[Only the first {limits.max_file_bytes:,} bytes of a file can be read.]")
    return "\n".join([header, *shown, *notes])


def number_lines(lines: list[str], first: int, last: int, limits: FileLimits) -> list[str]:
    """Lines with their numbers and a tab in front, within the limits, but at least one."""
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
    """The line; a long one is cut, with a note of how much is missing."""
    if len(line) <= limits.max_line_characters:
        return line
    more = len(line) - limits.max_line_characters
    return f"{line[: limits.max_line_characters]}[… {more:,} more characters]"


def _lines(loaded: Loaded) -> str:
    count = len(loaded.file.lines)
    more = "" if loaded.is_whole else "more than "
    return f"{more}{count:,} line{'' if count == 1 else 's'}"
