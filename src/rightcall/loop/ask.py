"""Sends one request to the model, streamed, and returns the entry that records the reply."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from logging import INFO

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.around import ExchangeEnd, ModelExchange
from rightcall.core.call import Call
from rightcall.core.entry import Entry, ReplyReceived, StepDone
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    Emit,
    ModelChange,
    ModelEvent,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.history import made_up_id, with_ids
from rightcall.core.jsontext import shorten
from rightcall.core.message import Reply, User
from rightcall.core.partial import PartialJson
from rightcall.core.pending import PENDING
from rightcall.core.ports import Model
from rightcall.core.request import Request
from rightcall.errors import RightcallError
from rightcall.gate.hooks import Veto
from rightcall.log import run_logger
from rightcall.loop.around import around
from rightcall.loop.draft import Draft
from rightcall.loop.nested import is_inside
from rightcall.loop.noted import NotedReplies
from rightcall.loop.setup import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.time_limit import TimeLimits
from rightcall.request.batches import close_stream, together

_LONGEST_WORD = 500
"""The most characters that are kept of the reason why a reply broke off."""
_LONGEST_TURN = 0.05
"""Seconds for which a stream with data always ready is read before other tasks get a turn."""


class Question(Struct, frozen=True, kw_only=True, eq=False):
    """One request to the model, and what is needed while the reply streams."""

    key: str
    request: Request
    seconds: float | None
    """Seconds that are left of the run's time."""
    limits: TimeLimits
    emit: Emit | None
    speculation: Speculation
    position: int
    """The reply's index in the transcript."""
    ids: Collection[str]
    """Call ids that the transcript holds already."""
    tainted: bool | None = None
    """Whether the run has read untrusted text; None without a guard."""


def _watched(reply: Reply, tainted: bool | None) -> Reply:  # noqa: FBT001 - a label
    return reply if tainted is None else replace(reply, tainted=tainted)


async def ask(setup: Setup, question: Question) -> Entry:
    """Returns the model's reply, whole or partial, as an entry; or a hook's veto, as a StepDone."""
    started = setup.clock.now()
    generated = await (_surrounded(setup, question) if setup.around else _generate(setup, question))
    notes: tuple[User, ...] = ()
    if setup.hooks.has("after_model"):
        answer = await setup.hooks.after_model(generated.reply)
        if isinstance(answer, Veto):
            return StepDone(key=question.key, value=answer.reason)
        notes = answer
    seconds = setup.clock.now() - started
    if run_logger.isEnabledFor(INFO):
        _log(setup.run, question.key, generated.reply, seconds)
    if not generated.in_time:
        # The two clocks may differ a little; the run's time must count as used up.
        seconds = max(seconds, question.seconds or 0.0)
    return ReplyReceived(
        key=question.key,
        reply=_watched(generated.reply, question.tainted),
        seconds=seconds,
        raw=generated.raw,
        passed_over=generated.passed_over,
        notes=notes,
    )


def _log(run: str, key: str, reply: Reply, seconds: float) -> None:
    names = ", ".join(shorten(call.name) for call in reply.calls) or "none"
    spent = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    run_logger.info(
        "run %s, %s: %s after %.1f s, %s; calls: %s", run, key, reply.stop, seconds, spent, names
    )


class _Generated(Struct, frozen=True, eq=False):
    """A reply, whole or partial; whether it came in time; its bytes, if kept; when it began."""

    reply: Reply
    in_time: bool
    raw: bytes | None
    passed_over: tuple[ModelChange, ...]
    first: float | None


async def _surrounded(setup: Setup, question: Question) -> _Generated:
    with around(setup.around, ModelExchange, question.key, setup.model, question.request) as watched:
        generated = await _generate(setup, question)
        watched.ended(ExchangeEnd(generated.reply, generated.first))
    return generated


async def _generate(setup: Setup, question: Question) -> _Generated:
    draft, broke = Draft(), "no end"
    stream = setup.model.stream(question.request)
    asking = PENDING.set(NotedReplies(setup.steps, question.key))
    try:
        with question.limits.of(question.seconds) as time:
            await _read(stream, draft, question)
    except RightcallError as error:
        if draft.is_empty:
            raise
        broke = f"{error.code}: {error}"[:_LONGEST_WORD]
        run_logger.warning("run %s, %s: the reply broke off: %s", setup.run, question.key, error)
    except TimeoutError:
        if not time.expired:
            raise
        broke = "deadline"
    finally:
        await close_stream(stream)
        PENDING.reset(asking)
    # An error after the end of a reply does not change the reply.
    end = draft.end or ReplyEnd(_signed(draft.broken(broke), setup.model, question.request))
    return _Generated(end.reply, not time.expired, end.raw, draft.passed_over, draft.first)


