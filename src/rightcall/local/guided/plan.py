"""A request into what a small model is led through next: choosing tools, telling results, or talking."""

from typing import TypeAlias

from msgspec import Struct

from rightcall.core.call import Call
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Text
from rightcall.core.request import Request
from rightcall.core.result import Result
from rightcall.local.guided.questions import questions_in

BAG = "local"
"""The vendor bag of a call, where the question that it answers is kept."""


class Choose(Struct, frozen=True):
    """Find tools for these questions."""

    questions: tuple[str, ...]


class Tell(Struct, frozen=True):
    """Answer each question, by its result where it has one."""

    found: tuple[tuple[str, Result | None], ...]


class Talk(Struct, frozen=True):
    """Answer without tools."""


Next: TypeAlias = Choose | Tell | Talk


def next_step(request: Request) -> Next:
    """What comes next. One round of calls for each message: then there is an answer."""
    at = _last_question(request.messages)
    if at is None:
        return Talk()
    asked = _words(request.messages[at])
    answered = _answered(request.messages[at + 1 :], asked)
    if answered:
        return Tell(_paired(questions_in(asked), answered))
    if request.specs and request.choice != "none" and asked.strip():
        return Choose(questions_in(asked))
    return Talk()


def spoken(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What was said in words, without calls and results."""
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


def _last_question(messages: tuple[Message, ...]) -> int | None:
    asks = ("user", "agent")
    asked = [at for at, each in enumerate(messages) if isinstance(each, User) and each.author in asks]
    return asked[-1] if asked else None


def _words(message: Message) -> str:
    return message.text if isinstance(message, User) else ""


def _answered(messages: tuple[Message, ...], asked: str) -> list[tuple[str, Result]]:
    """The results since the question, each with the part of it that its call was made for."""
    calls: dict[str, Call] = {}
    found = []
    for message in messages:
        if isinstance(message, Reply):
            calls.update({call.id: call for call in message.calls})
        if isinstance(message, Results):
            found += [(_question_of(calls.get(each.call_id), asked), each) for each in message.results]
    return found


def _question_of(call: Call | None, asked: str) -> str:
    bag = None if call is None else call.vendor.get(BAG)
    question = bag.get("question") if isinstance(bag, dict) else None
    return question if isinstance(question, str) else asked.strip()


def _paired(
    questions: tuple[str, ...], answered: list[tuple[str, Result]]
) -> tuple[tuple[str, Result | None], ...]:
    by_question = dict(answered)
    if not set(by_question) <= set(questions):
        # The calls were made for something else, or by someone else: each speaks for itself.
        return tuple(answered)
    return tuple((question, by_question.get(question)) for question in questions)
