"""Validates arguments by a schema of unbounded cost: in a child process, which a deadline kills.

A few children are kept and reused. A forked process starts with none.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

from msgspec import json

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.options import checked
from rightcall.core.problem import Problem, Valid
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.errors import UsageError
from rightcall.platforms import after_fork
from rightcall.process.validating import INVALID, VALID, Question, receive, send

SECONDS = 2.0
"""The default time limit for validating one call's arguments, in seconds."""
_MOST_CHILDREN = 4
_MOST_IDLE = 2
_START_SECONDS = 60.0
_PATIENCE = 5.0
"""Seconds after the deadline within which the system must have ended a child."""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    "from rightcall.process.validating import main; main()"
)
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


HAS_DEADLINES = sys.platform != "win32" and not getattr(sys, "frozen", False)
"""Whether this system supports the validating child processes."""


class DeadlineValidator:
    """Validates arguments by a JSON Schema of any cost: ``validator=DeadlineValidator(schema)``.

    A child process validates. Arguments that take longer than ``seconds`` are refused, and the error
    says so. The handler is called with the arguments unchanged, so a schema for a handler with few
    parameters needs ``"additionalProperties": false``. Raises SchemaError for an invalid schema.
    """

    waits = True
    """Validating waits for another process, so a gate does it off its event loop."""

    @checked("rc.process.DeadlineValidator")
    def __init__(
        self,
        schema: JsonObject,
        *,
        seconds: float = SECONDS,
        resources: Mapping[str, JsonObject] | None = None,
        formats: bool = False,
    ) -> None:
        if not 0 < seconds < threading.TIMEOUT_MAX:
            raise UsageError(f"seconds must be a number above 0, not {seconds}")
        with suppress(SchemaTooCostly):
            Schema(schema, resources=resources, formats=formats)
        self._schema, self._resources = dump(schema), dump(dict(resources or {}))
        self._formats = formats
        self._seconds = seconds

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate the arguments; blocks until done, at most until the deadline."""
        return self._problems(text) or Valid(value)

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """The problems of a value; empty if it is valid."""
        return self._problems(dump(value))

    def _problems(self, text: str) -> tuple[Problem, ...]:
        asked = Question(self._schema, self._resources, self._formats, text, self._seconds)
        with _children.slots:
            child = _children.take()
            try:
                said = child.ask(json.encode(asked), self._seconds)
            except BaseException:
                child.end()
                raise
            if not said or said[-1][0] == INVALID:
                return self._late(child.end(), was_judged=bool(said))
            _children.give(child)
        kind, body = said[-1]
        return () if kind == VALID else json.decode(body, type=tuple[Problem, ...])

    def _late(self, code: int, *, was_judged: bool) -> tuple[Problem, ...]:
        """The problem to report if the child ended before it had reported everything."""
        if was_judged:
            return (Problem("$", "does not fit the schema, and what is wrong takes too long to find"),)
        if sys.platform != "win32" and code not in (-signal.SIGALRM, -signal.SIGKILL):
            raise RuntimeError(f"the process that validates by the schema ended with {code}")
        limit = f"checking it against the schema took longer than {self._seconds:g} s"
        return (Problem("$", f"{limit}, which is the most; try simpler or shorter arguments"),)


class _Child:
    """One validating child process, and the connection to it."""

    def __init__(self) -> None:
        if not HAS_DEADLINES:
            raise UsageError("a DeadlineValidator needs a POSIX system and Python's own interpreter")
        self._line, theirs = socket.socketpair()
        places = dump([os.path.abspath(place) for place in sys.path])  # noqa: PTH100 - "" is here
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-c", _START, places],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _LOADER if name in os.environ},
                cwd="/",
            )
        self._line.settimeout(_START_SECONDS)
        try:
            started = receive(self._line)
        except BaseException:
            self.end()
            raise
        if started is None:
            raise RuntimeError(f"the process that validates could not start: {self.end()}")

    def ask(self, question: bytes, seconds: float) -> list[tuple[int, bytes]]:
        """The child's answer, until its end; empty if the deadline came first."""
        self._line.settimeout(seconds + _PATIENCE)
        said: list[tuple[int, bytes]] = []
        with suppress(ConnectionError, TimeoutError):
            send(self._line, 0, question)
            while (heard := receive(self._line)) is not None:
                said.append(heard)
                if heard[0] != INVALID:
                    break
        return said

    def is_there(self) -> bool:
        """Whether it still reads requests."""
        return self._process.poll() is None

    def leave(self) -> None:
        """Close only the connection, in a forked child: the process is the parent's."""
        self._line.close()
        self._process.returncode = 0

    def end(self) -> int:
        """End it; returns how it ended, if it had already ended by itself."""
        self._line.close()
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(0.5)
        self._process.kill()
        return self._process.wait()


class _Children:
    """The validating child processes of this process."""

    def __init__(self) -> None:
        self.slots = threading.BoundedSemaphore(_MOST_CHILDREN)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    def take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return _Child()
            if child.is_there():
                return child
            child.end()

    def give(self, child: _Child) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(child)
                return
        child.end()

    def close(self) -> None:
        """End the idle children."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()

    def abandon(self) -> None:
        """In a forked child: close what is the parent's."""
        for child in self._idle:
            child.leave()


_children = _Children()


def close_children() -> None:
    """End the idle validating processes; the next call starts others."""
    _children.close()


def _begin_anew() -> None:
    global _children  # noqa: PLW0603 - it stands for the process itself
    _children.abandon()
    _children = _Children()


after_fork(_begin_anew)
atexit.register(close_children)
