"""Durable runs in a store: list, show, watch, answer, cancel, fork and forget them."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import cast

from msgspec import to_builtins

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.load import found_at
from rightcall.cli.wording import json_line, one_line, result_line, write
from rightcall.core.decision import Allow, Deny, FinalDecision
from rightcall.core.events import CallEnd, ReplyEnd, ResultEnd, TextDelta
from rightcall.core.jsontext import JsonObject
from rightcall.core.sanitize import encodable_json, printable
from rightcall.durable.app import App
from rightcall.durable.engines import check_has_runs
from rightcall.durable.live import Live
from rightcall.durable.standing import RunInfo
from rightcall.errors import RunStopped, UsageError
from rightcall.loop.result import RunEnd

_HEAD = ("updated", "run", "agent", "status", "why")
_DAY = 24 * 3600.0
_WIDE = 100


def run(options: Namespace) -> int:
    """Execute the action."""
    return asyncio.run(_asked(options))


async def _asked(options: Namespace) -> int:
    address = _address(options.where)
    await asyncio.to_thread(check_has_runs, address)
    async with App(address) as app:
        try:
            return await _ACTIONS[options.action](app, options)
        except RunStopped as stopped:
            print(printable(f"rightcall: {stopped}"), file=sys.stderr)
            return NO_ANSWER


def _address(where: str) -> str:
    if "://" in where:
        return where
    if ":" not in where:
        raise UsageError(
            f"{where} is no address of runs: say sqlite:///{where} for a file, or MODULE:APP for an app"
        )
    app = found_at("runs", where)
    if not isinstance(app, App):
        raise UsageError(f"{where} is not an rc.durable.App, and no address such as sqlite:///runs.db")
    return app.address


async def _list(app: App, options: Namespace) -> int:
    found = await app.list(limit=options.count)
    chosen = [each for each in found if options.status in (None, each.status)]
    if options.json:
        sys.stdout.writelines(json_line(_plain(each)) for each in chosen)
        return OK
    _print_table([_HEAD, *[_cells(each) for each in chosen]])
    return OK


async def _show(app: App, options: Namespace) -> int:
    shown = await app.show(options.run)
    if options.json:
        steps: list[JsonObject] = [
            {"segment": segment, "key": step.key, "at": step.at, "bytes": len(step.value)}
            for segment, kept in shown.steps.items()
            for step in kept
        ]
        said = {} if (answer := await _answer(app, shown.info)) is None else {"text": answer}
        sys.stdout.write(json_line({**_plain(shown.info), **said, "steps": steps}))
        return OK
    info = shown.info
    _print_table([_HEAD, _cells(info)])
    for proposal in info.pending:
        arguments = one_line(str(proposal.arguments), _WIDE)
        print(printable(f"waits for a yes: {proposal.call_id}  {proposal.name} {arguments}"))
    for segment, kept in shown.steps.items():
        for step in kept:
            print(printable(f"{_time(step.at)}  {segment}  {step.key}"))
    if answer := await _answer(app, info):
        print()
        write(answer, sys.stdout)
    return OK


async def _answer(app: App, info: RunInfo) -> str | None:
    """The answer of a run; None if it is not done."""
    return (await app.result(info.run)).text if info.status == "done" else None


async def _watch(app: App, options: Namespace) -> int:
    last: Live | None = None
    said = reply = ""
    async for last in app.watch(options.run):
        if options.json:
            sys.stdout.write(json_line(_event(last)))
            sys.stdout.flush()
            continue
        match last.event:
            case TextDelta(text):
                said += text
            case ReplyEnd():
                said, reply = "", said
            case RunEnd(result) if result.text and result.text != reply:
                # The run was over before the watch began, or the watch began in the middle of the
                # answer.
                write(result.text, sys.stdout)
            case _:
                pass
        _tell(last)
    assert last is not None
    assert isinstance(last.event, RunEnd)
    return OK if last.event.result.stop.is_answer else NO_ANSWER


def _event(live: Live) -> JsonObject:
    end = live.event if isinstance(live.event, RunEnd) else None
    told = {"type": "RunEnd", "stop": str(end.result.stop), "text": end.result.text} if end else None
    return {
        "run": live.run,
        "segment": live.segment,
        "attempt": live.attempt,
        "seq": live.seq,
        "event": _plain(told or live.event),
    }


def _tell(live: Live) -> None:
    match live.event:
        case TextDelta(text):
            sys.stdout.write(printable(text))
            sys.stdout.flush()
        case ReplyEnd(reply) if reply.text:
            print()
        case CallEnd(call=call):
            print(printable(f"{call.name} {one_line(call.arguments, _WIDE)}"), file=sys.stderr)
        case ResultEnd(result, seconds):
            told = f"{result.name}: {result_line(result, _WIDE)} ({seconds:.1f} s)"
            print(printable(told), file=sys.stderr)
        case RunEnd(result):
            waits = ", ".join(f"{each.name} ({each.call_id})" for each in result.pending)
            told = f"waits for a yes: {waits}" if waits else str(result.stop)
            print(printable(f"{live.run}: {told}"), file=sys.stderr)
        case _:
            pass


async def _approve(app: App, options: Namespace) -> int:
    return await _decide(app, options, Allow(), Deny())


async def _deny(app: App, options: Namespace) -> int:
    return await _decide(app, options, Deny(options.reason), Allow())


async def _decide(app: App, options: Namespace, said: FinalDecision, other: FinalDecision) -> int:
    info = (await app.show(options.run)).info
    names = {each.call_id: each.name for each in info.pending}
    if not names and not options.calls:
        raise UsageError(f"the run {options.run!r} has no pending calls: it is {info.status}")
    unknown = [each for each in (*options.calls, *options.others) if each not in names]
    if names and unknown:
        waits = ", ".join(f"{name} ({call_id})" for call_id, name in names.items())
        raise UsageError(f"the run {options.run!r} waits for {waits}, and not for {', '.join(unknown)}")
    calls = options.calls or [each for each in names if each not in options.others]
    decisions = {**dict.fromkeys(calls, said), **dict.fromkeys(options.others, other)}
    await app.decide(options.run, decisions)
    if not names:
        _say(f"{options.run}: it was answered so already; nothing was changed")
        return OK
    for call_id, decision in decisions.items():
        word = "approved" if isinstance(decision, Allow) else "denied"
        _say(f"{options.run}: {names[call_id]} ({call_id}) is {word}")
    _say(f"{options.run}: queued again; a worker goes on with it")
    return OK


async def _cancel(app: App, options: Namespace) -> int:
    if await app.cancel(options.run):
        _say(f"{options.run}: cancelled")
        return OK
    _say(f"rightcall: the run {options.run!r} is over already")
    return NO_ANSWER


def _say(words: str) -> None:
    """Print a message for a person to stderr; standard output is for programs."""
    print(printable(words), file=sys.stderr)


async def _fork(app: App, options: Namespace) -> int:
    handle = await app.fork(options.run, at=options.at, new=options.new)
    write(handle.run, sys.stdout)
    return OK


async def _gc(app: App, options: Namespace) -> int:
    if not options.older >= 0:
        raise UsageError(f"--older is in days, 0 or more, and not {options.older:g}")
    gone = await app.gc(older=options.older * _DAY)
    print(f"{gone} {'run' if gone == 1 else 'runs'} forgotten", file=sys.stderr)
    return OK


_ACTIONS = {
    "list": _list,
    "show": _show,
    "watch": _watch,
    "approve": _approve,
    "deny": _deny,
    "cancel": _cancel,
    "fork": _fork,
    "gc": _gc,
}


def _cells(info: RunInfo) -> tuple[str, ...]:
    pending = ", ".join(f"{each.name} ({each.call_id})" for each in info.pending)
    why = info.reason or (f"waits for {pending}" if pending else info.stop)
    names = (one_line(info.run, _WIDE), one_line(info.agent, _WIDE))
    return (_time(info.updated), *names, info.status, one_line(why, _WIDE))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _plain(told: object) -> JsonObject:
    """A value that can be written as JSON, whatever text a model or a tool produced."""
    return cast("JsonObject", encodable_json(to_builtins(told)))


def _print_table(rows: Sequence[Iterable[str]]) -> None:
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(_HEAD) - 1)]
    for row in cells:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*padded, row[-1]]).rstrip())
