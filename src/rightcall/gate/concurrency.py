"""How many calls run at once: semaphores and rates, a run's slots, and the threads of blocking tools.

asyncio's semaphore cannot be acquired without a coroutine, which every tool call would pay for, and it
belongs to one event loop. Nothing here blocks a thread: who waits is woken on its own event loop.

Three limits protect three things. A run's calls share the run's slots, so that a reply with a hundred
calls does not start them all; other runs do not wait for them. A tool's ``concurrency`` or ``rate``
protects something outside, so it holds for the tool in this process, whatever agents, runs, event loops
and threads call it. Blocking functions take threads, of which a process has a fixed number
(``Threads``).
"""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from types import FunctionType
from typing import Any, Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure
from rightcall.platforms import after_fork


class CallSlot(Protocol):
    """What a call acquires before it starts, and releases.

    Acquiring without waiting, which is nearly always the case, needs no coroutine.
    """

    def acquire_free(self) -> bool:
        """Acquire it if it is free now."""
        ...

    async def acquire(self) -> None:
        """Acquire it, waiting if necessary."""
        ...

    def release(self) -> None:
        """Release it."""
        ...


async def _wait_for_grant(waiter: "asyncio.Future[None]", release: Callable[[], None]) -> None:
    """Wait for a slot. One that was granted just as the wait was cancelled is released."""
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter.done() and not waiter.cancelled():
            release()
        raise


class Semaphore:
    """A number of slots of one event loop, granted first come, first served."""

    __slots__ = ("free", "waiting")

    def __init__(self, size: int) -> None:
        self.free = size
        self.waiting: deque[asyncio.Future[None]] | None = None
        """Created only when somebody waits: every run has slots, and an empty deque takes 600 bytes."""

    def acquire_free(self) -> bool:
        """Acquire a slot if one is free now."""
        if self.free and not self.waiting:
            self.free -= 1
            return True
        return False

    async def acquire(self) -> None:
        """Acquire a slot, waiting if necessary."""
        if self.acquire_free():
            return
        waiter = asyncio.get_running_loop().create_future()
        if self.waiting is None:
            self.waiting = deque()
        self.waiting.append(waiter)
        await _wait_for_grant(waiter, self.release)

    def release(self) -> None:
        """Release a slot, to the longest waiter."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class ProcessSemaphore:
    """A number of slots for all event loops of the process, granted first come, first served."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire_free(self) -> bool:
        """Acquire a slot if one is free now."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return True
        return False

    async def acquire(self) -> None:
        """Acquire a slot, waiting if necessary."""
        if self.acquire_free():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(waiter)
        # A slot may have been released just before this waiter was added.
        self._hand_on()
        await _wait_for_grant(waiter, self.release)

    def release(self) -> None:
        """Release a slot, to the longest waiter."""
        with self._lock:
            self._free += 1
        self._hand_on()

    def _hand_on(self) -> None:
        while True:
            with self._lock:
                if not self._free or not self._waiting:
                    return
                self._free -= 1
                waiter = self._waiting.popleft()
            try:
                waiter.get_loop().call_soon_threadsafe(self._give, waiter)
            except RuntimeError:
                # The waiter's event loop has closed.
                with self._lock:
                    self._free += 1

    def _give(self, waiter: "asyncio.Future[None]") -> None:
        if waiter.done():
            self.release()
        else:
            waiter.set_result(None)


class Both:
    """Two slots, acquired in this order."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: CallSlot, second: CallSlot) -> None:
        self._first = first
        self._second = second

    def acquire_free(self) -> bool:
        """Acquire both if they are free now."""
        if not self._first.acquire_free():
            return False
        if self._second.acquire_free():
            return True
        self._first.release()
        return False

    async def acquire(self) -> None:
        """Acquire both, waiting if necessary."""
        await self._first.acquire()
        try:
            await self._second.acquire()
        except asyncio.CancelledError:
            self._first.release()
            raise

    def release(self) -> None:
        """Release both."""
        self._second.release()
        self._first.release()


