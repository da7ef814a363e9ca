"""A program into the calls that it waits for, and their answers into its next step.

Monty is used only here. All calls that a program waits for at once are one round. It continues when the
whole round is answered, so that a rerun over the same answers does the same. For the same reason its
clock stays at the time when it began and moves only while it sleeps, and its random numbers are always
the same.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, tzinfo
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.extras import load
from rightcall.core.limits import Limits
from rightcall.core.parts import Text
from rightcall.gate.render import cut, encode
from rightcall.gate.size import Unshowable
from rightcall.gate.threads import Job, current
from rightcall.programs.checker import SCRIPT, TypeProblem, problems_of

NOTHING = "The program ended without a value. End it with an expression, or print what is needed."
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


class Asked(Struct, frozen=True, eq=False):
    """A call that a program waits for."""

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    line: int


class Round(Struct, frozen=True, eq=False):
    """All calls that a program waits for."""

    calls: tuple[Asked, ...]


class Ended(Struct, frozen=True):
    """A program has ended: what it returned and printed, or its error."""

    text: str
    failed: bool = False


class Given(Struct, frozen=True, eq=False):
    """The value that a call returns to the program."""

    value: Any


class Raised(Struct, frozen=True):
    """The error that a call raises in the program."""

    words: str
    kind: str = "RuntimeError"


class _Sleep(Struct, frozen=True, eq=False):
    """A program sleeps, and then continues from this snapshot."""

    seconds: float
    snapshot: Any


Step: TypeAlias = Round | Ended
Answer: TypeAlias = Given | Raised


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
        self._pending: dict[int, Asked] = {}
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
        asked = sorted(self._waits.pending_call_ids)
        given = {at: _settled(answer) for at, answer in zip(asked, answers, strict=True)}
        for at in asked:
            del self._pending[at]
        return await self._until(partial(self._waits.resume, given))

    async def close(self) -> None:
        """End the program and its process."""
        await current().run(partial(self._alone, self._stack.close), Job())

    async def _until(self, go: Callable[[], Any]) -> Step:
        while True:
            try:
                step = await current().run(partial(self._alone, partial(self._drive, go)), Job())
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
                script_name=SCRIPT,
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
                    known = {"value": self._stand_ins[name]} if name in self._stand_ins else {}
                    snapshot = snapshot.resume(**known)
                    continue
                if snapshot.function_name in _SLEEPS:
                    return _Sleep(max(float(snapshot.args[0]), 0.0), snapshot)
                snapshot = self._called(snapshot)
        except monty.MontyError as error:
            return Ended(self._words(error), failed=True)
        if isinstance(snapshot, monty.MontyComplete):
            return self._ended(snapshot.output)
        self._waits = snapshot
        return Round(tuple([self._pending[at] for at in sorted(snapshot.pending_call_ids)]))

    def _called(self, snapshot: Any) -> Any:
        name, args = str(snapshot.function_name), snapshot.args
        if not snapshot.is_os_function:
            self._line = self._program[: snapshot.position.start].count(b"\n") + 1
            self._pending[snapshot.call_id] = Asked(name, args, snapshot.kwargs, self._line)
            return snapshot.resume({"future": ...})
        if name in _CLOCKS:
            return snapshot.resume({"return_value": self._clock(name, args)})
        # Files, the environment, missing modules: Monty raises errors of its own for them.
        return snapshot.resume_not_handled()

    def _clock(self, name: str, args: Sequence[Any]) -> Any:
        if name == "time.time":
            return self._now
        zone = args[0] if args and isinstance(args[0], tzinfo) else None
        now = datetime.fromtimestamp(self._now, zone or UTC)
        return now.date() if name == "date.today" else now if zone else now.replace(tzinfo=None)

    def _ended(self, value: Any) -> Ended:
        printed = self._printed.output
        if value is None:
            return Ended(cut(printed, _LONGEST) or NOTHING)
        try:
            parts = encode(value, _WHOLE)
        except Unshowable as error:
            return Ended(f"What the program ended with cannot be shown: {error}.", failed=True)
        texts = [part.text if isinstance(part, Text) else f"[{part.about}]" for part in parts]
        return Ended(cut(printed + "".join(texts), _LONGEST))

    def _words(self, error: Any) -> str:
        """A program's error, and the line where it happened."""
        monty = self._monty
        if isinstance(error, monty.MontyTypingError | monty.MontySyntaxError):
            found = problems_of(error) or [TypeProblem(1, "", str(error))]
            lines = [f"- line {each.line}: {each.words}" for each in found[:_MOST_FOUND]]
            return "\n".join(["The program was not run, and no tool was called:", *lines])
        where = f"after line {self._line}, its last call" if self._line else "before its first call"
        raised = error.exception()
        frames = error.traceback() if isinstance(error, monty.MontyRuntimeError) else ()
        if frames:
            last = frames[-1]
            within = f" in {last.function_name}" if last.function_name not in (None, "<module>") else ""
            words = error.display("type-msg")
            return f"The program failed at line {last.line}{within}: {words}"
        if isinstance(raised, TimeoutError):
            return (
                f"The program was stopped {where}: it computed for more than {self._limits.seconds:g} s."
            )
        if isinstance(raised, MemoryError):
            size = self._limits.memory
            return f"The program was stopped {where}: it used more than {size:,} bytes of memory."
        return f"The program was stopped {where}: {error}"


_WHOLE = Limits(max_output_bytes=_LONGEST)


def _settled(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Given):
        return {"return_value": answer.value}
    return {"exc_type": answer.kind, "message": answer.words}


def _stand_in(name: str) -> Callable[[], None]:
    """A function of that name, for a program that passes one as a value: Monty knows it by name."""

    def stand_in() -> None: ...

    stand_in.__name__ = name
    return stand_in
