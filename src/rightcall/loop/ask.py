"""Sends one request to the model, streamed, and returns the entry that records the reply."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import cached_property
from itertools import islice
from logging import INFO

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.entry import Entry, ReplyReceived, StepDone
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    Emit,
    ModelChange,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    RetryStart,
    TextDelta,
)
from rightcall.core.history import made_up_id, with_ids
from rightcall.core.jsontext import shorten
from rightcall.core.message import Reasoning, Reply, User
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Call, Text
from rightcall.core.ports import BACKGROUND_REPLIES, ExchangeEnd, ModelExchange, Steps
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, RightcallError
from rightcall.gate.hooks import NO_HOOKS, Veto
from rightcall.log import run_logger
from rightcall.loop.inner_runs import is_inside
from rightcall.loop.observers import around
from rightcall.loop.settings import Setup
from rightcall.loop.speculate import Speculation
from rightcall.loop.time_limits import TimeLimits
from rightcall.record.steps import recorded_entry
from rightcall.request.endpoint import close_stream, event_groups

_LONGEST_WORD = 500
"""The most characters that are kept of the reason why a reply broke off."""
_LONGEST_TURN = 0.05
"""Seconds for which a stream with data always ready is read before other tasks get a turn."""


class ModelQuestion(Struct, frozen=True, kw_only=True, eq=False):
    """One request to the model, and what is needed while the reply streams."""

    key: str
    request: Request
    seconds: float | None
    """Seconds that are left of the run's time."""
    limits: TimeLimits
    emit: Emit | None
    speculation: Speculation | None
    """Starts calls while the reply still streams; None if none may be."""
    position: int
    """The reply's index in the transcript."""
    ids: Collection[str]
    """Call ids that the transcript holds already."""
    offer: tuple[str, ...] | None = None
    """The only tools that the reply may call; None for all that the run has."""
    tainted: bool | None = None
    """Whether the run has read untrusted text; None without a guard."""


async def ask(setup: Setup, question: ModelQuestion) -> Entry:
    """Returns the model's reply, whole or partial, as an entry; or a hook's veto, as a StepDone."""
    started = setup.clock.now()
    if setup.around:
        with around(setup.around, ModelExchange, question.key, setup.model, question.request) as span:
            received = await _receive(setup, question)
            span.set_end(ExchangeEnd(received.reply, received.first))
    else:
        received = await _receive(setup, question)
    reply = received.reply
    notes: tuple[User, ...] = ()
    if setup.hooks is not NO_HOOKS and setup.hooks.has("after_model"):
        answer = await setup.hooks.after_model(reply)
        if isinstance(answer, Veto):
            return StepDone(key=question.key, value=answer.reason)
        notes = answer
    seconds = setup.clock.now() - started
    if run_logger.isEnabledFor(INFO):
        _log(setup.run, question.key, reply, seconds)
    if not received.in_time:
        # The two clocks may differ a little; the run's time must count as used up.
        seconds = max(seconds, question.seconds or 0.0)
    if question.tainted is not None:
        reply = replace(reply, tainted=question.tainted)
    return ReplyReceived(
        key=question.key,
        reply=reply,
        seconds=seconds,
        raw=received.raw,
        passed_over=received.passed_over,
        notes=notes,
        offer=question.offer,
    )


def _log(run: str, key: str, reply: Reply, seconds: float) -> None:
    names = ", ".join(shorten(call.name) for call in reply.calls) or "none"
    spent = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    run_logger.info(
        "run %s, %s: %s after %.1f s, %s; calls: %s", run, key, reply.stop, seconds, spent, names
    )


class _Received(Struct, frozen=True, eq=False):
    """A reply, whole or partial; whether it came in time; its bytes, if kept; when it began."""

    reply: Reply
    in_time: bool
    raw: bytes | None
    passed_over: tuple[ModelChange, ...]
    first: float | None


