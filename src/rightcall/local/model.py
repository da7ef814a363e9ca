"""An engine, a chat template and a family into a model: the prompt rendered, the reply held and read."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply, StopReason
from rightcall.core.request import Profile, Request
from rightcall.local.engine import Card, Engine, Finish, Grammar, Sampling
from rightcall.local.families.family import Family
from rightcall.local.families.known import detect, named
from rightcall.local.families.marker_table import special_markers
from rightcall.local.families.reader import Reader
from rightcall.local.families.write import PromptedTools
from rightcall.local.grammar.build import grammar_for, grammar_for_output
from rightcall.local.grammar.reply import place
from rightcall.local.prompt import Prompt, render_prompt
from rightcall.local.sampling import sampling_of
from rightcall.local.template.chat_template import ChatTemplate


class LocalModel:
    """A raw model that calls tools the way it was trained to.

    The chat template is the model's own unless given; the family is found in the template's text unless
    given, by name or as data. Replies are held to legal calls by a grammar, unless the option ``strict``
    is False.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        template: ChatTemplate | None = None,
        family: Family | str | None = None,
        profile: Profile | None = None,
    ) -> None:
        self._engine = engine
        self._template = template
        self._family = named(family) if isinstance(family, str) else family
        self._profile = profile or Profile(structured="native")

    @property
    def profile(self) -> Profile:
        """What is known about the model."""
        return self._profile

    async def close(self) -> None:
        """Let go of the model."""
        await self._engine.close()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one reply."""
        card = await self._engine.ready()
        asked = self._asked(request, card)
        completion = self._engine.complete(
            asked.prompt.text, grammar=asked.grammar, sampling=asked.sampling
        )
        finish: Finish | None = None
        async with aclosing(completion) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Finish):
                    finish = chunk
                    break
                for event in asked.reader.feed(chunk.text):
                    yield event
        for event in asked.reader.finish():
            yield event
        assert finish is not None
        yield ReplyEnd(_reply(asked.reader, finish, card))

    def _asked(self, request: Request, card: Card) -> "_Asked":
        template = self._template or ChatTemplate.from_card(card)
        family = self._family or detect(template.choose(tools=bool(request.specs)))
        prompt = render_prompt(request, template, fallback=PromptedTools(family))
        specs = () if request.choice == "none" else request.specs
        reader = Reader(family, specs, tail=prompt.tail, fenced=request.output is not None)
        sampling = replace(sampling_of(request), special=special_markers(family))
        return _Asked(prompt, self._grammar(request, family, prompt), sampling, reader)

    def _grammar(self, request: Request, family: Family, prompt: Prompt) -> Grammar | None:
        syntax = self._engine.syntax
        if request.options.get("strict") is False:
            return None
        if request.specs and request.choice != "none":
            several = request.options.get("parallel") is not False
            return grammar_for(
                request.specs, family, request.choice, syntax=syntax, parallel=several, tail=prompt.tail
            )
        if request.output is not None and not place(family, prompt.tail).thought_end:
            return grammar_for_output(request.output, syntax=syntax)
        return None


class _Asked(Struct, frozen=True):
    """One question to the engine, and who reads the answer."""

    prompt: Prompt
    grammar: Grammar | None
    sampling: Sampling
    reader: Reader


def _reply(reader: Reader, finish: Finish, card: Card) -> Reply:
    content = reader.content
    stop: StopReason = finish.stop
    reply = Reply(content, stop, finish.stop_word, finish.usage, card.name)
    if reply.calls and stop == "end":
        return Reply(content, "calls", finish.stop_word, finish.usage, card.name)
    return reply
