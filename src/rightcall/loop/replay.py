"""Replays the run that a journal records: without model and tools, or with one of them live."""

import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Stop
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Ask, FinalDecision
from rightcall.core.entry import (
    CallFinished,
    Entry,
    HookAnswered,
    Nested,
    ReplyReceived,
    RunPaused,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.events import ModelEvent
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Message
from rightcall.core.outcome import Cancelled, Failed, Outcome, Returned
from rightcall.core.ports import AsyncJournal, Journal, Model
from rightcall.core.problem import Problem, Valid
from rightcall.core.request import Profile, Request, Wanted
from rightcall.core.tool import Spec, Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError, ReplayError, UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.checked_async import checked_async
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.executor import Executor
from rightcall.gate.hooks import Hooks, Veto, gathered
from rightcall.loop.ask import ask
from rightcall.loop.circles import canonical
from rightcall.loop.nested import Nesting, nesting_of
from rightcall.loop.offering import Offered
from rightcall.loop.result import RunResult, dropped_in
from rightcall.loop.run import Run
from rightcall.loop.setup import Setup
from rightcall.loop.state import started
from rightcall.loop.window import Window
from rightcall.record.steps import decisions_in, entries_of

_MODEL = re.compile(r"t\d+\.model")
"""Matches the key of a reply; the key of a call of a tool named ``model`` has one number more."""


@checked_async("rc.replay")
async def replay(
    journal: Journal | AsyncJournal,
    run: str,
    *,
    model: Model | None = None,
    tools: ToolSource | None = None,
) -> RunResult[Any]:
    """Run a recorded run again. What you do not pass live is taken from the journal.

    With neither, nothing outside is touched and the transcript is the recorded one, to the byte: a
    regression test of the loop. With ``tools``, the recorded model calls them again; with ``model``, a
    live model gets the recorded results for the calls it repeats.
    """
    entries = await entries_of(journal, run)
    again = _again(entries, run, model=model, tools=tools)
    return again.result(await again.until_stop())


class Retraced(Struct, frozen=True, eq=False):
    """A recorded run that was replayed as far as its record goes."""

    result: RunResult[Any]
    """The run's result; if the record breaks off, ``stop`` is an error."""
    requests: Mapping[str, Request]
    """The request of each turn, by the key of the reply, even if no reply was recorded."""


async def retrace(entries: Sequence[Entry], run: str, *, window: Window | None = None) -> Retraced:
    """Replay a recorded run without any effects, and collect the requests to its model.

    The requests lack what is not recorded: options, the token limit, the output schema for the vendor.
    They lack the window too, unless it is given.
    """
    seen: dict[str, Request] = {}
    again = _again(entries, run, window=window, seen=seen)
    try:
        stop = await again.until_stop()
    except ReplayError as error:
        stop = Stop("error", detail=str(error))
    return Retraced(again.result(stop), seen)


def _again(
    entries: Sequence[Entry],
    run: str,
    *,
    model: Model | None = None,
    tools: ToolSource | None = None,
    decided: Mapping[str, FinalDecision] | None = None,
    window: Window | None = None,
    seen: dict[str, Request] | None = None,
) -> Run:
    """Returns the run that the entries record, ready to be replayed."""
    start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    if start is None:
        raise UsageError(f"the journal holds no run {run!r}")
    decisions = {**decisions_in(entries), **(decided or {})}
    waiting = {
        call_id for entry in entries if isinstance(entry, RunPaused) for call_id in entry.call_ids
    } - decisions.keys()

    def is_live(key: str) -> bool:
        return model is not None or (tools is not None and not _MODEL.fullmatch(key))

    def policy(checked: CheckedCall) -> Ask | None:
        return Ask() if checked.call.id in waiting else None

    hooks = Hooks(
        before_model=_nothing if _has(entries, "before_model") else None,
        before_tool=_nothing if _has(entries, "before_tool") else None,
    )
    agents = {e.agent for e in entries if isinstance(e, Nested)} if model is None else set()
    box = _RecordedTools(agents) if tools is None else Toolbox(tools)
    setup = Setup(
        run=run,
        model=model or _NoModel(),
        tools=box,
        steps=_RecordedSteps(entries, is_live, seen),
        executor=Executor() if tools is not None else _RecordedExecutor(entries),
        specs=start.specs,
        offered=Offered(box, start.specs, _found_later(entries, start)),
        system=start.system,
        answer=_answer(start.wanted),
        policy=policy,
        hooks=gathered(hooks),
        window=window,
        summarise=_no_summary if _has_summary(entries) else None,
        speculate=False,
    )
    begins, dropped = len(start.messages) - 1, dropped_in(entries)
    return Run(setup, started(start), begins=begins, decisions=decisions, dropped=dropped)


def _found_later(entries: Sequence[Entry], start: RunStarted) -> dict[str, Spec]:
    """Returns the deferred tools that the model found, so that a live model can find them again."""
    first = {spec.name for spec in start.specs}
    changes = [entry for entry in entries if isinstance(entry, ToolsChanged)]
    return {spec.name: spec for each in changes for spec in each.specs if spec.name not in first}


def _has(entries: Sequence[Entry], hook: str) -> bool:
    return any(isinstance(entry, HookAnswered) and entry.hook == hook for entry in entries)


def _has_summary(entries: Sequence[Entry]) -> bool:
    return any(isinstance(each, StepDone) and each.key.endswith(".summary") for each in entries)


async def _no_summary(_: tuple[Message, ...]) -> str:
    """Stands in for ``summarise``, whose summaries are recorded."""
    return ""


def _nothing(_: object) -> Veto | None:
    """Stands in for a hook, whose answers are recorded."""
    return None


def _answer(wanted: Wanted | None) -> Tool | None:
    return None if wanted is None else Tool(wanted.tool, "", wanted.schema)


class _NoModel:
    """Stands in for the model. Its replies come from the journal, so it is never asked."""

    profile = Profile()

    def stream(self, _: Request) -> AsyncIterator[ModelEvent]:
        raise UsageError("a replay without a model asked its model")


class _RecordedExecutor:
    """Gives each call the result that the same call had in the record."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._ends: dict[tuple[str, str], deque[CallFinished]] = {}
        for call, end in _recorded_results(entries):
            self._ends.setdefault((call.name, canonical(call.arguments)), deque()).append(end)

    async def run(self, checked: CheckedCall, setting: Setting) -> Execution:
        call = checked.call
        if (nesting := nesting_of(setting.key or "")) is not None:
            await self._go_inside(nesting, nesting.run.removeprefix(f"{setting.run}."))
            # This is never read: the outer run pauses too.
            return not_run(call, Cancelled())
        ends = self._ends.get((call.name, canonical(call.arguments)))
        if ends is None:
            raise ReplayError(f"{call.name}({call.arguments})")
        end = ends.popleft() if len(ends) > 1 else ends[0]
        outcome: Outcome = Returned(end.result.text)
        if end.result.outcome == "failed":
            outcome = Failed(end.result.text, error=end.error, cause=end.cause)
        return Execution(
            call=call,
            outcome=outcome,
            result=replace(end.result, call_id=call.id),
            seconds=end.seconds,
            attempts=end.attempts,
        )

    async def _go_inside(self, nesting: Nesting, key: str) -> None:
        """Replay the inner run of a call that did not finish, up to where it waits for a person."""
        inside = [e.entry for e in self._entries if isinstance(e, Nested) and e.path == key]
        again = _again(inside, nesting.run, decided=nesting.decisions)
        nesting.waits = again.result(await again.until_stop())
        if nesting.waits.stop.reason != "pending":
            raise ReplayError(key)


class _RecordedSteps:
    """Returns recorded effects. ``live`` says by the key which ones run again."""

    def __init__(
        self,
        entries: Sequence[Entry],
        live: Callable[[str], bool],
        seen: dict[str, Request] | None = None,
    ) -> None:
        self._live = live
        self._seen = seen
        self._done = {
            entry.key: entry
            for entry in entries
            if isinstance(entry, ReplyReceived | CallFinished | StepDone | HookAnswered)
        }

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]]) -> Entry:
        """Returns the recorded entry of that key, or runs a live step."""
        if self._seen is not None and isinstance(body, partial) and body.func is ask:
            self._seen[key] = body.args[1].request
        known = self._done.get(key)
        if isinstance(known, HookAnswered):
            return known
        if self._live(key):
            return await body()
        if known is None:
            raise ReplayError(key)
        return known

    def recorded(self, key: str) -> Entry | None:
        """Returns the recorded entry of that key, if there is one."""
        return None if self._live(key) else self._done.get(key)

    async def note(self, _: str, _entry: Entry) -> bool:
        """Does nothing: a replay records nothing."""
        return False

    def was_started(self, _: str) -> bool:
        """Always false: a call that a replay runs has not been started before."""
        return False


class _RecordedTools:
    """Stands in for the tools: any name is a tool that accepts anything."""

    def __init__(self, agents: Container[str]) -> None:
        self._agents = agents
        """The names of tools that were agents."""

    def get(self, name: str) -> Tool | None:
        """Returns a tool of that name; None if it is not a valid name."""
        try:
            # With ``dry_run``, so that a dry run also gets the recorded results.
            tool = Tool(name, "", validator=_Anything(), dry_run=True)
        except DeclarationError:
            return None
        return tool.replace(delegates=True) if name in self._agents else tool

    def names(self) -> tuple[str, ...]:
        """Empty: the names are not recorded."""
        return ()


class _Anything:
    def validate(self, _: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        return Valid(value)


def _recorded_results(entries: Sequence[Entry]) -> Iterator[tuple[Call, CallFinished]]:
    """Yields every recorded call with its end, in order."""
    finished = {entry.key: entry for entry in entries if isinstance(entry, CallFinished)}
    for entry in entries:
        if isinstance(entry, ReplyReceived):
            turn = entry.key.removesuffix(".model")
            for index, call in enumerate(entry.reply.calls):
                if (end := finished.get(f"{turn}.{index}.{call.name}")) is not None:
                    yield call, end
