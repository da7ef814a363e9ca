"""A GGUF file into a model that llama.cpp has loaded into this process."""

import ctypes
import http.client
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.errors import ProtocolError, TransportError, UsageError
from rightcall.local.engines.gate import Gate
from rightcall.local.engines.llama_form import ASK_ENDINGS, Chunk, Endings, Props, refusal
from rightcall.local.engines.worker import start
from rightcall.local.gguf import read_header

if TYPE_CHECKING:
    from rightcall.local.engine import Card
    from rightcall.local.engines.channel import Channel

WIDEST = 16_384
"""Tokens of one completion, prompt included, unless more is asked for: memory is taken for them."""
BATCH = 256
"""Tokens of a prompt that are read at a time. A completion can be stopped after each batch."""
CACHE_MIB = 256
"""Memory for prompts whose place another has taken."""
_PATIENCE = 60.0
_SIGACTION_BYTES = 1024
"""More than any system's ``struct sigaction`` takes."""


class Server(Protocol):
    """What is used of xllamacpp's server."""

    listening_address: str

    def handle_completions(self, body: bytes, callback: Callable[[bytes], bool], /) -> None:
        """Complete, and tell each chunk; a callback that gives True stops it."""
        ...


class Setup(Struct, frozen=True, kw_only=True):
    """Everything that makes one loaded model another."""

    path: Path
    context: int | None
    pool: int | None
    parallel: int
    threads: int


class _Outer(Struct, frozen=True):
    """What the server in this process gives: OpenAI's form, around llama.cpp's own."""

    inner: Chunk = field(name="__verbose", default=Chunk())
    error: Any = None


class _EndingsOuter(Struct, frozen=True):
    inner: Endings = field(name="__verbose", default=Endings())


class _Tokens(Struct, frozen=True):
    tokens: tuple[int, ...]


class _Content(Struct, frozen=True):
    content: str


class Model:
    """A loaded model. Its methods block, and may be called from any thread."""

    def __init__(self, setup: Setup) -> None:
        header = read_header(setup.path)
        trained = header.context_window or WIDEST
        window = min(trained, WIDEST) if setup.context is None else setup.context
        pool = min(max(window, setup.pool or WIDEST), window * setup.parallel)
        self._key = secrets.token_hex()
        self._running: set[Future[None]] = set()
        self._readers: set[Channel[Chunk]] = set()
        self._server: Server | None = _loaded(setup, window, pool, self._key)
        # Nothing but unload may destroy it: a destructor that runs while the interpreter ends, or in
        # a forked child, waits for threads that are gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
        self._address = urlsplit(self._server.listening_address)
        self.gate = Gate(setup.parallel, pool)
        try:
            props = msgspec.json.decode(self._ask("/props"), type=Props)
            self.card: Card = msgspec.structs.replace(props.card, name=header.name)
            self.window = self.card.context_window or window
            self.endings = self._endings()
        except BaseException:
            self.unload()
            raise

    def tokenize(self, text: str) -> tuple[int, ...]:
        """The tokens of a text; special ones are recognized, and none is added."""
        body: JsonObject = {"content": text, "add_special": False, "parse_special": True}
        return msgspec.json.decode(self._ask("/tokenize", body), type=_Tokens).tokens

    def complete(self, body: JsonObject, channel: "Channel[Chunk]", room: int) -> None:
        """Generate into a channel, in a thread; the gate's room is left when that has stopped."""
        self._readers.add(channel)
        future = start(lambda: self._generate(body, channel, room), "generating")
        self._running.add(future)
        future.add_done_callback(self._running.discard)

    def unload(self) -> None:
        """Stop what is being generated and let go of memory, threads and sockets."""
        for reader in list(self._readers):
            reader.leave()
        wait(list(self._running))
        server, self._server = self._server, None
        if server is not None:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(server))

    def _generate(self, body: JsonObject, channel: "Channel[Chunk]", room: int) -> None:
        server = self._server
        assert server is not None
        decoder = msgspec.json.Decoder(_Outer)

        def take(raw: bytes) -> bool:
            """Whether to stop. That is asked after every token, and every batch of the prompt."""
            try:
                outer = decoder.decode(raw)
                chunk = outer.inner if outer.error is None else msgspec.json.decode(raw, type=Chunk)
            except msgspec.MsgspecError as error:
                channel.end(ProtocolError(f"llama.cpp sent what it should not: {error}"))
                return True
            return not channel.put(chunk)

        full = {**body, "verbose": True, "return_progress": True, "sse_ping_interval": -1}
        try:
            server.handle_completions(msgspec.json.encode(full), take)
        except RuntimeError as error:
            channel.end(ProtocolError(f"llama.cpp failed: {error}"))
        finally:
            self._readers.discard(channel)
            self.gate.leave(room)
            channel.end()

    def _endings(self) -> dict[int, str]:
        """The tokens that end a reply, and their texts."""
        assert self._server is not None
        found: list[bytes] = []
        body = msgspec.json.encode({**ASK_ENDINGS, "verbose": True})

        def take(raw: bytes) -> bool:
            found.append(raw)
            return False

        self._server.handle_completions(body, take)
        reply = msgspec.json.decode(found[0], type=_EndingsOuter)
        return {bias.token: self._text([bias.token]) for bias in reply.inner.biases}

    def _text(self, tokens: Sequence[int]) -> str:
        raw = self._ask("/detokenize", {"tokens": list(tokens)})
        return msgspec.json.decode(raw, type=_Content).content

    def _ask(self, path: str, body: JsonObject | None = None) -> bytes:
        """Ask the server what cannot be asked of it directly. Only this process has the key."""
        assert self._address.hostname is not None
        connection = http.client.HTTPConnection(
            self._address.hostname, self._address.port, timeout=_PATIENCE
        )
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        try:
            if body is None:
                connection.request("GET", path, headers=headers)
            else:
                connection.request("POST", path, msgspec.json.encode(body), headers)
            response = connection.getresponse()
            raw = response.read()
        except OSError as error:
            raise TransportError(f"the model is not there any more: {error}") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise refusal(response.status, raw)
        return raw


