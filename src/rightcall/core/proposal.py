"""A call that waits for a person, and the text that the person reads before they decide.

Terminals, pages and forms all show this text. What a call reaches and costs, as its tool declares it,
stands first and whole. Then come short values, and at last long texts, shortened, with their length.

The person must be able to tell what rightcall says from what the call says, so the two never share a
line. What may come from outside is escaped, quoted if it is a value, folded, and starts with a mark. A
line without the mark contains only words of this file, and a tool's name if it is short: a server can
name its tool by a sentence. Text that imitates a line of the interface is quoted behind a mark.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice

from msgspec import Struct

from rightcall.core.decision import Evidence, Origin
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.lazy import pattern
from rightcall.core.options import check_keywords
from rightcall.core.sanitize import visible

MOST_SHOWN = 4000
"""Limit of a call's arguments that a person is shown, in characters, beside what stands first."""
_SHORT = 200
"""Up to this many characters a value is shown before long texts, and whole."""
_LEVELS = 4
"""How deep in the arguments it is looked for what takes much room."""
MARK = "  | "
"""The mark at the start of every line that may come from outside."""
COLUMNS = 80
"""Columns. A display would wrap a longer line, and its rest would have no mark."""
_FEWEST = 20
_MOST_SUMMED = 200
_NAME = pattern(r"(?=.{1,40}\Z)[A-Za-z_][A-Za-z0-9]*(?:[_/-]+[A-Za-z0-9]+){0,4}_*")
"""A name that is too short for a sentence: of five words and forty characters, at most."""
_MOST_NAMED = 200
_KEY = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_DOUBTS: dict[Origin, str] = {
    "untrusted": "This comes from outsiders:",
    "nowhere": "This was named by nobody but the model:",
}


