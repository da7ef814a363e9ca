"""The tool with which OpenAI's models are trained to change files, for a granted directory.

An operation creates, changes or deletes one file, as in ``apply_patch`` of the Responses API. There the
tool is sent as the vendor's own; other models get the same as a function.
https://platform.openai.com/docs/guides/tools-apply-patch

Its text is a V4A diff, the format of OpenAI's ``apply_patch``, without the envelope around it: a line
that begins with ``@@`` begins a hunk and may name a line of the file to go to first; every other line
of a hunk begins with a space (it stays), ``-`` (it goes) or ``+`` (it is new); ``*** End of File``
means that the hunk is at the end. There are no line numbers.
https://platform.openai.com/docs/guides/tools-apply-patch

A hunk's old lines are searched from the end of the hunk before it: exactly, else ignoring trailing
white space, else also ignoring leading white space, and the first match counts. OpenAI's own reference,
which its models are trained with, does the same. If a diff says more about a position and that does not
hold, the lines must occur only once: a change in the wrong place does more harm than none.
"""

import os
import stat
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.builtin.files import change
from rightcall.builtin.files.change import explain_miss
from rightcall.builtin.files.fs_tool import file_facts
from rightcall.builtin.files.root import Root, RootedPath, kind_of, parse_path
from rightcall.builtin.files.textfile import format_size, load_whole
from rightcall.builtin.files.tree import Access, FileLimits, explain_os_errors
from rightcall.core.handler import Context
from rightcall.core.jsontext import shorten
from rightcall.core.limits import Limits
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
from rightcall.errors import ToolFailure, UsageError

MAX_HUNKS = 1000
"""The most hunks in a diff. Each is searched separately, so their number is bounded."""

_ANCHOR = "@@"
_MARKER = "***"
_END_OF_FILE = "*** End of File"
_END_OF_PATCH = "*** End Patch"
_ENVELOPE = "Give the hunks alone: which file it is, and what is to be done with it, path and type say."


class LineChange(Struct, frozen=True, gc=False):
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
    changes: tuple[LineChange, ...]
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
        if anchor.strip():
            anchors.append(anchor)
        at += 1
    begin = at
    while at < len(lines) and not (lines[at].startswith(_ANCHOR) or _is_end(lines[at])):
        line = lines[at]
        at += 1
        # An empty line also stays: its leading space is what models lose first.
        if line and line[0] not in " +-":
            _refuse_marker(line, at)
            raise ToolFailure(
                f"Line {at} of the diff is {shorten(line)}. Lines begin with a space if they stay, "
                "with - if they go and with + if they are new."
            )
    body = lines[begin:at]
    is_last = at < len(lines) and _is_end(lines[at])
    if not body:
        raise ToolFailure(
            f"Line {number} of the diff begins a hunk, and no lines of the file follow it."
        )
    old: list[str] = []
    changes: list[LineChange] = []
    begin = 0
    added: list[str] = []
    # A line that stays ends the change before it, so one is appended to flush the last change.
    for line in (*body, " "):
        if line.startswith("+"):
            added.append(line[1:])
            continue
        if not line.startswith("-"):
            if added or len(old) > begin:
                changes.append(LineChange(begin, len(old) - begin, tuple(added)))
            begin = len(old) + 1
            added = []
        old.append(line[1:])
    # Without the line that was appended.
    old.pop()
    return Hunk(number, tuple(anchors), tuple(old), tuple(changes), is_last), at + is_last


def _is_end(line: str) -> bool:
    return line.rstrip() == _END_OF_FILE


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
    lines: list[str] = []
    numbers: list[int] = []
    taken = 0  # how many of the old lines are in the new text, or removed
    cursor = 0
    is_loose = False
    for hunk in hunks:
        if is_over():
            raise ToolFailure(
                f"{_hunk_label(hunk)}: looking for it took too long. Give fewer hunks at once."
            )
        found = _locate(file, hunk, cursor)
        for each in hunk.changes:
            begin = found.at + each.at
            lines += file.lines[taken:begin]
            numbers.append(len(lines) + 1)
            lines += [f"{line}{newline}" for line in each.added]
            taken = begin + each.removed
        cursor = found.at + len(hunk.old)
        is_loose |= found.fold > 0
    lines += file.lines[taken:]
    if lines and file.lines and not file.lines[-1].endswith("\n"):
        # If the file's last line had no line end, the new last line has none either.
        for number, line in enumerate(lines):
            if not line.endswith("\n"):
                lines[number] = f"{line}{newline}"
        lines[-1] = _bare(lines[-1])
    patched = "".join(lines)
    if patched == text:
        raise ToolFailure("The diff would leave the file as it is.")
    return Patched(patched, tuple(numbers), is_loose)


