"""Limits how many calls run at once, and how often: what a call waits for before it starts.

Three limits protect three things. A run's calls share the run's slots, so that a reply with a hundred
calls does not start them all; other runs do not wait for them. A tool's ``concurrency`` or ``rate``
protects something outside, so it holds for the tool in this process, whatever agents, runs, event loops
and threads call it. Blocking functions take threads, of which a process has a fixed number
(``threads``).
"""

import asyncio
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from types import FunctionType
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from rightcall.core.tool import Tool
from rightcall.gate.semaphores import Both, CallSlot, Pace, ProcessSemaphore, Semaphore
from rightcall.gate.threads import current, in_a_tool
from rightcall.platforms import after_fork

RUN_CONCURRENCY = 16
"""How many calls of a run may run at once by default."""


class _ToolLimits:
    """What the tools' own ``concurrency`` and ``rate`` count in this process.

    A limit goes with the tool that it was declared for: its copies, under whatever name, and what binds
    its method to an instance count together, and so does the same function declared again under the same
    name. It is forgotten with that tool, or that function.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: WeakKeyDictionary[object, dict[object, Any]] = WeakKeyDictionary()

    def semaphore(self, tool: Tool, size: int) -> ProcessSemaphore:
        """Returns the slots of a tool."""
        root = tool.root
        with self._lock:
            made = self._of(root)
            found: ProcessSemaphore | None = made.get((root.name, size))
            if found is None:
                found = made[root.name, size] = ProcessSemaphore(size)
        return found

    def pace(self, tool: Tool, calls: int, seconds: float) -> Pace:
        """Returns the pace of a tool."""
        root = tool.root
        with self._lock:
            made = self._of(root)
            found: Pace | None = made.get((root.name, calls, seconds))
            if found is None:
                found = made[root.name, calls, seconds] = Pace(calls, seconds)
        return found

    def _of(self, root: Tool) -> dict[object, Any]:
        handler = root.handler
        owner = handler if type(handler) is FunctionType else root
        return self._found.setdefault(owner, {})


_tool_limits = _ToolLimits()


def _begin_anew() -> None:
    """Count from zero in a forked child, where the parent's calls do not run."""
    global _tool_limits  # noqa: PLW0603 - they stand for the process itself
    _tool_limits = _ToolLimits()


after_fork(_begin_anew)


class _Loan:
    """The slot of a running call, which calls of the same tool inside it take one after another.

    They would wait for ever if they needed a slot of their own and the calls around them held them all.
    """

    __slots__ = ("around", "is_over", "slot")

    def __init__(self, around: "_Loan | None") -> None:
        self.slot = ProcessSemaphore(1)
        self.around = around
        self.is_over = False


_NONE: Mapping[ProcessSemaphore, _Loan] = {}
_loans: ContextVar[Mapping[ProcessSemaphore, _Loan]] = ContextVar("rightcall: loans", default=_NONE)
"""What the calls around this one hold of tools' own slots."""


class Limited:
    """The slot of one call of a tool with slots of its own: one of those, and what other calls take.

    While it waits for one of the two it holds neither: who holds the other may be waiting, in an agent
    that a tool runs, for this.
    """

    __slots__ = ("_inner", "_loan", "_own", "_tool")

    def __init__(self, tool: ProcessSemaphore, inner: CallSlot) -> None:
        self._tool = tool
        self._inner = inner
        around = _loans.get().get(tool)
        while around is not None and around.is_over:
            # A task that outlives the call which started it.
            around = around.around
        self._own = tool if around is None else around.slot
        self._loan = _Loan(around)

    def acquire_free(self) -> bool:
        """Acquire both if they are free now."""
        if not self._own.acquire_free():
            return False
        if self._inner.acquire_free():
            self._lend()
            return True
        self._own.release()
        return False

    async def acquire(self) -> None:
        """Acquire both, waiting if necessary."""
        while True:
            await self._own.acquire()
            if self._inner.acquire_free():
                break
            self._own.release()
            await self._inner.acquire()
            if self._own.acquire_free():
                break
            self._inner.release()
        self._lend()

    def _lend(self) -> None:
        self._loan.is_over = False
        others = {tool: loan for tool, loan in _loans.get().items() if not loan.is_over}
        _loans.set({**others, self._tool: self._loan})

    def release(self) -> None:
        """Release both."""
        self._loan.is_over = True
        self._inner.release()
        self._own.release()


class Slots:
    """The slots of one run, or of an executor that is kept: the same number on each event loop."""

    __slots__ = ("_concurrency", "_inside", "_is_nested", "_loop", "_loops")

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        # A blocking function that runs an agent holds its thread until the agent's calls have ended. If
        # those calls waited for threads too, there could be a deadlock.
        self._is_nested = in_a_tool()
        self._loop: ReferenceType[asyncio.AbstractEventLoop] | None = None
        """The event loop that was used last."""
        self._inside: _Inside
        """The slots on that loop."""
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Inside] | None = None
        """All event loops, if there was more than one, which is rare: it takes most of a kilobyte."""

    def for_run(self) -> "Slots":
        """Returns as many slots for another run."""
        return Slots(self._concurrency)

    def of(self, tool: Tool) -> CallSlot:
        """Returns what a call of this tool must acquire on this event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop() is not loop:
            self._inside = self._on(loop)
            self._loop = ref(loop)
        inside = self._inside
        slot = inside.by_tool.get(tool.name)
        if slot is None:
            slot = inside.by_tool[tool.name] = self._made(tool, inside)
        size = tool.limits.concurrency
        return slot if size is None else Limited(_tool_limits.semaphore(tool, size), slot)

    def _on(self, loop: asyncio.AbstractEventLoop) -> "_Inside":
        if self._loop is None:
            return _Inside(self._concurrency)
        if self._loops is None:
            self._loops = WeakKeyDictionary()
            if (before := self._loop()) is not None:
                self._loops[before] = self._inside
        return self._loops.setdefault(loop, _Inside(self._concurrency))

    def _made(self, tool: Tool, inside: "_Inside") -> CallSlot:
        handler, slot = tool.invocation, inside.shared
        if tool.delegates:
            # Such a call waits for calls of its own, which need the shared slots.
            return Semaphore(self._concurrency)
        if handler is not None and not handler.is_async and not self._is_nested:
            return Both(slot, current().slots)
        return slot


class _Inside:
    __slots__ = ("by_tool", "shared")

    def __init__(self, concurrency: int) -> None:
        self.shared: CallSlot = Semaphore(concurrency)
        self.by_tool: dict[str, CallSlot] = {}


def wait_for_rate(tool: Tool, now: float) -> float:
    """Start a call if the tool's rate allows: 0, or the seconds to wait before trying again."""
    rate = tool.limits.rate
    return 0.0 if rate is None else _tool_limits.pace(tool, *rate).start(now)
