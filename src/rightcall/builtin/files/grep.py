"""Searches a directory for the names or lines that match a pattern, within limits.

Python's own expressions can take forever on a short line, and hold the whole process while they do. The
engine here is the one that pydantic carries, Rust's ``regex``, which never backtracks: no look-around
and no backreferences, and so no expression that hangs.
https://docs.rs/regex/latest/regex/#untrusted-input
"""

import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct
from pydantic_core import SchemaError, SchemaValidator
from pydantic_core.core_schema import str_schema

from rightcall.builtin.files.root import RootedPath
from rightcall.builtin.files.textfile import cut_line, format_size, load
from rightcall.builtin.files.tree import Access, DirectoryEntry, Tree, explain_os_errors
from rightcall.errors import ToolFailure

MAX_PATTERN = 500
"""The longest pattern, in characters."""
MAX_REPEATS = 500
"""The limit for the product of nested counts: ``{n}`` multiplies the work of each step by ``n``."""

_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_SPACE = re.compile(r"\s+")
_SPECIAL = re.compile(r"[][\\.+*?(){}|^$#&~-]")
_ANY = {"*": "[^/]*", "?": "[^/]"}


class Pattern:
    """Tests whether a text has a match."""

    def __init__(self, expression: str) -> None:
        """Raises a ToolFailure for an expression that is invalid or too expensive."""
        try:
            self._validator = SchemaValidator(str_schema(pattern=expression, regex_engine="rust-regex"))
        except SchemaError as error:
            reason = str(error).partition("SchemaError: ")[2] or "it cannot be read"
            raise ToolFailure(f"The pattern is not valid: {reason}", own=True) from None

    def is_in(self, text: str) -> bool:
        """Whether there is a match anywhere in the text."""
        return self._validator.isinstance_python(text)


def line_pattern(expression: str, *, ignore_case: bool = False) -> Pattern:
    """The matcher for lines: a regular expression in which ``^`` and ``$`` match the ends of a line."""
    repeats = 1
    for least, most in _COUNTED.findall(_SPACE.sub("", expression)):
        repeats *= max(int(least), int(most or 0), 1)
    if len(expression) > MAX_PATTERN or repeats > MAX_REPEATS:
        raise ToolFailure(
            f"The pattern is too large: at most {MAX_PATTERN:,} characters, and counts like {{3}} that "
            f"multiply to no more than {MAX_REPEATS:,}.",
            own=True,
        )
    # Compiled alone first, so that an error message shows the expression as it was given.
    Pattern(expression)
    return Pattern(f"(?mi){expression}" if ignore_case else f"(?m){expression}")


def glob_pattern(glob: str) -> Pattern:
    """The matcher for whole paths: ``*`` and ``?`` stay in one name, ``**`` spans any number of names.

    ``{a,b}`` matches either, ``[a-c]`` and ``[!a-c]`` are classes. A glob without a slash is for names
    at any depth.
    """
    glob = glob.removeprefix("./").strip("/")
    if not glob or len(glob) > MAX_PATTERN:
        raise ToolFailure(
            f'The pattern must have 1 to {MAX_PATTERN} characters, like "src/**/*.py".', own=True
        )
    expression = "".join(_pieces(glob if "/" in glob else f"**/{glob}"))
    return Pattern(f"(?s)^(?:{expression})$")


def _pieces(glob: str) -> Iterator[str]:
    """A glob as a regular expression, piece by piece."""
    depth = at = 0
    while at < len(glob):
        character = glob[at]
        rest = glob[at:]
        at += 1
        if rest.startswith("**/") and (at == 1 or glob[at - 2] in "/{,"):
            yield "(?:.+/)?"
            at += 2
        elif rest == "**":
            yield ".+"
            at += 1
        elif character == "[" and "]" in rest[2:]:
            end = glob.index("]", at + 1)
            inside = glob[at:end]
            negated, members = ("^/", inside[1:]) if inside[0] in "!^" and inside[1:] else ("", inside)
            escaped = re.sub(r"[][\\^&~]", r"\\\g<0>", members)
            yield f"[{negated}{escaped}]"
            at = end + 1
        elif character == "{" and "}" in rest:
            yield "(?:"
            depth += 1
        elif character == "}" and depth:
            yield ")"
            depth -= 1
        else:
            yield "|" if character == "," and depth else _ANY.get(character) or _escape(character)
    yield ")" * depth


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


_BLOCK = 16 * 1024
"""Characters that one test may take at once; the deadline is checked between blocks."""
_LONGEST_LINE = 10_000
"""Characters of a line that are searched; the rest of a longer line is not."""
_WHOLE_TEXT = ("\\A", "\\z")
"""Anchors that mean a line's ends when lines are tested one by one, but not when a block of lines is."""


def list_directory(access: Access, place: RootedPath, depth: int) -> str:
    """The entries of a directory, that many levels deep."""
    shown, notes = _list_entries(access, place, lambda entry: _describe_entry(entry, place), depth)
    if not shown:
        return f"{place.display_path} is an empty directory."
    return "\n".join([f"{place.display_path}:", *shown, *notes])


def glob(access: Access, place: RootedPath, pattern: str) -> str:
    """The files and directories beneath a directory whose relative path matches."""
    wanted = glob_pattern(pattern)
    shown, notes = _list_entries(
        access,
        place,
        lambda entry: entry.display_path if wanted.is_in(_within(entry.place, place)) else None,
    )
    return "\n".join([*(shown or ["Nothing matches."]), *notes])


