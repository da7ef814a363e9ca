"""Conversations, kept from one command to the next in an SQLite journal in the XDG state directory.

An observer writes it, so that a failing disk does not stop a conversation. It is bounded, and only its
owner may read it. ``rightcall journal`` shows it like any other.

The journal file and the run that a user named are found here, too.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from msgspec import Struct

from rightcall.cli.formatting import media_words, one_line, result_line, usage_words
from rightcall.cli.load import is_journal, load_journal
from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Rewrite
from rightcall.core.entry import (
    MODEL_NOTE,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    Entry,
    MessageQueued,
    MessagesDelivered,
    ReplyReceived,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
)
from rightcall.core.events import StreamEvent
from rightcall.core.history import mend
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Media, Result, Usage
from rightcall.core.ports import Journal
from rightcall.durable.engine import is_store
from rightcall.errors import JournalError, ReplayError, UsageError
from rightcall.loop.replay import replay
from rightcall.record.file_journal import FileJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.steps import stop_of, unfold_entries
from rightcall.record.transcript_markdown import markdown_lines
from rightcall.user_files import state_folder

_FEW = 5
MOST_RUNS = 1000
MOST_BYTES = 128 * 1024 * 1024
"""When either limit is reached, the oldest runs are deleted first."""
ENTRIES: tuple[type, ...] = get_args(Entry)
"""The entries that observers get, besides the events of the stream."""


class EarlierConversation(Struct, frozen=True, kw_only=True):
    """A conversation to continue."""

    run: str
    messages: Transcript
    model: str = ""
    """The model as the user named it; empty if not recorded."""
    system: str = ""


def conversations_file() -> Path:
    """The path of the journal."""
    return state_folder() / "conversations.sqlite"


class ConversationRecorder:
    """An observer that records every run of an agent. ``model`` is the user's name for the model."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._journal: SqliteJournal | None = None
        self._is_off = False

    def __call__(self, run: str, happened: Entry | StreamEvent, /) -> None:
        """Record an entry of a run."""
        if self._is_off or not isinstance(happened, ENTRIES):
            return
        try:
            if self._journal is None:
                file = conversations_file()
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._journal = SqliteJournal(file)
            self._journal.append(run, happened)  # type: ignore[arg-type]
            if isinstance(happened, RunStarted):
                self._journal.trim(runs=MOST_RUNS, size=MOST_BYTES)
                self._journal.append(run, StepDone(key=MODEL_NOTE, value=self.model))
        except (JournalError, OSError) as error:
            self._is_off = True
            print(f"rightcall: this conversation is not kept: {error}", file=sys.stderr)

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def earlier_conversation(name: str | None) -> EarlierConversation:
    """The conversation whose name is or begins with this; without one, the latest."""
    file = conversations_file()
    if not file.exists():
        raise UsageError("there is no conversation to continue: none is stored yet")
    with SqliteJournal(file) as journal:
        runs = journal.runs()
        if not runs:
            raise UsageError("there is no conversation to continue: none is stored yet")
        run = runs[-1] if name is None else find_run(runs, name)
        messages = asyncio.run(transcript_of(journal, run))
        entries = journal.entries(run)
    start = next(entry for entry in entries if isinstance(entry, RunStarted))
    # A question without any reply is not kept.
    while messages and isinstance(messages[-1], User):
        messages = messages[:-1]
    # The instructions may describe an output format, which was requested only once.
    system = start.system if start.wanted is None else ""
    return EarlierConversation(run=run, messages=messages, model=_noted_model(entries), system=system)


def _noted_model(entries: Sequence[Entry]) -> str:
    """The model as the user named it last; empty if that is not recorded."""
    for entry in reversed(entries):
        if isinstance(entry, StepDone) and entry.key == MODEL_NOTE:
            return str(entry.value)
    return ""


def find_run(runs: Sequence[str], name: str, file: str = "") -> str:
    """The run with that name, or the only one whose name begins with it."""
    if name in runs:
        return name
    found = [run for run in runs if name and run.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:_FEW])
        if len(found) > _FEW:
            shown += " …"
        raise UsageError(f"{len(found)} runs begin with {name!r}: {shown}")
    listing = f"rightcall journal list {file}".rstrip()
    raise UsageError(f"there is no run {name!r}; {listing} shows them")


async def transcript_of(journal: Journal, run: str) -> Transcript:
    """The messages of a run, in which every call has a result; also of an interrupted run."""
    try:
        messages = (await replay(journal, run)).transcript
    except ReplayError:
        messages = _unfinished_transcript(tuple(journal.entries(run)))
    return mend(messages).messages


def _unfinished_transcript(entries: tuple[Entry, ...]) -> Transcript:
    """The messages of an unfinished run, without those that the runtime added."""
    messages: list[Message] = []
    finished = {entry.key: entry.result for entry in entries if isinstance(entry, CallFinished)}
    for entry in entries:
        if isinstance(entry, RunStarted):
            messages += entry.messages
        elif isinstance(entry, ReplyReceived):
            messages.append(entry.reply)
            turn = entry.key.removesuffix(".model")
            results = []
            for index, call in enumerate(entry.reply.calls):
                result = finished.get(f"{turn}.{index}.{call.name}")
                if result is not None:
                    results.append(result)
            if results:
                messages.append(Results(tuple(results)))
        elif isinstance(entry, MessagesDelivered):
            messages += entry.messages
    return tuple(messages)


