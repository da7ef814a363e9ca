"""The child that validates arguments by a schema of any cost: it reads requests from stdin.

A validator blocks its thread, and no exception can interrupt it. So the system's alarm kills the whole
process at the deadline, even if the caller is gone by then.
"""

import signal
import socket
import struct
import sys
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct, json

from rightcall.core.jsontext import JsonObject, parse
from rightcall.core.schema import Schema
from rightcall.platforms import posix_only

with suppress(ImportError):  # Windows has none
    import resource

READY, VALID, INVALID, PROBLEMS = 1, 2, 3, 4
"""The kinds of frames: ready, and the verdicts; after INVALID the problems follow in a frame."""
FRAME = struct.Struct("!BI")
_MOST_MEMORY = 2 << 30
_MOST_SCHEMAS = 8


class Question(Struct, frozen=True):
    """A validation request: a schema with its settings, and a value."""

    schema: str
    resources: str
    formats: bool
    text: str
    seconds: float


def send(line: socket.socket, kind: int, body: bytes = b"") -> None:
    """One frame."""
    line.sendall(FRAME.pack(kind, len(body)) + body)


def receive(line: socket.socket) -> tuple[int, bytes] | None:
    """The next frame; None if the other side is gone."""
    head = _exactly(line, FRAME.size)
    if head is None:
        return None
    kind, length = FRAME.unpack(head)
    body = _exactly(line, length)
    return None if body is None else (kind, body)


def _exactly(line: socket.socket, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = line.recv(min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


@lru_cache(maxsize=_MOST_SCHEMAS)
def _schema(document: str, resources: str, formats: bool) -> Schema:  # noqa: FBT001 - a key of the cache
    known: dict[str, JsonObject] = json.decode(resources)
    return Schema(json.decode(document), resources=known, formats=formats, bounded=False)


def _alarm(seconds: float) -> None:
    """Kill this process after that many seconds; 0 cancels it."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _answer(line: socket.socket, question: Question) -> None:
    _alarm(question.seconds)
    schema = _schema(question.schema, question.resources, question.formats)
    value = parse(question.text)
    if schema.fits(value):
        _alarm(0)
        send(line, VALID)
        return
    # Sent at once: finding every problem can take much longer than finding the first.
    send(line, INVALID)
    problems = schema.problems(value)
    _alarm(0)
    send(line, PROBLEMS, json.encode(problems))


def main() -> None:
    """Answer until the requests end."""
    if sys.platform == "win32":
        raise posix_only("a validator with a deadline")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # No core dump on a crash; and a list of millions of errors exhausts only this process.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    line = socket.socket(fileno=0)
    send(line, READY)
    while (heard := receive(line)) is not None:
        _answer(line, json.decode(heard[1], type=Question))