async def _receive(setup: Setup, question: ModelQuestion) -> _Received:
    """Read the reply's stream to its end, or to where it breaks off or time is up."""
    draft = ReplyDraft()
    broke = "no end"
    noted = NotedReplies(setup.steps, question.key)
    stream = setup.model.stream(question.request)
    background = BACKGROUND_REPLIES.set(noted)
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
        BACKGROUND_REPLIES.reset(background)
    end = draft.end
    # An error after the end of a reply does not change the reply.
    if end is None:
        if draft.takes_long:
            reply = await asyncio.to_thread(draft.broken_reply, broke)
        else:
            reply = draft.broken_reply(broke)
        # It names no model; this is the one that was asked.
        asked_in = getattr(setup.model, "asked_in", None)
        if asked_in is not None:
            reply = replace(reply, answered_by=asked_in(question.request.conversation))
        else:
            reply = replace(reply, model=str(getattr(setup.model, "name", "")))
        end = ReplyEnd(reply)
    return _Received(end.reply, not time.expired, end.raw, draft.passed_over, draft.first)


async def _read(stream: AsyncIterator[ModelEvent], draft: "ReplyDraft", question: ModelQuestion) -> None:
    """Add the stream's events to the draft, start the calls that they complete, and show them."""
    names = _CallIdMap(question)
    speculation = question.speculation
    emit = question.emit
    views: dict[int, PartialJson] = {}
    """For whoever sees the events: each call's arguments so far."""
    append = draft.append
    loop = asyncio.get_running_loop()
    began = loop.time()
    turn = began + _LONGEST_TURN
    async for events in event_groups(stream):
        # If these are the last, starting calls early gains nothing: all go to the gate next.
        is_last = bool(events) and type(events[-1]) is ReplyEnd
        follow = None if speculation is None or is_last else speculation.follow
        size = 0
        if is_last and emit is None and not names.has_calls:
            # Nobody sees the events of the rest, and the reply at their end holds all of it.
            end = events[-1]
            size = _length(end.reply)  # type: ignore[union-attr]
            events = events[-1:]  # noqa: PLW2901 - those that matter
        for event in events:
            kind = type(event)
            if kind is TextDelta or kind is CallDelta:
                # Most of a reply: kept as it is, and counted with the others of its chunk.
                append(event)
                size += len(event.text)  # type: ignore[union-attr]
                if follow is not None and speculation.listens:  # type: ignore[union-attr]
                    follow(event)
                if emit is not None and kind is CallDelta:
                    view = views.get(event.index)  # type: ignore[union-attr]
                    if view is not None:
                        view.feed(event.text)  # type: ignore[union-attr]
                        event = CallDelta(event.index, event.text, view)  # type: ignore[union-attr] # noqa: PLW2901
            else:
                event = names.replace_ids(event)  # noqa: PLW2901 - the same event, under the right id
                draft.add(event)
                if follow is not None:
                    follow(event)
                if kind is CallStart and emit is not None:
                    views[event.index] = PartialJson()  # type: ignore[union-attr]
            if emit is not None:
                emit(event)
        draft.grew(size)
        del events  # not kept while a thousand runs wait for more
        if draft.first is None and not draft.is_empty:
            draft.first = loop.time() - began
        if not is_last and loop.time() > turn:
            # Deadlines and cancellations take effect only at a wait, and a stream may never wait.
            await asyncio.sleep(0)
            turn = loop.time() + _LONGEST_TURN


def _length(reply: Reply) -> int:
    """Returns the characters of a reply's text, reasoning and arguments."""
    size = 0
    for part in reply.content:
        if isinstance(part, Text | Reasoning):
            size += len(part.text)
        elif isinstance(part, Call):
            size += len(part.arguments)
    return size