def journal_and_run(words: list[str]) -> tuple[str, str | None]:
    """The file and the run, both of which are optional."""
    file = str(conversations_file())
    if words and is_journal(words[0]):
        file, *words = words
    if len(words) > 1:
        raise UsageError(f"{words[0]} is no journal: its name must end in .jsonl, .sqlite or .db")
    if not Path(file).exists():
        raise UsageError(f"there is no journal {file}")
    return file, words[0] if words else None


@contextmanager
def open_journal(file: str) -> Iterator[FileJournal]:
    """The journal in a file, closed on exit."""
    if is_store(Path(file)):
        raise UsageError(
            f"{file} is a store of durable runs, and no journal: rightcall runs list sqlite:///{file}"
        )
    with load_journal(file) as journal:
        yield journal


def chosen_run(journal: FileJournal, name: str | None) -> str:
    """The run whose name is or begins with this; without one, the latest."""
    runs = journal.runs()
    if not runs:
        raise UsageError(f"{journal.path} holds no runs")
    if name is None:
        return runs[-1]
    return find_run(runs, name, "" if Path(journal.path) == conversations_file() else str(journal.path))


_WIDTH = 60
_LONGEST_LINE = 2000
_SHORT = 12
_UNENDED = "started, and no result: it still runs, or its process died"
_HEX = frozenset("0123456789abcdef")


class RunRow(Struct, frozen=True, kw_only=True):
    """A summary of a run, for one row."""

    run: str
    at: float
    """When it began, as a Unix time in seconds."""
    model: str = ""
    prompt: str = ""
    """The last user message when it began."""
    stop: str = ""
    """Why it ended; ``paused``, ``failed`` or ``cut off`` if it did not."""
    usage: Usage = Usage()
    turns: int = 0
    calls: int = 0
    seconds: float = 0.0
    """The total time of models and tools, in seconds."""


def row_of(run: str, entries: Sequence[Entry], written: Sequence[float]) -> RunRow:
    """The row for a run."""
    start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    prompt = ""
    if start is not None:
        for message in start.messages:
            if isinstance(message, User):
                prompt = message.text
    model = ""
    usage = Usage()
    turns = 0
    calls = 0
    seconds = 0.0
    for entry in entries:
        if isinstance(entry, ReplyReceived):
            model = entry.reply.model or model
            usage += entry.reply.usage
            turns += 1
            seconds += entry.seconds
        elif isinstance(entry, CallFinished):
            usage += entry.usage or Usage()
            calls += 1
            seconds += entry.seconds
    return RunRow(
        run=run,
        at=next(iter(written), 0.0),
        model=_noted_model(entries) or model,
        prompt=prompt,
        stop=stop_of(entries),
        usage=usage,
        turns=turns,
        calls=calls,
        seconds=seconds,
    )


def row_object(row: RunRow) -> JsonObject:
    """A row as JSON, for programs."""
    usage = {"input_tokens": row.usage.input_tokens, "output_tokens": row.usage.output_tokens}
    return {
        "run": row.run,
        "at": row.at,
        "model": row.model,
        "prompt": row.prompt,
        "stop": row.stop,
        "usage": {**usage, "cost": row.usage.cost},
        "turns": row.turns,
        "calls": row.calls,
        "seconds": round(row.seconds, 6),
    }


def row_cells(row: RunRow) -> tuple[str, ...]:
    """A row for people: time, run, model, tokens, stop, the beginning of the prompt."""
    tokens = f"{row.usage.tokens:,}"
    prompt = one_line(row.prompt, _WIDTH)
    return (time_words(row.at), short_name(row.run), row.model, tokens, row.stop, prompt)


def short_name(run: str) -> str:
    """A generated name is shortened to a prefix, which finds it; a name that a user gave is not."""
    return run[:_SHORT] if len(run) == 32 and set(run) <= _HEX else one_line(run, 40)  # noqa: PLR2004


def time_words(at: float) -> str:
    """A time in the local time zone."""
    if at:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    return ""


def page_of(row: RunRow, entries: Sequence[Entry], *, reasoning: bool) -> Iterator[str]:
    """A run to read: its messages, its calls, and their results."""
    turns = f"{row.turns} turn{'' if row.turns == 1 else 's'}"
    spent = f"{row.seconds:.1f} s, {usage_words(row.usage)}"
    facts = [time_words(row.at), row.model, turns, spent, row.stop]
    yield f"run {row.run}: {', '.join(filter(None, facts))}"
    # The keys of calls, and whether they ended in the record or only began.
    calls: dict[str, bool] = {}
    for at, entry in unfold_entries(entries):
        if isinstance(entry, CallFinished):
            calls[f"{at}{entry.key}"] = True
        elif isinstance(entry, CallStarted):
            calls.setdefault(f"{at}{entry.key}", False)
    for at, entry in unfold_entries(entries):
        for line in _lines(entry, calls, at, reasoning=reasoning):
            if at:
                # Lines of an agent that was handed a task are prefixed with its call's key.
                yield re.sub("^(?=.)", f"{at[:-1]} | ", line, flags=re.MULTILINE)
            else:
                yield line


