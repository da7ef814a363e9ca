"""Runs a program up to the calls that it waits for, and on with their answers; checks its types.

Monty is used only here. All calls that a program waits for at once are one round. It continues when the
whole round is answered, so that a rerun over the same answers does the same. For the same reason its
clock stays at the time when it began and moves only while it sleeps, and its random numbers are always
the same.
"""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, tzinfo
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.limits import Limits
from rightcall.core.optional_libraries import load
from rightcall.core.parts import Text
from rightcall.gate.concurrency import AbandonableJob, tool_threads
from rightcall.gate.render import cut, encode
from rightcall.gate.size import Unshowable

NOTHING = "The program ended without a value. End it with an expression, or print what is needed."
_SCRIPT = "program.py"
_FOUND = re.compile(r"program\.py:(\d+):\d+: \w+\[([\w-]+)\] (.*)")
_MOST_FOUND = 20
_LONGEST = 256 * 1024
"""Bytes that are kept of what a program returns and prints; its tool's own limit is usually lower."""
_SLEEPS = ("time.sleep", "asyncio.sleep")
_CLOCKS = ("time.time", "date.today", "datetime.now")
_SPARE = 1000
"""How often a program may read the clock or sleep, besides its calls."""
_END = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has only SIGTERM, which ends a process at once there."""


class ProgramLimits(Struct, frozen=True, kw_only=True):
    """A program's limits."""

    calls: int
    seconds: float
    memory: int


class PendingCall(Struct, frozen=True, eq=False):
    """A call that a program waits for."""

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    line: int


class CallRound(Struct, frozen=True, eq=False):
    """All calls that a program waits for."""

    calls: tuple[PendingCall, ...]


class ProgramEnd(Struct, frozen=True):
    """A program has ended: what it returned and printed, or its error."""

    text: str
    failed: bool = False


class CallReturn(Struct, frozen=True, eq=False):
    """The value that a call returns to the program."""

    value: Any


class CallException(Struct, frozen=True):
    """The error that a call raises in the program."""

    words: str
    kind: str = "RuntimeError"


class _Sleep(Struct, frozen=True, eq=False):
    """A program sleeps, and then continues from this snapshot."""

    seconds: float
    snapshot: Any


Step: TypeAlias = CallRound | ProgramEnd
Answer: TypeAlias = CallReturn | CallException


