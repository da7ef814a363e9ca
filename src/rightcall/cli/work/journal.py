"""Read journals: list runs, show, replay, resume or export one; repair a damaged file."""

import asyncio
import json
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rightcall.agent import Agent
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.conversations import (
    ENTRIES,
    RunRow,
    chosen_run,
    conversations_file,
    journal_and_run,
    markdown_of,
    open_journal,
    page_of,
    row_cells,
    row_object,
    row_of,
    transcript_of,
)
from rightcall.cli.formatting import json_line, table_lines, write
from rightcall.cli.load import load_agent
from rightcall.cli.session import Session, view_for
from rightcall.cli.summary import OutputView, SummaryProgress
from rightcall.cli.terminal import NOBODY, approver
from rightcall.cli.user_config import change_settings, keeps_conversations
from rightcall.core.decision import Allow, Deny, FinalDecision
from rightcall.core.entry import MODEL_NOTE, Entry, ReplyReceived, RunEnded, RunStarted, StepDone
from rightcall.core.events import StreamEvent
from rightcall.core.ports import Journal
from rightcall.core.proposal import Proposal
from rightcall.core.sanitize import encodable_json, printable
from rightcall.errors import JournalError, NoOutput, ReplayError, RightcallError, UsageError
from rightcall.gate.gate import ask_person, final_decision
from rightcall.loop.replay import replay
from rightcall.loop.result import RunEnd, RunResult
from rightcall.record.file_journal import FileJournal
from rightcall.record.jsonl import DamageReport, JsonLinesJournal, check_journal, repair_journal
from rightcall.record.lines import Damage


def tell_damage(options: Namespace) -> int:
    """Check or repair, and print the findings.

    Repairing moves the damage aside, so that the rest can be read.
    """
    code = OK
    for file in options.files:
        if file.endswith((".sqlite", ".sqlite3", ".db")):
            raise UsageError(f"{file}: SQLite checks its own files: sqlite3 {file} 'PRAGMA quick_check'")
        try:
            if options.action == "repair":
                report = repair_journal(Path(file))
            else:
                report = check_journal(Path(file))
                if report.damages:
                    code = NO_ANSWER
        except JournalError as error:
            raise UsageError(str(error)) from None
        print(printable("\n".join(_lines(file, report))))
    return code


def _lines(file: str, report: DamageReport) -> list[str]:
    lines = [_finding(file, damage, "error") for damage in report.damages]
    lines += [_finding(file, each, "note") for each in report.foreign]
    runs = _count(len(report.runs), "run")
    summary = f"{_count(report.lines, 'line')}, {runs}"
    harmed = ", ".join(map(repr, report.harmed_runs)) or "none"
    if not report.damages:
        lines.append(f"{file}: {summary}, nothing damaged")
    elif report.aside is None:
        lines.append(f"{file}: {summary}; cannot be read: {harmed}")
    else:
        lines.append(f"{file}: {runs} left; in {report.aside}: {harmed}")
    return lines


def _finding(file: str, damage: Damage, kind: str) -> str:
    whose = [f"run {run!r}" for run in damage.runs]
    whose += [f"perhaps run {run!r}" for run in damage.doubted]
    runs = ", ".join(whose) or "no known run"
    return f"{file}:{damage.place.number}: {kind}: {damage.reason} ({runs})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


async def resume_run(options: Namespace, journal: Journal, run: str) -> int:
    """Resume a run with the named agent, or with one made from the options.

    The run waits for a person, or was interrupted.
    """
    entries = journal.entries(run)
    if any(isinstance(entry, RunEnded) for entry in entries):
        raise UsageError(f"run {run} has ended; there is nothing to continue")
    # The result of a run that waits for a person; None for an interrupted one.
    paused: RunResult[Any] | None = None
    with suppress(ReplayError):
        paused = await replay(journal, run)
    if paused is not None and not paused.pending:
        paused = None
    if options.agent:
        agent = load_agent(options.agent)
        agent._journal = journal  # noqa: SLF001 - whatever it was made with, this is where the run is
        return await _resume(options, agent, run, paused, view_for(options, options.agent))
    # The model and the instructions of the record, unless the options override them.
    replied = ""
    for entry in entries:
        match entry:
            case RunStarted(system=system, wanted=None):
                options.instructions = options.instructions or system
            case StepDone(key=key, value=value) if key == MODEL_NOTE:
                options.model = options.model or value
            case ReplyReceived(reply=reply):
                replied = reply.model or replied
            case _:
                pass
    if options.model is None:
        known = ""
        if replied:
            known = f" Its replies came from {replied}."
        raise UsageError(
            f"run {run} was a program's, and its record does not say how to connect its model.{known} "
            "Say -m NAME for the model, or name the program's agent with --agent FILE.py:NAME"
        )
    session = Session(options)
    try:
        await session.open()
        view = session.view()
        agent = session.agent(view, _Showing(view))
        return await _resume(options, agent, run, paused, view)
    finally:
        await session.close()


class _Showing:
    """An observer that shows the events of a run."""

    def __init__(self, view: OutputView) -> None:
        self._view = view

    def __call__(self, _: str, happened: Entry | StreamEvent, /) -> None:
        if not isinstance(happened, ENTRIES):
            self._view.show(happened)  # type: ignore[arg-type]


