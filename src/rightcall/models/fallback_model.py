"""Combines several models: when one is down or overloaded, the next is used.

Another model is used only while nothing of a reply has been emitted, so that no output is repeated. If a
stream breaks later, the reply is cut off, as with any model, and the next request goes to the next
model. A conversation stays with the model that answers; a new one begins with the first.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from operator import is_
from typing import Self, TypeAlias, TypeGuard, get_args
from weakref import finalize

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import ModelChange, ModelEvent, ReplyEnd, RetryStart
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reply, Transcript, spec_tokens
from rightcall.core.options import check_keywords
from rightcall.core.ports import Model
from rightcall.core.request import Conversation, Named, Request
from rightcall.declare.output import system_with_schema
from rightcall.errors import (
    ErrorKind,
    ProtocolError,
    TransportError,
    TruncatedStream,
    UsageError,
    VendorError,
)
from rightcall.log import logger
from rightcall.loop.settings import ModelSource
from rightcall.loop.window import WindowView, default_window, messages_to_send, update_view
from rightcall.models.connect import Connected, connect
from rightcall.request.authorship import as_read_elsewhere
from rightcall.request.endpoint import EventGroups, close_stream, event_groups
from rightcall.request.retry import Retry
from rightcall.wire.dialects import DIALECTS

Condition: TypeAlias = str | type[Exception] | Callable[[Exception], object]
"""When the next model is used: a kind of error, a type of exception, or a function of one."""

DOWN_OR_BUSY = ("connection", "timeout", "protocol", "rate_limit", "overloaded", "server")
"""The kinds of errors for which the next model is used by default."""

_KEPT_HOME = frozenset({"extra", "vendor_tools"})
"""Vendor-specific options, which another vendor refuses."""

_HASTY = Retry(attempts=2, longest=5.0)
"""The retry policy for a model that has another behind it."""


def kind_of(error: Exception) -> str:
    """The kind of an error."""
    match error:
        case VendorError() | TransportError() | ProtocolError():
            return error.kind
        case TimeoutError():
            return "timeout"
        case OSError():
            return "connection"
        case _:
            return "other"


def _is_by_dialect(extra: JsonValue) -> TypeGuard[Mapping[str, JsonValue]]:
    """Whether ``extra`` has options by dialect."""
    return isinstance(extra, Mapping) and bool(extra) and all(name in DIALECTS for name in extra)


def _only_waits(events: Sequence[ModelEvent]) -> bool:
    """Whether these events contain nothing of a reply: only retries and changes of model."""
    return all(isinstance(event, RetryStart | ModelChange) for event in events)


class Member(Struct, frozen=True, eq=False):
    """One of the models, and the name in ``Reply.answered_by``."""

    name: str
    model: Model
    opened: Connected | None = None
    """The model, if it was connected here and must be closed here."""


class Fallback:
    """Several models; the first that can answers, and ``Reply.answered_by`` names it."""

    def __init__(self, members: Sequence[Member], on: Sequence[Condition] = DOWN_OR_BUSY) -> None:
        self.members = tuple(members)
        self._on = on
        self._courses: dict[int, _Course] = {}
        """By the identity of a conversation; removed when the conversation is."""
        first = self.members[0].model.profile
        can_be_forced = any(member.model.profile.forced_choice for member in self.members)
        priced = all(member.model.profile.priced for member in self.members)
        self.profile = replace(first, forced_choice=can_be_forced, priced=priced, has_another=True)
        """The first model's profile. Each request is adapted to the model that is used."""

    def __repr__(self) -> str:
        return f"fallback({', '.join(member.name for member in self.members)})"

    async def close(self) -> None:
        """Close the models that were connected by name. Models that you passed in stay open."""
        for member in self.members:
            if member.opened is not None:
                await member.opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stream(self, request: Request) -> EventGroups:
        """The events of one reply, from the first model that produces any."""
        return EventGroups(self._together(request))

    async def _together(self, request: Request) -> AsyncGenerator[Sequence[ModelEvent], None]:
        if _is_by_dialect(extra := request.options.get("extra")):
            spoken = {_dialect_of(member) for member in self.members}
            if unheard := [name for name in extra if name not in spoken]:
                known = ", ".join(sorted(filter(None, spoken))) or "none that is known"
                raise UsageError(
                    f"options.extra: no model of {self!r} speaks {unheard[0]}; spoken: {known}"
                )
        course = self._course(request.conversation)
        errors: list[tuple[Member, Exception]] = []
        if course.left is not None:
            (failed, error), course.left = course.left, None
            asked = self.members[course.at]
            if asked is not failed:
                yield (ModelChange(failed.name, str(error), asked.name),)
        count = len(self.members)
        for at in [(course.at + step) % count for step in range(count)]:
            member = self.members[at]
            if errors:
                failed, error = errors[-1]
                logger.warning("%s failed, and %s is asked instead: %s", failed.name, member.name, error)
                yield (ModelChange(failed.name, str(error), member.name),)
            course.at = at
            course.asked = member.name
            delivered = False
            try:
                async with aclosing(_reply_of(member, course.fit_request(request, member))) as reply:
                    async for events in reply:
                        delivered = delivered or not _only_waits(events)
                        yield events
            except Exception as error:
                if not any(_matches(condition, error) for condition in self._on):
                    raise _with_notes(error, errors) from None
                # The next request of this conversation does not begin with this model.
                course.at = (at + 1) % len(self.members)
                if delivered:
                    course.left = (member, error)
                    raise
                errors.append((member, error))
            else:
                return
        raise _with_notes(errors[-1][1], errors[:-1])

    def asked_in(self, conversation: Conversation) -> str:
        """The name of the model that was used last in a conversation."""
        return self._course(conversation).asked

    def _course(self, conversation: Conversation) -> "_Course":
        key = id(conversation)
        course = self._courses.get(key)
        if course is None:
            course = self._courses[key] = _Course(_dialect_of(self.members[0]))
            finalize(conversation, self._courses.pop, key, None).atexit = False
        return course


