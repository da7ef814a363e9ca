"""A journal into the run it records, again: without model and tools, or with one of them live."""

import re
from collections import deque
from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Ask
from rightcall.core.entry import CallFinished, Entry, RunPaused, RunStarted
from rightcall.core.events import ModelEvent
from rightcall.core.outcome import Returned
from rightcall.core.ports import Journal, Model
from rightcall.core.request import Profile, Request, Wanted
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import ReplayError, UsageError
from rightcall.execute.executor import Execution, Executor
from rightcall.execute.run import Setting
from rightcall.loop.drive import Driver
from rightcall.loop.guard import canonical
from rightcall.loop.result import RunResult
from rightcall.loop.segment import decisions_in, result_of, state_of
from rightcall.loop.setup import Setup
from rightcall.record.replay import RecordedSteps, RecordedTools, recorded_results

_MODEL = re.compile(r"t\d+\.model")
"""The key of a reply; a call of a tool named ``model`` has one number more."""


async def replay(
    journal: Journal, run: str, *, model: Model | None = None, tools: ToolSource | None = None
) -> RunResult:
    """Run a recorded run again. What is not given live is taken from the journal.

    With neither, nothing outside is touched and the transcript is the recorded one, to the byte: a
    regression test of the loop. With ``tools``, the recorded model calls them anew; with ``model``, a
    live model gets the recorded results for the calls it repeats.
    """
    entries = list(journal.entries(run))
    start = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    if start is None:
        raise UsageError(f"the journal holds no run {run!r}")

    decisions = decisions_in(entries)
    waiting = {
        call_id for entry in entries if isinstance(entry, RunPaused) for call_id in entry.call_ids
    } - decisions.keys()

    def is_live(key: str) -> bool:
        return model is not None or (tools is not None and not _MODEL.fullmatch(key))

    def policy(checked: CheckedCall) -> Ask | None:
        return Ask() if checked.call.id in waiting else None

    setup = Setup(
        run=run,
        model=model or _NoModel(),
        tools=RecordedTools() if tools is None else Toolbox(tools),
        steps=RecordedSteps(entries, is_live),
        executor=Executor() if tools is not None else _RecordedExecutor(entries),
        specs=start.specs,
        system=start.system,
        answer=_answer(start.wanted),
        policy=policy,
        speculate=False,
    )
    driver = Driver(setup, state_of(start), decisions=decisions)
    return result_of(driver, await driver.run(), len(start.messages) - 1)


def _answer(wanted: Wanted | None) -> Tool | None:
    return None if wanted is None else Tool(wanted.tool, "", wanted.schema)


class _NoModel:
    """Stands where the model was. Its replies come from the journal, so it is never asked."""

    profile = Profile()

    def stream(self, _: Request) -> AsyncIterator[ModelEvent]:
        raise UsageError("a replay without a model asked its model")


class _RecordedExecutor:
    """Gives each call the result that the same call got when it was recorded."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._ends: dict[tuple[str, str], deque[CallFinished]] = {}
        for call, end in recorded_results(entries):
            self._ends.setdefault((call.name, canonical(call.arguments)), deque()).append(end)

    async def run(self, checked: CheckedCall, _: Setting) -> Execution:
        call = checked.call
        ends = self._ends.get((call.name, canonical(call.arguments)))
        if ends is None:
            raise ReplayError(f"{call.name}({call.arguments})")
        end = ends.popleft() if len(ends) > 1 else ends[0]
        return Execution(
            call=call,
            outcome=Returned(end.result.text),
            result=replace(end.result, call_id=call.id),
            seconds=end.seconds,
            attempts=end.attempts,
        )
