"""Read journals: list runs, show, replay, resume or export one; repair a damaged file."""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Callable

import msgspec

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.conversations import conversations_file, transcript_of
from rightcall.cli.journal_damage import tell_damage
from rightcall.cli.recorded import chosen_run, journal_and_run, opened_journal
from rightcall.cli.resuming import resume_run
from rightcall.cli.run_page import Row, markdown_of, page_of, row_cells, row_object, row_of
from rightcall.cli.settings import change_settings, keeps_conversations
from rightcall.cli.wording import json_line, write
from rightcall.core.entry import ReplyReceived
from rightcall.core.sanitize import encodable_json, printable
from rightcall.errors import JournalError, ReplayError, UsageError
from rightcall.loop.replay import replay
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal

_HEAD = ("time", "run", "model", "tokens", "stop", "prompt")


def run(options: Namespace) -> int:
    """Execute the action."""
    match options.action:
        case "check" | "repair":
            return tell_damage(options)
        case "on" | "off":
            change_settings(log=options.action == "on")
            print(f"what is said is {'kept' if keeps_conversations() else 'not kept'}", file=sys.stderr)
            return OK
        case "path":
            print(conversations_file())
            return OK
        case _:
            return _read(options)


def _read(options: Namespace) -> int:
    file, name = journal_and_run(options.where)
    if options.action == "resume":
        # The agent opens the journal by its path, as it does for a new run.
        options.journal = file
    with opened_journal(file) as journal:
        actions = dict[str, Callable[[], int]](
            {
                "list": lambda: _list(options, journal),
                "show": lambda: _show(options, journal, chosen_run(journal, name)),
                "replay": lambda: _replay(journal, chosen_run(journal, name)),
                "export": lambda: _export(options, journal, name),
                "resume": lambda: asyncio.run(resume_run(options, journal, chosen_run(journal, name))),
            }
        )
        try:
            return actions[options.action]()
        except JournalError as error:
            raise UsageError(f"{error}; rightcall journal check says more") from error


def _list(options: Namespace, journal: JsonLinesJournal | SqliteJournal) -> int:
    """Reads one run after the other, and only those that are listed."""
    runs = journal.runs()
    chosen = runs if options.all else runs[-options.count :]
    rows = (_row(journal, each) for each in chosen)
    if options.json:
        sys.stdout.writelines(json_line(row_object(row)) for row in rows)
        return OK
    cells = [_HEAD, *map(row_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD) - 1)]
    for row in cells:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        print(printable("  ".join([*padded, row[-1]])).rstrip())
    return OK


def _row(journal: JsonLinesJournal | SqliteJournal, name: str) -> Row:
    try:
        return row_of(name, journal.entries(name), journal.written(name))
    except JournalError:
        return Row(run=name, at=0.0, stop="damaged")


def _show(options: Namespace, journal: JsonLinesJournal | SqliteJournal, name: str) -> int:
    entries = journal.entries(name)
    row = row_of(name, entries, journal.written(name))
    for line in page_of(row, entries, reasoning=options.reasoning):
        print(printable(line))
    return OK


def _replay(journal: JsonLinesJournal | SqliteJournal, name: str) -> int:
    try:
        result = asyncio.run(replay(journal, name))
    except ReplayError as error:
        print(printable(f"rightcall: the record of {name} does not go on: {error}"), file=sys.stderr)
        return NO_ANSWER
    recorded = [entry.reply for entry in journal.entries(name) if isinstance(entry, ReplyReceived)]
    if result.text:
        write(result.text, sys.stdout)
    same = list(result.replies) == recorded
    told = "as recorded" if same else "not as recorded"
    print(printable(f"{len(result.transcript)} messages, {told}: {result.stop}"), file=sys.stderr)
    return OK if same else NO_ANSWER


def _export(options: Namespace, journal: JsonLinesJournal | SqliteJournal, name: str | None) -> int:
    names = journal.runs() if options.all else [chosen_run(journal, name)]
    if options.format == "json" and options.all:
        # One run at a time, so that a journal of any length can be exported.
        for number, each in enumerate(names):
            sys.stdout.write(f"{',' if number else '['}\n{_as_json(journal, each)}")
        sys.stdout.write("\n]\n" if names else "[]\n")
        return OK
    for each in names:
        match options.format:
            case "json":
                sys.stdout.write(f"{_as_json(journal, each)}\n")
            case "markdown":
                row = _row(journal, each)
                messages = asyncio.run(transcript_of(journal, each))
                sys.stdout.writelines(f"{line}\n" for line in markdown_of(row, messages))
            case _:
                lines = zip(journal.written(each), journal.entries(each), strict=True)
                for at, entry in lines:
                    told = encodable_json(msgspec.to_builtins(entry))
                    sys.stdout.write(json_line({"run": each, "at": at, "entry": told}))
    return OK


def _as_json(journal: JsonLinesJournal | SqliteJournal, name: str) -> str:
    messages = asyncio.run(transcript_of(journal, name))
    told = {**row_object(_row(journal, name)), "messages": msgspec.to_builtins(messages)}
    return json.dumps(told, indent=2)
