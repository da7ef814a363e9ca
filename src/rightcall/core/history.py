"""Repairs any sequence of messages into a transcript in which every call has exactly one result.

The results of a reply's calls must be in one Results message right after it, in the order of the calls,
and every id must be unique. Vendors refuse any other conversation, and every later request that contains
it. Violations are repaired and reported, or, under ``strict``, refused. Nothing that a user or a model
said is lost.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.jsontext import shorten
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Result, Text
from rightcall.core.sanitize import encodable
from rightcall.errors import UsageError

NO_RESULT = "No result was recorded for this call. It may have run; find out before calling it again."


class HistoryRepair(Struct, frozen=True, gc=False):
    """One repair: where it was, what was wrong and what was done."""

    path: str
    """The place in the original messages: ``messages[3].results[1]``."""
    what: str


class History(Struct, frozen=True, gc=False):
    """A valid transcript, and the repairs that made it so."""

    messages: Transcript
    repairs: tuple[HistoryRepair, ...] = ()


class _Defect(Struct, frozen=True, gc=False):
    message: int
    """The index of the message; without an item, the whole message is meant."""
    wrong: str
    done: str
    item: int = -1
    items: str = ""

    @property
    def path(self) -> str:
        inside = f".{self.items}[{self.item}]" if self.items else ""
        return f"messages[{self.message}]{inside}"


class _Slot(Struct, frozen=True, gc=False):
    """A result, and where it was found."""

    message: int
    item: int
    result: Result


class _Turn(Struct, frozen=True, gc=False):
    """A reply and everything up to the next one. Messages before any reply are a turn without one."""

    index: int
    reply: Reply | None
    rest: Sequence[tuple[int, User | Results]]

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.reply.calls if self.reply else ()


def mend(messages: Iterable[Message], *, strict: bool = False, open_end: bool = False) -> History:
    """Returns the messages with every call answered once, and the repairs that were needed.

    ``strict`` raises a UsageError at the first thing that would need repair. ``open_end`` lets calls of
    the last reply stay unanswered, as in a paused run, as long as no message follows. Messages that need
    no repair come back as the same tuple.
    """
    given = tuple(messages)
    if _is_sound(given, open_end=open_end):
        return History(given)
    mended: list[Message] = []
    defects: list[_Defect] = []
    used: set[str] = set()
    taken = _ids_in(given)
    turns = _turns(given)
    for turn in turns:
        ids = _own_ids([call.id for call in turn.calls], turn.index, used, taken)
        used.update(ids)
        taken.update(ids)
        right, wrong = _mend_turn(turn, ids, is_open=open_end and turn is turns[-1])
        mended += right
        defects += wrong
    if not defects:
        return History(given)
    defects.sort(key=lambda defect: (defect.message, defect.item))
    if strict:
        raise UsageError(f"{defects[0].path}: {defects[0].wrong}")
    repairs = [HistoryRepair(defect.path, f"{defect.wrong}; {defect.done}") for defect in defects]
    return History(tuple(mended), tuple(repairs))


def made_up_id(message_index: int, call_index: int, taken: Container[str]) -> str:
    """Returns an id for a call that has none: the same for the same place, and not in ``taken``."""
    return next(made_up for made_up in _candidates(message_index, call_index) if made_up not in taken)


def with_ids(reply: Reply, index: int, taken: Collection[str]) -> Reply:
    """Returns the reply, message ``index`` of its transcript, with a unique id for every call.

    ``taken`` are the ids before it. A reply that needs no change comes back as the same object.
    """
    ids = [call.id for call in reply.calls]
    return _given(reply, _own_ids(ids, index, taken, taken))


def _own_ids(ids: Sequence[str], index: int, used: Container[str], taken: Container[str]) -> list[str]:
    """Returns a unique id for every call of message ``index``: its own, if that is valid.

    ``used`` are the ids given before; ``taken`` those that a made-up id must not be.
    """
    own: dict[str, None] = {}
    given = set(ids)
    for position, call_id in enumerate(ids):
        if call_id and call_id not in used and call_id not in own:
            own[call_id] = None
        else:
            free = (one for one in _candidates(index, position) if one not in taken)
            own[next(one for one in free if one not in given and one not in own)] = None
    return list(own)


def _given(reply: Reply, ids: Sequence[str]) -> Reply:
    if [call.id for call in reply.calls] == ids:
        return reply
    fresh = iter(ids)
    parts = [replace(part, id=next(fresh)) if isinstance(part, Call) else part for part in reply.content]
    return replace(reply, content=tuple(parts))


def _candidates(message_index: int, call_index: int) -> Iterator[str]:
    name = f"call_{message_index}_{call_index}"
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _is_sound(messages: Transcript, *, open_end: bool) -> bool:
    """Whether nothing needs repair, in one pass over the messages."""
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, Results):
            if not waiting or [result.call_id for result in message.results] != waiting:
                return False
            waiting = []
        elif waiting:
            return False
        elif isinstance(message, Reply):
            waiting = [call.id for call in message.calls]
            before = len(seen)
            seen.update(waiting)
            if len(seen) != before + len(waiting) or "" in seen:
                return False
    return open_end or not waiting


def _ids_in(messages: Transcript) -> set[str]:
    taken: set[str] = set()
    for message in messages:
        if isinstance(message, Reply):
            taken.update(call.id for call in message.calls)
        elif isinstance(message, Results):
            taken.update(result.call_id for result in message.results)
    return taken


def _turns(messages: Transcript) -> list[_Turn]:
    rest: list[tuple[int, User | Results]] = []
    turns = [_Turn(-1, None, rest)]
    for index, message in enumerate(messages):
        if isinstance(message, Reply):
            rest = []
            turns.append(_Turn(index, message, rest))
        else:
            rest.append((index, message))
    return turns


def _mend_turn(turn: _Turn, ids: Sequence[str], *, is_open: bool) -> tuple[list[Message], list[_Defect]]:
    """Returns one turn repaired, its calls under ``ids``, and its defects."""
    users = [message for _, message in turn.rest if isinstance(message, User)]
    slots = [
        _Slot(index, item, result)
        for index, message in turn.rest
        if isinstance(message, Results)
        for item, result in enumerate(message.results)
    ]
    answers = _matched(turn.calls, slots)
    defects = [*_renamed(turn, ids), *_left_over(turn, slots, answers), *_misplaced(turn, answers)]
    results: list[Result] = []
    for item, (call, call_id, slot) in enumerate(zip(turn.calls, ids, answers, strict=True)):
        if slot is not None:
            same = slot.result.call_id == call_id
            results.append(slot.result if same else replace(slot.result, call_id=call_id))
        elif not is_open or users:
            results.append(_missing(call_id, call.name))
            done = "one was put in that says so"
            defects.append(_Defect(turn.index, "the call has no result", done, item, "calls"))
    mended: list[Message] = [] if turn.reply is None else [_given(turn.reply, ids)]
    if results:
        mended.append(_found(turn, tuple(results)))
    return mended + users, defects


def _missing(call_id: str, name: str) -> Result:
    return Result(call_id=call_id, name=name, outcome="interrupted", content=(Text(NO_RESULT),))


def _found(turn: _Turn, results: tuple[Result, ...]) -> Results:
    """Returns the given Results message if it was right, else a new one."""
    given = [message for _, message in turn.rest if isinstance(message, Results)]
    return next((message for message in given if message.results == results), Results(results))


_RULES: tuple[Callable[[Call, Result], bool], ...] = (
    lambda call, result: result.call_id == call.id != "" and result.name == call.name,
    lambda call, result: result.call_id == call.id != "",
    lambda call, result: result.call_id == call.id == "" and result.name == call.name,
    lambda call, result: result.call_id == "" and result.name == call.name,
)
"""When a result answers a call, the most certain rule first. If ids are missing or repeated, names and
order decide."""


def _matched(calls: Sequence[Call], slots: Sequence[_Slot]) -> list[_Slot | None]:
    """Returns the result slot that answers each call."""
    answers: list[_Slot | None] = [None] * len(calls)
    left = list(slots)
    for answers_to in _RULES:
        for slot in tuple(left):
            for position, call in enumerate(calls):
                if answers[position] is None and answers_to(call, slot.result):
                    answers[position] = slot
                    left.remove(slot)
                    break
    return answers


def _renamed(turn: _Turn, ids: Sequence[str]) -> Iterator[_Defect]:
    for item, (call, call_id) in enumerate(zip(turn.calls, ids, strict=True)):
        if call.id != call_id:
            wrong = f"the id {_quoted(call.id)} was given before" if call.id else "the call has no id"
            done = f"it and its result now have {_quoted(call_id)}"
            yield _Defect(turn.index, wrong, done, item, "calls")


def _left_over(
    turn: _Turn, slots: Sequence[_Slot], answers: Sequence[_Slot | None]
) -> Iterator[_Defect]:
    """Yields results that answer no call, and those that do without naming it."""
    ids = {call.id for call in turn.calls}
    names = {
        (slot.message, slot.item): call for call, slot in zip(turn.calls, answers, strict=True) if slot
    }
    for slot in slots:
        call_id = slot.result.call_id
        call = names.get((slot.message, slot.item))
        if call is not None and call.id == call_id:
            continue
        done = "the result was dropped"
        if call is not None:
            wrong = "the result names no call"
            done = f"it was matched by name to {_quoted(call.id)}"
        elif not call_id:
            wrong = "the result names no call, and none is left for it"
        elif call_id in ids:
            wrong = f"the call {_quoted(call_id)} has another result already"
        else:
            wrong = f"the reply before has no call {_quoted(call_id)}"
        yield _Defect(slot.message, wrong, done, slot.item, "results")


def _misplaced(turn: _Turn, answers: Sequence[_Slot | None]) -> Iterator[_Defect]:
    """Yields what is wrong with the position of the results."""
    places = [(slot.message, slot.item) for slot in answers if slot]
    holders = {message for message, _ in places}
    first = min(places)[0] if places else -1
    if places != sorted(places):
        yield _Defect(first, "the results are not in the order of their calls", "they were put in order")
    for index, message in turn.rest:
        match message:
            case User() if index < first:
                wrong = "the message stands between calls and their results"
                yield _Defect(index, wrong, "it was moved after the results")
            case Results(results) if not results:
                yield _Defect(index, "the message holds no results", "it was dropped")
            case Results() if index > first and index in holders:
                wrong = f"more results for the calls of messages[{turn.index}]"
                yield _Defect(index, wrong, f"they were gathered into messages[{first}]")
            case _:
                pass


def _quoted(text: str) -> str:
    return shorten(encodable(text))
