"""A very small model on an engine that calls tools although it was never trained to.

If its tools are described in one prompt, such a model calls none, or the last one. So a lexical match
decides (``plan``). Only of tools with examples is the model asked what that leaves open, one question at
a time, with each answer restricted by a grammar: whether one is meant at all, which of the best, and
which of the question's values. Results are put into sentences for it (``telling``), and calls without
evidence in the question are not made (``evidence``).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence

from msgspec.structs import replace

from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent, ReplyEnd, TextDelta
from rightcall.core.message import Message, Reply, Results, StopReason, user_text
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import Named, Profile, Request
from rightcall.core.tool import Spec
from rightcall.local.engine import Engine, Finish, Grammar, Piece, Sampling, Syntax
from rightcall.local.grammar.build import grammar_for_output
from rightcall.local.grammar.printers import print_grammar
from rightcall.local.grammar.rulebook import GrammarRules, Node, choice, word
from rightcall.local.guided import lessons
from rightcall.local.guided.derive import says_too_little
from rightcall.local.guided.evidence import is_called_for, speaks_for, without_inventions
from rightcall.local.guided.lessons import (
    BAG,
    Choose,
    Found,
    Talk,
    Tell,
    formula_in,
    next_step,
    refuse_media,
    spoken,
)
from rightcall.local.guided.plan import Filled, Leave, Offer, Plan, Take, filled, plan_for
from rightcall.local.guided.talk import is_talk, worth_saying
from rightcall.local.guided.telling import idle, told, unfit, wanting
from rightcall.local.prompt import render_prompt
from rightcall.local.raw_model import RawModel, sampling_of
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.log import tool_logger

_LONGEST_ARGUMENTS = 256
_LONGEST_SENTENCE = 96
_LONGEST_TALK = 256
_LONGEST_WORD = 32


class GuidedModel(RawModel):
    """A raw model that is guided through its calls: one round of them for each user message."""

    _said: set[str]
    """The tools for which a warning about a missing description was logged."""

    @check_keywords("rc.local.GuidedModel")
    def __init__(
        self, engine: Engine, *, template: ChatTemplate | None = None, profile: Profile | None = None
    ) -> None:
        super().__init__(engine, template=template, profile=profile)
        self._said = set()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one reply."""
        refuse_media(request.messages)
        self._say_too_little(request.specs)
        card = await self._engine.ready()
        pupil = _Pupil(self._engine, self._template_of(card), sampling_of(request))
        turn = _Turn(pupil, request)
        try:
            async for event in turn.events():
                yield event
        finally:
            await pupil.close()
        yield ReplyEnd(turn.reply(card.name))

    def _say_too_little(self, specs: Sequence[Spec]) -> None:
        """Log once that a tool has no description by which it could be chosen."""
        for spec in specs:
            if spec.name not in self._said and says_too_little(spec):
                self._said.add(spec.name)
                tool_logger.warning(
                    "%s will hardly be called: it has no description, and this model goes by words. "
                    "Say in its docstring what it is for.",
                    spec.name,
                )


class _Pupil:
    """Asks the model one small question after another, and sums up the usage."""

    def __init__(self, engine: Engine, template: ChatTemplate, sampling: Sampling) -> None:
        self._engine = engine
        self._template = template
        self._sampling = sampling
        self.syntax = engine.syntax
        self.usage = Usage()
        """The total usage."""
        self.stop: StopReason = "end"
        """The finish reason of the last text."""
        self.stop_word = ""
        self._writing: AsyncGenerator[Piece | Finish, None] | None = None

    async def write(
        self, lesson: Request, limit: int, grammar: Grammar | None = None, *, steady: bool = True
    ) -> AsyncIterator[str]:
        """Generated text, as it comes. Greedy: always the likeliest token, whatever the request says."""
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
        """Stop generating, if the reader is gone."""
        if self._writing is not None:
            await self._writing.aclose()

    async def choose(self, lesson: Request, words: Sequence[str]) -> str:
        """One of these words."""
        grammar = _one_of(words, self.syntax)
        return "".join([text async for text in self.write(lesson, _LONGEST_WORD, grammar)])


