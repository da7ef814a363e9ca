"""The prompts of a small model: one task, a few sample answers, then the question.

A prompt is a handful of short turns, because a model of this size copies what is near. The sample
answers come from the tools' own examples, or if a tool has none, from its declaration.

A model that is asked two things at once does only one of them. So the questions of a message are split,
and each is asked separately, with its context.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.message import Message, Reply, Results, Transcript, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.declare.search_words import stem, terms
from rightcall.errors import EncodeError
from rightcall.local.guided.derive import derived
from rightcall.local.guided.formula import is_signs, written_out
from rightcall.local.guided.kin import is_verb
from rightcall.local.guided.plan import Leave, Offer, Take, filled, plan_for
from rightcall.local.guided.telling import is_question, wanted_in
from rightcall.local.guided.values import values_in

Shown: TypeAlias = tuple[str, str]
"""A user's text, and the model's expected answer."""

NONE = "none"
"""The model's answer if no tool is needed."""

_SMALL_TALK: tuple[Shown, ...] = (("Good morning!", NONE), ("What is the longest river?", NONE))
_MOST_SHOWN = 2
"""The most examples of one tool among others."""

BAG = "local"
"""The vendor key of a call under which its question is kept."""

_END = re.compile(r"(?<=\?)[\"')\]]*\s+")
_AND = re.compile(
    r",?\s+and\s+(?:also\s+)?(?=(?:what|what's|which|when|where|who|how|is it|tell me|give me)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^(?:and|also|then)\b[,\s]*", re.IGNORECASE)
_MORE = re.compile(
    r"(?:it|it's|its|they|this|there|for|at|from|on|to|with|in|by|the|my|our|we)\b", re.IGNORECASE
)
_BACK = re.compile(r"\b(?:it|them|they|their)\b", re.IGNORECASE)
"""Words for something that was named before."""
_TELL = frozenset(stem(word) for word in ("tell", "give", "please", "let", "then", "also"))
"""First words of a request, beside actions."""
_MOST_QUESTIONS = 6
"""The most questions in a message; with more, it is taken as one."""


Found: TypeAlias = tuple[str, Call | None, Result | None]
"""A question, its call, and the result."""


class Choose(Struct, frozen=True):
    """Next step: find tools for these questions."""

    questions: tuple[str, ...]


class Tell(Struct, frozen=True):
    """Next step: answer each question, with its result if there is one."""

    found: tuple[Found, ...]


class Talk(Struct, frozen=True):
    """Next step: answer without tools."""


Next: TypeAlias = Choose | Tell | Talk


def next_step(request: Request) -> Next:
    """The next step. Each message gets one round of calls, and then an answer."""
    asks = [
        (at, each.text)
        for at, each in enumerate(request.messages)
        if isinstance(each, User) and each.author in {"user", "agent"}
    ]
    if not asks:
        return Talk()
    at, asked = asks[-1]
    if len(asks) > 1:
        asked = _gone_on(asks[-2][1], request.messages[asks[-2][0] + 1 : at], asked)
    answered = _answered(request.messages[at + 1 :], asked)
    if answered:
        return Tell(_paired(questions_in(asked), answered))
    if request.specs and request.choice != "none" and asked.strip():
        return Choose(questions_in(asked))
    return Talk()


