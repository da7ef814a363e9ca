"""Explains why a text was not found in a file, or was found too often, so that a model can correct it.

Pure. The commonest causes come first: copied line numbers, white space, look-alike characters, an edit
that was already made. Otherwise the most similar lines are shown verbatim.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from rightcall.core.jsontext import dump

_NUMBERED = re.compile(r"\s*\d+\t")
_LOOK_ALIKES = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u200b": None,
        "\ufeff": None,
    }
)
_MOST_FOLDED = 50_000
"""Lines of a file that are searched for small differences."""
_MOST_LINES = 5000
"""Lines of a file that are searched by similarity, which takes longer."""
_MOST_WANTED = 200
_SHOWN_LINES = 12
_SHOWN_PLACES = 10
_SHOWN_CHARACTERS = 200
_NEAR = 0.6


def explain_miss(text: str, old: str, new: str) -> str:
    """Why ``old`` is not in ``text``, as far as can be determined."""
    words = "The text to replace is not in the file."
    wanted = old.split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and old.strip():
        return f"{words} It begins with line numbers, which are not part of the file. Leave them out."
    lines = text.split("\n", _MOST_FOLDED)[:_MOST_FOLDED]
    for difference, fold in _FOLDS:
        at = _find(lines, wanted, fold)
        if at is not None:
            span, shown = _span(at, len(wanted)), _show(lines, at, wanted)
            return f"{words} Only {difference} set it apart from {span}:\n{shown}"
    if new.strip() and new in text:
        number = line_of(text, text.index(new))
        return f"{words} The new text is, at line {number}: the edit may have been made already."
    near = _nearest(lines, wanted)
    if near is None:
        return f"{words} Nothing in it is like it. Read the file again."
    return f"{words} The nearest is at {_span(near, len(wanted))}:\n{_show(lines, near, wanted)}"


def explain_many(text: str, starts: Sequence[int], wanted: int) -> str:
    """A message that a text occurs more often than expected, and where."""
    numbers = [str(line_of(text, start)) for start in starts[:_SHOWN_PLACES]]
    more = f" and {len(starts) - len(numbers)} more" if len(starts) > len(numbers) else ""
    return (
        f"The text to replace is in the file {_times(len(starts))}, not {_times(wanted)}: "
        f"at line {', '.join(numbers)}{more}. Give more of the lines around the one that is meant."
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def line_of(text: str, at: int) -> int:
    """The number of the line that holds a position in the text."""
    return text.count("\n", 0, at) + 1


def _fold_space(line: str) -> str:
    return " ".join(line.split())


def _fold_shape(line: str) -> str:
    return _fold_space(unicodedata.normalize("NFKC", line.translate(_LOOK_ALIKES)))


_FOLDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("white space at the end of lines", str.rstrip),
    ("white space, such as tabs for spaces or another indentation", _fold_space),
    ("characters that look alike, such as quotes, dashes or spaces", _fold_shape),
    ("upper and lower case", lambda line: _fold_shape(line).casefold()),
)


def _find(lines: list[str], wanted: list[str], fold: Callable[[str], str]) -> int | None:
    """The line at which the wanted lines begin in the text, when both are folded.

    The first and the last wanted line may be parts of lines.
    """
    folded = [fold(line) for line in wanted]
    if not any(folded):
        return None
    haystack = [fold(line) for line in lines]
    for at in range(len(haystack) - len(folded) + 1):
        if _stands_at(haystack, folded, at):
            return at
    return None


def _stands_at(haystack: list[str], folded: list[str], at: int) -> bool:
    if len(folded) == 1:
        return folded[0] in haystack[at]
    last = at + len(folded) - 1
    return (
        haystack[at].endswith(folded[0])
        and haystack[last].startswith(folded[-1])
        and haystack[at + 1 : last] == folded[1:-1]
    )


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The line at which the text is most similar to the wanted text; None if nothing is similar.

    Only the longest wanted line is compared first; ties and small files need no more.
    """
    key = max(range(min(len(wanted), _MOST_WANTED)), key=lambda index: len(wanted[index].strip()))
    pattern = wanted[key].strip()[:_SHOWN_CHARACTERS]
    if not pattern:
        return None
    matcher = SequenceMatcher(b=pattern, autojunk=False)
    best, found = _NEAR, None
    for number, line in enumerate(lines[:_MOST_LINES]):
        matcher.set_seq1(line.strip()[:_SHOWN_CHARACTERS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, found = matcher.ratio(), number
    return None if found is None else max(found - key, 0)


def _span(at: int, count: int) -> str:
    return f"line {at + 1}" if count == 1 else f"lines {at + 1} to {at + count}"


def _show(lines: list[str], at: int, wanted: list[str]) -> str:
    """The file's lines as JSON strings, so that all white space is visible."""
    return "\n".join(_shown(lines, at, min(len(wanted), _SHOWN_LINES)))


def _shown(lines: list[str], at: int, count: int) -> Iterator[str]:
    for number, line in enumerate(lines[at : at + count], start=at + 1):
        more = "…" if len(line) > _SHOWN_CHARACTERS else ""
        yield f"{number:>6}\t{dump(line[:_SHOWN_CHARACTERS])}{more}"