class _Course:
    """The state of a conversation: its current model, and replies adapted for other models."""

    def __init__(self, home: str) -> None:
        self.at = 0
        self.asked = ""
        self.left: tuple[Member, Exception] | None = None
        """The model whose reply was cut off, until the change of model has been reported."""
        self._home = home
        """The dialect of the first model, which gets the vendor-specific options."""
        self._foreign: dict[int, tuple[Reply, Reply]] = {}
        """Replies adapted for other models, by the identity of the original: pairs of original and
        adapted."""
        self._views: dict[str, WindowView] = {}

    def fit_request(self, request: Request, member: Member) -> Request:
        """The request adapted to this model, without other models' reasoning."""
        profile = member.model.profile
        if not _KEPT_HOME.isdisjoint(request.options):
            request = replace(request, options=self._own_options(request.options, member))
        messages = request.messages
        if any(isinstance(m, Reply) and m.answered_by not in ("", member.name) for m in messages):
            # Without what only the model that wrote it can read.
            as_text = request.options.get("foreign_reasoning") == "text"
            messages = tuple([self._readable(each, member.name, as_text=as_text) for each in messages])
        messages = self._fitting(messages, request, member)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        if not profile.forced_choice and (
            request.choice == "required" or isinstance(request.choice, Named)
        ):
            request = replace(request, choice="auto")
        if request.output is not None and profile.structured != "native":
            system = system_with_schema(request.system, request.output)
            request = replace(request, system=system, output=None)
        return request

    def _own_options(self, options: Mapping[str, JsonValue], member: Member) -> Mapping[str, JsonValue]:
        """The options without those written for another dialect."""
        dialect = _dialect_of(member)
        extra = options.get("extra")
        kept = {name: value for name, value in options.items() if name not in _KEPT_HOME}
        if _is_by_dialect(extra):
            if own := extra.get(dialect):
                kept["extra"] = own
        elif extra and dialect == self._home:
            kept["extra"] = extra
        if dialect == self._home and "vendor_tools" in options:
            kept["vendor_tools"] = options["vendor_tools"]
        return kept

    def _readable(self, message: Message, name: str, *, as_text: bool) -> Message:
        if not isinstance(message, Reply) or message.answered_by in ("", name):
            return message
        # The same object for the same reply: encoders cache by identity.
        known = self._foreign.get(id(message))
        if known is None:
            known = (message, as_read_elsewhere(message, as_text=as_text))
            self._foreign[id(message)] = known
        return known[1]

    def _fitting(self, messages: Transcript, request: Request, member: Member) -> Transcript:
        """The messages that fit the model's context, which may be smaller than the first model's."""
        context = member.model.profile.context_window
        tools = spec_tokens(request.specs)
        window = default_window(context, request.max_tokens, tools)
        view = self._views.get(member.name)
        if view is not None:
            before = view.transcript
            if len(before) > len(messages) or not all(map(is_, before, messages)):
                view = None
        self._views[member.name] = view = update_view(view, messages, window)
        return messages_to_send(view, messages)


