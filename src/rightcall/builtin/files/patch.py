"""Applies a V4A diff to a file's text. Pure: nothing here reads a file.

The format is that of OpenAI's ``apply_patch``, without the envelope around it: a line that begins with
``@@`` begins a hunk and may name a line of the file to go to first; every other line of a hunk begins
with a space (it stays), ``-`` (it goes) or ``+`` (it is new); ``*** End of File`` means that the hunk is
at the end. There are no line numbers. https://platform.openai.com/docs/guides/tools-apply-patch

A hunk's old lines are searched from the end of the hunk before it: exactly, else ignoring trailing white
space, else also ignoring leading white space, and the first match counts. OpenAI's own reference, which
its models are trained with, does the same. If a diff says more about a position and that does not hold,
the lines must occur only once: a change in the wrong place does more harm than none.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from rightcall.builtin.files.miss import explain_miss
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

MAX_HUNKS = 1000
"""The most hunks in a diff. Each is searched separately, so their number is bounded."""

_ANCHOR = "@@"
_MARKER = "***"
_END_OF_FILE = "*** End of File"
_END_OF_PATCH = "*** End Patch"
_ENVELOPE = "Give the hunks alone: which file it is, and what is to be done with it, path and type say."


class Change(Struct, frozen=True, gc=False):
    """Lines to remove, and the lines that replace them."""

    at: int
    """Where it begins, as an index into the hunk's old lines."""
    removed: int
    added: tuple[str, ...]


class Hunk(Struct, frozen=True, gc=False):
    """A hunk: adjacent lines of a file, and the changes to them."""

    number: int
    """The line of the diff at which it begins, counted from 1."""
    anchors: tuple[str, ...]
    """Lines of the file to seek first, one after the other."""
    old: tuple[str, ...]
    """The old lines: those that stay and those that go."""
    changes: tuple[Change, ...]
    is_last: bool = False
    """The hunk must be at the end of the file."""


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
    # A line that stays ends the change before it, so one is appended to flush the last change.
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
    # An empty line also stays: its leading space is what models lose first.
    if line and line[0] not in " +-":
        _refuse_marker(line, number)
        raise ToolFailure(
            f"Line {number} of the diff is {shorten(line)}. Lines begin with a space if they stay, "
            "with - if they go and with + if they are new."
        )


def _refuse_marker(line: str, number: int) -> None:
    if line.startswith(_MARKER):
        raise ToolFailure(f"Line {number} of the diff is {shorten(line)}. {_ENVELOPE}")


_FOLDS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
"""How lines are normalised for comparison, the most exact way first."""


class Patched(Struct, frozen=True, gc=False):
    """A text with the hunks applied."""

    text: str
    lines: tuple[int, ...]
    """The line number, in the new text, at which each change begins."""
    is_loose: bool
    """Some white space differed from the diff."""


class _Match(Struct, frozen=True, gc=False):
    """Where lines were found in the file, and by which normalisation."""

    at: int
    fold: int


def apply(
    hunks: Sequence[Hunk], text: str, newline: str = "\n", is_over: Callable[[], bool] = bool
) -> Patched:
    """The text with all hunks applied, or a ToolFailure; unchanged lines keep their line ends.

    ``is_over`` returns true when it must give up.
    """
    file = _FileLines(text)
    changed = _Changed(file, newline)
    numbers: list[int] = []
    cursor, is_loose = 0, False
    for hunk in hunks:
        if is_over():
            raise ToolFailure(f"{_named(hunk)}: looking for it took too long. Give fewer hunks at once.")
        found = _locate(file, hunk, cursor)
        numbers += [changed.put(found.at, change) for change in hunk.changes]
        cursor = found.at + len(hunk.old)
        is_loose |= found.fold > 0
    patched = changed.finish()
    if patched == text:
        raise ToolFailure("The diff would leave the file as it is.")
    return Patched(patched, tuple(numbers), is_loose)


class _Changed:
    """The new text, built from beginning to end."""

    def __init__(self, file: "_FileLines", newline: str) -> None:
        self._old = file.lines
        self._newline = newline
        self._new: list[str] = []
        self._at = 0

    def put(self, begin: int, change: Change) -> int:
        """Apply a change of a hunk that begins there; returns the number of its first line."""
        at = begin + change.at
        self._new += self._old[self._at : at]
        number = len(self._new) + 1
        self._new += [f"{line}{self._newline}" for line in change.added]
        self._at = at + change.removed
        return number

    def finish(self) -> str:
        lines = [*self._new, *self._old[self._at :]]
        if self._old and not self._old[-1].endswith("\n"):
            # If the file's last line had no line end, the new last line has none either.
            lines = [line if line.endswith("\n") else f"{line}{self._newline}" for line in lines]
            lines[-1:] = [_bare(line) for line in lines[-1:]]
        return "".join(lines)


