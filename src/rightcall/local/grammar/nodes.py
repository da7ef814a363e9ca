"""The nodes of a grammar, before it is printed for an engine.

Nothing here knows JSON, schemas or tools. The functions build minimal nodes: what matches nothing is
removed from choices, and a sequence that contains it matches nothing, either.
"""

from collections.abc import Iterable, Iterator
from os.path import commonprefix
from typing import Any, TypeAlias, assert_never

from msgspec import Struct

LAST_CODE_POINT = 0x10FFFF
_NO_LIMIT = 2**63
_SURROGATES = (0xD800, 0xDFFF)

MOST_REPEATS = 1999
"""The largest repetition count; llama.cpp (``src/llama-grammar.cpp``) refuses more, or takes it for
unlimited."""


class Word(Struct, frozen=True, gc=False):
    """Exactly this text; never empty."""

    text: str


class Chars(Struct, frozen=True, gc=False):
    """One character of these ranges of code points, inclusive, sorted and disjoint."""

    ranges: tuple[tuple[int, int], ...]


class Until(Struct, frozen=True, gc=False):
    """Any text up to and including the first occurrence of the mark."""

    mark: str
    first: Chars | None = None
    """What the text may begin with, if it is not empty; none of it begins the mark."""


class Other(Struct, frozen=True, gc=False):
    """Any name but these: letters, and what closes it."""

    names: tuple[str, ...]
    letter: "Node"
    """One character of a name, in all its spellings."""
    first: "Chars | None" = None
    """The first characters that a name may have, if restricted; then it is never empty."""
    close: str = ""


class Row(Struct, frozen=True, gc=False):
    """A sequence; the empty text if it has no parts."""

    items: tuple["Node", ...]


class Choice(Struct, frozen=True, gc=False):
    """A choice; matches nothing if it has no options."""

    options: tuple["Node", ...]


class Repeat(Struct, frozen=True, gc=False):
    """A repetition. Without ``most``, unlimited."""

    item: "Node"
    least: int
    most: int | None


class Reference(Struct, frozen=True, gc=False):
    """A reference to the rule of this name."""

    name: str


Node: TypeAlias = Word | Chars | Until | Other | Row | Choice | Repeat | Reference

EMPTY = Row(())
"""Matches the empty text."""
NOTHING = Choice(())
"""Matches no text."""


def word(text: str) -> Node:
    """Exactly this text; for the empty text, an empty sequence."""
    return Word(text) if text else EMPTY


def chars(*ranges: tuple[int, int] | str) -> Node:
    """One character of these ranges, or of these strings."""
    spans: list[tuple[int, int]] = []
    for given in ranges:
        spans += [(ord(each), ord(each)) for each in given] if isinstance(given, str) else [given]
    merged: list[tuple[int, int]] = []
    for first, last in sorted(_without_surrogates(spans)):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return Chars(tuple(merged)) if merged else NOTHING


def other_than(node: Node, among: Node) -> Node:
    """The characters of ``among`` that are not in ``node``."""
    assert isinstance(among, Chars)
    taken = node.ranges if isinstance(node, Chars) else ()
    spans: list[tuple[int, int]] = []
    for first, last in among.ranges:
        at = first
        for low, high in taken:
            if low > at and low <= last:
                spans.append((at, low - 1))
            if high >= at and low <= last:
                at = high + 1
        if at <= last:
            spans.append((at, last))
    return chars(*spans)


ANY_CHAR = Chars(((1, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, LAST_CODE_POINT)))
"""Every character but NUL, which ends texts in C."""


def in_both(one: Node, two: Node) -> Node:
    """The intersection of two sets of characters."""
    return other_than(other_than(one, chars((0, LAST_CODE_POINT))), two)


def row(*nodes: Node) -> Node:
    """A sequence."""
    items: list[Node] = []
    for node in nodes:
        if type(node) is Row:
            items += node.items
        elif node == NOTHING:
            return NOTHING
        else:
            items.append(node)
    return items[0] if len(items) == 1 else Row(tuple(items))