def _dialect_of(member: Member) -> str:
    """The dialect of a model; empty if it has none."""
    return getattr(getattr(member.model, "dialect", None), "name", "")


async def _reply_of(member: Member, request: Request) -> AsyncGenerator[Sequence[ModelEvent], None]:
    """The events of one model's reply, with its name. Raises if the reply has no end."""
    ended = False
    stream = member.model.stream(request)
    try:
        async for events in event_groups(stream):
            if events:
                if isinstance(end := events[-1], ReplyEnd):
                    reply = replace(end.reply, answered_by=member.name)
                    events, ended = (*events[:-1], ReplyEnd(reply, end.raw)), True  # noqa: PLW2901
                yield events
    finally:
        await close_stream(stream)
    if not ended:
        raise TruncatedStream(f"the reply of {member.name} has no end")


def _with_notes(error: Exception, earlier: Sequence[tuple[Member, Exception]]) -> Exception:
    for member, failure in earlier:
        error.add_note(f"before that, {member.name} failed: {failure}")
    return error


def _matches(condition: Condition, error: Exception) -> bool:
    if isinstance(condition, str):
        return kind_of(error) == condition
    if isinstance(condition, type):
        return isinstance(error, condition)
    return bool(condition(error))


@check_keywords("rc.models.fallback")
def fallback(*models: Model | str, on: Condition | Sequence[Condition] = DOWN_OR_BUSY) -> Fallback:
    """Several models as one: if one is down or overloaded, the next is asked.

    ``models`` are models or names, as for ``connect``; ``close`` closes those that were connected by
    name. ``on`` says for which errors the next is asked: kinds of errors, types of exceptions,
    functions of an exception, or several of those. The default kinds are ``"connection"``,
    ``"timeout"``, ``"protocol"``, ``"rate_limit"``, ``"overloaded"`` and ``"server"``; there are also
    ``"auth"``, ``"quota"``, ``"not_found"``, ``"context_overflow"``, ``"bad_request"`` and
    ``"filtered"``.
    """
    if not models:
        raise UsageError("fallback needs at least one model")
    conditions = (on,) if isinstance(on, str | type) or callable(on) else tuple(on)
    for condition in conditions:
        if isinstance(condition, str) and condition not in get_args(ErrorKind):
            known = ", ".join(get_args(ErrorKind))
            raise UsageError(f"fallback: no kind of error {condition!r}; there is {known}")
        if not isinstance(condition, str) and not callable(condition):
            raise UsageError(
                "fallback: on= takes kinds of errors, types of exceptions and functions, "
                f"and not {type(condition).__name__}"
            )
    members: list[Member] = []
    for at, model in enumerate(models):
        used: Model
        opened = None
        if isinstance(model, str):
            is_last = at == len(models) - 1
            name = model
            opened = used = connect(model, retry=None if is_last else _HASTY)
        else:
            _look_at(model)
            name = str(getattr(model, "name", "") or type(model).__name__)
            used = model
        same = sum(each.name == name or each.name.startswith(f"{name} #") for each in members)
        if same:
            name = f"{name} #{same + 1}"
        members.append(Member(name, used, opened))
    return Fallback(members, conditions)


def _look_at(given: object) -> None:
    """Raise for anything that is not a model, before its profile is read."""
    if not (hasattr(given, "profile") and hasattr(given, "stream")):
        raise UsageError(
            "a model is a name such as 'anthropic:claude-opus-4-8', an object with profile and stream, "
            f"or a list of those for rc.Agent, and not of the type {type(given).__name__}"
        )


class OpenedModels:
    """The models that an agent connects by name, each once, and closes."""

    def __init__(self) -> None:
        self._kept: dict[object, Connected] = {}

    def model(self, given: ModelSource) -> Model:
        """The model for a model, a name, or several of these as a fallback in that order."""
        if isinstance(given, str):
            if given not in self._kept:
                self._kept[given] = connect(given)
            return self._kept[given]
        if isinstance(given, Sequence):
            names = tuple(each if isinstance(each, str) else id(each) for each in given)
            if names not in self._kept:
                self._kept[names] = fallback(*given)
            return self._kept[names]
        _look_at(given)
        return given

    async def close(self) -> None:
        """Close them all."""
        for each in self._kept.values():
            await each.close()
