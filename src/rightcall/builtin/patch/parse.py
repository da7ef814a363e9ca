"""A V4A diff into the hunks it is made of, or into words that say which of its lines is wrong.

The format of OpenAI's ``apply_patch``, without the envelope around it: a line that begins with ``@@``
begins a hunk and may name a line of the file to go to first; every other line of a hunk begins with a
space (it stays), ``-`` (it goes) or ``+`` (it is new); ``*** End of File`` says that the hunk stands at
the end. There are no line numbers. Pure text: nothing here looks at a file.
https://platform.openai.com/docs/guides/tools-apply-patch
"""

from collections.abc import Sequence

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

MAX_HUNKS = 1000
"""Each is looked for by itself, so that their number has a bound."""

_ANCHOR = "@@"
_MARKER = "***"
_END_OF_FILE = "*** End of File"
_END_OF_PATCH = "*** End Patch"
_ENVELOPE = "Give the hunks alone: which file it is, and what is to be done with it, path and type say."


class Change(Struct, frozen=True, gc=False):
    """Lines that go, and lines that come in their place."""

    at: int
    """Where it begins, counted in the hunk's old lines."""
    removed: int
    added: tuple[str, ...]


class Hunk(Struct, frozen=True, gc=False):
    """Lines that stand together in a file, and what becomes of them."""

    number: int
    """The line of the diff that it begins at; the first is 1."""
    anchors: tuple[str, ...]
    """Lines of the file to go to first, one after the other."""
    old: tuple[str, ...]
    """The lines as they are: those that stay and those that go."""
    changes: tuple[Change, ...]
    is_last: bool = False
    """It stands at the end of the file."""


def parse_new(diff: str) -> str:
    """The text of a new file, every line of which begins with ``+`` in the diff."""
    lines = _lines(diff)
    for number, line in enumerate(lines, start=1):
        if not line.startswith("+"):
            _refuse_marker(line, number)
            raise ToolFailure(
                f"Line {number} of the diff is {shorten(line)}. In the diff of a new file every line "
                "begins with +, empty ones too."
            )
    return "".join([f"{line[1:]}\n" for line in lines])


def parse_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff that changes a file."""
    lines = _lines(diff)
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        hunk, at = _read_hunk(lines, at)
        hunks.append(hunk)
        if len(hunks) > MAX_HUNKS:
            raise ToolFailure(f"The diff has more than {MAX_HUNKS:,} hunks. Give it in several.")
    if not any(hunk.changes for hunk in hunks):
        raise ToolFailure("The diff changes nothing: none of its lines begins with + or -.")
    return tuple(hunks)


def _lines(diff: str) -> list[str]:
    lines = diff.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if lines and lines[-1] == _END_OF_PATCH:
        lines.pop()
    return lines


def _read_hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    number = at + 1
    anchors: list[str] = []
    while at < len(lines) and lines[at].startswith(_ANCHOR):
        anchor = lines[at].removeprefix(_ANCHOR).removeprefix(" ")
        anchors += [anchor] if anchor.strip() else []
        at += 1
    begin = at
    while at < len(lines) and not (lines[at].startswith(_ANCHOR) or _is_end(lines[at])):
        _check_line(lines[at], at + 1)
        at += 1
    body = lines[begin:at]
    is_last = at < len(lines) and _is_end(lines[at])
    if not body:
        raise ToolFailure(
            f"Line {number} of the diff begins a hunk, and no lines of the file follow it."
        )
    old = tuple([line[1:] for line in body if not line.startswith("+")])
    return Hunk(number, tuple(anchors), old, tuple(_changes(body)), is_last), at + is_last


def _is_end(line: str) -> bool:
    return line.rstrip() == _END_OF_FILE


def _changes(body: Sequence[str]) -> list[Change]:
    changes: list[Change] = []
    at = begin = 0
    added: list[str] = []
    # A line that stays ends the change before it, so one more is put at the end.
    for line in (*body, " "):
        if line.startswith("+"):
            added.append(line[1:])
        elif line.startswith("-"):
            at += 1
        else:
            if added or at > begin:
                changes.append(Change(begin, at - begin, tuple(added)))
            at += 1
            begin, added = at, []
    return changes


def _check_line(line: str, number: int) -> None:
    # An empty line stays, too: the space before it is the first thing that gets lost.
    if line and line[0] not in " +-":
        _refuse_marker(line, number)
        raise ToolFailure(
            f"Line {number} of the diff is {shorten(line)}. Lines begin with a space if they stay, "
            "with - if they go and with + if they are new."
        )


def _refuse_marker(line: str, number: int) -> None:
    if line.startswith(_MARKER):
        raise ToolFailure(f"Line {number} of the diff is {shorten(line)}. {_ENVELOPE}")
