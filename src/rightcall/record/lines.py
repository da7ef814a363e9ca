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

from rightcall.record.entry_text import digest_in

# JSON escapes every control character, so no complete line can end with this one.
CANCEL = b"\x18\n"

_HEAD = re.compile(rb'\{"run":("(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*+"),"at":')
# What was overwritten may have held the end of a line, and the beginning of another run's.
_OVERWRITTEN = re.compile(rb"[\x00-\x08\x0a-\x1f]")
_HALF = b"\\ud"
"""How ``json`` begins the escape of half a surrogate pair."""
_STARTED = b'{"type":"run_started"'
_ENDED = b'{"type":"run_ended"'


class JournalLine(Struct, gc=False):
    """The content of a line."""

    run: str
    at: float
    """When it was written, in seconds since 1970."""
    entry: msgspec.Raw


class LinePlace(Struct, gc=False):
    """Where a line is."""

    number: int
    start: int
    length: int

    @property
    def end(self) -> int:
        """Where the next line begins."""
        return self.start + self.length


class LinePlaces:
    """Where the lines of a run are, packed: an open journal keeps this for every run in its file."""

    __slots__ = ("_packed",)

    def __init__(self) -> None:
        self._packed = array("Q")

    def append(self, place: LinePlace) -> None:
        """Add the next line. No line is as long as 4 GiB: each is written by one system call."""
        self._packed.append(place.start)
        self._packed.append(place.number << 32 | place.length)

    def __iter__(self) -> Iterator[LinePlace]:
        packed = iter(self._packed)
        for start, rest in zip(packed, packed, strict=True):
            yield LinePlace(rest >> 32, start, rest & 0xFFFFFFFF)


class Damage(Struct, frozen=True):
    """A line that cannot be read, and the runs that have lost something, or may have."""

    place: LinePlace
    reason: str
    runs: tuple[str, ...]
    """The runs that it names."""
    doubted: tuple[str, ...]
    """The runs that were under way, or whose start is missing, if the line may belong to any run."""


_decode = msgspec.json.Decoder(JournalLine).decode


def parse_line(line: bytes) -> JournalLine:
    """Parse a line; ValueError with the reason if it is damaged."""
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        damaged = ValueError(f"the line is damaged: {error}")
        if _HALF not in line:
            raise damaged from None
        # Half a surrogate pair in the entry, which msgspec takes for damage.
        try:
            plain = json.loads(line)
            entry = json.dumps(plain["entry"], separators=(",", ":")).encode()
            read = msgspec.convert({**plain, "entry": msgspec.Raw(entry)}, JournalLine)
        except (ValueError, LookupError, TypeError, RecursionError):
            raise damaged from None
    if _is_overwritten(line):
        # Such bytes may be inside an entry's strings, which are not checked until the entry is decoded.
        raise ValueError("the line is damaged: it holds bytes that are no text")
    return read


class LineIndex:
    """Which lines belong to which run, in the order of the file. No entry is decoded."""

    def __init__(self) -> None:
        self.places: dict[str, LinePlaces] = {}
        self.damages: list[Damage] = []
        self.last = LinePlace(0, 0, 0)
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
        place = LinePlace(self.last.number + 1, self.last.end, len(line))
        if line.strip() and not line.endswith(CANCEL):
            try:
                read = parse_line(line)
            except ValueError as error:
                self._add_damaged(place, line, str(error))
            else:
                run = read.run
                entry = bytes(read.entry)
                if run not in self.places:
                    if self._anybodys is not None and not entry.startswith(_STARTED):
                        damage = self.damages[self._anybodys]
                        self.damages[self._anybodys] = replace(damage, doubted=(*damage.doubted, run))
                        self._harmed.setdefault(run, self._anybodys)
                    if (digest := digest_in(entry)) is not None:
                        # The latest run, because an earlier one may have been set aside.
                        self.starts[bytes.fromhex(digest)] = run
                self._note(run, place)
                if entry.startswith(_ENDED):
                    self._under_way.pop(run, None)
                else:
                    self._under_way[run] = None
        self.last = place

    def harm_to(self, run: str) -> Damage | None:
        """Returns the first damaged line that is, or may be, of the run."""
        if run in self._harmed:
            return self.damages[self._harmed[run]]
        return None

    def _note(self, run: str, place: LinePlace) -> None:
        known = self.places.get(run)
        if known is None:
            known = self.places[run] = LinePlaces()
        known.append(place)

    def _add_damaged(self, place: LinePlace, line: bytes, reason: str) -> None:
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
