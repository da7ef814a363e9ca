"""Shows a recorded run to people: a row of a list, and a page to read."""

import re
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct

from rightcall.cli.wording import media_words, one_line, result_line, usage_words
from rightcall.core.call import Call
from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Rewrite
from rightcall.core.entry import (
    MODEL_NOTE,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
)
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Media, Result, Usage
from rightcall.record.markdown import markdown_lines
from rightcall.record.steps import stop_of, unfolded

_WIDTH = 60
_LONGEST_LINE = 2000
_SHORT = 12
_UNENDED = "started, and no result: it still runs, or its process died"
_HEX = frozenset("0123456789abcdef")


class Row(Struct, frozen=True, kw_only=True):
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


def row_of(run: str, entries: Sequence[Entry], written: Sequence[float]) -> Row:
    """The row for a run."""
    start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    replies = [entry for entry in entries if isinstance(entry, ReplyReceived)]
    finished = [entry for entry in entries if isinstance(entry, CallFinished)]
    asked = [m for m in (start.messages if start else ()) if isinstance(m, User)]
    noted = [e.value for e in entries if isinstance(e, StepDone) and e.key == MODEL_NOTE]
    answered = [entry.reply.model for entry in replies if entry.reply.model]
    spent = [entry.reply.usage for entry in replies]
    spent += [entry.usage for entry in finished if entry.usage is not None]
    return Row(
        run=run,
        at=written[0] if written else 0.0,
        model=(noted or answered or [""])[-1],
        prompt=asked[-1].text if asked else "",
        stop=stop_of(entries),
        usage=sum(spent, Usage()),
        turns=len(replies),
        calls=len(finished),
        seconds=sum(each.seconds for each in replies) + sum(each.seconds for each in finished),
    )


def row_object(row: Row) -> JsonObject:
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


def row_cells(row: Row) -> tuple[str, ...]:
    """A row for people: time, run, model, tokens, stop, the beginning of the prompt."""
    tokens = f"{row.usage.tokens:,}"
    return (
        time_words(row.at),
        short_name(row.run),
        row.model,
        tokens,
        row.stop,
        one_line(row.prompt, _WIDTH),
    )


def short_name(run: str) -> str:
    """A generated name is shortened to a prefix, which finds it; a name that a user gave is not."""
    return run[:_SHORT] if len(run) == 32 and set(run) <= _HEX else one_line(run, 40)  # noqa: PLR2004


def time_words(at: float) -> str:
    """A time in the local time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""


def page_of(row: Row, entries: Sequence[Entry], *, reasoning: bool) -> Iterator[str]:
    """A run to read: its messages, its calls, and their results."""
    begun = f"{time_words(row.at)}, " if row.at else ""
    model = f"{row.model}, " if row.model else ""
    turns = f"{row.turns} turn{'' if row.turns == 1 else 's'}"
    spent = f"{row.seconds:.1f} s, {usage_words(row.usage)}"
    yield f"run {row.run}: {begun}{model}{turns}, {spent}, {row.stop}"
    calls = _Calls(entries)
    for at, entry in unfolded(entries):
        for line in _lines(entry, calls, at, reasoning=reasoning):
            # Lines of an agent that was handed a task are prefixed with its call's key.
            yield re.sub("^(?=.)", f"{at[:-1]} | ", line, flags=re.MULTILINE) if at else line


def _lines(entry: Entry, calls: "_Calls", at: str, *, reasoning: bool) -> Iterator[str]:
    match entry:
        case RunStarted(messages=messages, system=system):
            if system:
                yield f"\nsystem: {system}"
            for message in messages:
                yield from _message(message, reasoning=reasoning)
        case ReplyReceived(key=key, reply=reply, seconds=seconds):
            yield from _reply(reply, f" ({seconds:.1f} s)", reasoning=reasoning)
            for index, call in enumerate(reply.calls):
                yield from calls.made(f"{at}{key.removesuffix('.model')}.{index}.{call.name}", call)
        case CallDecided():
            reason = f": {entry.reason}" if entry.reason else ""
            yield f"     [{entry.call_id}] {_decision(entry.decision)} by {entry.by}{reason}"
        case CallFinished():
            yield from _end(entry)
        case CallDropped(call=call, result=result):
            arguments = one_line(call.arguments, _LONGEST_LINE)
            yield f"     [{call.id}] started early and dropped: {call.name} {arguments}"
            yield f"     [{call.id}] {result.outcome} in {entry.seconds:.1f} s: {_result(result)}"
        case RunFailed(message=message):
            yield f"\nfailed: {message}"
        case RunPaused(call_ids=call_ids):
            yield f"\npaused, for a decision about {', '.join(call_ids)}"
        case RunResumed(decisions=decisions):
            told = ", ".join(f"{call_id} {_decision(each)}" for call_id, each in decisions.items())
            yield f"\nresumed: {told}".removesuffix(": ")
        case _:
            pass


class _Calls:
    """The calls that have ended in the record, and those that only began."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        told = list(unfolded(entries))
        self._ended = {f"{at}{entry.key}" for at, entry in told if isinstance(entry, CallFinished)}
        self._started = {f"{at}{entry.key}" for at, entry in told if isinstance(entry, CallStarted)}

    def made(self, key: str, call: Call) -> Iterator[str]:
        """A call, with a note if no later entry has its result."""
        yield f"  -> {call.name} {one_line(call.arguments, _LONGEST_LINE)} [{call.id}]"
        if key in self._ended:
            return
        yield f"  <- [{call.id}] {_UNENDED if key in self._started else 'no result'}"


def _end(end: CallFinished) -> Iterator[str]:
    result = end.result
    if end.recovered:
        yield f"\nbroke off while [{result.call_id}] ran, and was recovered"
    tries = f", {end.attempts} attempts" if end.attempts > 1 else ""
    yield f"  <- [{result.call_id}] {result.outcome} in {end.seconds:.1f} s{tries}: {_result(result)}"
    if end.error:
        yield f"     {one_line(end.error.strip().rpartition(chr(10))[2], _LONGEST_LINE)}"


def _message(message: Message, *, reasoning: bool) -> Iterator[str]:
    match message:
        case User(author=author):
            parts = [media_words(part) for part in message.content if isinstance(part, Media)]
            yield f"\n{author}: {' '.join(filter(None, (*parts, message.text)))}"
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
            return f"denied ({reason})" if reason else "denied"
        case Rewrite(arguments):
            return f"rewritten to {dump(arguments)}"
        case Answer():
            return "answered"


def markdown_of(row: Row, messages: Sequence[Message]) -> Iterator[str]:
    """A conversation as Markdown."""
    yield f"# {one_line(row.prompt, _WIDTH) or row.run}\n"
    begun = f", {time_words(row.at)}" if row.at else ""
    model = f", {row.model}" if row.model else ""
    yield f"Run `{row.run}`{begun}{model}: {row.stop}, {usage_words(row.usage)}.\n"
    yield from markdown_lines(messages)