class CallPace:
    """At most ``calls`` starts in any ``seconds``, over all threads."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._lock = threading.Lock()
        self._starts: deque[float] = deque()

    def start(self, now: float) -> float:
        """Start a call now and return 0, or return the seconds to wait before trying again."""
        with self._lock:
            if len(self._starts) == self._calls:
                wait = self._starts[0] + self._seconds - now
                if wait > 0:
                    return wait
                self._starts.popleft()
            self._starts.append(now)
            return 0.0


IDLE_SECONDS = 10.0
MAX_ABANDONED = 64
"""The number of stuck threads above which no new ones are started."""
MOST = 128
"""How many blocking tool functions run at once in this process. Others wait, without using up their
timeout."""


class WrappedBaseException(Exception):
    """Wraps an exception of a tool that is not a subclass of Exception; that one is the cause.

    asyncio lets some of those stop the event loop, and everything else that runs on it.
    """

    def __init__(self) -> None:
        super().__init__("raised by the tool")


def leave_if_forked(process: int) -> None:
    """Exit if this is a child process that a tool forked: a run must not go on in two processes.

    ``process`` is the id of the process that the call began in.
    """
    if os.getpid() != process:
        os._exit(0)


class AbandonableJob:
    """One function that runs in a thread."""

    def __init__(self) -> None:
        self.abandoned = False
        self.done = False

    def is_abandoned(self) -> bool:
        """Whether it was abandoned and is still running."""
        return self.abandoned and not self.done


class Threads:
    """A pool of daemon threads that grows with the number of jobs.

    The threads are daemons: one that never ends blocks neither the event loop nor the exit of the
    process. A thread cannot be killed, so an abandoned job keeps running and its result is ignored. It
    is counted until it ends, and can check ``AbandonableJob.abandoned``, which a tool sees as
    ``Context.is_cancelled``.
    """

    def __init__(self) -> None:
        self.slots = ProcessSemaphore(MOST)
        """One is acquired before each job that may take long."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        self._abandoned: set[AbandonableJob] = set()

    @property
    def abandoned_count(self) -> int:
        """Returns how many abandoned jobs are still running."""
        return len(self._abandoned)

    async def run(self, function: Callable[[], Any], job: AbandonableJob) -> Any:
        """Run ``function`` in a thread. If this is cancelled, the job is abandoned."""
        if self.abandoned_count >= MAX_ABANDONED:
            words = "Too many earlier calls are stuck and still running; try again later."
            raise ToolFailure(words, own=True)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        process = os.getpid()

        def work() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                context.run(_in_a_tool.set, True)  # noqa: FBT003
                value = context.run(function)
            except StopIteration as caught:
                # A future cannot hold StopIteration; coroutines turn it into RuntimeError too (PEP 479).
                error = RuntimeError("the function raised StopIteration")
                error.__cause__ = caught
            except (Exception, asyncio.CancelledError) as caught:  # noqa: BLE001 - for whoever awaits
                error = caught
            except BaseException as caught:  # noqa: BLE001 - for whoever awaits
                # Signal handlers run in the main thread only, so here every exit is the function's own.
                error = WrappedBaseException()
                error.__cause__ = caught
            leave_if_forked(process)
            with self._lock:
                job.done = True
                self._abandoned.discard(job)
            if not job.abandoned:
                _tell(loop, future, value, error)

        self._start(work)
        try:
            return await future
        except asyncio.CancelledError:
            with self._lock:
                job.abandoned = True
                if not job.done:
                    self._abandoned.add(job)
            raise

    def _start(self, work: Callable[[], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            name = "rightcall: tool"
            threading.Thread(target=self._serve, args=(inbox,), name=name, daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: "SimpleQueue[Callable[[], None]]") -> None:
        while True:
            try:
                work = inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                continue
            work()
            del work
            with self._lock:
                self._idle.append(inbox)


def in_a_tool() -> bool:
    """Whether this is called from a tool's blocking function, through any threads and event loops."""
    return _in_a_tool.get()


def tool_threads() -> Threads:
    """Returns the thread pool of this process."""
    return _threads


def _tell(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    value: object,
    error: BaseException | None,
) -> None:
    def settle() -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The event loop has closed, and the waiter with it.
        return


_threads = Threads()
_in_a_tool = contextvars.ContextVar("rightcall: in a tool", default=False)


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
        found: ProcessSemaphore = self._get_or_make(tool, ProcessSemaphore, size)
        return found

    def pace(self, tool: Tool, calls: int, seconds: float) -> CallPace:
        """Returns the pace of a tool."""
        found: CallPace = self._get_or_make(tool, CallPace, calls, seconds)
        return found

    def _get_or_make(self, tool: Tool, make: Callable[..., Any], *numbers: float) -> Any:
        root = tool.root
        owner = root.handler if type(root.handler) is FunctionType else root
        with self._lock:
            made = self._found.setdefault(owner, {})
            key = (root.name, *numbers)
            if key not in made:
                made[key] = make(*numbers)
            return made[key]


_tool_limits = _ToolLimits()


def _begin_anew() -> None:
    """Begin with no threads and count from zero in a forked child, where the parent's do not exist."""
    global _threads, _tool_limits  # noqa: PLW0603 - they stand for the process itself
    _threads = Threads()
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


class ToolSlot:
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
        others = {}
        for tool, loan in _loans.get().items():
            if not loan.is_over:
                others[tool] = loan
        _loans.set({**others, self._tool: self._loan})

    def release(self) -> None:
        """Release both."""
        self._loan.is_over = True
        self._inner.release()
        self._own.release()


class CallSlots:
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

    def for_run(self) -> "CallSlots":
        """Returns as many slots for another run."""
        return CallSlots(self._concurrency)

    def of(self, tool: Tool) -> CallSlot:
        """Returns what a call of this tool must acquire on this event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop() is not loop:
            self._change_loop(loop)
        inside = self._inside
        slot = inside.by_tool.get(tool.name)
        if slot is None:
            slot = inside.shared
            handler = tool.invocation
            if tool.delegates:
                # Such a call waits for calls of its own, which need the shared slots.
                slot = Semaphore(self._concurrency)
            elif handler is not None and not handler.is_async and not self._is_nested:
                slot = Both(slot, tool_threads().slots)
            inside.by_tool[tool.name] = slot
        size = tool.limits.concurrency
        if size is None:
            return slot
        return ToolSlot(_tool_limits.semaphore(tool, size), slot)

    def _change_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is None:
            self._inside = _Inside(self._concurrency)
        else:
            if self._loops is None:
                self._loops = WeakKeyDictionary()
                if (before := self._loop()) is not None:
                    self._loops[before] = self._inside
            self._inside = self._loops.setdefault(loop, _Inside(self._concurrency))
        self._loop = ref(loop)


class _Inside:
    __slots__ = ("by_tool", "shared")

    def __init__(self, concurrency: int) -> None:
        self.shared: CallSlot = Semaphore(concurrency)
        self.by_tool: dict[str, CallSlot] = {}


def wait_for_rate(tool: Tool, now: float) -> float:
    """Start a call if the tool's rate allows: 0, or the seconds to wait before trying again."""
    rate = tool.limits.rate
    if rate is None:
        return 0.0
    return _tool_limits.pace(tool, *rate).start(now)
