"""The parent's side of a child process with a loaded model: start it, send requests, end it."""

import http.client
import os
import subprocess
import sys
from collections.abc import Generator
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

_PATIENCE = 60.0
_GOODBYE = 5.0
"""Seconds that the process may take to end."""
_LAST_BREATH = 1.0
"""The most seconds between the end of its connections and its own end."""
_AT_ONCE = 65_536


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
        self._place = urlsplit(self._listening.address)
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

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
        with self._answer(path, body) as response:
            return self._read(response)

    def stream(self, path: str, body: JsonObject) -> Generator[ServerEvent, None, None]:
        """The events of a response. Closing the iterator disconnects, and generation stops."""
        with self._answer(path, body) as response:
            decoder = SseDecoder()
            while chunk := self._read(response, _AT_ONCE):
                yield from decoder.feed(chunk)
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

    def _answer(self, path: str, body: JsonObject | None) -> "_Answer":
        assert self._place.hostname is not None
        connection = http.client.HTTPConnection(
            self._place.hostname, self._place.port, timeout=_PATIENCE
        )
        try:
            raw = None if body is None else msgspec.json.encode(body)
            connection.request("GET" if raw is None else "POST", path, raw, self._headers)
            answer = _Answer(connection, connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._gone(error) from error
        if answer.response.status != http.client.OK:
            with answer:
                raise refusal(answer.response.status, self._read(answer.response))
        return answer

    def _read(self, response: http.client.HTTPResponse, size: int | None = None) -> bytes:
        try:
            return response.read() if size is None else response.read1(size)
        except (OSError, http.client.HTTPException) as error:
            raise self._gone(error) from error

    def _gone(self, error: Exception) -> TransportError:
        # Its connections end slightly before the process, and the next caller checks whether it runs.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_BREATH)
        words = str(error) or type(error).__name__
        return TransportError(f"the model's process is not there any more: {words}")


class _Answer:
    """A response, and the connection that must outlive it."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self.response = response

    def __enter__(self) -> http.client.HTTPResponse:
        return self.response

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._connection.close()
