"""Finds which run each line of a journal's file belongs to, even if the line is damaged.

A damaged line usually still names its run. If not, it may belong to any run that was under way there:
such a run is not read, because it could have lost the start of a call that must not be made twice. Runs
that ended before it, or started after it, have lost nothing.
"""

import json
import re
from array import array
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.record.continued import digest_in

# JSON escapes every control character, so no complete line can end with this one.
CANCEL = b"\x18\n"

_HEAD = re.compile(rb'\{"run":("(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*+"),"at":')
# What was overwritten may have held the end of a line, and the beginning of another run's.
_OVERWRITTEN = re.compile(rb"[\x00-\x08\x0a-\x1f]")
_HALF = b"\\ud"
"""How ``json`` begins the escape of half a surrogate pair."""
_STARTED, _ENDED = b'{"type":"run_started"', b'{"type":"run_ended"'


class Line(Struct, gc=False):
    """The content of a line."""

    run: str
    at: float
    """When it was written, in seconds since 1970."""
    entry: msgspec.Raw


class Place(Struct, gc=False):
    """Where a line is."""

    number: int
    start: int
    length: int

    @property
    def end(self) -> int:
        """Where the next line begins."""
        return self.start + self.length


class Places:
    """Where the lines of a run are, packed: an open journal keeps this for every run in its file."""

    __slots__ = ("_packed",)

    def __init__(self) -> None:
        self._packed = array("Q")

    def append(self, place: Place) -> None:
        """Add the next line. No line is as long as 4 GiB: each is written by one system call."""
        self._packed.append(place.start)
        self._packed.append(place.number << 32 | place.length)

    def __iter__(self) -> Iterator[Place]:
        packed = iter(self._packed)
        for start, rest in zip(packed, packed, strict=True):
            yield Place(rest >> 32, start, rest & 0xFFFFFFFF)


class Damage(Struct, frozen=True):
    """A line that cannot be read, and the runs that have lost something, or may have."""

    place: Place
    reason: str
    runs: tuple[str, ...]
    """The runs that it names."""
    doubted: tuple[str, ...]
    """The runs that were under way, or whose start is missing, if the line may belong to any run."""


_decode = msgspec.json.Decoder(Line).decode


def parse_line(line: bytes) -> Line:
    """Parse a line; ValueError with the reason if it is damaged."""
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = _decode_halves(line) if _HALF in line else None
        if found is None:
            raise ValueError(f"the line is damaged: {error}") from None
        read = found
    if _is_overwritten(line):
        # Such bytes may be inside an entry's strings, which are not checked until the entry is decoded.
        raise ValueError("the line is damaged: it holds bytes that are no text")
    return read


def _decode_halves(line: bytes) -> Line | None:
    """Parse a line with half a surrogate pair in its entry, which msgspec takes for damage."""
    try:
        plain = json.loads(line)
        entry = json.dumps(plain["entry"], separators=(",", ":")).encode()
        return msgspec.convert({**plain, "entry": msgspec.Raw(entry)}, Line)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


class LineIndex:
    """Which lines belong to which run, in the order of the file. No entry is decoded."""

    def __init__(self) -> None:
        self.places: dict[str, Places] = {}
        self.damages: list[Damage] = []
        self.last = Place(0, 0, 0)
        """The last line that was added."""
        self._under_way: dict[str, None] = {}
        self._harmed: dict[str, int] = {}
        """By run: the index in ``damages`` of the first damage to it."""
        self._anybodys: int | None = None
        """The index of the last damage that may belong to any run."""
        self.starts: dict[bytes, str] = {}
        """By digest: the run that started with those messages."""

    def add(self, line: bytes) -> None:
        """Add the next line, which ends with a newline."""
        place = Place(self.last.number + 1, self.last.end, len(line))
        if line.strip() and not line.endswith(CANCEL):
            try:
                read = parse_line(line)
            except ValueError as error:
                self._add_damaged(place, line, str(error))
            else:
                self._add_sound(place, read.run, bytes(read.entry))
        self.last = place

    def harm_to(self, run: str) -> Damage | None:
        """Returns the first damaged line that is, or may be, of the run."""
        return self.damages[self._harmed[run]] if run in self._harmed else None

    def _add_sound(self, place: Place, run: str, entry: bytes) -> None:
        if self._anybodys is not None and run not in self.places and not entry.startswith(_STARTED):
            found = self.damages[self._anybodys]
            self.damages[self._anybodys] = replace(found, doubted=(*found.doubted, run))
            self._harmed.setdefault(run, self._anybodys)
        if run not in self.places and (digest := digest_in(entry)) is not None:
            # The latest run, because an earlier one may have been set aside.
            self.starts[bytes.fromhex(digest)] = run
        self._note(run, place)
        if entry.startswith(_ENDED):
            self._under_way.pop(run, None)
        else:
            self._under_way[run] = None

    def _note(self, run: str, place: Place) -> None:
        known = self.places.get(run)
        if known is None:
            known = self.places[run] = Places()
        known.append(place)

    def _add_damaged(self, place: Place, line: bytes, reason: str) -> None:
        named, is_certain = owners(line)
        doubted = () if is_certain else tuple(run for run in self._under_way if run not in named)
        number = len(self.damages)
        self.damages.append(Damage(place, reason, named, doubted))
        if not is_certain:
            self._anybodys = number
        for run in named:
            self._note(run, place)
            self._under_way[run] = None
        for run in (*named, *doubted):
            self._harmed.setdefault(run, number)


def owners(line: bytes) -> tuple[tuple[str, ...], bool]:
    """Returns the runs that a damaged line names, and whether it can belong to no other."""
    names: dict[str, None] = {}
    for head in _HEAD.finditer(line):
        try:
            names[msgspec.json.decode(head[1], type=str)] = None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return tuple(names), False
    return tuple(names), _HEAD.match(line) is not None and not _is_overwritten(line)


def _is_overwritten(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return _OVERWRITTEN.search(line.rstrip(b"\r\n")) is not None