def _list_entries(
    access: Access,
    place: RootedPath,
    show: Callable[[DirectoryEntry], str | None],
    depth: int | None = None,
) -> tuple[list[str], list[str]]:
    """The visible entries beneath a directory, within the limits, and a note of what was left out."""
    if not is_directory(access, place):
        raise ToolFailure(f"{place.display_path} is not a directory.", own=True)
    tree = Tree(access)
    with explain_os_errors(access.root, place):
        found = [line for entry in tree.entries(place, depth) if (line := show(entry)) is not None]
    shown = found[: access.limits.max_entries]
    if len(found) > len(shown):
        shown.append(f"[… and {len(found) - len(shown):,} more]")
    return shown, list(_notes(tree))


class Grep(Struct, frozen=True, kw_only=True):
    """Which lines to find, and what to show with them."""

    pattern: str
    include: str = ""
    """A glob for the files to search."""
    ignore_case: bool = False
    context: int = 0
    """Lines shown before and after each match."""


def grep(access: Access, place: RootedPath, wanted: Grep) -> str:
    """The matching lines in one file or in the files of a directory."""
    tree = Tree(access)
    lines = _GrepMatches(access, wanted, tree.is_late)
    if is_directory(access, place):
        include = glob_pattern(wanted.include) if wanted.include else None
        with explain_os_errors(access.root, place):
            for entry in tree.entries(place):
                is_wanted = include is None or include.is_in(_within(entry.place, place))
                if entry.kind == "file" and is_wanted and not lines.look_into_entry(entry):
                    break
    else:
        lines.look_into(place)
    return "\n".join([*(lines.shown or ["Nothing matches."]), *lines.notes(), *_notes(tree)])


class _GrepMatches:
    """The matches found so far."""

    def __init__(self, access: Access, wanted: Grep, is_late: Callable[[], bool]) -> None:
        self._pattern = line_pattern(wanted.pattern, ignore_case=wanted.ignore_case)
        self._line_by_line = any(anchor in wanted.pattern for anchor in _WHOLE_TEXT)
        self._context = wanted.context
        self._root = access.root
        self._limits = access.limits
        self._is_late = is_late
        self._matches = 0
        self._room = access.limits.max_characters
        self._is_cut = False
        self.shown: list[str] = []
        self._passed: Counter[str] = Counter()

    def look_into_entry(self, entry: DirectoryEntry) -> bool:
        """Search a file if it can be read. Returns False when the search must stop."""
        if entry.size > self._limits.max_file_bytes:
            self._passed["too large"] += 1
            return True
        try:
            return self.look_into(entry.place)
        except ToolFailure:
            self._passed["not text, or not to be opened"] += 1
            return True

    def look_into(self, place: RootedPath) -> bool:
        """Search a file. Returns False when the search must stop."""
        lines = load(self._root, place, self._limits).file.lines
        left = self._limits.max_matches - self._matches
        numbers = list(islice(self._numbers(lines), left + 1))
        if len(numbers) > left:
            self._is_cut = True
            numbers.pop()
        matching = set(numbers)
        last = 0
        for number in numbers:
            if self._room < 0:
                self._is_cut = True
                break
            if not last:
                self._add(place.display_path)
            self._matches += 1
            start = max(number - self._context, last + 1)
            if self._context and last and start > last + 1:
                self._add("     …")
            last = min(number + self._context, len(lines))
            for each in range(start, last + 1):
                mark = ":" if each in matching else "-"
                self._add(f"{each:>6}{mark} {cut_line(lines[each - 1], self._limits)}")
        return not self._is_cut

    def notes(self) -> Iterator[str]:
        for reason, count in self._passed.items():
            yield f"[{count:,} file{'' if count == 1 else 's'} not searched: {reason}]"
        if self._is_cut:
            yield f"[Stopped after {self._matches:,} matching lines. Narrow the pattern or the path.]"

    def _numbers(self, lines: list[str]) -> Iterator[int]:
        block: list[str] = []
        size = 0
        for number, line in enumerate(lines, start=1):
            block.append(line[:_LONGEST_LINE])
            size += len(block[-1]) + 1
            if size <= _BLOCK and number < len(lines):
                continue
            if self._is_late():
                self._is_cut = True
                return
            # Most blocks of lines have no match, which one test of the whole shows.
            if self._line_by_line or self._pattern.is_in("\n".join(block)):
                for at, each in enumerate(block, start=number - len(block) + 1):
                    if self._pattern.is_in(each):
                        yield at
            block = []
            size = 0

    def _add(self, line: str) -> None:
        self.shown.append(line)
        self._room -= len(line) + 1


def is_directory(access: Access, place: RootedPath) -> bool:
    """Whether a search starts at a directory."""
    with explain_os_errors(access.root, place):
        return stat.S_ISDIR(access.root.stat(place).st_mode)


def _describe_entry(entry: DirectoryEntry, within: RootedPath) -> str:
    shown = _within(entry.place, within)
    match entry.kind:
        case "file":
            return f"{shown} ({format_size(entry.size)})"
        case "directory":
            return f"{shown}/"
        case "link":
            return f"{shown} (symbolic link)"
        case "other":
            return f"{shown} (not a plain file)"


def _within(place: RootedPath, above: RootedPath) -> str:
    return RootedPath(place.parts[len(above.parts) :]).display_path


def _notes(tree: Tree) -> Iterator[str]:
    if tree.passed:
        yield f"[Not looked into: {', '.join(sorted(tree.passed))}]"
    if tree.unreadable:
        many = "directory" if tree.unreadable == 1 else "directories"
        yield f"[{tree.unreadable:,} {many} could not be read]"
    if tree.is_cut:
        yield "[Stopped: there is too much here. Start further down or narrow the pattern.]"