class _CallIdMap:
    """Replaces call ids, as the calls stream in, by the ids that they will have in the transcript."""

    __slots__ = ("_by_index", "_named", "_question", "_taken")

    def __init__(self, question: ModelQuestion) -> None:
        self._question = question
        self._named: list[tuple[int, str, str]] = []
        """The index of each call, the id that the model gave, and the one that replaces it, in order."""
        self._taken: set[str] | None = None
        """The ids that replace others, and those in the transcript; None before the first call."""
        self._by_index: dict[int, str] = {}

    def replace_ids(self, event: ModelEvent) -> ModelEvent:
        """Returns the event with its call ids replaced."""
        # Classes without patterns for their members, which take three times as long to match.
        match event:
            case ReplyEnd():
                whole = self._whole(event.reply)
                if whole is event.reply:
                    return event
                return ReplyEnd(whole, event.raw)
            case CallStart():
                own = self._begin(event.index, event.id)
                if own == event.id:
                    return event
                return CallStart(event.index, event.name, own)
            case CallEnd():
                index = event.index
                call = event.call
                own = self._by_index.get(index) or self._begin(index, call.id)
                if own != call.id:
                    return CallEnd(index, replace(call, id=own))
                return event
            case _:
                return event

    def _begin(self, index: int, given: str) -> str:
        if self._taken is None:
            self._taken = set(self._question.ids)
        own = given
        if not given or given in self._taken or ("/" in given and is_inside(given)):
            # An id with the form of a call inside another could not be decided about.
            own = made_up_id(self._question.position, len(self._named), self._taken)
        self._taken.add(own)
        self._named.append((index, given, own))
        self._by_index[index] = own
        return own

    @property
    def has_calls(self) -> bool:
        """Whether a call has begun."""
        return bool(self._named)

    def _whole(self, reply: Reply) -> Reply:
        """Returns the reply with the call ids that its events had, or would have had."""
        if not self._named:
            for index, call in enumerate(reply.calls):
                self._begin(index, call.id)
        given_ids = [part.id for part in reply.content if isinstance(part, Call)]
        if given_ids == [own for _, _, own in self._named]:
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


MAX_REPLY = 32_000_000
"""The most characters of a whole reply: its text, its reasoning and its calls' arguments."""
MAX_ARGUMENTS = 8_000_000
"""The most characters of one call's arguments."""
MAX_CALLS = 4096
"""The most calls in one reply."""
_KEPT = 64_000
"""Characters that are kept of each part of a reply that was too long: no later request could hold it
all."""
_TEXTS = (TextDelta, ReasoningDelta)
_MANY = 20_000
"""Events of a broken reply that are put together on the event loop; more are in a thread."""