class Interpreter:
    """One program in a process of its own. ``start`` it, ``go_on`` with answers, and ``close`` it.

    Monty is driven in a thread, and not by its own event loop: the threads of that loop outlive their
    work, and one that is still running when Python exits crashes the process.
    """

    def __init__(
        self, program: str, *, stubs: str, names: Sequence[str], limits: ProgramLimits, began: float
    ) -> None:
        self._program = program.encode()
        self._stubs = stubs
        self._stand_ins = {name: _stand_in(name) for name in names}
        self._limits = limits
        self._now = began
        self._stack = ExitStack()
        self._busy = Lock()
        """Held by one operation at a time, including one that was cancelled and has not ended yet."""
        self._monty: Any = load("pydantic_monty")
        self._printed = self._monty.CollectString()
        self._process: int | None = None
        self._is_given_up = False
        self._pending: dict[int, PendingCall] = {}
        self._waits: Any = None
        """The snapshot at which the program waits for answers."""
        self._line = 0
        """The line of its latest call."""
        self.again = False
        """Whether it is rerun over answers that it has had before: then it does not sleep again."""

    async def start(self, *, check: bool) -> Step:
        """Check the program, if ``check``, and run it until it waits or ends."""
        return await self._until(partial(self._begin, check=check))

    async def go_on(self, answers: Sequence[Answer]) -> Step:
        """Answer the round, in its order, and run until the program waits again or ends."""
        given = {}
        for at, answer in zip(sorted(self._waits.pending_call_ids), answers, strict=True):
            del self._pending[at]
            if isinstance(answer, CallReturn):
                given[at] = {"return_value": answer.value}
            else:
                given[at] = {"exc_type": answer.kind, "message": answer.words}
        return await self._until(partial(self._waits.resume, given))

    async def close(self) -> None:
        """End the program and its process."""
        await tool_threads().run(partial(self._alone, self._stack.close), AbandonableJob())

    async def _until(self, go: Callable[[], Any]) -> Step:
        while True:
            try:
                step = await tool_threads().run(
                    partial(self._alone, partial(self._drive, go)), AbandonableJob()
                )
            except asyncio.CancelledError:
                self._give_up()
                raise
            if not isinstance(step, _Sleep):
                return step  # type: ignore[no-any-return]
            self._now += step.seconds
            if not self.again:
                await asyncio.sleep(step.seconds)
            go = partial(step.snapshot.resume, {"return_value": None})

    def _give_up(self) -> None:
        """Kill the process: nothing else stops a program in the middle of a computation."""
        self._is_given_up = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, _END)

    def _alone(self, function: Callable[[], Any]) -> Any:
        with self._busy:
            return function()

    def _begin(self, *, check: bool) -> Any:
        pool = self._stack.enter_context(self._monty.Monty())
        session = self._stack.enter_context(
            pool.checkout(
                script_name=_SCRIPT,
                limits={
                    "max_feed_duration_secs": self._limits.seconds,
                    "max_memory": self._limits.memory,
                    "max_suspensions": 2 * self._limits.calls + _SPARE,
                },
                type_check=check,
                type_check_stubs=self._stubs,
                type_check_format="concise",
                os_policy={
                    "datetime": "call_host",
                    "sleep": "call_host",
                    "random_start": {"seed": "program"},
                },
            )
        )
        self._process = session.worker_pid
        if self._is_given_up:
            self._give_up()
        return session.feed_start(self._program.decode(), print_callback=self._printed)

    def _drive(self, go: Callable[[], Any]) -> Step | _Sleep:
        """Run until the program waits for calls, or ends. Called in a thread."""
        monty = self._monty
        try:
            snapshot = go()
            while not isinstance(snapshot, monty.MontyComplete | monty.FutureSnapshot):
                if isinstance(snapshot, monty.NameLookupSnapshot):
                    name = snapshot.variable_name
                    known = self._stand_ins
                    snapshot = snapshot.resume(value=known[name]) if name in known else snapshot.resume()
                elif snapshot.function_name in _SLEEPS:
                    return _Sleep(max(float(snapshot.args[0]), 0.0), snapshot)
                else:
                    snapshot = self._resume_call(snapshot)
        except monty.MontyError as error:
            return ProgramEnd(self._words(error), failed=True)
        if isinstance(snapshot, monty.FutureSnapshot):
            self._waits = snapshot
            return CallRound(tuple([self._pending[at] for at in sorted(snapshot.pending_call_ids)]))
        printed = self._printed.output
        if snapshot.output is None:
            return ProgramEnd(cut(printed, _LONGEST) or NOTHING)
        try:
            parts = encode(snapshot.output, Limits(max_output_bytes=_LONGEST))
        except Unshowable as error:
            return ProgramEnd(f"What the program ended with cannot be shown: {error}.", failed=True)
        texts = [part.text if isinstance(part, Text) else f"[{part.about}]" for part in parts]
        return ProgramEnd(cut(printed + "".join(texts), _LONGEST))

    def _resume_call(self, snapshot: Any) -> Any:
        name = str(snapshot.function_name)
        args = snapshot.args
        if not snapshot.is_os_function:
            self._line = self._program[: snapshot.position.start].count(b"\n") + 1
            self._pending[snapshot.call_id] = PendingCall(name, args, snapshot.kwargs, self._line)
            return snapshot.resume({"future": ...})
        if name not in _CLOCKS:
            # Files, the environment, missing modules: Monty raises errors of its own for them.
            return snapshot.resume_not_handled()
        zone = args[0] if args and isinstance(args[0], tzinfo) else None
        now: Any = datetime.fromtimestamp(self._now, zone or UTC)
        if name == "time.time":
            now = self._now
        elif name == "date.today":
            now = now.date()
        elif zone is None:
            now = now.replace(tzinfo=None)
        return snapshot.resume({"return_value": now})

    def _words(self, error: Any) -> str:
        monty = self._monty
        if isinstance(error, monty.MontyTypingError | monty.MontySyntaxError):
            found = problems_of(error) or [TypeProblem(1, "", str(error))]
            lines = [f"- line {each.line}: {each.words}" for each in found[:_MOST_FOUND]]
            return "\n".join(["The program was not run, and no tool was called:", *lines])
        raised = error.exception()
        frames = error.traceback() if isinstance(error, monty.MontyRuntimeError) else ()
        if frames:
            last = frames[-1]
            is_top = last.function_name in (None, "<module>")
            within = "" if is_top else f" in {last.function_name}"
            return f"The program failed at line {last.line}{within}: {error.display('type-msg')}"
        why = f"{error}"
        if isinstance(raised, TimeoutError):
            why = f"it computed for more than {self._limits.seconds:g} s."
        elif isinstance(raised, MemoryError):
            why = f"it used more than {self._limits.memory:,} bytes of memory."
        where = f"after line {self._line}, its last call" if self._line else "before its first call"
        return f"The program was stopped {where}: {why}"


def _stand_in(name: str) -> Callable[[], None]:
    """A function of that name, for a program that passes one as a value: Monty knows it by name."""

    def stand_in() -> None: ...

    stand_in.__name__ = name
    return stand_in


class TypeProblem(Struct, frozen=True):
    """One error that a type checker found."""

    line: int
    rule: str
    """The checker's own name for the error."""
    words: str


def is_installed() -> bool:
    """Whether a type checker is installed: it comes with the extra ``code``."""
    return find_spec("pydantic_monty") is not None


def problems_of(error: Any) -> list[TypeProblem]:
    """The errors that an exception of Monty's checker lists; empty if it lists none."""
    return [TypeProblem(int(line), *rest) for line, *rest in _FOUND.findall(error.display())]


def checked_types(program: str, stubs: str) -> list[TypeProblem]:
    """The type errors of a program that calls the functions in ``stubs``. Starts a process."""
    monty = load("pydantic_monty")
    with monty.Monty() as pool:
        try:
            with pool.checkout(
                script_name=_SCRIPT, type_check=True, type_check_stubs=stubs, type_check_format="concise"
            ) as session:
                # As the body of a function that is never called.
                lines = [f"    {line}" for line in program.splitlines()]
                session.feed_start("\n".join(["def program():", *lines, "    pass\n"]))
        except (monty.MontyTypingError, monty.MontySyntaxError) as error:
            return [TypeProblem(each.line - 1, each.rule, each.words) for each in problems_of(error)]
    return []
