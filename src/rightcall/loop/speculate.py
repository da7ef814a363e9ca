"""Starts calls while the reply still streams.

Only calls that may be run twice or in vain are started early: the tool's effect is ``pure`` or ``read``,
the policy allows the call, and no other kind of call comes before it in the reply. A call starts when
the JSON object of its arguments is closed, because nothing valid can follow; so it does not matter
whether the dialect marks the end of a call. Arguments in plain text have no such end: their call starts
when the next event comes.

A call that was started and is not in the final reply as it was started is cancelled, as after a stream
that breaks off. The transcript is the same either way.
"""

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.around import ToolCall
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow
from rightcall.core.events import CallDelta, CallEnd, CallStart, Emit, ModelEvent, ReplyEnd
from rightcall.core.handler import ignore
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Usage
from rightcall.errors import UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.check import check, takes_long
from rightcall.gate.execution import Execution
from rightcall.gate.gate import decision_for, watched_by
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

    call: Call
    task: asyncio.Task[Execution]
    ledger: list[Usage]


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


def _is_closed(arguments: str) -> bool:
    whole = PartialJson()
    whole.feed(arguments)
    return arguments.rstrip().endswith("}") and whole.is_complete


class Speculation:
    """The calls of one reply that were started early."""

    def __init__(
        self,
        setup: Setup,
        turn: int,
        *,
        most: int | None = None,
        guard: "Guard | None" = None,
        emit: Emit | None = None,
        dry_run: bool = False,
    ) -> None:
        self._setup = setup
        self._turn = turn
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
        self.early: list[Early] = []
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
        task = asyncio.get_running_loop().create_task(self._run_early(self._considered, checked, ledger))
        self.early.append(Early(checked.call, task, ledger))

    async def _run_early(self, index: int, checked: CheckedCall, ledger: list[Usage]) -> Execution:
        key = call_key(self._turn, index, checked.tool.name)
        with watched_by(self._guard):
            if self._setup.around:
                return await self._watched(checked, key, ledger, early=True)
            return await self._run(checked, key, ledger)

    async def _watched(
        self, checked: CheckedCall, key: str, ledger: list[Usage], *, early: bool = False
    ) -> Execution:
        """Run a call, with observers around it."""
        setup = self._setup
        with around(setup.around, ToolCall, key, checked.call, checked.tool, early) as watched:
            execution = await self._run(checked, key, ledger)
            nesting = nesting_of(f"{setup.run}.{key}")
            if nesting is None or nesting.waits is None:
                # A call whose inner run waits for a person has not ended.
                watched.ended(call_end(execution))
        return execution

    async def _run(self, checked: CheckedCall, key: str, ledger: list[Usage]) -> Execution:
        setup = self._setup
        setting = Setting(
            dependencies=setup.dependencies,
            key=f"{setup.run}.{key}",
            run=setup.run,
            spend=ledger.append,
            tell=self._emit or ignore,
            dry_run=self._dry_run,
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
            # White space may have followed the object.
            is_same = early.call.arguments.strip() == call.arguments.strip()
            if is_same and early.call.name == call.name:
                return self.early.pop(position)
        return None

    async def drop(self) -> None:
        """Cancel the calls that were started and not taken, and wait until they have stopped."""
        tasks = [early.task for early in self.early]
        self.early.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

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
