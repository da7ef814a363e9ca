"""Starts calls while the reply still streams.

Only calls that may be run twice or in vain are started early: the tool's effect is ``pure`` or ``read``,
the policy allows the call, and no other kind of call comes before it in the reply. A call starts when
the JSON object of its arguments is closed, because nothing valid can follow; so it does not matter
whether the dialect marks the end of a call. Arguments in plain text have no such end: their call starts
when the next event comes.

A call that was started and is not in the final reply as it was started is cancelled, as after a stream
that breaks off. Whether it had ended by then or not, the record says that it was started (CallDropped),
and so does the result of the call, if the reply contains it. Otherwise the transcript is the same either
way.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.around import ToolCall
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow
from rightcall.core.entry import CallDropped
from rightcall.core.events import CallDelta, CallEnd, CallStart, Emit, ModelEvent, ReplyEnd
from rightcall.core.handler import ignore
from rightcall.core.outcome import Cancelled, Failed, OutcomeKind
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Usage
from rightcall.core.ports import Clock
from rightcall.errors import UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.check import check, takes_long
from rightcall.gate.execution import Execution
from rightcall.gate.gate import decision_for, watched_by
from rightcall.gate.render import render
from rightcall.loop.around import around, call_end
from rightcall.loop.decide import call_key
from rightcall.loop.nested import nesting_of
from rightcall.loop.setup import Setup

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

_EARLY = frozenset(["pure", "read"])
"""The effects of tools whose calls may be run in vain."""
_LAST = "} \t\r\n"
"""What may be the last character of arguments: the end of the object, or white space after it."""


class Early(Struct, frozen=True, eq=False):
    """A call that was started early."""

    key: str
    call: Call
    task: asyncio.Task[Execution]
    ledger: list[Usage]
    began: list[float]
    """When the tool was called; empty while the call waits, such as for a slot."""

    def dropped(self, now: float) -> CallDropped | None:
        """Returns the record of a call that has stopped and is not used; None if it did not begin."""
        if not self.began:
            return None
        execution = None if self.task.cancelled() else self.task.result()
        if execution is None:
            result, seconds, attempts = render(self.call, Cancelled()), now - self.began[0], 1
        else:
            result, seconds, attempts = execution.result, execution.seconds, execution.attempts
        failure = execution.outcome if execution and isinstance(execution.outcome, Failed) else None
        return CallDropped(
            key=self.key,
            call=self.call,
            result=result,
            seconds=seconds,
            attempts=attempts,
            usage=sum(self.ledger, Usage()) if self.ledger else None,
            error="" if failure is None else failure.error,
            cause="" if failure is None else failure.cause,
        )


class _Begun:
    """A call whose arguments are still streaming."""

    __slots__ = ("arguments", "call", "is_complete", "unread")

    def __init__(self, call: Call, *, is_read: bool) -> None:
        self.call = call
        self.arguments = PartialJson() if is_read else None
        """The arguments so far, parsed only if their end must be detected."""
        self.unread: list[str] = []
        """The pieces that came since they were last looked at."""
        self.is_complete = False


def _as_meant(call: Call) -> tuple[str, str]:
    # White space may have followed the object.
    return call.name, call.arguments.strip()


def _note(clock: Clock, began: list[float]) -> None:
    began.append(clock.now())


def _is_closed(arguments: str) -> bool:
    whole = PartialJson()
    whole.feed(arguments)
    return arguments.rstrip().endswith("}") and whole.is_complete


class Speculation:
    """The calls of one reply that were started early."""

    __slots__ = (
        "_begun", "_considered", "_dropped", "_dry_run", "_emit", "_fates", "_guard", "_last", "_most",
        "_open", "_setup", "_turn", "_waits", "early", "listens",
    )  # fmt: skip

    def __init__(
        self,
        setup: Setup,
        turn: int,
        dropped: list[CallDropped],
        *,
        most: int | None = None,
        guard: "Guard | None" = None,
        emit: Emit | None = None,
        dry_run: bool = False,
    ) -> None:
        self._setup = setup
        self._turn = turn
        self._dropped = dropped
        """Where to add the calls that were started and not used."""
        self._fates: dict[str, OutcomeKind] = {}
        """What became of those of this reply, by call id."""
        self._most = most
        """How many calls the budget still allows."""
        self._guard = guard
        self._emit = emit
        self._dry_run = dry_run
        self._open = setup.speculate and not setup.hooks.changes_calls
        self._begun: dict[int, _Begun] = {}
        """The calls that began and are not considered yet, in the order in which they began."""
        self._considered = 0
        self._last = -1
        self.listens = False
        """Whether the next delta may complete a call."""
        self._waits: int | None = None
        """The index of the call that is complete as soon as another event comes."""
        self.early: tuple[Early, ...] = ()
        """The calls that were started and not taken."""

    def follow(self, event: ModelEvent) -> None:
        """Process the next event of the reply; deltas only while ``listens`` is true."""
        if not self._open:
            return
        if type(event) is CallDelta and self._waits is None:
            # A reply may have many thousands of these, so all else is left for where a call may end.
            begun = self._begun.get(event.index)
            if begun is not None and begun.arguments is not None:
                begun.unread.append(event.text)
                if event.text[-1:] in _LAST:
                    self._look(event.index, begun, begun.arguments)
            return
        kind = type(event)
        if self._waits is not None and kind is not ReplyEnd:
            self._settle(self._waits)
        if kind is CallDelta:
            self.follow(event)
        elif kind is CallStart:
            self._begin(event)  # type: ignore[arg-type]
        elif kind is CallEnd:
            self._end(event)  # type: ignore[arg-type]
        self.listens = self._is_waited_for()

    def _is_waited_for(self) -> bool:
        watched = any(each.arguments is not None for each in self._begun.values())
        return self._open and (watched or self._waits is not None)

    def _begin(self, start: CallStart) -> None:
        if start.index <= self._last:
            # It comes before a call in the reply that may have been started.
            self._open = False
            return
        self._last = start.index
        tool = self._setup.tools.get(start.name)
        is_read = tool is not None and tool.effect in _EARLY and tool.input == "json"
        self._begun[start.index] = _Begun(Call(id=start.id, name=start.name), is_read=is_read)

    def _look(self, index: int, begun: _Begun, arguments: PartialJson) -> None:
        """The arguments may have ended here: parse what is new of them."""
        if not begun.unread[-1].rstrip().endswith("}"):
            return
        arguments.feed("".join(begun.unread))
        begun.unread.clear()
        if arguments.is_complete:
            begun.call = replace(begun.call, arguments=arguments.text)
            self._settle(index)
            self.listens = self._is_waited_for()

    def _end(self, end: CallEnd) -> None:
        call, begun = end.call, self._begun.get(end.index)
        if begun is None:
            return
        begun.call = call
        if call.truncated:
            del self._begun[end.index]
        elif call.form == "json" and _is_closed(call.arguments):
            self._settle(end.index)
        else:
            self._waits = end.index

    def _settle(self, index: int) -> None:
        """A call is complete: consider it, and those that waited for it, in the reply's order."""
        self._waits = None
        self._begun[index].is_complete = True
        for each, begun in tuple(self._begun.items()):
            # A call that began earlier and is not complete yet may turn out to be a write.
            if not self._open or not begun.is_complete:
                return
            del self._begun[each]
            self._consider(begun.call)
            self._considered += 1

    def _consider(self, call: Call) -> None:
        """A call is complete: start it if that is allowed."""
        if takes_long(call, self._setup.tools):
            # Its check would take too long while the reply streams.
            self._open = False
            return
        checked = check(call, self._setup.tools)
        if not isinstance(checked, CheckedCall):
            return
        if not self._may_run_early(checked):
            self._open = False
        elif self._most is None or len(self.early) < self._most:
            self._launch(checked)

    def _launch(self, checked: CheckedCall) -> None:
        ledger: list[Usage] = []
        began: list[float] = []
        key = call_key(self._turn, self._considered, checked.tool.name)
        running = self._run_early(checked, key, ledger, began)
        task = asyncio.get_running_loop().create_task(running)
        self.early += (Early(key, checked.call, task, ledger, began),)

    async def _run_early(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float]
    ) -> Execution:
        with watched_by(self._guard):
            if self._setup.around:
                return await self._watched(checked, key, ledger, began)
            return await self._run(checked, key, ledger, began)

    async def _watched(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None = None
    ) -> Execution:
        """Run a call, with observers around it."""
        setup, is_early = self._setup, began is not None
        with around(setup.around, ToolCall, key, checked.call, checked.tool, is_early) as watched:
            execution = await self._run(checked, key, ledger, began)
            nesting = nesting_of(f"{setup.run}.{key}")
            if nesting is None or nesting.waits is None:
                # A call whose inner run waits for a person has not ended.
                watched.ended(call_end(execution))
        return execution

    async def _run(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float] | None = None
    ) -> Execution:
        setup = self._setup
        setting = Setting(
            dependencies=setup.dependencies,
            key=f"{setup.run}.{key}",
            run=setup.run,
            spend=ledger.append,
            tell=self._emit or ignore,
            dry_run=self._dry_run,
            begins=None if began is None else partial(_note, setup.clock, began),
        )
        return await setup.executor.run(checked, setting)

    async def run(self, checked: CheckedCall, key: str, ledger: list[Usage]) -> Execution:
        """Returns a call's execution: of its early start, or run now. Adds its usage to ``ledger``."""
        early = self._take(checked.call)
        if early is None and self._setup.around:
            return await self._watched(checked, key, ledger)
        if early is None:
            return await self._run(checked, key, ledger)
        execution = await early.task
        ledger += early.ledger
        return execution

    def _take(self, call: Call) -> Early | None:
        """Returns the early run of this same call, if there is one that was not taken."""
        for position, early in enumerate(self.early):
            if _as_meant(early.call) == _as_meant(call):
                self.early = self.early[:position] + self.early[position + 1 :]
                return early
        return None

    async def keep(self, calls: Sequence[Call]) -> None:
        """Drop what was started and is none of these calls, which are going to be run."""
        wanted = Counter(map(_as_meant, calls))
        strays: list[Early] = []
        for early in self.early:
            if wanted[_as_meant(early.call)] > 0:
                wanted[_as_meant(early.call)] -= 1
            else:
                strays.append(early)
        await self._drop(strays)

    async def fate(self, call_id: str) -> OutcomeKind | None:
        """Drop a call that is not going to be run; returns its outcome, if it had been started."""
        await self._drop([early for early in self.early if early.call.id == call_id])
        return self._fates.get(call_id)

    async def drop(self) -> None:
        """Drop everything that was started and not taken."""
        await self._drop(self.early)

    async def _drop(self, early: Sequence[Early]) -> None:
        """Stop calls, and record them."""
        if not early:
            return
        await self._stop(early)
        now = self._setup.clock.now()
        for dropped in [each.dropped(now) for each in early]:
            if dropped is not None:
                self._fates[dropped.call.id] = dropped.result.outcome
                self._dropped.append(dropped)
                await self._setup.steps.note(f"{dropped.key}.dropped", dropped)

    async def cancel(self) -> None:
        """Stop everything that was started and not taken, and record nothing: the run breaks off."""
        await self._stop(self.early)

    async def _stop(self, early: Sequence[Early]) -> None:
        """Cancel calls, and wait until they have stopped."""
        self.early = tuple([each for each in self.early if each not in early])
        for each in early:
            each.task.cancel()
        await asyncio.wait([each.task for each in early])

    def _may_run_early(self, checked: CheckedCall) -> bool:
        tool = checked.tool
        if tool.effect not in _EARLY or tool.serial or tool.delegates:
            return False
        try:
            decision = decision_for(checked, self._setup.policy, self._guard, early=True).decision
        except UsageError:
            # The gate raises it again; raised here, it would look like an error of the stream.
            return False
        return isinstance(decision, Allow | None)
