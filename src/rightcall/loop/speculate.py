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
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Allow
from rightcall.core.entry import CallDropped
from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent, ReplyEnd
from rightcall.core.facts import EFFECT_FREE
from rightcall.core.outcome import Cancelled, Failed, OutcomeKind
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Call, Usage
from rightcall.core.tool import CheckedCall
from rightcall.errors import UsageError
from rightcall.gate.attempt import is_raised
from rightcall.gate.call_check import check, takes_long
from rightcall.gate.execution import Execution
from rightcall.gate.gate import decision_for, guarded_by
from rightcall.gate.render import render
from rightcall.loop.decide import call_key
from rightcall.loop.settings import Setup

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

_LAST = "} \t\r\n"
"""What may be the last character of arguments: the end of the object, or white space after it."""


RunCall: TypeAlias = Callable[[CheckedCall, str, list[Usage], list[float]], Awaitable[Execution]]
"""Runs a call under its key. Adds what it uses to the list, and when it began to the other."""


class EarlyCall(Struct, frozen=True, eq=False):
    """A call that was started early."""

    key: str
    call: Call
    task: asyncio.Task[Execution]
    ledger: list[Usage]
    began: list[float]
    """When the tool was called; empty while the call waits, such as for a slot."""

    def dropped_entry(self, now: float) -> CallDropped | None:
        """Returns the record of a call that has stopped and is not used; None if it did not begin."""
        if not self.began:
            return None
        if self.task.cancelled():
            execution = None
        else:
            execution = self.task.result()
        if execution is None:
            result = render(self.call, Cancelled())
            seconds = now - self.began[0]
            attempts = 1
        else:
            result = execution.result
            seconds = execution.seconds
            attempts = execution.attempts
        if execution and isinstance(execution.outcome, Failed):
            failure = execution.outcome
        else:
            failure = None
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


class _StreamingCall:
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


def _is_closed(arguments: str) -> bool:
    whole = PartialJson()
    whole.feed(arguments)
    return arguments.rstrip().endswith("}") and whole.is_complete


class Speculation:
    """The calls of one reply that were started early."""

    __slots__ = (
        "_begun", "_considered", "_dropped", "_fates", "_guard", "_last", "_left_alone", "_most",
        "_offer", "_open", "_run_call", "_setup", "_turn", "_waits", "early", "listens",
    )  # fmt: skip

    def __init__(
        self,
        setup: Setup,
        turn: int,
        dropped: list[CallDropped],
        *,
        run_call: RunCall,
        most: int | None = None,
        guard: "Guard | None" = None,
        offer: tuple[str, ...] | None = None,
        left_alone: Container[str] = (),
    ) -> None:
        self._setup = setup
        self._turn = turn
        self._run_call = run_call
        self._dropped = dropped
        """Where to add the calls that were started and not used."""
        self._fates: dict[str, OutcomeKind] = {}
        """What became of those of this reply, by call id."""
        self._most = most
        """How many calls the budget still allows."""
        self._guard = guard
        self._offer = offer
        """The only tools that the reply may call; None for all."""
        self._left_alone = left_alone
        """The tools that failed too often to be called again."""
        self._open = True
        """Whether more calls of this reply may be started."""
        self._begun: dict[int, _StreamingCall] = {}
        """The calls that began and are not considered yet, in the order in which they began."""
        self._considered = 0
        self._last = -1
        self.listens = False
        """Whether the next delta may complete a call."""
        self._waits: int | None = None
        """The index of the call that is complete as soon as another event comes."""
        self.early: tuple[EarlyCall, ...] = ()
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
        is_read = tool is not None and tool.effect in EFFECT_FREE and tool.input == "json"
        self._begun[start.index] = _StreamingCall(Call(id=start.id, name=start.name), is_read=is_read)

    def _look(self, index: int, begun: _StreamingCall, arguments: PartialJson) -> None:
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
        call = end.call
        begun = self._begun.get(end.index)
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
        if call.name in self._left_alone:
            return
        if takes_long(call, self._setup.tools):
            # Its check would take too long while the reply streams.
            self._open = False
            return
        checked = check(call, self._setup.tools, self._offer)
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
        self.early += (EarlyCall(key, checked.call, task, ledger, began),)

    async def _run_early(
        self, checked: CheckedCall, key: str, ledger: list[Usage], began: list[float]
    ) -> Execution:
        with guarded_by(self._guard):
            return await self._run_call(checked, key, ledger, began)

    def take(self, call: Call) -> EarlyCall | None:
        """Returns the early run of this same call, if there is one that was not taken."""
        for position, early in enumerate(self.early):
            if _as_meant(early.call) == _as_meant(call):
                self.early = self.early[:position] + self.early[position + 1 :]
                return early
        return None

    async def keep(self, calls: Sequence[Call]) -> None:
        """Drop what was started and is none of these calls, which are going to be run."""
        wanted = Counter(map(_as_meant, calls))
        strays: list[EarlyCall] = []
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

    async def _drop(self, early: Sequence[EarlyCall]) -> None:
        """Stop calls, and record them."""
        if not early:
            return
        await self._stop(early)
        now = self._setup.clock.now()
        for dropped in [each.dropped_entry(now) for each in early]:
            if dropped is not None:
                self._fates[dropped.call.id] = dropped.result.outcome
                self._dropped.append(dropped)
                await self._setup.steps.note(f"{dropped.key}.dropped", dropped)

    async def cancel(self) -> None:
        """Stop everything that was started and not taken, and record nothing: the run breaks off."""
        await self._stop(self.early)

    async def _stop(self, early: Sequence[EarlyCall]) -> None:
        """Cancel calls, and wait until they have stopped."""
        self.early = tuple([each for each in self.early if each not in early])
        for each in early:
            each.task.cancel()
        await asyncio.wait([each.task for each in early])

    def _may_run_early(self, checked: CheckedCall) -> bool:
        tool = checked.tool
        if tool.effect not in EFFECT_FREE or tool.serial or tool.delegates or is_raised(tool):
            return False
        try:
            decision = decision_for(checked, self._setup.policy, self._guard, early=True).decision
        except UsageError:
            # The gate raises it again; raised here, it would look like an error of the stream.
            return False
        return isinstance(decision, Allow | None)
