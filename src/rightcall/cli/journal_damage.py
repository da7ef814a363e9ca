"""Journals in .jsonl files: report damage, and move it aside so that the rest can be read."""

from argparse import Namespace
from pathlib import Path

from rightcall.cli import NO_ANSWER, OK
from rightcall.core.sanitize import printable
from rightcall.errors import JournalError, UsageError
from rightcall.record.lines import Damage
from rightcall.record.repair import Report, check, repair


def tell_damage(options: Namespace) -> int:
    """Check or repair, and print the findings."""
    is_repair = options.action == "repair"
    left = 0
    for file in options.files:
        if file.endswith((".sqlite", ".sqlite3", ".db")):
            raise UsageError(f"{file}: SQLite checks its own files: sqlite3 {file} 'PRAGMA quick_check'")
        try:
            report = repair(Path(file)) if is_repair else check(Path(file))
        except JournalError as error:
            raise UsageError(str(error)) from None
        print(printable("\n".join(_lines(file, report))))
        left += 0 if is_repair else len(report.damages)
    return NO_ANSWER if left else OK


def _lines(file: str, report: Report) -> list[str]:
    lines = [_finding(file, damage, "error") for damage in report.damages]
    lines += [_finding(file, each, "note") for each in report.foreign]
    summary = f"{_count(report.lines, 'line')}, {_count(len(report.runs), 'run')}"
    if not report.damages:
        return [*lines, f"{file}: {summary}, nothing damaged"]
    harmed = ", ".join(map(repr, report.harmed)) or "none"
    if report.aside is None:
        return [*lines, f"{file}: {summary}; cannot be read: {harmed}"]
    return [*lines, f"{file}: {_count(len(report.runs), 'run')} left; in {report.aside}: {harmed}"]


def _finding(file: str, damage: Damage, kind: str) -> str:
    whose = [f"run {run!r}" for run in damage.runs] + [f"perhaps run {run!r}" for run in damage.doubted]
    return (
        f"{file}:{damage.place.number}: {kind}: {damage.reason} ({', '.join(whose) or 'no known run'})"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
