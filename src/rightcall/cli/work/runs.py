"""Durable runs in a store: list, show, watch, answer, cancel, fork, forget and execute them."""

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import cast

from msgspec import to_builtins
from msgspec.structs import replace

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import json_line, one_line, result_line, table_lines, write
from rightcall.cli.load import object_at
from rightcall.core.decision import Allow, Deny, FinalDecision
from rightcall.core.events import CallEnd, OutputDelta, ReplyEnd, ResultEnd, TextDelta
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.proposal import Proposal
from rightcall.core.sanitize import encodable_json, printable
from rightcall.durable.app import App, RunInfo
from rightcall.durable.engine import Queue, check_has_runs, without_secrets
from rightcall.durable.live import Live
from rightcall.errors import RunStopped, UsageError
from rightcall.loop.result import RunEnd

_HEAD = ("updated", "run", "agent", "status", "why")
_DAY = 24 * 3600.0
_WIDE = 100


def run(options: Namespace) -> int:
    """Execute the action."""
    if options.action == "work":
        # Execute the runs of the app's queues, or of the named ones, until stopped.
        app = object_at("worker", options.app)
        if not isinstance(app, App):
            raise UsageError(f"{options.app} is not an rc.durable.App")
        if not app.agents:
            raise UsageError(f"{options.app} has no agents, and so nothing to execute runs with")
        app.queues = _queues(app, options.queues, options.concurrency)
        asyncio.run(_work(app, options.patience))
        return OK
    return asyncio.run(_run_action(options))


async def _run_action(options: Namespace) -> int:
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
    app = object_at("runs", where)
    if not isinstance(app, App):
        raise UsageError(f"{where} is not an rc.durable.App, and no address such as sqlite:///runs.db")
    return app.address


async def _list(app: App, options: Namespace) -> int:
    chosen = []
    for each in await app.list(limit=options.count):
        if options.status in (None, each.status):
            chosen.append(each)
    if options.json:
        sys.stdout.writelines(json_line(_plain(each)) for each in chosen)
        return OK
    _print_table([_HEAD, *[_cells(each) for each in chosen]])
    return OK


async def _show(app: App, options: Namespace) -> int:
    shown = await app.show(options.run)
    info = shown.info
    if options.json:
        steps: list[JsonObject] = []
        for segment, kept in shown.steps.items():
            for step in kept:
                size = len(step.value)
                steps.append({"segment": segment, "key": step.key, "at": step.at, "bytes": size})
        described = _plain(info)
        if info.status == "done":
            described["text"] = (await app.result(info.run)).text
        sys.stdout.write(json_line({**described, "steps": steps}))
        return OK
    _print_table([_HEAD, _cells(info)])
    for proposal in info.pending:
        arguments = one_line(str(proposal.arguments), _WIDE)
        print(printable(f"waits for a yes: {proposal.call_id}  {proposal.name} {arguments}"))
    for segment, kept in shown.steps.items():
        for step in kept:
            print(printable(f"{_time(step.at)}  {segment}  {step.key}"))
    if info.status == "done":
        answer = (await app.result(info.run)).text
        if answer:
            print()
            write(answer, sys.stdout)
    return OK


async def _watch(app: App, options: Namespace) -> int:
    last: Live | None = None
    text = ""
    reply = ""
    async for last in app.watch(options.run):
        if options.json:
            sys.stdout.write(json_line(_event(last)))
            sys.stdout.flush()
            continue
        match last.event:
            case TextDelta(more) | OutputDelta(more, index=None):
                text += more
            case ReplyEnd():
                reply = text
                text = ""
            case RunEnd(result) if result.text and result.text != reply:
                # The run was over before the watch began, or the watch began in the middle of the
                # answer.
                write(result.text, sys.stdout)
            case _:
                pass
        _tell(last)
    assert last is not None
    assert isinstance(last.event, RunEnd)
    if last.event.result.stop.is_answer:
        return OK
    return NO_ANSWER


def _event(live: Live) -> JsonObject:
    event: object = live.event
    if isinstance(live.event, RunEnd):
        result = live.event.result
        event = {"type": "RunEnd", "stop": str(result.stop), "text": result.text}
    return {
        "run": live.run,
        "segment": live.segment,
        "attempt": live.attempt,
        "seq": live.seq,
        "event": _plain(event),
    }