class _Turn:
    """One reply in progress."""

    def __init__(self, pupil: _Pupil, request: Request) -> None:
        self._pupil = pupil
        self._request = request
        self._calls: list[Call] = []
        self._wanting: list[str] = []
        self._text: list[str] = []

    def reply(self, model: str) -> Reply:
        """The finished reply."""
        text = "".join(self._text)
        parts: list[Text | Call] = [*([Text(text)] if text else []), *self._calls]
        pupil = self._pupil
        stop = "calls" if self._calls and pupil.stop == "end" else pupil.stop
        return Reply(tuple(parts), stop, pupil.stop_word, pupil.usage, model)

    async def events(self) -> AsyncIterator[ModelEvent]:
        """The events, up to the end of the reply."""
        match next_step(self._request):
            case Choose(questions):
                async for event in self._call_tools(questions):
                    yield event
                if not self._calls:
                    async for event in self._answer_alone(questions):
                        yield event
            case Tell(found):
                async for event in self._tell(found):
                    yield event
            case Talk():
                async for event in self._talk():
                    yield event

    async def _answer_alone(self, questions: Sequence[str]) -> AsyncIterator[ModelEvent]:
        """No tool was chosen: the question is not answered, since this model would make something up."""
        if self._request.output is not None:
            async for event in self._talk():
                yield event
            return
        if self._wanting:
            yield self._said(" ".join(self._wanting))
            return
        wanted = [question for question in questions if not is_talk(question)]
        if wanted:
            yield self._said(await self._unfit(wanted[0]))
            return
        yield self._said(await self._small_talk(spoken(self._request.messages)))

    async def _call_tools(self, questions: Sequence[str]) -> AsyncIterator[ModelEvent]:
        alone = self._request.options.get("parallel") is False
        if alone or isinstance(self._request.choice, Named):
            questions = (" ".join(questions),)
        for question in questions:
            called = await self._called(question)
            if called is None:
                continue
            for event in self._call(*called, question):
                yield event
            if self._pupil.stop == "length":
                return

    async def _called(self, question: str) -> tuple[Spec, str] | None:
        """A tool for the question, and its arguments; None if there is no evidence for one."""
        choice = self._request.choice
        named = [
            each for each in self._request.specs if choice in ("auto", "required", Named(each.name))
        ]
        if (written := formula_in(question, named)) is not None:
            return written
        # Many tools are many words to compare: not on the event loop.
        plan = await asyncio.to_thread(plan_for, question, self._request.specs, choice)
        spec = await self._chosen(plan, question)
        if spec is None:
            return None
        arguments, missing = await self._arguments(spec, filled(spec, question), question)
        if missing and not (isinstance(plan, Offer) and plan.or_none):
            self._wanting.append(wanting(spec.name, missing))
        is_free = choice == "auto"
        if missing or (is_free and not is_called_for(arguments, spec, question)):
            return None
        return spec, arguments

    async def _arguments(self, spec: Spec, found: Filled, question: str) -> tuple[str, Sequence[str]]:
        """The arguments, and the required ones that are missing."""
        if found.missing or found.schema is None:
            return found.arguments, found.missing
        grammar = grammar_for_output(found.schema, syntax=self._pupil.syntax)
        lesson = lessons.filling(spec, question)
        # Not streamed: an argument that the user did not give is removed again.
        texts = [text async for text in self._pupil.write(lesson, _LONGEST_ARGUMENTS, grammar)]
        return without_inventions("".join(texts), spec, question)

    async def _chosen(self, plan: Plan, question: str) -> Spec | None:
        """The tool for a question; the lexical match decides, and what it leaves open the model does."""
        match plan:
            case Take(spec):
                return spec
            case Leave():
                return None
            case Offer():
                return await self._one_of(plan, question)

    async def _one_of(self, plan: Offer, question: str) -> Spec | None:
        if len(plan.specs) == 1 and not plan.or_none:
            return plan.specs[0]
        called = lessons.labels(plan.shown)
        words = [*(called[spec.name] for spec in plan.specs), *([lessons.NONE] if plan.or_none else [])]
        word = await self._pupil.choose(lessons.choosing(plan.shown, question), words)
        chosen = next((spec for spec in plan.specs if called[spec.name] == word), None)
        return chosen if chosen is None or not plan.or_none or speaks_for(question, chosen) else None

    def _call(self, spec: Spec, arguments: str, question: str) -> Iterator[ModelEvent]:
        index = len(self._calls)
        yield CallStart(index, spec.name)
        yield CallDelta(index, arguments)
        call = Call(
            id="",
            name=spec.name,
            arguments=arguments,
            truncated=self._pupil.stop == "length",
            vendor={BAG: {"question": question}},
        )
        self._calls.append(call)
        if not call.truncated:
            yield CallEnd(index, call)

    async def _tell(self, found: Sequence[Found]) -> AsyncIterator[ModelEvent]:
        for question, call, result in found:
            if self._text:
                yield self._said(" ")
            if result is not None:
                yield self._said(told(question, call, result))
            elif is_talk(question):
                yield self._said(await self._small_talk((user_text(question),)))
            else:
                yield self._said(await self._unfit(question))

    async def _small_talk(self, messages: tuple[Message, ...]) -> str:
        """The safe part of the model's text; a fixed line if there is none."""
        lesson = Request(messages=messages, system=self._request.system)
        heard = " ".join(
            [lesson.system, *(each.text for each in messages if not isinstance(each, Results))]
        )
        text = "".join([text async for text in self._pupil.write(lesson, _LONGEST_SENTENCE)])
        # An unfinished sentence is dropped.
        self._pupil.stop = "end"
        return worth_saying(text, heard) or idle(self._names())

    async def _talk(self) -> AsyncIterator[ModelEvent]:
        request = self._request
        plain = Request(messages=spoken(request.messages), system=request.system)
        grammar = None
        if request.output is not None:
            grammar = grammar_for_output(request.output, syntax=self._pupil.syntax)
        async for text in self._pupil.write(plain, _LONGEST_TALK, grammar, steady=False):
            yield self._said(text)

    async def _unfit(self, text: str) -> str:
        """The reply to a question without a call: what is missing, or that no tool fits."""
        plan = await asyncio.to_thread(plan_for, text, self._request.specs, "auto")
        if isinstance(plan, Take) and (missing := filled(plan.spec, text).missing):
            return wanting(plan.spec.name, missing)
        return unfit(text, self._names())

    def _names(self) -> list[str]:
        return [spec.name for spec in self._request.specs]

    def _said(self, text: str) -> TextDelta:
        self._text.append(text)
        return TextDelta(text)


def _one_of(words: Sequence[str], syntax: Syntax) -> Grammar:
    """A grammar for exactly one of these words."""
    return _printed(choice(*map(word, words)), syntax)


def _printed(root: Node, syntax: Syntax) -> Grammar:
    return Grammar(syntax=syntax, text=print_grammar(GrammarRules().book(root), syntax))