class _FileLines:
    """A file's lines, and searches in them."""

    def __init__(self, text: str) -> None:
        *whole, rest = text.split("\n")
        self.lines = [f"{line}\n" for line in whole] + ([rest] if rest else [])
        """Including their line ends, unchanged."""

    def find(self, wanted: Sequence[str], start: int) -> _Match | None:
        """The first match of the wanted lines at or after a line."""
        for number, fold in enumerate(_FOLDS):
            at = self._folded[number].find([fold(line) for line in wanted], start)
            if at is not None:
                return _Match(at, number)
        return None

    def find_last(self, wanted: Sequence[str], start: int) -> _Match | None:
        """A match of the wanted lines at the end of the file."""
        for number, fold in enumerate(_FOLDS):
            folded = [fold(line) for line in wanted]
            for end in (len(self.lines), len(self.bare)):
                at = end - len(wanted)
                if at >= start and self._folded[number].find(folded, at) == at:
                    return _Match(at, number)
        return None

    def is_again(self, wanted: Sequence[str], found: _Match) -> bool:
        """Whether the matched lines occur again further down."""
        folded = [_FOLDS[found.fold](line) for line in wanted]
        return self._folded[found.fold].is_again(folded, found.at)

    @cached_property
    def bare(self) -> list[str]:
        """The lines without their ends. As in diffs, an empty line follows the last line's end."""
        ended = not self.lines or self.lines[-1].endswith("\n")
        return [*map(_bare, self.lines), *([""] if ended else [])]

    @cached_property
    def _folded(self) -> "list[_Folded]":
        return [_Folded(self.bare, fold) for fold in _FOLDS]


class _Folded:
    """A file's lines, normalised and joined, so that one search finds several of them."""

    def __init__(self, lines: Sequence[str], fold: Callable[[str], str]) -> None:
        self._lines = lines
        self._fold = fold

    def find(self, folded: Sequence[str], start: int) -> int | None:
        # Most long searches find nothing, and one line is usually enough to tell.
        if not all(line in self._counts for line in folded):
            return None
        text, starts = self._joined
        at = text.find("\n".join(["", *folded, ""]), starts[min(start, len(starts) - 1)])
        return bisect_left(starts, at) if at >= 0 else None

    def is_again(self, folded: Sequence[str], at: int) -> bool:
        return min(self._counts[line] for line in folded) > 1 and self.find(folded, at + 1) is not None

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(map(self._fold, self._lines))

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        """The text, with a line end before and after each line, and the offsets of the ends before."""
        lines = [self._fold(line) for line in self._lines]
        return "\n".join(["", *lines, ""]), [0, *accumulate(len(line) + 1 for line in lines)]


def _locate(file: _FileLines, hunk: Hunk, cursor: int) -> _Match:
    """Where a hunk's old lines begin, at or below the cursor."""
    start, is_sure = _seek(file, hunk, cursor)
    if not hunk.old:
        return _locate_addition(file, hunk, start, is_sure=is_sure)
    found = file.find_last(hunk.old, start) if hunk.is_last else None
    if found is not None:
        return found
    # The line after @@ should be above the hunk's own lines, but may be meant as the first of them.
    itself = file.find(hunk.old, start - 1) if start > cursor else None
    if itself is not None and itself.at == start - 1:
        found, is_sure = itself, False
    else:
        found = file.find(hunk.old, start)
    if found is None:
        raise ToolFailure(f"{_named(hunk)}: {_explain(file, hunk)}")
    if (hunk.is_last or not is_sure) and file.is_again(hunk.old, found):
        raise ToolFailure(
            f"{_named(hunk)}: its lines stand at line {found.at + 1:,} and again below, and nothing "
            "says which are meant. Give more of the lines around them."
        )
    return found


def _seek(file: _FileLines, hunk: Hunk, cursor: int) -> tuple[int, bool]:
    """The line to search from, and whether all lines after ``@@`` were found on the way there."""
    start, is_sure = cursor, True
    for anchor in hunk.anchors:
        passed = file.find([anchor], 0)
        if start == cursor and passed is not None and passed.at < cursor:
            is_sure = False
            continue
        found = file.find([anchor], start)
        if found is not None:
            start = found.at + 1
        elif len(hunk.anchors) > 1:
            raise ToolFailure(
                f"{_named(hunk)}: {shorten(anchor)}, which stands after @@, is not in the file, or not "
                "below the one before it."
            )
        else:
            # Models abbreviate the line that they name, or add line numbers.
            is_sure = False
    return start, is_sure


def _locate_addition(file: _FileLines, hunk: Hunk, start: int, *, is_sure: bool) -> _Match:
    if hunk.is_last or not file.lines:
        return _Match(len(file.lines), 0)
    if not hunk.anchors or not is_sure:
        raise ToolFailure(
            f"{_named(hunk)}: it only adds lines, and nothing says where. Give a few of the lines "
            "before or after them as they are in the file."
        )
    return _Match(start, 0)


def _explain(file: _FileLines, hunk: Hunk) -> str:
    elsewhere = file.find(hunk.old, 0)
    if elsewhere is not None:
        return (
            f"its lines stand at line {elsewhere.at + 1:,}, above the line after @@ or the hunk before "
            "it. Give the hunks in the order of the file."
        )
    added = [line for change in hunk.changes for line in change.added]
    return explain_miss("\n".join(file.bare), "\n".join(hunk.old), "\n".join(added))


def _named(hunk: Hunk) -> str:
    return f"The hunk at line {hunk.number:,} of the diff"


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line