def _lines(entry: Entry, calls: Mapping[str, bool], at: str, *, reasoning: bool) -> Iterator[str]:
    match entry:
        case RunStarted(messages=messages, system=system):
            if system:
                yield f"\nsystem: {system}"
            for message in messages:
                yield from _message(message, reasoning=reasoning)
        case ReplyReceived(key=key, reply=reply, seconds=seconds):
            yield from _reply(reply, f" ({seconds:.1f} s)", reasoning=reasoning)
            turn = key.removesuffix(".model")
            for index, call in enumerate(reply.calls):
                yield f"  -> {call.name} {one_line(call.arguments, _LONGEST_LINE)} [{call.id}]"
                match calls.get(f"{at}{turn}.{index}.{call.name}"):
                    case None:
                        yield f"  <- [{call.id}] no result"
                    case False:
                        yield f"  <- [{call.id}] {_UNENDED}"
                    case True:
                        pass
        case CallDecided():
            reason = f": {entry.reason}" if entry.reason else ""
            yield f"     [{entry.call_id}] {_decision(entry.decision)} by {entry.by}{reason}"
        case CallFinished(result=result):
            if entry.recovered:
                yield f"\nbroke off while [{result.call_id}] ran, and was recovered"
            tries = f", {entry.attempts} attempts" if entry.attempts > 1 else ""
            took = f"{result.outcome} in {entry.seconds:.1f} s{tries}"
            yield f"  <- [{result.call_id}] {took}: {_result(result)}"
            if entry.error:
                yield f"     {one_line(entry.error.strip().rpartition(chr(10))[2], _LONGEST_LINE)}"
        case CallDropped(call=call, result=result):
            arguments = one_line(call.arguments, _LONGEST_LINE)
            yield f"     [{call.id}] started early and dropped: {call.name} {arguments}"
            yield f"     [{call.id}] {result.outcome} in {entry.seconds:.1f} s: {_result(result)}"
        case MessageQueued() | MessagesDelivered():
            yield from _added_lines(entry)
        case RunFailed(message=message):
            yield f"\nfailed: {message}"
        case RunPaused(call_ids=call_ids):
            yield f"\npaused, for a decision about {', '.join(call_ids)}"
        case RunResumed(decisions=decisions):
            told = ", ".join(f"{call_id} {_decision(each)}" for call_id, each in decisions.items())
            yield f"\nresumed: {told}".removesuffix(": ")
        case _:
            pass


def _added_lines(entry: MessageQueued | MessagesDelivered) -> Iterator[str]:
    """What was added to the run while it went on: when it was said, and where the model read it."""
    if isinstance(entry, MessagesDelivered):
        for each in entry.messages:
            yield from _message(each, reasoning=False)
    elif entry.message is None:
        yield "     the run is to stop"
    else:
        yield f"     added to the run: {one_line(entry.message.text, _LONGEST_LINE)}"


def _message(message: Message, *, reasoning: bool) -> Iterator[str]:
    match message:
        case User(author=author):
            words = [media_words(part) for part in message.content if isinstance(part, Media)]
            if message.text:
                words.append(message.text)
            yield f"\n{author}: {' '.join(words)}"
        case Reply():
            yield from _reply(message, "", reasoning=reasoning)
            for call in message.calls:
                yield f"  -> {call.name} {one_line(call.arguments, _LONGEST_LINE)} [{call.id}]"
        case Results(results):
            for result in results:
                yield f"  <- {result.outcome}: {_result(result)}"


def _reply(reply: Reply, took: str, *, reasoning: bool) -> Iterator[str]:
    yield f"\nmodel{took}: {reply.text}".rstrip()
    if reply.reasoning and reasoning:
        yield f"  thought: {reply.reasoning}"


def _result(result: Result) -> str:
    return result_line(result, _LONGEST_LINE)


def _decision(decision: FinalDecision) -> str:
    match decision:
        case Allow():
            return "allowed"
        case Deny(reason):
            if reason:
                return f"denied ({reason})"
            return "denied"
        case Rewrite(arguments):
            return f"rewritten to {dump(arguments)}"
        case Answer():
            return "answered"


def markdown_of(row: RunRow, messages: Sequence[Message]) -> Iterator[str]:
    """A conversation as Markdown."""
    yield f"# {one_line(row.prompt, _WIDTH) or row.run}\n"
    begun = f", {time_words(row.at)}" if row.at else ""
    model = f", {row.model}" if row.model else ""
    yield f"Run `{row.run}`{begun}{model}: {row.stop}, {usage_words(row.usage)}.\n"
    yield from markdown_lines(messages)
