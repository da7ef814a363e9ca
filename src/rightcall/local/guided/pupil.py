"""A lesson into what the model writes: rendered by its own template, held by a grammar, and counted."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.request import Request
from rightcall.core.usage import Usage
from rightcall.local.engine import Engine, Finish, Grammar, Piece, Sampling
from rightcall.local.guided.answers import one_of
from rightcall.local.prompt import render_prompt
from rightcall.local.template.chat_template import ChatTemplate

if TYPE_CHECKING:
    from rightcall.core.message import StopReason

_LONGEST_WORD = 32


class Pupil:
    """A model that is asked one small thing after another."""

    def __init__(self, engine: Engine, template: ChatTemplate, sampling: Sampling) -> None:
        self._engine = engine
        self._template = template
        self._sampling = sampling
        self.syntax = engine.syntax
        self.usage = Usage()
        """What all of it cost."""
        self.stop: StopReason = "end"
        """Why the last text ended."""
        self.stop_word = ""
        self._writing: AsyncGenerator[Piece | Finish, None] | None = None

    async def write(
        self, lesson: Request, limit: int, grammar: Grammar | None = None, *, steady: bool = True
    ) -> AsyncIterator[str]:
        """Text, as it comes. Steady: always the likeliest, whatever the request says."""
        prompt = render_prompt(lesson, self._template)
        most = min(limit, self._sampling.max_tokens or limit)
        sampling = replace(self._sampling, max_tokens=most)
        if steady:
            sampling = Sampling(temperature=0.0, max_tokens=most)
        self._writing = self._engine.complete(prompt.text, grammar=grammar, sampling=sampling)
        async for chunk in self._writing:
            if isinstance(chunk, Finish):
                self.usage += chunk.usage
                self.stop, self.stop_word = chunk.stop, chunk.stop_word
            else:
                yield chunk.text

    async def close(self) -> None:
        """Stop writing, should somebody have stopped listening."""
        if self._writing is not None:
            await self._writing.aclose()

    async def choose(self, lesson: Request, words: Sequence[str]) -> str:
        """One of these words."""
        grammar = one_of(words, self.syntax)
        return "".join([text async for text in self.write(lesson, _LONGEST_WORD, grammar)])
