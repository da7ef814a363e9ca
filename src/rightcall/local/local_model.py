"""A tool-calling model on an engine: renders the prompt, constrains the reply, and parses it."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from itertools import takewhile
from operator import eq

from msgspec.structs import replace

from rightcall.core.events import ModelEvent, ReplyEnd
from rightcall.core.message import Reply, user_text
from rightcall.core.options import check_keywords
from rightcall.core.request import Profile, Request
from rightcall.core.tool import Spec
from rightcall.local.engine import Engine, Finish, Grammar
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.family import Family, markers_of
from rightcall.local.families.family_list import detect, find_family
from rightcall.local.families.reader import Reader
from rightcall.local.grammar.build import find_prompt_end, grammar_for, grammar_for_output
from rightcall.local.prompt import Prompt, render_prompt
from rightcall.local.raw_model import RawModel, sampling_of
from rightcall.local.template.chat_template import ChatTemplate

# A part of a marker, beside line breaks or another marker, may be a token by itself.
_TOKENS = re.compile(r"<[^<>\s]+>|\[[A-Z_/]+\]")


class LocalModel(RawModel):
    """A raw model that calls tools the way it was trained to.

    The chat template is the model's own by default; the family is detected from the template, or given
    by name or as data. A grammar restricts replies to valid calls, unless the option ``strict`` is
    False.
    """

    @check_keywords("rc.local.LocalModel")
    def __init__(
        self,
        engine: Engine,
        *,
        template: ChatTemplate | None = None,
        family: Family | str | None = None,
        profile: Profile | None = None,
    ) -> None:
        super().__init__(engine, template=template, profile=profile)
        self._family = find_family(family) if isinstance(family, str) else family

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one reply."""
        card = await self._engine.ready()
        template = self._template_of(card)
        family = self._family or detect(template.choose(tools=bool(request.specs)))
        prompt = render_prompt(request, template, fallback=PromptedTools(family))
        specs = () if request.choice == "none" else request.specs
        reader = Reader(family, specs, tail=prompt.tail, fenced=request.output is not None)
        sampling = replace(sampling_of(request), special=_special(family))
        grammar = self._grammar(request, family, prompt)
        completion = self._engine.complete(prompt.text, grammar=grammar, sampling=sampling)
        finish: Finish | None = None
        async with aclosing(completion) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Finish):
                    finish = chunk
                    break
                for event in reader.feed(chunk.text):
                    yield event
        for event in reader.finish():
            yield event
        assert finish is not None
        reply = Reply(reader.content, finish.stop, finish.stop_word, finish.usage, card.name)
        if reply.calls and finish.stop == "end":
            reply = replace(reply, stop="calls")
        yield ReplyEnd(reply)

    async def tools_as_sent(self, specs: Sequence[Spec]) -> Mapping[str, str]:
        """The chat template's rendering of each tool, by name."""
        template = self._template_of(await self._engine.ready())
        family = self._family or detect(template.choose(tools=True))

        def render_tools(*shown: Spec) -> str:
            request = Request(messages=(user_text("x", "user"),), specs=shown)
            return render_prompt(request, template, fallback=PromptedTools(family)).text

        # The text around the tools occurs once: what two tools render beyond one is the other tool.
        frame = Spec(name="frame", description="", parameters={"type": "object", "properties": {}})
        without = render_tools(frame)
        return {spec.name: _inserted_text(without, render_tools(frame, spec)) for spec in specs}

    def _grammar(self, request: Request, family: Family, prompt: Prompt) -> Grammar | None:
        syntax = self._engine.syntax
        if request.options.get("strict") is False:
            return None
        if request.specs and request.choice != "none":
            several = request.options.get("parallel") is not False
            return grammar_for(
                request.specs, family, request.choice, syntax=syntax, parallel=several, tail=prompt.tail
            )
        if request.output is not None and not find_prompt_end(family, prompt.tail).thought_end:
            return grammar_for_output(request.output, syntax=syntax)
        return None


def _inserted_text(less: str, more: str) -> str:
    """The text that was inserted into another."""
    start = _common_prefix_length(less, more)
    end = _common_prefix_length(less[start:][::-1], more[start:][::-1])
    return more[start : len(more) - end]


def _common_prefix_length(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _special(family: Family) -> tuple[str, ...]:
    """All strings that an engine must output as text, although they may be special tokens."""
    marks = [*markers_of(family), *family.wrappers]
    tokens = [token for mark in marks for token in _TOKENS.findall(mark)]
    return tuple(dict.fromkeys(mark.strip() for mark in (*tokens, *marks) if mark.strip()))
