"""An engine into a model that calls tools although it was never trained to, and is very small.

Told about its tools in one prompt, such a model calls none, or the last one it saw. Led one question at
a time, each answer held by a grammar, it chooses a tool, writes its arguments, and says what came back.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

from rightcall.core.call import Call
from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent, ReplyEnd, TextDelta
from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Reply, said
from rightcall.core.parts import Text
from rightcall.core.request import Named, Profile, Request
from rightcall.core.result import Result
from rightcall.core.tool import Spec
from rightcall.local.engine import Engine
from rightcall.local.grammar.build import grammar_for_output
from rightcall.local.guided import lessons
from rightcall.local.guided.answers import sentence_with
from rightcall.local.guided.plan import BAG, Choose, Talk, Tell, next_step, spoken
from rightcall.local.guided.pupil import Pupil
from rightcall.local.sampling import sampling_of
from rightcall.local.template.chat_template import ChatTemplate

_LONGEST_ARGUMENTS = 256
_LONGEST_SENTENCE = 96
_LONGEST_TALK = 256
_LONGEST_VALUE = 80
_LONGEST_SHOWN = 1200
"""Characters of a result that the model is shown."""
_MOST_MEMBERS = 12


class GuidedModel:
    """A raw model that is led through its calls: one round of them for each of the user's messages."""

    def __init__(
        self,
        engine: Engine,
        *,
        template: ChatTemplate | None = None,
        profile: Profile | None = None,
    ) -> None:
        self._engine = engine
        self._template = template
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
        template = self._template or ChatTemplate.from_card(card)
        pupil = Pupil(self._engine, template, sampling_of(request))
        turn = _Turn(pupil, request)
        try:
            async for event in turn.events():
                yield event
        finally:
            await pupil.close()
        yield ReplyEnd(turn.reply(card.name))


class _Turn:
    """One reply in the making."""

    def __init__(self, pupil: Pupil, request: Request) -> None:
        self._pupil = pupil
        self._request = request
        self._calls: list[Call] = []
        self._text: list[str] = []

    def reply(self, model: str) -> Reply:
        """What came of it."""
        text = "".join(self._text)
        parts: list[Text | Call] = [*([Text(text)] if text else []), *self._calls]
        pupil = self._pupil
        stop = "calls" if self._calls and pupil.stop == "end" else pupil.stop
        return Reply(tuple(parts), stop, pupil.stop_word, pupil.usage, model)

    async def events(self) -> AsyncIterator[ModelEvent]:
        """What happens, up to the end of the reply."""
        match next_step(self._request):
            case Choose(questions):
                async for event in self._call_tools(questions):
                    yield event
                if not self._calls:
                    async for event in self._talk():
                        yield event
            case Tell(found):
                async for event in self._tell(found):
                    yield event
            case Talk():
                async for event in self._talk():
                    yield event

    async def _call_tools(self, questions: Sequence[str]) -> AsyncIterator[ModelEvent]:
        alone = self._request.options.get("parallel") is False
        if alone or isinstance(self._request.choice, Named):
            questions = (" ".join(questions),)
        for question in questions:
            spec = await self._chosen(question)
            if spec is None:
                continue
            async for event in self._call(spec, question):
                yield event
            if self._pupil.stop == "length":
                return

    async def _chosen(self, question: str) -> Spec | None:
        specs = {spec.name: spec for spec in self._request.specs}
        choice = self._request.choice
        if isinstance(choice, Named):
            return specs[choice.name]
        if choice == "required" and len(specs) == 1:
            return self._request.specs[0]
        called = lessons.labels(self._request.specs)
        words = [*called.values(), *([] if choice == "required" else [lessons.NONE])]
        word = await self._pupil.choose(lessons.choosing(self._request.specs, question), words)
        return next((specs[name] for name, label in called.items() if label == word), None)

    async def _call(self, spec: Spec, question: str) -> AsyncIterator[ModelEvent]:
        index = len(self._calls)
        yield CallStart(index, spec.name)
        written: list[str] = []
        grammar = grammar_for_output(spec.parameters, syntax=self._pupil.syntax)
        async for text in self._pupil.write(
            lessons.filling(spec, question), _LONGEST_ARGUMENTS, grammar
        ):
            written.append(text)
            yield CallDelta(index, text)
        call = Call(
            id="",
            name=spec.name,
            arguments="".join(written),
            truncated=self._pupil.stop == "length",
            vendor={BAG: {"question": question}},
        )
        self._calls.append(call)
        if not call.truncated:
            yield CallEnd(index, call)

    async def _tell(self, found: Sequence[tuple[str, Result | None]]) -> AsyncIterator[ModelEvent]:
        for question, result in found:
            if self._text:
                yield self._said(" ")
            if result is None:
                lesson = Request(messages=(said(question),), system=self._request.system)
                async for text in self._pupil.write(lesson, _LONGEST_SENTENCE):
                    yield self._said(text)
                continue
            if result.is_error:
                yield self._said(f"That could not be found out: {result.text.strip()}")
                continue
            value = await self._value(question, result)
            grammar = None
            if 0 < len(value) <= _LONGEST_VALUE and value.isprintable():
                grammar = sentence_with(value, question, self._pupil.syntax)
            lesson = lessons.telling(question, value[:_LONGEST_SHOWN])
            async for text in self._pupil.write(lesson, _LONGEST_SENTENCE, grammar):
                yield self._said(text)

    async def _value(self, question: str, result: Result) -> str:
        """What of a result answers the question: of an object, the member that the model points at."""
        members = _scalars(result.text)
        if not members:
            return result.text.strip().strip('"')
        if len(members) == 1:
            return next(iter(members.values()))
        return members[await self._pupil.choose(lessons.picking(question, members), list(members))]

    async def _talk(self) -> AsyncIterator[ModelEvent]:
        request = self._request
        plain = Request(messages=spoken(request.messages), system=request.system)
        grammar = None
        if request.output is not None:
            grammar = grammar_for_output(request.output, syntax=self._pupil.syntax)
        async for text in self._pupil.write(plain, _LONGEST_TALK, grammar, steady=False):
            yield self._said(text)

    def _said(self, text: str) -> TextDelta:
        self._text.append(text)
        return TextDelta(text)


def _scalars(text: str) -> dict[str, str]:
    """The members of a small flat object, as words; none when the text is anything else."""
    try:
        value = parse(text)
    except JsonError:
        return {}
    if not isinstance(value, Mapping) or not 0 < len(value) <= _MOST_MEMBERS:
        return {}
    if any(isinstance(each, Mapping | list) for each in value.values()):
        return {}
    return {name: each if isinstance(each, str) else dump(each) for name, each in value.items()}