class Proposal(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A call that waits for approval."""

    call_id: str
    name: str
    arguments: JsonObject
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    """The values that are not vouched for, and where each was seen."""
    first: tuple[str, ...] = ()
    """The parameters that say what the call reaches and costs, as its tool declares it. They are shown
    first, and never cut."""
    agent: str = ""
    """The subagent that made the call, if any: ``writer``, or ``writer/checker`` for a subagent of
    it."""
    later: str = ""
    """The handle of the answer that the run waits for: the call was run, and its tool answers later."""

    def __str__(self) -> str:
        """The text that a person reads."""
        return question(self)


class QuestionLine(Struct, frozen=True):
    """One line of the text, for any display: a terminal, a form, a page."""

    text: str
    from_outside: bool = False
    """Whether it may contain untrusted text; then it is escaped, and must be shown as a quotation."""

    def __str__(self) -> str:
        if self.from_outside:
            return f"{MARK}{self.text}"
        return self.text


@check_keywords("rc.trust.question")
def question(proposal: Proposal, columns: int = COLUMNS) -> str:
    """The text that a person needs to decide: the call, why they are asked, and what is doubtful.

    ``columns`` is the width of the display.
    """
    return "\n".join(map(str, question_lines(proposal, columns)))


@check_keywords("rc.trust.question_lines")
def question_lines(proposal: Proposal, columns: int = COLUMNS) -> tuple[QuestionLine, ...]:
    """The same text as ``QuestionLine`` objects."""
    return tuple(_lines(proposal, columns))


def quotation(name: str, text: str, columns: int = COLUMNS) -> str:
    """A third party's text about something of that name, as the person who decides about it reads it."""
    lines = (*_name_lines("", name, ":", columns), *_outside(_quote(text), columns))
    return "\n".join(map(str, lines))


def summary(proposals: Sequence[Proposal], columns: int = COLUMNS) -> str:
    """Proposals that wait together, one line each, in the order in which they are asked."""
    lines = [QuestionLine(f"{len(proposals)} calls wait, those that matter most first:")]
    for number, proposal in enumerate(proposals, 1):
        whose = f" of the agent {_name(proposal.agent)}" if proposal.agent else ""
        lines += _name_lines(f"{number}. ", proposal.name, whose, columns)
        first, short, long = _sort_values(proposal)
        arguments = ", ".join([each.text for each in (*first, *short, *long)])
        lines += islice(_outside(arguments[:_MOST_SUMMED], columns), 2)
    return "\n".join(map(str, lines))


def _lines(proposal: Proposal, columns: int) -> Iterator[QuestionLine]:
    who = f"The agent {_name(proposal.agent)}" if proposal.agent else "The model"
    rest = " with" if proposal.arguments else ""
    what = "waits for the answer of" if proposal.later else "wants to run"
    yield from _name_lines(f"{who} {what} ", proposal.name, rest, columns)
    yield from _argument_lines(proposal, columns)
    if proposal.later:
        yield QuestionLine("It has run, and answers under the handle:")
        yield from _outside(_cut(proposal.later), columns)
    if proposal.reason:
        yield QuestionLine("You are asked because:")
        yield from _outside(_cut(proposal.reason), columns)
    doubts = [each for each in proposal.evidence if not each.is_vouched]
    # What comes from outsiders stands first.
    doubts.sort(key=lambda each: "" if each.origin == "untrusted" else each.origin)
    for origin, found in groupby(doubts, key=lambda each: each.origin):
        yield QuestionLine(_DOUBTS.get(origin, "Nobody vouches for this:"))
        for each in found:
            line = f"{_cut(each.path)}: {_quote(each.value)}"
            if each.source:
                line += f", in what came from {_quote(each.source)}"
            yield from _outside(line, columns)


def _name_lines(before: str, name: str, after: str, columns: int) -> Iterator[QuestionLine]:
    """A tool's name between words of our own. One that could say something is quoted, behind a mark."""
    if _NAME.fullmatch(name):
        yield QuestionLine(f"{before}{name}{after}")
        return
    yield QuestionLine(f"{before}a tool that is named")
    yield from _outside(json.dumps(name[:_MOST_NAMED], ensure_ascii=False), columns)
    if after.strip(" :"):
        yield QuestionLine(after.strip())


def _name(name: str) -> str:
    """The name of an agent. One that could say something is quoted and cut."""
    if _NAME.fullmatch(name):
        return name
    return visible(json.dumps(name[:40], ensure_ascii=False))


class _Value(Struct, frozen=True):
    """One value of the arguments, as it is shown."""

    place: tuple[str | int, ...]
    """The names and numbers on its path."""
    text: str
    """Its path, as it is written, and the value."""


def _argument_lines(proposal: Proposal, columns: int) -> Iterator[QuestionLine]:
    left = MOST_SHOWN
    hidden: list[str] = []
    first, short, long = _sort_values(proposal)
    for each in first:
        yield from _outside(each.text, columns)
    for each in short:
        if left <= 0:
            hidden.append(each.text)
            continue
        yield from _outside(each.text, columns)
        left -= len(each.text)
    for number, each in enumerate(long):
        if left <= 0:
            hidden.append(each.text)
            continue
        room = max(left // (len(long) - number), _SHORT)
        yield from _shorten_value(each.text, room, columns)
        left -= min(room, len(each.text))
    if hidden:
        size = sum(map(len, hidden))
        yield QuestionLine(f"({len(hidden):,} more values, {size:,} characters, are not shown)")


def _sort_values(proposal: Proposal) -> tuple[list[_Value], list[_Value], list[_Value]]:
    """Returns the values that stand first, the other short ones, and the long ones."""
    first = dict[str, list[_Value]]()
    for name in proposal.first:
        first[name] = []
    absent = [name for name in proposal.first if name not in proposal.arguments]
    short: list[_Value] = []
    long: list[_Value] = []
    for each in _values(proposal.arguments):
        parameter = str(each.place[0])
        if parameter in first:
            first[parameter].append(each)
            continue
        # A member that another parameter has of the same name must not stand before the parameter.
        declared = next((name for name in absent if name in each.place), None)
        if declared is not None:
            first[declared].append(each)
        elif len(each.text) <= _SHORT:
            short.append(each)
        else:
            long.append(each)
    return (
        list(chain.from_iterable(first.values())),
        _small_before_large(short),
        _small_before_large(long),
    )


def _small_before_large(values: list[_Value]) -> list[_Value]:
    """Returns values in the model's order if all can be shown.

    Otherwise what takes little room, at each level of the arguments, stands before what takes much: a
    long list or object pushes out nothing but itself.
    """
    sizes = Counter[tuple[str | int, ...]]()
    for each in values:
        for level in range(min(len(each.place), _LEVELS) + 1):
            sizes[each.place[:level]] += len(each.text)
    if sizes[()] <= MOST_SHOWN:
        return values

    def size_at_each_level(each: _Value) -> list[int]:
        return [sizes[each.place[:level]] for level in range(1, min(len(each.place), _LEVELS) + 1)]

    return sorted(values, key=size_at_each_level)


def _values(value: JsonValue, path: str = "", place: tuple[str | int, ...] = ()) -> Iterator[_Value]:
    match value:
        case dict() if value:
            for key, each in value.items():
                step = key if _KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
                yield from _values(each, f"{path}.{step}" if path else step, (*place, key))
        case list() | tuple() if value:
            for at, each in enumerate(value):
                yield from _values(each, f"{path}[{at}]", (*place, at))
        case _ if place:
            yield _Value(place, f"{path}: {json.dumps(value, ensure_ascii=False)}")
        case _:
            # A call without arguments has no values.
            pass


def _shorten_value(text: str, room: int, columns: int) -> Iterator[QuestionLine]:
    """A long value: whole if there is room for it, else how it begins, its length, and how it ends."""
    if len(text) <= room:
        yield from _outside(text, columns)
        return
    tail = room // 4
    head = room - tail
    yield from _outside(f"{text[:head]}…", columns)
    out = len(text) - room
    yield QuestionLine(f"({out:,} of its {len(text):,} characters are left out here)")
    yield from _outside(f"…{text[-tail:]}", columns)


def _quote(text: str) -> str:
    return json.dumps(_cut(text), ensure_ascii=False)


def _cut(text: str) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}…"


def _outside(text: str, columns: int) -> Iterator[QuestionLine]:
    """Untrusted text as lines of our own: escaped, and folded before a display would fold it."""
    whole = max(columns - len(MARK), _FEWEST)
    room = whole
    line = ""
    for character in visible(text):
        width = _width(character)
        if width > room:
            end = line.rfind(" ", len(line) // 2) + 1 or len(line)
            yield QuestionLine(line[:end], from_outside=True)
            line = line[end:]
            room = whole - sum(map(_width, line))
        line += character
        room -= width
        if character == "n" and line.endswith("\\n") and not line.endswith("\\\\n"):
            yield QuestionLine(line, from_outside=True)
            room = whole
            line = ""
    if line:
        yield QuestionLine(line, from_outside=True)


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    # An ambiguous one takes two columns in some terminals; a line that is folded early does no harm.
    if unicodedata.east_asian_width(character) in ("W", "F", "A"):
        return 2
    return 1
