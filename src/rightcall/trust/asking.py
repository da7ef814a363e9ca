"""Turns a proposal into the text that a person reads before they decide, wherever that is.

The person must be able to tell what rightcall says from what the call says, so the two never share a
line. What may come from outside is escaped, quoted if it is a value, folded, and starts with a mark. A
line without the mark contains only words of this file and names of tools. Text that imitates a line of
the interface is quoted behind a mark like any other.
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
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_/-]{0,199}")
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
    lines = (Line(f"{_name(name)}:"), *_outside(json.dumps(_cut(text), ensure_ascii=False), columns))
    return "\n".join(map(str, lines))


def summary(proposals: Sequence[Proposal], columns: int = COLUMNS) -> str:
    """Proposals that wait together, one line each, in the order in which they are asked."""
    lines = [Line(f"{len(proposals)} calls wait, those that matter most first:")]
    for number, proposal in enumerate(proposals, 1):
        lines.append(Line(f"{number}. {_name(proposal.name)}{_whose(proposal)}"))
        told = ", ".join(_arguments(proposal.arguments))
        lines.extend(islice(_outside(told[:_MOST_SUMMED], columns), 2))
    return "\n".join(map(str, lines))


def _lines(proposal: Proposal, columns: int) -> Iterator[Line]:
    who = f"The agent {_name(proposal.agent)}" if proposal.agent else "The model"
    yield Line(f"{who} wants to run {_name(proposal.name)}{' with' if proposal.arguments else ''}")
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


def _name(name: str) -> str:
    """The name of a tool or an agent. One that is not a valid tool name is quoted and cut."""
    if _NAME.fullmatch(name):
        return name
    return visible(json.dumps(name[:40], ensure_ascii=False))


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
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
