"""The parent's side of a child process with a loaded model: start it, send requests, end it."""

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.errors import TransportError
from rightcall.local.engines import llama_child
from rightcall.local.engines.llama_server import refusal
from rightcall.local.engines.loopback import Answer, Loopback, Malformed

_PATIENCE = 60.0
_GOODBYE = 5.0
"""Seconds that the process may take to end."""
_LAST_BREATH = 1.0
"""The most seconds between the end of its connections and its own end."""
_OK = 200


class _Listening(Struct, frozen=True):
    """The process's report once the model is loaded."""

    address: str
    endings: tuple[int, ...]


class LlamaProcess:
    """A model in a process of its own. Its methods block, and may be called from any thread.

    It answers only requests with ``key``.
    """

    def __init__(self, path: Path, threads: int, options: JsonObject, key: str) -> None:
        """Load. Raises ChildProcessError if that fails."""
        told = msgspec.json.encode({"path": str(path), "threads": threads, "options": options}).decode()
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter, and a file of ours
            [sys.executable, "-P", llama_child.__file__, told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The import path of this process, whatever set it.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C in a terminal is for this process, which decides what happens to the child.
            start_new_session=True,
        )
        try:
            self._listening = self._said()
        except BaseException:
            self.end()
            raise
        place = urlsplit(self._listening.address)
        assert place.hostname is not None
        assert place.port is not None
        self._server = Loopback(place.hostname, place.port, key, _PATIENCE)

    @property
    def pid(self) -> int:
        """The process's pid."""
        return self._process.pid

    def is_there(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def endings(self) -> tuple[int, ...]:
        """The tokens that end a reply."""
        return self._listening.endings

    def ask(self, path: str, body: JsonObject | None = None) -> bytes:
        """The response to a request."""
        with self._answer(path, body) as answer:
            return b"".join(self._pieces(answer))

    def stream(self, path: str, body: JsonObject) -> Generator[ServerEvent, None, None]:
        """The events of a response. Closing the iterator disconnects, and generation stops."""
        with self._answer(path, body) as answer:
            decoder = SseDecoder()
            for piece in self._pieces(answer):
                yield from decoder.feed(piece)
            yield from decoder.finish()

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _said(self) -> _Listening:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b'{"address"'):
                return msgspec.json.decode(line, type=_Listening)
        raise ChildProcessError("the process ended before the model was loaded")

    def _answer(self, path: str, body: JsonObject | None) -> Answer:
        try:
            answer = self._server.ask(path, body)
        except (OSError, Malformed) as error:
            raise self._gone(error) from error
        if answer.status != _OK:
            with answer:
                raise refusal(answer.status, b"".join(self._pieces(answer)))
        return answer

    def _pieces(self, answer: Answer) -> Iterator[bytes]:
        try:
            yield from answer.pieces()
        except (OSError, Malformed) as error:
            raise self._gone(error) from error

    def _gone(self, error: Exception) -> TransportError:
        # Its connections end slightly before the process, and the next caller checks whether it runs.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_BREATH)
        words = str(error) or type(error).__name__
        return TransportError(f"the model's process is not there any more: {words}")