def _tell(live: Live) -> None:
    match live.event:
        case TextDelta(text) | OutputDelta(text, index=None):
            sys.stdout.write(printable(text))
            sys.stdout.flush()
        case ReplyEnd(reply) if reply.text:
            print()
        case CallEnd(call=call):
            print(printable(f"{call.name} {one_line(call.arguments, _WIDE)}"), file=sys.stderr)
        case ResultEnd(result, seconds):
            line = f"{result.name}: {result_line(result, _WIDE)} ({seconds:.1f} s)"
            print(printable(line), file=sys.stderr)
        case RunEnd(result):
            state = str(result.stop)
            if result.pending:
                state = f"waits for a yes: {_calls(result.pending)}"
            print(printable(f"{live.run}: {state}"), file=sys.stderr)
        case _:
            pass


def _calls(pending: Iterable[Proposal]) -> str:
    return ", ".join(f"{each.name} ({each.call_id})" for each in pending)


async def _decide(app: App, options: Namespace) -> int:
    decision: FinalDecision = Allow()
    other: FinalDecision = Deny()
    if options.action == "deny":
        decision = Deny(options.reason)
        other = Allow()
    info = (await app.show(options.run)).info
    names = {each.call_id: each.name for each in info.pending}
    if not names and not options.calls:
        raise UsageError(f"the run {options.run!r} has no pending calls: it is {info.status}")
    unknown = [each for each in (*options.calls, *options.others) if each not in names]
    if names and unknown:
        waits = _calls(info.pending)
        raise UsageError(f"the run {options.run!r} waits for {waits}, and not for {', '.join(unknown)}")
    calls = options.calls or [each for each in names if each not in options.others]
    decisions = {**dict.fromkeys(calls, decision), **dict.fromkeys(options.others, other)}
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
    print(printable(words), file=sys.stderr, flush=True)


async def _retry(app: App, options: Namespace) -> int:
    code = OK
    for each in options.runs:
        try:
            await app.retry(each)
            _say(f"{each}: queued again; a worker goes on with it")
        except UsageError as error:
            _say(f"rightcall: {error}")
            code = NO_ANSWER
    return code


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
    "approve": _decide,
    "deny": _decide,
    "cancel": _cancel,
    "retry": _retry,
    "fork": _fork,
    "gc": _gc,
}


def _cells(info: RunInfo) -> tuple[str, ...]:
    why = info.reason
    if not why and info.pending:
        why = f"waits for {_calls(info.pending)}"
    names = (one_line(info.run, _WIDE), one_line(info.agent, _WIDE))
    return (_time(info.updated), *names, info.status, one_line(why or info.stop, _WIDE))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _plain(value: object) -> dict[str, JsonValue]:
    """A value that can be written as JSON, whatever text a model or a tool produced."""
    return cast("dict[str, JsonValue]", encodable_json(to_builtins(value)))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    for line in table_lines(rows):
        print(line)


def _queues(app: App, names: list[str], concurrency: int | None) -> tuple[Queue, ...]:
    chosen = {queue.name: queue for queue in app.queues}
    if names:
        chosen = {name: chosen.get(name) or Queue(name=name) for name in names}
    if not chosen:
        raise UsageError("the app works on no queue; name one with --queue")
    if concurrency is None:
        return tuple(chosen.values())
    return tuple(replace(queue, concurrency=concurrency) for queue in chosen.values())


async def _work(app: App, patience: float) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    _on_signals(loop, ended.set)
    await app.open()
    names = ", ".join(queue.name for queue in app.queues)
    agents = ", ".join(app.agents)
    _say(
        f"rightcall: working on {names} at {without_secrets(app.address)}, with {agents}; Ctrl-C ends it"
    )
    try:
        await ended.wait()
    finally:
        closing = loop.create_task(app.close(patience=patience))
        # It must have begun: if it was cancelled before, it would hand nothing to others.
        await asyncio.sleep(0)
        # Before it is said: who reads it may press Ctrl-C again at once.
        _on_signals(loop, closing.cancel)
        if ended.is_set():
            _say(
                f"rightcall: taking no more runs; waiting up to {patience:g} s for those under way; "
                "Ctrl-C again leaves them to others now"
            )
        with suppress(asyncio.CancelledError):
            await closing


def _on_signals(loop: asyncio.AbstractEventLoop, do: Callable[[], object]) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # on Windows Ctrl-C still raises
            loop.add_signal_handler(each, do)