def choice(*nodes: Node) -> Node:
    """A choice."""
    options: dict[Node, None] = {}
    for node in nodes:
        for option in node.options if isinstance(node, Choice) else (node,):
            options[option] = None
    return next(iter(options)) if len(options) == 1 else Choice(tuple(options))


def any_word(texts: Iterable[str]) -> Node:
    """Any one of these texts, with common prefixes shared.

    llama.cpp follows each alternative separately, and would have to follow as many as there are texts.
    """
    groups: dict[str, list[str]] = {}
    for text in sorted(set(texts)):
        groups.setdefault(text[:1], []).append(text)
    options: list[Node] = []
    for first, group in groups.items():
        shared = commonprefix(group) if first else ""  # noqa: RUF071 - letters are compared
        rest = any_word(text[len(shared) :] for text in group) if len(group) > 1 else EMPTY
        options.append(row(word(shared), rest))
    return choice(*options)


def repeat(node: Node, least: int = 0, most: int | None = None) -> Node:
    """A repetition within bounds."""
    if most is not None and most < least:
        return NOTHING
    if node == EMPTY or most == 0:
        return EMPTY
    if node == NOTHING:
        return NOTHING if least else EMPTY
    if least == most == 1:
        return node
    # An engine would loop for ever over what may be empty.
    if isinstance(node, Repeat) and node.least == 0 and node.most in {1, None} and most is None:
        return Repeat(node.item, 0, None)
    return Repeat(node, least, most)


def optional(node: Node) -> Node:
    """Optional."""
    return repeat(node, 0, 1)


def times(least: int, most: int | None) -> str:
    """The repetition suffix, as in regular expressions and both grammar languages."""
    match least, most:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case _, None:
            return f"{{{least},}}"
        case _:
            return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def can_be_empty(node: Node) -> bool:
    """Whether it matches the empty text. References are assumed not to."""
    match node:
        case Row(items):
            return all(map(can_be_empty, items))
        case Choice(options):
            return any(map(can_be_empty, options))
        case Repeat(item, least, _):
            return least == 0 or can_be_empty(item)
        case Word() | Chars() | Until() | Other() | Reference():
            return False
        case _:
            assert_never(node)


_LEADING = frozenset([Reference, Row, Choice, Repeat])
"""The nodes that may contain references."""


def references(node: Node) -> list[str]:
    """The names that a node refers to, in order."""
    found: list[str] = []
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        # By exact type, for speed: this visits every node of every grammar, more than once.
        kind = type(each)
        if kind is Reference:
            found.append(each.name)
        elif kind is Row:
            waiting += [item for item in each.items[::-1] if type(item) in _LEADING]
        elif kind is Choice:
            waiting += [item for item in each.options[::-1] if type(item) in _LEADING]
        elif kind is Repeat:
            waiting.append(each.item)
    return found


def size(node: Node, most: int | None = None) -> int:
    """The size of a node once its repetitions are expanded, as engines do it: by reference.

    With ``most`` counting stops there.
    """
    count = 0
    limit = _NO_LIMIT if most is None else most
    waiting = [node]
    while waiting and count <= limit:
        each: Any = waiting.pop()
        # By exact type, as above.
        kind = type(each)
        if kind is Reference:
            count += 1
        elif kind is Word:
            count += len(each.text)
        elif kind is Row:
            waiting += each.items
        elif kind is Choice:
            count += len(each.options)
            waiting += each.options
        elif kind is Repeat:
            count += 3 * max(each.least, each.most or 0, 1)
            waiting.append(each.item)
        else:
            count += _of_one(each)
    return count


def _of_one(node: Chars | Until | Other) -> int:
    match node:
        case Chars(ranges):
            return len(ranges)
        case Until(mark, _):
            return len(mark) * 4
        case Other(names):
            return sum(map(len, names)) * 4 + 4
        case _:
            assert_never(node)


def _without_surrogates(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Surrogates, which are no characters: no text contains them."""
    low, high = _SURROGATES
    for first, last in spans:
        for start, end in ((first, min(last, low - 1)), (max(first, high + 1), last)):
            if start <= end:
                yield start, end