def cores() -> int:
    """How many threads to compute with: one for each core that may be used, but for one.

    Threads that compute wait for each other all the time. Where one of them must share its core, with
    this very program say, all of them are slowed down, and by far more than a core is worth.
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    places = [Path(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") for each in mine]
    siblings = {place.read_text() if place.exists() else str(place) for place in places}
    return max(1, len(siblings) - 1)


def _loaded(setup: Setup, window: int, pool: int, key: str) -> Server:
    try:
        xllamacpp: Any = import_module("xllamacpp")
    except ImportError:
        raise UsageError(
            "running a model here needs xllamacpp: pip install 'rightcall[local]'"
        ) from None
    params = xllamacpp.CommonParams()
    options = {
        "n_ctx": pool,
        "n_parallel": setup.parallel,
        "n_batch": BATCH,
        "n_ubatch": BATCH,
        # All share one pool; no completion may take more than its window of it.
        "kv_unified": True,
        "kv_unified_per_slot": window,
        "cache_idle_slots": False,
        "cache_ram_mib": CACHE_MIB,
        "special": True,
        "verbosity": 0,
        # Both make a second pass over the model, while nothing else in this process can run.
        "warmup": False,
        "fit_params": False,
        "ui": False,
        "n_threads_http": 2,
        "api_keys": [key],
    }
    for name, value in options.items():
        setattr(params, name, value)
    params.model.path = str(setup.path)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = setup.threads
    try:
        with _kept_signals():
            server: Server = xllamacpp.Server(params)
    except RuntimeError:
        raise UsageError(
            f"llama.cpp cannot load {setup.path}: the file is damaged, or of a kind that this build "
            "of it does not know, or there is not enough memory"
        ) from None
    return server


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Put back what is done on SIGINT and SIGTERM: llama.cpp's server takes both for itself."""
    if os.name != "posix":
        yield
        return
    sigaction = ctypes.CDLL(None, use_errno=True).sigaction
    kept = {
        number: ctypes.create_string_buffer(_SIGACTION_BYTES)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    for number, action in kept.items():
        sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in kept.items():
            sigaction(int(number), action, None)
