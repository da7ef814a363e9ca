"""Turns a proposal into the text that a person reads before they decide, wherever that is.

The person must be able to tell what rightcall says from what the call says, so the two never share a
line. What may come from outside is escaped, quoted if it is a value, folded, and starts with a mark. A
line without the mark contains only words of this file, and a tool's name if it is short: a server can
name its tool by a sentence. Text that imitates a line of the interface is quoted behind a mark.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from msgspec import Struct

from rightcall.core.decision import Evidence, Origin, Proposal
from rightcall.core.jsontext import JsonValue
from rightcall.core.options import checked
from rightcall.core.sanitize import visible

MOST_SHOWN = 4000
"""Limit of a call's arguments that a person is shown, in characters."""
MARK = "  | "
"""The mark at the start of every line that may come from outside."""
COLUMNS = 80
"""Columns. A display would wrap a longer line, and its rest would have no mark."""
_FEWEST = 20
_MOST_SUMMED = 200
_NAME = re.compile(r"(?=.{1,40}\Z)[A-Za-z_][A-Za-z0-9]*(?:[_/-]+[A-Za-z0-9]+){0,4}_*")
"""A name that is too short for a sentence: of five words and forty characters, at most."""
_MOST_NAMED = 200
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOUBTS: dict[Origin, str] = {
    "untrusted": "This comes from outsiders:",
    "nowhere": "This was named by nobody but the model:",
}


class Line(Struct, frozen=True):
    """One line of the text, for any display: a terminal, a form, a page."""

    text: str
    from_outside: bool = False
    """Whether it may contain untrusted text; then it is escaped, and must be shown as a quotation."""

    def __str__(self) -> str:
        return f"{MARK}{self.text}" if self.from_outside else self.text


@checked("rc.trust.question")
def question(proposal: Proposal, columns: int = COLUMNS) -> str:
    """The text that a person needs to decide: the call, why they are asked, and what is doubtful.

    ``columns`` is the width of the display.
    """
    return "\n".join(map(str, question_lines(proposal, columns)))


@checked("rc.trust.question_lines")
def question_lines(proposal: Proposal, columns: int = COLUMNS) -> tuple[Line, ...]:
    """The same text as ``Line`` objects."""
    return tuple(_lines(proposal, columns))


def quotation(name: str, text: str, columns: int = COLUMNS) -> str:
    """A third party's text about something of that name, as the person who decides about it reads it."""
    told = _outside(json.dumps(_cut(text), ensure_ascii=False), columns)
    lines = (*_named("", name, ":", columns), *told)
    return "\n".join(map(str, lines))


def summary(proposals: Sequence[Proposal], columns: int = COLUMNS) -> str:
    """Proposals that wait together, one line each, in the order in which they are asked."""
    lines = [Line(f"{len(proposals)} calls wait, those that matter most first:")]
    for number, proposal in enumerate(proposals, 1):
        lines += _named(f"{number}. ", proposal.name, _whose(proposal), columns)
        told = ", ".join(_arguments(proposal.arguments))
        lines.extend(islice(_outside(told[:_MOST_SUMMED], columns), 2))
    return "\n".join(map(str, lines))


def _lines(proposal: Proposal, columns: int) -> Iterator[Line]:
    who = f"The agent {_name(proposal.agent)}" if proposal.agent else "The model"
    rest = " with" if proposal.arguments else ""
    yield from _named(f"{who} wants to run ", proposal.name, rest, columns)
    if proposal.arguments:
        yield from _shown_arguments(proposal.arguments, columns)
    if proposal.reason:
        yield Line("You are asked because:")
        yield from _outside(_cut(proposal.reason), columns)
    doubts = [each for each in proposal.evidence if not each.is_vouched]
    for origin, found in groupby(sorted(doubts, key=_by_origin), key=lambda each: each.origin):
        yield Line(_DOUBTS.get(origin, "Nobody vouches for this:"))
        for each in found:
            yield from _outside(_doubt(each), columns)


def _shown_arguments(arguments: JsonValue, columns: int) -> Iterator[Line]:
    told = list(_arguments(arguments))
    size, left = sum(map(len, told)), MOST_SHOWN
    is_cut = size > left
    for text in told:
        if left <= 0:
            break
        yield from _outside(text if len(text) <= left else f"{text[:left]}…", columns)
        left -= len(text)
    if is_cut:
        yield Line(f"({size:,} characters in all; the rest is not shown)")


def _doubt(each: Evidence) -> str:
    source = f", in what came from {json.dumps(_cut(each.source), ensure_ascii=False)}"
    return f"{_cut(each.path)}: {json.dumps(_cut(each.value), ensure_ascii=False)}" + (
        source if each.source else ""
    )


def _by_origin(each: Evidence) -> str:
    return "" if each.origin == "untrusted" else each.origin


def _whose(proposal: Proposal) -> str:
    return f" of the agent {_name(proposal.agent)}" if proposal.agent else ""


def _named(before: str, name: str, after: str, columns: int) -> Iterator[Line]:
    """A tool's name between words of our own. One that could say something is quoted, behind a mark."""
    if _NAME.fullmatch(name):
        yield Line(f"{before}{name}{after}")
        return
    yield Line(f"{before}a tool that is named")
    yield from _outside(json.dumps(name[:_MOST_NAMED], ensure_ascii=False), columns)
    if after.strip(" :"):
        yield Line(after.strip())


def _name(name: str) -> str:
    """The name of an agent. One that could say something is quoted and cut."""
    return name if _NAME.fullmatch(name) else visible(json.dumps(name[:40], ensure_ascii=False))


def _arguments(value: JsonValue, path: str = "") -> Iterator[str]:
    """Every leaf of a value, as its path and its text."""
    match value:
        case dict() if value:
            for key, each in value.items():
                step = key if _KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
                yield from _arguments(each, f"{path}.{step}" if path else step)
        case list() | tuple() if value:
            for at, each in enumerate(value):
                yield from _arguments(each, f"{path}[{at}]")
        case _:
            yield f"{path}: {json.dumps(value, ensure_ascii=False)}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _outside(text: str, columns: int) -> Iterator[Line]:
    """Untrusted text as lines of our own: escaped, and folded before a display would fold it."""
    whole = max(columns - len(MARK), _FEWEST)
    room, line = whole, ""
    for character in visible(text):
        width = _width(character)
        if width > room:
            end = line.rfind(" ", len(line) // 2) + 1 or len(line)
            yield Line(line[:end], from_outside=True)
            line = line[end:]
            room = whole - sum(map(_width, line))
        line, room = line + character, room - width
        if line.endswith("\\n") and not line.endswith("\\\\n"):
            yield Line(line, from_outside=True)
            room, line = whole, ""
    if line:
        yield Line(line, from_outside=True)


def _width(character: str) -> int:
    """The columns that a character takes in a terminal."""
    if unicodedata.combining(character):
        return 0
    # An ambiguous one takes two columns in some terminals; a line that is folded early does no harm.
    return 2 if unicodedata.east_asian_width(character) in ("W", "F", "A") else 1
