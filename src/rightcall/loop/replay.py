"""Replays the run that a journal records: without model and tools, or with one of them live.

Which pauses of runs without a journal were resumed in this process is remembered, so that none is
twice. A journal records decisions, so resuming a second time does nothing twice. Without one only this
process can know; another process that resumes a copy of the result is not detected.
"""

import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Stop
from rightcall.core.decision import Ask, FinalDecision
from rightcall.core.entry import (
    CallFinished,
    Entry,
    HookAnswered,
    MessagesDelivered,
    Nested,
    ReplyReceived,
    RunPaused,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.events import ModelEvent
from rightcall.core.jsontext import JsonObject
from rightcall.core.outcome import Cancelled, Failed, Outcome, Returned
from rightcall.core.parts import Call
from rightcall.core.ports import AsyncJournal, Journal, Model
from rightcall.core.problem import Problem, Valid
from rightcall.core.request import Profile, Request
from rightcall.core.tool import CheckedCall, Spec, Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import AlreadyDecided, DeclarationError, ReplayError, UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.executor import Executor, checked_async
from rightcall.gate.hooks import Hooks, Veto, chain_hooks
from rightcall.loop.ask import ask
from rightcall.loop.delivery import RecordedInbox
from rightcall.loop.handoffs import HANDED_OVER, RecordedAgent, read_handed_over
from rightcall.loop.history_view import RecordedCompactions, is_compacted
from rightcall.loop.inner_runs import Nesting, nesting_of
from rightcall.loop.result import RunResult, dropped_in
from rightcall.loop.run import Run
from rightcall.loop.settings import (
    Handoff,
    Setup,
)
from rightcall.loop.state import canonical, initial_state
from rightcall.loop.tool_offer import Offered
from rightcall.loop.window import Window
from rightcall.record.steps import ANSWERED, check_steps, decisions_in, entries_of

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
    again = _recorded_run(entries, run, model=model, tools=tools)
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
    again = _recorded_run(entries, run, window=window, seen=seen)
    try:
        stop = await again.until_stop()
    except ReplayError as error:
        stop = Stop("error", detail=str(error))
    return Retraced(again.result(stop), seen)


def _recorded_run(
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
    check_steps(run, entries)
    asked_about: set[str] = set()
    hooks: set[str] = set()
    agents: set[str] = set()
    handoffs: dict[str, Handoff] = {}
    # The deferred tools that the model found, so that a live model can find them again.
    later: dict[str, Spec] = {}
    first = {spec.name for spec in start.specs}
    for entry in entries:
        match entry:
            case RunPaused(call_ids=call_ids):
                asked_about.update(call_ids)
            case HookAnswered(hook=hook):
                hooks.add(hook)
            case Nested(agent=agent) if model is None:
                agents.add(agent)
            case StepDone(key=key) if key.endswith(HANDED_OVER):
                handed = read_handed_over(entry)
                handoffs[handed.tool] = Handoff(agent=RecordedAgent(handed), name=handed.tool)
            case ToolsChanged(specs=specs):
                later.update({spec.name: spec for spec in specs if spec.name not in first})
            case _:
                pass
    decisions = {**decisions_in(entries), **(decided or {})}
    waiting = asked_about - decisions.keys()

    def is_live(key: str) -> bool:
        return model is not None or (tools is not None and not _MODEL.fullmatch(key))

    def policy(checked: CheckedCall) -> Ask | None:
        if checked.call.id in waiting:
            return Ask()
        return None

    box = _RecordedTools(agents) if tools is None else Toolbox(tools)
    wanted = start.wanted
    setup = Setup(
        run=run,
        model=model or _NoModel(),
        tools=box,
        steps=_RecordedSteps(entries, is_live, seen),
        executor=_RecordedExecutor(entries) if tools is None else Executor(),
        specs=start.specs,
        handoffs=handoffs,
        offered=Offered(box, start.specs, later),
        system=start.system,
        answer=None if wanted is None else Tool(wanted.tool, "", wanted.schema),
        policy=policy,
        hooks=chain_hooks(
            Hooks(
                before_model=_silent_hook if "before_model" in hooks else None,
                before_tool=_silent_hook if "before_tool" in hooks else None,
            )
        ),
        window=window,
        compact=RecordedCompactions(entries) if is_compacted(start.messages, entries) else None,
        speculate=False,
        inbox=_recorded_inbox(entries),
    )
    return Run(
        setup,
        initial_state(start),
        begins=len(start.messages) - 1,
        decisions=decisions,
        dropped=dropped_in(entries),
    )


def _recorded_inbox(entries: Sequence[Entry]) -> RecordedInbox | None:
    """Returns an inbox that stands in for that of a run which was given messages while it went on."""
    if any(isinstance(entry, MessagesDelivered) for entry in entries):
        return RecordedInbox()
    return None


def _silent_hook(_: object) -> Veto | None:
    """Stands in for a hook, whose answers are recorded."""
    return None


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
        inside = []
        for e in self._entries:
            if isinstance(e, Nested) and e.path == key:
                inside.append(e.entry)
        again = _recorded_run(inside, nesting.run, decided=nesting.decisions)
        nesting.waits = again.result(await again.until_stop())
        if nesting.waits.stop.reason != "pending":
            raise ReplayError(key)


_RECORDED = (ReplyReceived, CallFinished, StepDone, HookAnswered, MessagesDelivered)
"""The entries that are steps."""


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
        self._done = {entry.key: entry for entry in entries if isinstance(entry, _RECORDED)}

    async def step(self, key: str, body: Callable[[], Awaitable[Entry]]) -> Entry:
        """Returns the recorded entry of that key, or runs a live step."""
        if self._seen is not None and isinstance(body, partial) and body.func is ask:
            self._seen[key] = body.args[1].request
        known = self._done.get(key)
        if isinstance(known, HookAnswered | MessagesDelivered):
            return known
        if self._live(key):
            return await body()
        if known is None:
            raise ReplayError(key)
        return known

    def recorded(self, key: str) -> Entry | None:
        """Returns the recorded entry of that key, if there is one."""
        known = self._done.get(key)
        if self._live(key) and not isinstance(known, MessagesDelivered):
            return None
        return known

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
        if name in self._agents:
            return tool.replace(delegates=True)
        return tool

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
                key = f"{turn}.{index}.{call.name}"
                if (end := finished.get(f"{key}{ANSWERED}", finished.get(key))) is not None:
                    yield call, end


MOST = 10_000
"""The most runs that are remembered, the latest ones."""

_ADVICE = "its calls are not run again. Keep what that resume gave, or give the agent a journal"


class _ResumedTurn:
    """The decisions that resumed a run's pause at a turn."""

    def __init__(self, turn: int, decisions: Mapping[str, FinalDecision]) -> None:
        self.turn = turn
        self.decisions = decisions

    def is_before(self, later: "_ResumedTurn") -> bool:
        """Whether the later one answers another pause: an inner agent may pause the same turn again."""
        if self.turn == later.turn:
            return not self.decisions.keys() & later.decisions.keys()
        return self.turn < later.turn

    def after(self, before: "_ResumedTurn | None") -> "_ResumedTurn":
        """Returns the decisions of this turn, together with those of an earlier pause in it."""
        if before is None or before.turn != self.turn:
            return self
        return _ResumedTurn(self.turn, {**before.decisions, **self.decisions})


_answers: dict[str, _ResumedTurn] = {}
_lock = Lock()
"""Agents may run in several threads, each with its own event loop."""


@contextmanager
def resume_once(
    result: RunResult[Any], decisions: Mapping[str, FinalDecision], run: Run
) -> Iterator[None]:
    """Resume a paused run in this context; raises AlreadyDecided if that was done before.

    A run that failed before it ran any call may be resumed again.
    """
    answer = _ResumedTurn(result.state.progress.turns, decisions)
    with _lock:
        before = _answers.pop(result.run, None)
        is_first = before is None or before.is_before(answer)
        if before is None or is_first:
            _answers[result.run] = answer.after(before)
        else:
            _answers[result.run] = before
        if len(_answers) > MOST:
            del _answers[next(iter(_answers))]
    if before is not None and not is_first:
        raise AlreadyDecided(result.run, before.decisions, advice=_ADVICE)
    try:
        yield
    except BaseException:
        if not run.has_acted:
            forget_decisions(result.run)
        raise


def check_standing(
    result: RunResult[Any], decided: Mapping[str, FinalDecision], given: Mapping[str, FinalDecision]
) -> None:
    """Raise AlreadyDecided if a journal holds another decision: the first one counts."""
    stands = {call_id: given[call_id] for call_id in decided if call_id in given}
    if any(decided[call_id] != decision for call_id, decision in stands.items()):
        raise AlreadyDecided(result.run, stands)


def forget_decisions(run: str) -> None:
    """Forget a run's decisions: a run of that name starts anew, or resuming failed before any call."""
    _answers.pop(run, None)