def _signed(reply: Reply, model: Model, request: Request) -> Reply:
    """Returns a partial reply, which names no model, with the name of the model that was asked."""
    asked_in = getattr(model, "asked_in", None)
    if asked_in is not None:
        return replace(reply, answered_by=asked_in(request.conversation))
    return replace(reply, model=str(getattr(model, "name", "")))


class _Names:
    """Replaces call ids, as the calls stream in, by the ids that they will have in the transcript."""

    __slots__ = ("_by_index", "_named", "_question", "_taken")

    def __init__(self, question: Question) -> None:
        self._question = question
        self._named: list[tuple[int, str, str]] = []
        """The index of each call, the id that the model gave, and the one that replaces it, in order."""
        self._taken: set[str] | None = None
        """The ids that replace others, and those in the transcript; None before the first call."""
        self._by_index: dict[int, str] = {}

    def named(self, event: ModelEvent) -> ModelEvent:
        """Returns the event with its call ids replaced."""
        # Classes without patterns for their members, which take three times as long to match.
        match event:
            case ReplyEnd():
                whole = self._whole(event.reply)
                return event if whole is event.reply else ReplyEnd(whole, event.raw)
            case CallStart():
                own = self._begin(event.index, event.id)
                return event if own == event.id else CallStart(event.index, event.name, own)
            case CallEnd():
                index, call = event.index, event.call
                own = self._by_index.get(index) or self._begin(index, call.id)
                return CallEnd(index, replace(call, id=own)) if own != call.id else event
            case _:
                return event

    def _begin(self, index: int, given: str) -> str:
        if self._taken is None:
            self._taken = set(self._question.ids)
        own = given
        if not given or given in self._taken or is_inside(given):
            # An id with the form of a call inside another could not be decided about.
            own = made_up_id(self._question.position, len(self._named), self._taken)
        self._taken.add(own)
        self._named.append((index, given, own))
        self._by_index[index] = own
        return own

    def _whole(self, reply: Reply) -> Reply:
        """Returns the reply with the call ids that its events had."""
        if [call.id for call in reply.calls] == [own for _, _, own in self._named]:
            return reply
        # Sorted by the events' index, which need not be the order in which they came.
        shown = [(given, own) for _, given, own in sorted(self._named)]
        parts = list(reply.content)
        for at, part in enumerate(parts):
            if isinstance(part, Call):
                place = next((n for n, (given, _) in enumerate(shown) if given == part.id), None)
                if place is not None and (own := shown.pop(place)[1]) != part.id:
                    parts[at] = replace(part, id=own)
        if any(given != own for _, given, own in self._named):
            reply = replace(reply, content=tuple(parts))
        return with_ids(reply, self._question.position, self._question.ids)


class _Views:
    """Emits a reply's events, with a view of each call's arguments so far."""

    __slots__ = ("_emit", "_views")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._views: dict[int, PartialJson] = {}

    def show(self, event: ModelEvent) -> None:
        if type(event) is CallDelta:
            view = self._views.get(event.index)
            if view is not None:
                view.feed(event.text)
                event = CallDelta(event.index, event.text, view)
        elif type(event) is CallStart:
            self._views[event.index] = PartialJson()
        self._emit(event)


class _Reading:
    """Takes in the events of a reply, as they come."""

    __slots__ = ("_draft", "_names", "_speculation", "_views")

    def __init__(self, draft: Draft, question: Question) -> None:
        self._draft = draft
        self._names = _Names(question)
        self._speculation = question.speculation
        self._views = None if question.emit is None else _Views(question.emit)

    def take(self, events: Sequence[ModelEvent], *, is_last: bool) -> None:
        """Add events to the draft, start calls that they complete, and show them.

        If they are the last, starting calls early gains nothing: all go to the gate next.
        """
        draft, names, speculation = self._draft, self._names, self._speculation
        append, show = draft.append, None if self._views is None else self._views.show
        size = 0
        for event in events:
            kind = type(event)
            if kind is not TextDelta and kind is not CallDelta:
                event = names.named(event)  # noqa: PLW2901 - the same event, under the right id
                draft.add(event)
                if not is_last:
                    speculation.follow(event)
            else:
                append(event)
                size += len(event.text)  # type: ignore[union-attr]
                if speculation.listens and not is_last:
                    speculation.follow(event)
            if show is not None:
                show(event)
        draft.grew(size)


async def _read(stream: AsyncIterator[ModelEvent], draft: Draft, question: Question) -> None:
    reading, loop = _Reading(draft, question), asyncio.get_running_loop()
    began = loop.time()
    turn = began + _LONGEST_TURN
    async for events in together(stream):
        is_last = bool(events) and type(events[-1]) is ReplyEnd
        reading.take(events, is_last=is_last)
        del events  # not kept while a thousand runs wait for more
        if draft.first is None and not draft.is_empty:
            draft.first = loop.time() - began
        if not is_last and loop.time() > turn:
            # Deadlines and cancellations take effect only at a wait, and a stream may never wait.
            await asyncio.sleep(0)
            turn = loop.time() + _LONGEST_TURN