class _FileLines:
    """A file's lines, and searches in them."""

    def __init__(self, text: str) -> None:
        *whole, rest = text.split("\n")
        self.lines = [f"{line}\n" for line in whole]
        """Including their line ends, unchanged."""
        if rest:
            self.lines.append(rest)

    def find(self, wanted: Sequence[str], start: int) -> _Match | None:
        """The first match of the wanted lines at or after a line."""
        for number, fold in enumerate(_FOLDS):
            at = self._folded_lines[number].find(list(map(fold, wanted)), start)
            if at is not None:
                return _Match(at, number)
        return None

    def find_last(self, wanted: Sequence[str], start: int) -> _Match | None:
        for number, fold in enumerate(_FOLDS):
            folded = list(map(fold, wanted))
            for end in (len(self.lines), len(self.bare)):
                at = end - len(wanted)
                if at >= start and self._folded_lines[number].find(folded, at) == at:
                    return _Match(at, number)
        return None

    def is_again(self, wanted: Sequence[str], found: _Match) -> bool:
        """Whether the matched lines occur again further down."""
        folded = list(map(_FOLDS[found.fold], wanted))
        return self._folded_lines[found.fold].is_again(folded, found.at)

    @cached_property
    def bare(self) -> list[str]:
        """The lines without their ends. As in diffs, an empty line follows the last line's end."""
        bare = [_bare(line) for line in self.lines]
        if not self.lines or self.lines[-1].endswith("\n"):
            bare.append("")
        return bare

    @cached_property
    def _folded_lines(self) -> "list[_Folded]":
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
        text, starts = self._joined_text
        at = text.find("\n".join(["", *folded, ""]), starts[min(start, len(starts) - 1)])
        if at >= 0:
            return bisect_left(starts, at)
        return None

    def is_again(self, folded: Sequence[str], at: int) -> bool:
        return min(self._counts[line] for line in folded) > 1 and self.find(folded, at + 1) is not None

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(map(self._fold, self._lines))

    @cached_property
    def _joined_text(self) -> tuple[str, list[int]]:
        """The text, with a line end before and after each line, and the offsets of the ends before."""
        lines = list(map(self._fold, self._lines))
        return "\n".join(["", *lines, ""]), [0, *accumulate(len(line) + 1 for line in lines)]


def _locate(file: _FileLines, hunk: Hunk, cursor: int) -> _Match:
    """Where a hunk's old lines begin, at or below the cursor."""
    start, is_sure = _seek(file, hunk, cursor)
    if not hunk.old:
        if hunk.is_last or not file.lines:
            return _Match(len(file.lines), 0)
        if not hunk.anchors or not is_sure:
            raise ToolFailure(
                f"{_hunk_label(hunk)}: it only adds lines, and nothing says where. Give a few of the "
                "lines before or after them as they are in the file."
            )
        return _Match(start, 0)
    if hunk.is_last:
        found = file.find_last(hunk.old, start)
        if found is not None:
            return found
    # The line after @@ should be above the hunk's own lines, but may be meant as the first of them.
    itself = file.find(hunk.old, start - 1) if start > cursor else None
    if itself is not None and itself.at == start - 1:
        found = itself
        is_sure = False
    else:
        found = file.find(hunk.old, start)
    if found is None:
        elsewhere = file.find(hunk.old, 0)
        if elsewhere is None:
            added: list[str] = []
            for each in hunk.changes:
                added += each.added
            why = explain_miss("\n".join(file.bare), "\n".join(hunk.old), "\n".join(added))
        else:
            why = (
                f"its lines stand at line {elsewhere.at + 1:,}, above the line after @@ or the hunk "
                "before it. Give the hunks in the order of the file."
            )
        raise ToolFailure(f"{_hunk_label(hunk)}: {why}")
    if (hunk.is_last or not is_sure) and file.is_again(hunk.old, found):
        raise ToolFailure(
            f"{_hunk_label(hunk)}: its lines stand at line {found.at + 1:,} and again below, and "
            "nothing says which are meant. Give more of the lines around them."
        )
    return found


def _seek(file: _FileLines, hunk: Hunk, cursor: int) -> tuple[int, bool]:
    """The line to search from, and whether all lines after ``@@`` were found on the way there."""
    start = cursor
    is_sure = True
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
                f"{_hunk_label(hunk)}: {shorten(anchor)}, which stands after @@, is not in the file, or "
                "not below the one before it."
            )
        else:
            # Models abbreviate the line that they name, or add line numbers.
            is_sure = False
    return start, is_sure


