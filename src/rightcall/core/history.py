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

from rightcall.core.jsontext import shorten
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Call, Result, Text
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


class _HistoryTurn(Struct, frozen=True, gc=False):
    """A reply and everything up to the next one. Messages before any reply are a turn without one."""

    index: int
    reply: Reply | None
    rest: list[tuple[int, User | Results]]

    @property
    def calls(self) -> tuple[Call, ...]:
        if self.reply:
            return self.reply.calls
        return ()


def mend(messages: Iterable[Message], *, strict: bool = False, open_end: bool = False) -> History:
    """Returns the messages with every call answered once, and the repairs that were needed.

    ``strict`` raises a UsageError at the first thing that would need repair. ``open_end`` lets calls of
    the last reply stay unanswered, as in a paused run, as long as no message follows. Messages that need
    no repair come back as the same tuple.
    """
    original = tuple(messages)
    if _is_sound(original, open_end=open_end):
        return History(original)
    turns = [_HistoryTurn(-1, None, [])]
    taken: set[str] = set()
    for index, message in enumerate(original):
        if isinstance(message, Reply):
            turns.append(_HistoryTurn(index, message, []))
            taken.update(call.id for call in message.calls)
            continue
        turns[-1].rest.append((index, message))
        if isinstance(message, Results):
            taken.update(result.call_id for result in message.results)
    mended: list[Message] = []
    defects: list[_Defect] = []
    used: set[str] = set()
    for turn in turns:
        ids = _unique_ids(turn.calls, turn.index, used, taken)
        used.update(ids)
        taken.update(ids)
        mended += _mend_turn(turn, ids, defects, is_open=open_end and turn is turns[-1])
    if not defects:
        return History(original)
    defects.sort(key=lambda defect: (defect.message, defect.item))
    if strict:
        raise UsageError(f"{defects[0].path}: {defects[0].wrong}")
    repairs = [HistoryRepair(defect.path, f"{defect.wrong}; {defect.done}") for defect in defects]
    return History(tuple(mended), tuple(repairs))


def made_up_id(message_index: int, call_index: int, taken: Container[str]) -> str:
    """Returns an id for a call that has none: the same for the same place, and not in ``taken``."""
    return next(each for each in _candidates(message_index, call_index) if each not in taken)


def _candidates(message_index: int, call_index: int) -> Iterator[str]:
    name = f"call_{message_index}_{call_index}"
    yield name
    for number in count(2):
        yield f"{name}_{number}"


def with_ids(reply: Reply, index: int, taken: Collection[str]) -> Reply:
    """Returns the reply, message ``index`` of its transcript, with a unique id for every call.

    ``taken`` are the ids before it. A reply that needs no change comes back as the same object.
    """
    return _with_call_ids(reply, _unique_ids(reply.calls, index, taken, taken))


def _unique_ids(
    calls: Sequence[Call], index: int, used: Container[str], taken: Container[str]
) -> list[str]:
    """Returns a unique id for every call of message ``index``: its own, if that is valid.

    ``used`` are the ids given before; ``taken`` those that a made-up id must not be.
    """
    unique: dict[str, None] = {}
    own = {call.id for call in calls}
    for position, call in enumerate(calls):
        if call.id and call.id not in used and call.id not in unique:
            unique[call.id] = None
            continue
        for made_up in _candidates(index, position):
            if made_up not in taken and made_up not in own and made_up not in unique:
                unique[made_up] = None
                break
    return list(unique)


def _with_call_ids(reply: Reply, ids: Sequence[str]) -> Reply:
    if [call.id for call in reply.calls] == ids:
        return reply
    fresh = iter(ids)
    parts = [replace(part, id=next(fresh)) if isinstance(part, Call) else part for part in reply.content]
    return replace(reply, content=tuple(parts))


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


def _mend_turn(
    turn: _HistoryTurn, ids: Sequence[str], defects: list[_Defect], *, is_open: bool
) -> list[Message]:
    """Returns one turn repaired, its calls under ``ids``, and adds its defects."""
    users: list[Message] = []
    slots: list[_Slot] = []
    for index, message in turn.rest:
        if isinstance(message, User):
            users.append(message)
        else:
            slots += [_Slot(index, item, result) for item, result in enumerate(message.results)]
    answers = _match_results(turn.calls, slots)
    results: list[Result] = []
    for item, (call, call_id, slot) in enumerate(zip(turn.calls, ids, answers, strict=True)):
        if call.id != call_id:
            wrong = "the call has no id"
            if call.id:
                wrong = f"the id {_quote(call.id)} was given before"
            done = f"it and its result now have {_quote(call_id)}"
            defects.append(_Defect(turn.index, wrong, done, item, "calls"))
        if slot is not None:
            result = slot.result
            if result.call_id != call_id:
                result = replace(result, call_id=call_id)
            results.append(result)
        elif not is_open or users:
            text = (Text(NO_RESULT),)
            results.append(Result(call_id=call_id, name=call.name, outcome="interrupted", content=text))
            done = "one was put in that says so"
            defects.append(_Defect(turn.index, "the call has no result", done, item, "calls"))
    defects += _unmatched_defects(turn, slots, answers)
    defects += _order_defects(turn, answers)
    mended: list[Message] = []
    if turn.reply is not None:
        mended.append(_with_call_ids(turn.reply, ids))
    if results:
        whole = Results(tuple(results))
        # The message that was right already, as the same object.
        same = [message for _, message in turn.rest if message == whole]
        mended.append(same[0] if same else whole)
    return mended + users


_RULES: tuple[Callable[[Call, Result], bool], ...] = (
    lambda call, result: result.call_id == call.id != "" and result.name == call.name,
    lambda call, result: result.call_id == call.id != "",
    lambda call, result: result.call_id == call.id == "" and result.name == call.name,
    lambda call, result: result.call_id == "" and result.name == call.name,
)
"""When a result answers a call, the most certain rule first. If ids are missing or repeated, names and
order decide."""


def _match_results(calls: Sequence[Call], slots: Sequence[_Slot]) -> list[_Slot | None]:
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


def _unmatched_defects(
    turn: _HistoryTurn, slots: Sequence[_Slot], answers: Sequence[_Slot | None]
) -> Iterator[_Defect]:
    """Yields results that answer no call, and those that do without naming it."""
    ids = {call.id for call in turn.calls}
    answered: dict[tuple[int, int], Call] = {}
    for call, slot in zip(turn.calls, answers, strict=True):
        if slot:
            answered[slot.message, slot.item] = call
    for slot in slots:
        call_id = slot.result.call_id
        answer = answered.get((slot.message, slot.item))
        if answer is not None and answer.id == call_id:
            continue
        done = "the result was dropped"
        if answer is not None:
            wrong = "the result names no call"
            done = f"it was matched by name to {_quote(answer.id)}"
        elif not call_id:
            wrong = "the result names no call, and none is left for it"
        elif call_id in ids:
            wrong = f"the call {_quote(call_id)} has another result already"
        else:
            wrong = f"the reply before has no call {_quote(call_id)}"
        yield _Defect(slot.message, wrong, done, slot.item, "results")


def _order_defects(turn: _HistoryTurn, answers: Sequence[_Slot | None]) -> Iterator[_Defect]:
    """Yields what is wrong with the position of the results."""
    places = [(slot.message, slot.item) for slot in answers if slot]
    holders = {message for message, _ in places}
    first = min(holders, default=-1)
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


def _quote(text: str) -> str:
    return shorten(encodable(text))
