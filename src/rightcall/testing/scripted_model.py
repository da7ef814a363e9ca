"""A model that replies from a script, for testing agents.

    model = ScriptedModel([
        reply(call("get_weather", city="Paris")),
        reply("It is sunny in Paris."),
    ])

It streams in fragments of any size, waits where told to, and breaks where told to. It fails the test
when it is asked more often than the script says, and ``model.requests`` holds what it was asked.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.events import ModelEvent, reply_events
from rightcall.core.jsontext import dump
from rightcall.core.message import Reasoning, Reply, StopReason
from rightcall.core.options import NameCheckedMeta, check_keywords
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import Profile, Request
from rightcall.errors import UsageError


class Break(Struct, frozen=True, metaclass=NameCheckedMeta):
    """Where and how a stream fails: it ends, or raises ``error``, after that many events.

    With an error and more events than the reply has, it fails after the whole reply.
    """

    after: int
    error: Exception | None = None


class Turn(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """One reply of the script, with its timing."""

    reply: Reply = Reply(())
    delay: float = 0.0
    """Seconds before the first event."""
    pause: float = 0.0
    """Seconds between events."""
    breaks: Break | None = None


Script: TypeAlias = Sequence[Reply | Turn | str] | Callable[[Request], Reply | Turn | str]


class ScriptedModel:
    """Answers from a script: a list of replies in order, or a function of the request.

    ``fragment`` is how many characters come in one event; None for all at once. ``name`` identifies its
    replies among several models.
    """

    @check_keywords("rc.testing.ScriptedModel")
    def __init__(
        self,
        script: Script,
        *,
        fragment: int | None = 4,
        profile: Profile | None = None,
        name: str = "scripted",
    ) -> None:
        if isinstance(script, str):
            raise UsageError(f"rc.testing.ScriptedModel: a script is a list of replies: [{script!r}]")
        self.name = name
        self._script = script
        self._fragment = fragment
        self._profile = profile or Profile()
        self.requests: list[Request] = []

    @property
    def profile(self) -> Profile:
        """The profile that the model pretends to have."""
        return self._profile

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The next reply of the script, as events."""
        self.requests.append(request)
        return self._play(self._turn(request))

    def assert_finished(self) -> None:
        """Fail if the script has replies that were not requested."""
        if not callable(self._script) and len(self.requests) < len(self._script):
            left = len(self._script) - len(self.requests)
            raise AssertionError(f"the script has {left} replies that were not asked for")

    def _turn(self, request: Request) -> Turn:
        if callable(self._script):
            said = self._script(request)
        elif len(self.requests) > len(self._script):
            raise UsageError(f"the script has only {len(self._script)} replies and was asked for more")
        else:
            said = self._script[len(self.requests) - 1]
        if isinstance(said, str):
            said = reply(said)
        if isinstance(said, Reply):
            return Turn(reply=said)
        return said

    async def _play(self, turn: Turn) -> AsyncIterator[ModelEvent]:
        await asyncio.sleep(turn.delay)
        for position, event in enumerate(reply_events(turn.reply, self._fragment)):
            if turn.breaks is not None and position >= turn.breaks.after:
                break
            if turn.pause:
                await asyncio.sleep(turn.pause)
            yield event
        if turn.breaks is not None and turn.breaks.error is not None:
            raise turn.breaks.error


@check_keywords("rc.testing.reply", more="texts and calls come first, as in reply(call(…))")
def reply(
    *parts: str | Call | Reasoning, stop: StopReason | None = None, usage: Usage | None = None
) -> Reply:
    """A reply from its parts; strings are text. It stops for its calls, if it has any."""
    content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    if stop is None:
        if any(isinstance(part, Call) for part in content):
            stop = "calls"
        else:
            stop = "end"
    return Reply(content, stop, usage=usage or Usage(input_tokens=10, output_tokens=5))


def call(
    name: str,
    given: Mapping[str, object] | str | None = None,
    /,
    *,
    id: str = "",  # noqa: A002
    **arguments: object,
) -> Call:
    """A call with these arguments; a text in their place is taken as it is, well-formed or not.

    ``id`` is the call's own. A tool's own ``id`` is given in a mapping: ``call("look_up", {"id": 3})``.
    """
    if not issubclass(type(id), str):
        given_so = f"call({name!r}, {{'id': {id!r}}})"
        raise UsageError(f"id= is the call's own, and a text; a tool's goes in a mapping: {given_so}")
    if isinstance(given, str):
        if arguments:
            raise UsageError(
                f"call({name!r}, …): a text is all of the arguments; {', '.join(arguments)}=?"
            )
        return Call(id=id, name=name, arguments=given)
    if given is None and arguments.keys() == {"text"}:
        _warn_of_text(name, arguments["text"])
    return Call(id=id, name=name, arguments=dump({**(given or {}), **arguments}))


def _warn_of_text(name: str, text: object) -> None:
    """Warn callers that use ``text=`` in its former meaning; it is now a parameter like any other."""
    if isinstance(text, str) and text[:1] in ("", "{", "["):
        words = (
            f"text= is now the tool's parameter of that name; arguments as they are come second: "
            f"call({name!r}, {text[:40]!r}). For a parameter, call({name!r}, {{'text': …}}) is plain"
        )
        warnings.warn(words, UserWarning, stacklevel=3)
