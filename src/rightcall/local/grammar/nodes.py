"""What a grammar is made of, before it is printed for one engine or another.

Nothing here knows JSON, schemas or tools. The functions build nodes that are as small as they can be:
what admits nothing disappears from choices and takes the row that needs it along.
"""

from collections.abc import Iterable, Iterator
from os.path import commonprefix
from typing import Any, TypeAlias, assert_never

from msgspec import Struct

LAST_CODE_POINT = 0x10FFFF
_NO_LIMIT = 2**63
_SURROGATES = (0xD800, 0xDFFF)

MOST_REPEATS = 1999
"""How often something can be repeated by number; llama.cpp (``src/llama-grammar.cpp``) refuses more, or
takes it for endless."""


class Word(Struct, frozen=True, gc=False):
    """Exactly this text; never empty."""

    text: str


class Chars(Struct, frozen=True, gc=False):
    """One character out of these ranges of code points, both ends included, sorted and apart."""

    ranges: tuple[tuple[int, int], ...]


class Until(Struct, frozen=True, gc=False):
    """Any text up to and with the first time that the mark appears in it."""

    mark: str
    first: Chars | None = None
    """What the text may begin with, if it does not end at once; none of it begins the mark."""


class Other(Struct, frozen=True, gc=False):
    """Any name but these: letters, and what closes it."""

    names: tuple[str, ...]
    letter: "Node"
    """One character of a name, in all the ways that it may be written."""
    first: "Chars | None" = None
    """What a name begins with, if that is less; then it is never empty."""
    close: str = ""


class Row(Struct, frozen=True, gc=False):
    """One after the other; the empty text when there are none."""

    items: tuple["Node", ...]


class Choice(Struct, frozen=True, gc=False):
    """Any one of these; nothing at all when there are none."""

    options: tuple["Node", ...]


class Repeat(Struct, frozen=True, gc=False):
    """The same again and again. Without ``most``, as often as one likes."""

    item: "Node"
    least: int
    most: int | None


class Reference(Struct, frozen=True, gc=False):
    """What the rule of this name says."""

    name: str


Node: TypeAlias = Word | Chars | Until | Other | Row | Choice | Repeat | Reference

EMPTY = Row(())
"""The empty text."""
NOTHING = Choice(())
"""What no text fits."""


def word(text: str) -> Node:
    """Just this text; the empty one is a row of nothing."""
    return Word(text) if text else EMPTY


def chars(*ranges: tuple[int, int] | str) -> Node:
    """One character of these ranges, or of these strings' characters."""
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
    """The characters that are in one and in the other."""
    return other_than(other_than(one, chars((0, LAST_CODE_POINT))), two)


def row(*nodes: Node) -> Node:
    """One after the other."""
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
    """Any one of them."""
    options: dict[Node, None] = {}
    for node in nodes:
        for option in node.options if isinstance(node, Choice) else (node,):
            options[option] = None
    return next(iter(options)) if len(options) == 1 else Choice(tuple(options))


def any_word(texts: Iterable[str]) -> Node:
    """Any one of these texts, what they begin with in common said once.

    llama.cpp follows each alternative by itself, and would have as many to follow as there are texts.
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
    """Between so many and so many times."""
    if most is not None and most < least:
        return NOTHING
    if node == EMPTY or most == 0:
        return EMPTY
    if node == NOTHING:
        return NOTHING if least else EMPTY
    if least == most == 1:
        return node
    # An engine would go round and round in what may be empty.
    if isinstance(node, Repeat) and node.least == 0 and node.most in {1, None} and most is None:
        return Repeat(node.item, 0, None)
    return Repeat(node, least, most)


def optional(node: Node) -> Node:
    """Once, or not at all."""
    return repeat(node, 0, 1)


def times(least: int, most: int | None) -> str:
    """How often, as regular expressions and both grammar languages write it."""
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
    """Whether the empty text fits. References are taken not to be empty."""
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
"""What may refer to a rule."""


def references(node: Node) -> list[str]:
    """The names that a node refers to, in their order."""
    found: list[str] = []
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        # By its very type: this sees every node of every grammar, more than once.
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
    """How many parts a node has once its repetitions are written out, as engines do: by reference.

    With ``most`` it is counted only so far.
    """
    count = 0
    limit = _NO_LIMIT if most is None else most
    waiting = [node]
    while waiting and count <= limit:
        each: Any = waiting.pop()
        # By its very type, as above.
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
    """Halves of pairs are no characters: no text holds them."""
    low, high = _SURROGATES
    for first, last in spans:
        for start, end in ((first, min(last, low - 1)), (max(first, high + 1), last)):
            if start <= end:
                yield start, end