def _hunk_label(hunk: Hunk) -> str:
    return f"The hunk at line {hunk.number:,} of the diff"


def _bare(line: str) -> str:
    if line.endswith("\n"):
        return line.removesuffix("\n").removesuffix("\r")
    return line


_SHOWN_LINES = 10

_DESCRIPTION = """\
Make, change or delete one text file under one directory, the root. Paths are relative to it.
- create_file: diff is the whole new file, with + before every line.
- update_file: diff holds one or more hunks, in the order of the file. A hunk begins with a line @@, \
after which a line of the file may stand to say where to look, as in "@@ def main():". Its lines begin \
with a space if they stay, with - if they go and with + if they are new. Give about three lines before \
and after a change, exactly as they are in the file; no line numbers. A line "*** End of File" ends a \
hunk that stands at the end of the file.
- delete_file: takes no diff."""


@check_keywords("rc.builtin.apply_patch")
def apply_patch(
    root: str | os.PathLike[str] | Root,
    *,
    limits: FileLimits = FileLimits(),  # noqa: B008 - frozen
) -> Tool:
    """A tool that changes the files under ``root``, and no others, by OpenAI's V4A diffs."""
    granted = root if isinstance(root, Root) else Root(root)
    if granted.read_only:
        raise UsageError("apply_patch: the root is granted for reading only, and the tool only writes")

    def handler(path: str, context: Context[Any], **operation: Any) -> str:
        where = parse_path(path, granted.names)
        access = Access(granted, limits, context.is_cancelled, "To change it, use update_file.")
        return _OPERATIONS[operation["type"]](access, where, operation.get("diff"))

    return Tool(
        "apply_patch",
        _DESCRIPTION,
        object_schema(
            ["type", "path"],
            type={"type": "string", "enum": list(_OPERATIONS)},
            path={"type": "string", "description": "The file, relative to the root."},
            diff={"type": "string", "description": "create_file, update_file: what to put there."},
        ),
        handler,
        short="Make, change or delete files under one directory.",
        native={"openai_responses": {"type": "apply_patch"}},
        errors="neutral",
        effect="write",
        # In one reply a model may create a file and then change it, so calls run in order.
        serial=True,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        facts=file_facts("path"),
    )


def _update(access: Access, where: RootedPath, diff: str | None) -> str:
    hunks = parse_hunks(_require_diff(access, "update_file", diff))
    loaded = load_whole(access.root, where, access.limits)
    try:
        patched = apply(hunks, loaded.file.original, loaded.file.newline, access.deadline())
    except ToolFailure as failure:
        raise ToolFailure(f"{where.display_path} was not changed. {failure.message}") from None
    # Reads the file again, under the lock, and refuses if it is no longer the one that was patched.
    limits = replace(access.limits, max_write_bytes=access.limits.max_file_bytes)
    change.overwrite(replace(access, limits=limits), where, patched.text, loaded.version)
    shown = [f"{number:,}" for number in patched.lines[:_SHOWN_LINES]]
    lines = ", ".join(shown)
    if len(patched.lines) > len(shown):
        lines = f"{lines} and {len(patched.lines) - len(shown):,} more"
    loose = "; white space was not everywhere as in the diff" if patched.is_loose else ""
    return f"Updated {where.display_path} at line {lines}{loose}."


def _delete(access: Access, where: RootedPath, diff: str | None) -> str:
    if diff:
        raise ToolFailure("delete_file takes no diff. Nothing was done.")
    if not where.parts:
        raise ToolFailure("The root is a directory. Name a file in it.")
    with (
        explain_os_errors(access.root, where),
        access.root.changing(),
        access.root.directory(where.parent) as directory,
    ):
        found = os.stat(where.name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailure(
                f"{where.display_path} is {kind_of(found)}, not a file. Nothing was deleted."
            )
        if access.is_cancelled():
            raise ToolFailure("The call was given up; nothing was deleted.")
        os.unlink(where.name, dir_fd=directory)
    return f"Deleted {where.display_path}."


def _require_diff(access: Access, operation: str, diff: str | None) -> str:
    if diff is None:
        raise ToolFailure(f"{operation} needs diff.")
    size = len(diff.encode(errors="replace"))
    most = access.limits.max_write_bytes
    if size > most:
        raise ToolFailure(
            f"A diff of {format_size(size)} is more than the {most:,} that are taken at once."
        )
    return diff


_OPERATIONS: Mapping[str, Callable[[Access, RootedPath, str | None], str]] = {
    "create_file": lambda access, where, diff: change.create(
        access, where, parse_new(_require_diff(access, "create_file", diff))
    ),
    "update_file": _update,
    "delete_file": _delete,
}