def spoken(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The text messages, without calls and results."""
    kept: list[Message] = []
    for message in messages:
        match message:
            case User():
                kept.append(message)
            case Reply() if message.text.strip():
                kept.append(Reply((Text(message.text),)))
            case _:
                continue
    return tuple(kept)


def questions_in(text: str) -> tuple[str, ...]:
    """The questions of a message, in order; the message itself if there is only one."""
    pieces: list[str] = []
    for sentence in _END.split(text.strip()):
        if pieces and _adds(sentence):
            pieces[-1] = f"{pieces[-1]} {sentence}"
        else:
            pieces += _asked(sentence)
    found = [_LEAD.sub("", piece) or piece for piece in pieces]
    if not 1 < len(found) <= _MOST_QUESTIONS:
        return (text.strip(),)
    return tuple(piece[:1].upper() + piece[1:] for piece in found)


def refuse_media(messages: Transcript) -> None:
    """Raises an error for other content in the last message: this model is guided by text alone."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, Reply):
            return
        if isinstance(message, User):
            for part in message.content:
                if isinstance(part, Media):
                    raise EncodeError(
                        "local",
                        f"[{part.about}] cannot be sent to the embedded model, which reads words only; "
                        "name another with model=.",
                        where=f"messages[{at}]",
                    )


def first_lessons(request: Request) -> tuple[Request, ...]:
    """One prompt for each question that is asked at once; none for results, which need no model."""
    match next_step(request):
        case Choose(questions):
            if isinstance(request.choice, Named):
                questions = (" ".join(questions),)
            return tuple(
                lesson
                for question in questions
                if formula_in(question, request.specs) is None
                and (lesson := _first_lesson(question, request)) is not None
            )
        case Tell():
            return ()
        case Talk():
            return (Request(messages=spoken(request.messages), system=request.system),)


def _first_lesson(question: str, request: Request) -> Request | None:
    """The first prompt for a question; None if the lexical match decides."""
    match plan_for(question, request.specs, request.choice):
        case Offer(shown=specs):
            return choosing(specs, question)
        case Take(spec):
            found = filled(spec, question)
            asks = found.schema is not None and not found.missing
            return filling(spec, question) if asks else None
        case Leave():
            return None


def formula_in(question: str, specs: Sequence[Spec]) -> tuple[Spec, str] | None:
    """The first tool that takes the question as a formula, and its arguments; without a lesson."""
    for spec in specs:
        if (arguments := written_out(question, spec)) is not None:
            return spec, arguments
    return None


def labels(specs: Sequence[Spec]) -> dict[str, str]:
    """The label of each tool for the model: the last word of its name, if that is unique.

    A name that begins like a sentence, as ``get_weather``, would be chosen for its beginning.
    """
    short = [re.split(r"[_-]", spec.name)[-1] or spec.name for spec in specs]
    taken = [*short, NONE]
    return {
        spec.name: last if taken.count(last) == 1 else spec.name
        for spec, last in zip(specs, short, strict=True)
    }


def choosing(specs: Sequence[Spec], question: str) -> Request:
    """The prompt that asks which tool answers the question, by its label."""
    called = labels(specs)
    tools = "\n".join(f"{called[spec.name]}: {spec.short or spec.description}" for spec in specs)
    task = f"Choose the tool that answers the user, or {NONE}.\n{tools}\n{NONE}: No tool is needed."
    shown: list[Shown] = []
    for at in range(_MOST_SHOWN):
        shown.append(_SMALL_TALK[at])
        for spec in specs:
            shown += [(asked, called[spec.name]) for asked, _ in list(_examples(spec))[at : at + 1]]
    return _lesson(task, shown, question)


def filling(spec: Spec, question: str) -> Request:
    """The prompt that asks for the arguments."""
    about = spec.short or spec.description
    task = f"Write the arguments of {spec.name} as JSON.\n{spec.name}: {about}{_members(spec)}"
    return _lesson(task, [(asked, dump(given)) for asked, given in _examples(spec)], question)


def _gone_on(before: str, between: tuple[Message, ...], asked: str) -> str:
    """The earlier question with the new value, if the user was asked for one."""
    last = between[-1] if between else None
    wanted = wanted_in(last.text) if isinstance(last, Reply) else ()
    if not wanted or is_question(asked) or not asked.strip():
        return asked
    name = f"{wanted[0]} " if len(wanted) == 1 else ""
    return f"{before.strip().rstrip('?.!')}, {name}{asked.strip()}"


def _answered(messages: tuple[Message, ...], asked: str) -> list[Found]:
    """The results since the question, each with the part of it that its call was made for."""
    calls: dict[str, Call] = {}
    found: list[Found] = []
    for message in messages:
        if isinstance(message, Reply):
            calls.update({call.id: call for call in message.calls})
        if isinstance(message, Results):
            for each in message.results:
                call = calls.get(each.call_id)
                found.append((_question_of(call, asked), call, each))
    return found


def _question_of(call: Call | None, asked: str) -> str:
    bag = None if call is None else call.vendor.get(BAG)
    question = bag.get("question") if isinstance(bag, dict) else None
    return question if isinstance(question, str) else asked.strip()


def _paired(questions: tuple[str, ...], answered: list[Found]) -> tuple[Found, ...]:
    by_question = {found[0]: found for found in answered}
    if not set(by_question) <= set(questions):
        # The calls were made for something else, or by another model: each is shown by itself.
        return tuple(answered)
    return tuple(by_question.get(question, (question, None, None)) for question in questions)


def _adds(sentence: str) -> bool:
    """Whether a sentence adds to the question before it.

    "Can you book a table? It's for four." So does a value of which nothing is asked: "I am in Rome."
    """
    if sentence.endswith("?"):
        return False
    if _MORE.match(sentence) or _BACK.search(sentence):
        return True
    first = next(iter(terms(sentence, empty=True)), "")
    if is_verb(first) or first in _TELL:
        return False
    return any(each.start or " " in each.text for each in values_in(sentence))


def _asked(sentence: str) -> list[str]:
    """The questions of a sentence; each piece is a question, if the whole is one."""
    pieces = [piece.strip() for each in _AND.split(sentence) for piece in _sum_apart(each)]
    pieces = [piece for piece in pieces if piece]
    mark = "?" if sentence.endswith("?") else ""
    return [f"{piece.rstrip(' ,;')}{mark}" for piece in pieces[:-1]] + pieces[-1:]


def _sum_apart(piece: str) -> tuple[str, ...]:
    """Splits a question in words from a formula in digits after it: the date, and 99/3."""
    words, _, rest = piece.rpartition(" and ")
    has_sum = bool(words) and not re.search(r"\d", words) and is_signs(rest)
    return (words, rest) if has_sum else (piece,)


def _examples(spec: Spec) -> Iterator[tuple[str, JsonObject]]:
    """The sample arguments, each with a user's question for it."""
    if not spec.examples:
        yield from derived(spec)
    for at, given in enumerate(spec.examples):
        if at < len(spec.questions):
            yield spec.questions[at], given
        else:
            yield _as_words(spec, given), given


def _as_words(spec: Spec, given: JsonObject) -> str:
    about = (spec.short or spec.description).rstrip(".")
    return f"{about}: {', '.join(map(_plain, given.values()))}" if given else about


def _members(spec: Spec) -> str:
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    lines = [
        f"\n{name}: {about['description']}"
        for name, about in properties.items()
        if isinstance(about, Mapping) and isinstance(about.get("description"), str)
    ]
    return "".join(lines)


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump(value)


def _lesson(task: str, shown: Sequence[Shown], question: str) -> Request:
    messages: list[Message] = []
    for asked, answer in shown:
        messages += [user_text(asked), Reply((Text(answer),))]
    return Request(messages=(*messages, user_text(question)), system=task)