class ReplyDraft:
    """A reply so far. Its events are assembled only if the stream breaks off.

    It enforces the limits on the reply's size.
    """

    __slots__ = (
        "_calls", "_events", "_is_too_long", "_nothing", "_size", "_weigh_at", "end", "first",
        "passed_over",
    )  # fmt: skip

    def __init__(self) -> None:
        self._events: list[ModelEvent] = []
        self._nothing = 0
        """How many of the first events are nothing by themselves: not looked at again for each chunk."""
        self._size = 0
        self._weigh_at = MAX_ARGUMENTS
        self._calls = 0
        self._is_too_long = False
        self.end: ReplyEnd | None = None
        """The end of the reply, once it is here."""
        self.first: float | None = None
        """Seconds until the reply began."""
        self.passed_over: tuple[ModelChange, ...] = ()
        """The models that failed before the reply began."""

    @property
    def append(self) -> Callable[[ModelEvent], None]:
        """Adds the next delta of text or arguments; call ``grew`` with the length of many at once."""
        return self._events.append

    def add(self, event: ModelEvent) -> None:
        """Add the next event. Raises ProtocolError when the reply exceeds a limit."""
        # Kept only after the check: an end event would mark the parts before it as complete.
        # In this order because each case costs something, and every reply has an end.
        match event:
            case ReplyEnd():
                calls = [part for part in event.reply.content if isinstance(part, Call)]
                self._look_at(calls, max(self._calls, len(calls)))
                self.end = event
            case CallStart():
                self._calls += 1
                self._look_at((), self._calls)
            case CallEnd():
                self._look_at((event.call,), self._calls)
            case ReasoningDelta() | TextDelta() | CallDelta():
                self.grew(len(event.text))
            case ModelChange():
                self.passed_over += (event,)
                return
            case RetryStart():
                return
            case ReasoningEnd():
                # Its text was counted with its deltas.
                pass
        self._events.append(event)

    def grew(self, size: int) -> None:
        """Count what was appended. Calls are measured only once one of them could be too long."""
        self._size += size
        if self._size > self._weigh_at:
            self._weigh()

    def _weigh(self) -> None:
        if self._size > MAX_REPLY:
            self._refuse(f"the reply is longer than {MAX_REPLY:,} characters")
        sizes: dict[int, int] = {}
        for event in self._events:
            if isinstance(event, CallDelta):
                sizes[event.index] = sizes.get(event.index, 0) + len(event.text)
        if max(sizes.values(), default=0) > MAX_ARGUMENTS:
            self._refuse(f"a call's arguments are longer than {MAX_ARGUMENTS:,} characters")
        # Rare enough that all measuring of a long reply costs no more than a few passes over it.
        self._weigh_at = min(self._size + MAX_ARGUMENTS // 8, MAX_REPLY)

    def _look_at(self, calls: Sequence[Call], count: int) -> None:
        for call in calls:
            if len(call.arguments) > MAX_ARGUMENTS:
                self._refuse(f"a call's arguments are longer than {MAX_ARGUMENTS:,} characters")
        if count > MAX_CALLS:
            self._refuse(f"the reply has more than {MAX_CALLS:,} calls")

    def _refuse(self, why: str) -> None:
        self._is_too_long = True
        raise ProtocolError(why)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply is here yet."""
        for event in islice(self._events, self._nothing, None):
            if not isinstance(event, CallDelta):
                return False
            self._nothing += 1
        return True

    @property
    def takes_long(self) -> bool:
        """Whether putting the reply together is too slow for the event loop."""
        return len(self._events) > _MANY

    def broken_reply(self, word: str) -> Reply:
        """Returns the reply so far. ``word`` says why it broke off."""
        pieces = _Pieces()
        for event in self._events:
            pieces.add(event)
        most = _KEPT if self._is_too_long else None
        return Reply(tuple([piece.part(most) for piece in pieces.all]), "error", word)


class _Pieces:
    """Assemble events into the parts of a reply."""

    def __init__(self) -> None:
        self.all: list[_ReplyPiece] = []
        self._calls: dict[int, _ReplyPiece] = {}

    def add(self, event: ModelEvent) -> None:
        if isinstance(event, _TEXTS):
            kind = type(event)
            if not self.all or self.all[-1].kind is not kind:
                self.all.append(_ReplyPiece(kind))
            self.all[-1].texts.append(event.text)
            return
        match event:
            case CallStart(index, name, call_id):
                piece = self._calls[index] = _ReplyPiece(CallStart, Call(id=call_id, name=name))
                self.all.append(piece)
            case CallDelta(index, text) if index in self._calls:
                self._calls[index].texts.append(text)
            case CallEnd(index, call):
                if index not in self._calls:
                    self._calls[index] = _ReplyPiece(CallStart, call)
                    self.all.append(self._calls[index])
                self._calls[index].call = call
                self._calls[index].ended = True
            case _:
                pass


class _ReplyPiece:
    """One part of the reply that is still growing."""

    def __init__(self, kind: type, call: Call | None = None) -> None:
        self.kind = kind
        self.texts: list[str] = []
        self.call = call
        self.ended = False

    def part(self, most: int | None = None) -> Text | Reasoning | Call:
        text = "".join(self.texts)[:most]
        if self.call is None:
            if self.kind is TextDelta:
                return Text(text)
            return Reasoning(text)
        if self.ended:
            return self.call
        return Call(id=self.call.id, name=self.call.name, arguments=text, truncated=True)


class NotedReplies:
    """Records what was begun for one request, under keys of its own that end in the request's key.

    So a replay with a live model does not find them.
    """

    def __init__(self, steps: Steps, key: str) -> None:
        self._steps = steps
        self._key = key

    @cached_property
    def _begun_replies(self) -> list[str]:
        """What was begun so far. Looked up only for a model that begins anything, as few do."""
        known: list[str] = []
        while isinstance(entry := recorded_entry(self._steps, self._at(len(known))), StepDone):
            known.append(entry.value)
        return known

    def _at(self, count: int) -> str:
        return f"begun.{count + 1}.{self._key}"

    def last_id(self, model: str, /) -> str:
        """Returns the id of what this model began last; empty if nothing."""
        ours = []
        for value in self._begun_replies:
            if value.startswith(f"{model} "):
                ours.append(value.removeprefix(f"{model} "))
        if ours:
            return ours[-1]
        return ""

    async def record_start(self, model: str, identity: str, /) -> None:
        """Record the id of what this model has begun."""
        key = self._at(len(self._begun_replies))
        value = f"{model} {identity}"
        await self._steps.note(key, StepDone(key=key, value=value))
        self._begun_replies.append(value)