async def _resume(
    options: Namespace, agent: Agent[Any, Any], run: str, paused: RunResult[Any] | None, view: OutputView
) -> int:
    started = time.monotonic()
    progress = SummaryProgress()
    error = None
    try:
        # An interrupted run may come to wait for a person once resumed.
        result = paused or await agent.recover(run)
        decisions: dict[str, FinalDecision] = {}
        if result.pending:
            decisions = await _decisions(options, result.pending, view)
        while decisions:
            result = await agent.resume(result, decisions)
            decisions = await _answers(options, result.pending, view)
        progress.see(RunEnd(result))
    except UsageError:
        raise
    except NoOutput as missing:
        progress.see(RunEnd(missing.result))
    except RightcallError as problem:
        error = problem
    summary = progress.summarise(time.monotonic() - started, error)
    view.end(summary)
    return summary.code


async def _decisions(
    options: Namespace, pending: Sequence[Proposal], view: OutputView
) -> dict[str, FinalDecision]:
    """The decisions from the command line, and for the rest those that a person makes now."""
    ids = [proposal.call_id for proposal in pending]
    for given in (*options.allow, *options.deny):
        if given not in ids:
            raise UsageError(f"no call {given!r} waits for a decision; there is {', '.join(ids)}")
    decided: dict[str, FinalDecision] = dict.fromkeys(options.allow, Allow())
    decided |= dict.fromkeys(options.deny, Deny())
    rest = [each for each in pending if each.call_id not in decided and not each.later]
    answers = await _answers(options, rest, view)
    if rest and not answers:
        call_id = rest[0].call_id
        raise UsageError(f"{rest[0].name} waits for a decision: --allow {call_id} or --deny {call_id}")
    return decided | answers


async def _answers(
    options: Namespace, pending: Sequence[Proposal], view: OutputView
) -> dict[str, FinalDecision]:
    """A person's decision, made now or for all calls; None if nobody is there.

    Calls that were run and are answered later are no question to a person.
    """
    pending = [proposal for proposal in pending if not proposal.later]
    ask = approver(options, view)
    answers = dict[str, FinalDecision]()
    show = getattr(ask, "show", None)
    if show is not None and len(pending) > 1:
        show(pending)
    for proposal in pending:
        answers[proposal.call_id] = answer = final_decision(await ask_person(ask, proposal))
        if answer == NOBODY:
            return {}
    return answers


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
    with open_journal(file) as journal:
        try:
            match options.action:
                case "list":
                    return _list(options, journal)
                case "show":
                    return _show(options, journal, chosen_run(journal, name))
                case "replay":
                    return _replay(journal, chosen_run(journal, name))
                case "export":
                    return _export(options, journal, name)
                case _:
                    # The agent opens the journal by its path, as it does for a new run.
                    options.journal = file
                    return asyncio.run(resume_run(options, journal, chosen_run(journal, name)))
        except JournalError as error:
            more = ""
            if isinstance(journal, JsonLinesJournal):
                # SQLite checks its own files.
                more = "; rightcall journal check says more"
            raise UsageError(f"{error}{more}") from error


def _list(options: Namespace, journal: FileJournal) -> int:
    """Reads one run after the other, and only those that are listed."""
    runs = journal.runs()
    chosen = runs if options.all else runs[-options.count :]
    rows = (_row(journal, each) for each in chosen)
    if options.json:
        sys.stdout.writelines(json_line(row_object(row)) for row in rows)
        return OK
    for line in table_lines([_HEAD, *map(row_cells, rows)]):
        print(line)
    return OK


def _row(journal: FileJournal, name: str) -> RunRow:
    try:
        return row_of(name, journal.entries(name), journal.written(name))
    except JournalError:
        return RunRow(run=name, at=0.0, stop="damaged")


def _show(options: Namespace, journal: FileJournal, name: str) -> int:
    entries = journal.entries(name)
    row = row_of(name, entries, journal.written(name))
    for line in page_of(row, entries, reasoning=options.reasoning):
        print(printable(line))
    return OK


def _replay(journal: FileJournal, name: str) -> int:
    try:
        result = asyncio.run(replay(journal, name))
    except ReplayError as error:
        print(printable(f"rightcall: the record of {name} does not go on: {error}"), file=sys.stderr)
        return NO_ANSWER
    recorded = [each.reply for each in journal.entries(name) if isinstance(each, ReplyReceived)]
    if result.text:
        write(result.text, sys.stdout)
    same = list(result.replies) == recorded
    told = "as recorded" if same else "not as recorded"
    print(printable(f"{len(result.transcript)} messages, {told}: {result.stop}"), file=sys.stderr)
    if same:
        return OK
    return NO_ANSWER


def _export(options: Namespace, journal: FileJournal, name: str | None) -> int:
    if options.all:
        names = journal.runs()
    else:
        names = [chosen_run(journal, name)]
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


def _as_json(journal: FileJournal, name: str) -> str:
    messages = asyncio.run(transcript_of(journal, name))
    told = {**row_object(_row(journal, name)), "messages": msgspec.to_builtins(messages)}
    return json.dumps(told, indent=2)
