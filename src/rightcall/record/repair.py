"""Finds the damage in a journal of lines, and repairs the journal so that it can be read again.

A run that has lost an entry cannot continue: what it did is no longer known, and continuing could do it
again. So all of it is set aside, damaged and sound lines, byte for byte; all other runs stay.
"""

import os
from pathlib import Path

from msgspec import Struct

from rightcall.core.entry import RunStarted
from rightcall.errors import JournalError
from rightcall.record.entry_text import decode, is_foreign
from rightcall.record.jsonl import alone
from rightcall.record.lines import Damage, LineIndex, Place, parse_line

SUFFIX = ".damaged"


class Report(Struct, frozen=True, kw_only=True):
    """What is in the file."""

    lines: int
    runs: tuple[str, ...]
    damages: tuple[Damage, ...] = ()
    foreign: tuple[Damage, ...] = ()
    """Entries of another version of rightcall, which must not be taken for damage."""
    aside: Path | None = None
    """Where the damaged runs are now."""

    @property
    def harmed(self) -> tuple[str, ...]:
        """The runs that have lost an entry, or may have."""
        found = [run for damage in self.damages for run in (*damage.runs, *damage.doubted)]
        return tuple(dict.fromkeys(found))


def check(path: Path) -> Report:
    """Returns everything that is wrong with a file. Changes nothing."""
    try:
        with path.open("rb") as file:
            return _survey(file.read())[0]
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from error


def repair(path: Path) -> Report:
    """Move the damaged runs to a file beside this one, so that only the others are left.

    Their lines are overwritten in place and nothing else moves: processes that have the journal open can
    go on, and an interrupted repair can be repeated.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            with alone(descriptor):
                return _repair(path, descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from error


def _repair(path: Path, descriptor: int) -> Report:
    data = path.read_bytes()
    report, index = _survey(data)
    if not report.damages:
        return report
    places = {place.number: place for run in report.harmed for place in index.places.get(run, ())}
    places |= {damage.place.number: damage.place for damage in report.damages}
    ordered = [places[number] for number in sorted(places)]
    aside = path.with_name(path.name + SUFFIX)
    _keep(aside, b"".join(data[place.start : place.end] for place in ordered))
    for place in ordered:
        os.lseek(descriptor, place.start, os.SEEK_SET)
        os.write(descriptor, b" " * (place.length - 1))
    os.fsync(descriptor)
    left = tuple(run for run in report.runs if run not in report.harmed)
    return Report(
        lines=report.lines, runs=left, damages=report.damages, foreign=report.foreign, aside=aside
    )


def _keep(aside: Path, lines: bytes) -> None:
    """Write the lines to the disk before they are overwritten, after those of earlier repairs."""
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:  # noqa: PTH123
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def _survey(data: bytes) -> tuple[Report, LineIndex]:
    index = LineIndex()
    lines = [line + b"\n" for line in data.split(b"\n")[:-1]]
    for line in lines:
        index.add(line)
    damages = list(index.damages)
    foreign: list[Damage] = []
    damaged = {damage.place.number for damage in damages}
    for run, places in index.places.items():
        for place in places:
            if place.number not in damaged and (found := _unreadable(run, place, lines)):
                (foreign if is_foreign(_entry(lines, place)) else damages).append(found)
    damages += _without_history(index, lines, {run for each in damages for run in each.runs})
    damages.sort(key=lambda damage: damage.place.number)
    count = sum(not line.isspace() for line in lines)
    report = Report(
        lines=count, runs=tuple(index.places), damages=tuple(damages), foreign=tuple(foreign)
    )
    return report, index


def _entry(lines: list[bytes], place: Place) -> bytes:
    return bytes(parse_line(lines[place.number - 1]).entry)


def _unreadable(run: str, place: Place, lines: list[bytes]) -> Damage | None:
    try:
        decode(_entry(lines, place), "")
    except JournalError as error:
        return Damage(place, error.reason, (run,), ())
    return None


def _without_history(index: LineIndex, lines: list[bytes], lost: set[str]) -> list[Damage]:
    """Returns the runs whose history is in a lost run, or in one that refers to a lost run."""
    found = []
    for run, places in index.places.items():
        place = next(iter(places))
        try:
            start = None if run in lost else decode(_entry(lines, place), "")
        except (JournalError, ValueError):
            continue
        after = start.after if isinstance(start, RunStarted) else None
        if after is not None and (after.run in lost or after.run not in index.places):
            # In the order of the file, so that runs which refer to this one come later.
            lost.add(run)
            found.append(Damage(place, f"its history is that of the run {after.run!r}", (run,), ()))
    return found
