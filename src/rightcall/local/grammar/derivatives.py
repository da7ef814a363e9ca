"""Derivatives of regular expressions: texts that one does not match, or matches with a given length.

After each letter the rest that may follow (a Brzozowski derivative) is itself a node; equal nodes are
one state. If that loops or grows too large, it is ``Inexpressible``.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Chars,
    Choice,
    Node,
    Repeat,
    Row,
    Word,
    can_be_empty,
    chars,
    choice,
    repeat,
    row,
    size,
    word,
)
from rightcall.local.grammar.notation import Notation
from rightcall.local.grammar.regex import Inexpressible, matching

Ranges: TypeAlias = list[tuple[int, int]]
Share: TypeAlias = Callable[[Node], Node]
"""Replaces a node by a reference that can be used often."""

_ANYTHING = repeat(ANY_CHAR)
_MOST_STATES = 80
_MOST_PARTS = 1500
_LONGEST_NAMES = 80
_LONGEST = 24


def _itself(letters: Chars) -> Node:
    return letters if letters.ranges else NOTHING


def unlike(patterns: tuple[str, ...], names: tuple[str, ...], notation: Notation, share: Share) -> Node:
    """Any text that none of the patterns matches, and that is none of the names."""
    if sum(map(len, names)) > _LONGEST_NAMES:
        raise Inexpressible("too many names")
    node = choice(*[matching(each, _itself).node for each in patterns], *map(word, names))
    return _Unlike(notation, share).after(node)


@lru_cache(maxsize=256)
def except_for(pattern: str, names: tuple[str, ...], notation: Notation) -> Node:
    """Any text that a pattern matches, and that is none of the names."""
    if sum(map(len, names)) > _LONGEST_NAMES:
        raise Inexpressible("too many names")
    return _fitting(_except_for(matching(pattern, _itself).node, choice(*map(word, names)), notation))


def _except_for(node: Node, names: Node, notation: Notation) -> Node:
    """What may follow, given the rest of the pattern and of the names."""
    if names == NOTHING:
        return _written(node, notation)
    steps: dict[tuple[Node, Node], Ranges] = {}
    for low, high in _intervals(choice(node, names)):
        onward = _derived(node, low), _derived(names, low)
        if onward[0] != NOTHING:
            steps.setdefault(onward, []).append((low, high))
    is_end = can_be_empty(node) and not can_be_empty(names)
    found = choice(
        *[
            row(_letter(ranges, notation), _except_for(rest, left, notation))
            for (rest, left), ranges in steps.items()
        ]
    )
    return repeat(found, 0, 1) if is_end else found


@lru_cache(maxsize=256)
def of_length(pattern: str, least: int, most: int | None, notation: Notation) -> Node:
    """Any text that a pattern matches with a length within bounds."""
    if max(least, most or 0) > _LONGEST:
        raise Inexpressible("too long to follow")
    follow = _OfLength(least, most, notation)
    return _fitting(follow.after(matching(pattern, _itself).node, 0))


def _fitting(node: Node) -> Node:
    if size(node, _MOST_PARTS) > _MOST_PARTS:
        raise Inexpressible("too large")
    return node


class _Unlike:
    """Texts that a node does not match."""

    def __init__(self, notation: Notation, share: Share) -> None:
        self._notation = notation
        self._share = share
        self._known: dict[Node, Node | None] = {}
        self._escaped = share(notation.others)

    def after(self, node: Node) -> Node:
        """What may follow, where a text that matches the node must be excluded."""
        if node in self._known:
            found = self._known[node]
            if found is None:
                raise Inexpressible("a circle of more than one letter")
            return found
        if len(self._known) > _MOST_STATES:
            raise Inexpressible("too many states")
        self._known[node] = None
        options: list[Node] = [] if can_be_empty(node) else [EMPTY]
        again: Node = NOTHING
        for target, ranges in _onward(node).items():
            if target == node:
                again = self._letter(ranges)
            else:
                options.append(row(self._letter(ranges), self.after(target)))
        self._known[node] = found = self._share(row(repeat(again), choice(*options)))
        return found

    def _letter(self, ranges: Ranges) -> Node:
        """One of these letters; also in any other spelling, if they are most."""
        is_most = any(low <= 1 <= high for low, high in ranges)
        return choice(_letter(ranges, self._notation), self._escaped if is_most else NOTHING)


class _OfLength:
    """Texts of a length within bounds that match a node."""

    def __init__(self, least: int, most: int | None, notation: Notation) -> None:
        self._least = least
        self._most = most
        self._notation = notation
        self._known: dict[tuple[Node, int], Node] = {}

    def after(self, node: Node, count: int) -> Node:
        """What may follow after that many letters."""
        if node == NOTHING or count == self._most:
            return EMPTY if count >= self._least and can_be_empty(node) else NOTHING
        if self._most is None and count >= self._least:
            return _written(node, self._notation)
        if (node, count) not in self._known:
            if len(self._known) > _MOST_STATES:
                raise Inexpressible("too many states")
            options = [
                row(_letter(ranges, self._notation), self.after(target, count + 1))
                for target, ranges in _onward(node).items()
                if target != NOTHING
            ]
            is_end = count >= self._least and can_be_empty(node)
            # The end comes last: the continuation is then one optional part.
            found = choice(*options)
            self._known[node, count] = _fitting(repeat(found, 0, 1) if is_end else found)
        return self._known[node, count]


def _letter(ranges: Ranges, notation: Notation) -> Node:
    letters = chars(*ranges)
    return notation.one_of(letters) if isinstance(letters, Chars) else NOTHING


def _written(node: Node, notation: Notation) -> Node:
    """The node with its letters as they are written in strings."""
    match node:
        case Chars():
            return notation.one_of(node)
        case Word(text):
            return row(*[notation.one_of(Chars(((ord(each), ord(each)),))) for each in text])
        case Row(items):
            return row(*[_written(item, notation) for item in items])
        case Choice(options):
            return choice(*[_written(option, notation) for option in options])
        case Repeat(item, least, most):
            return repeat(_written(item, notation), least, most)
        case _:
            raise Inexpressible("no regular expression")


def _onward(node: Node) -> dict[Node, Ranges]:
    """Each derivative, and the letters that lead to it."""
    found: dict[Node, Ranges] = {}
    for low, high in _intervals(node):
        found.setdefault(_derived(node, low), []).append((low, high))
    return found


def _intervals(node: Node) -> Iterator[tuple[int, int]]:
    """All letters, partitioned where the node's first letters begin and end."""
    cuts = {cut for low, high in ANY_CHAR.ranges for cut in (low, high + 1)}
    cuts.update(cut for low, high in _firsts(node) for cut in (max(low, 1), high + 1))
    for low, after in pairwise(sorted(cuts)):
        if any(first <= low <= last for first, last in ANY_CHAR.ranges):
            yield low, after - 1


def _firsts(node: Node) -> Iterator[tuple[int, int]]:
    match node:
        case Chars(ranges):
            yield from ranges
        case Word(text):
            yield ord(text[0]), ord(text[0])
        case Row(items):
            for item in items:
                yield from _firsts(item)
                if not can_be_empty(item):
                    return
        case Choice(options):
            for option in options:
                yield from _firsts(option)
        case Repeat(item):
            yield from _firsts(item)
        case _:
            raise Inexpressible("no regular expression")


def _derived(node: Node, code: int) -> Node:
    """The derivative by this letter."""
    match node:
        case Chars(ranges):
            return EMPTY if any(low <= code <= high for low, high in ranges) else NOTHING
        case Word(text):
            return word(text[1:]) if ord(text[0]) == code else NOTHING
        case Row(items):
            return _derived_row(items, code)
        case Choice(options):
            return _choice([_derived(option, code) for option in options])
        case Repeat(item, least, most):
            rest = repeat(item, max(least - 1, 0), None if most is None else most - 1)
            return row(_derived(item, code), rest)
        case _:
            raise Inexpressible("no regular expression")


def _derived_row(items: tuple[Node, ...], code: int) -> Node:
    options: list[Node] = []
    for index, item in enumerate(items):
        options.append(row(_derived(item, code), *items[index + 1 :]))
        if not can_be_empty(item):
            break
    return _choice(options)


def _choice(options: list[Node]) -> Node:
    """A choice that is everything, if one of its options is: so that there are fewer states."""
    found = choice(*options)
    return _ANYTHING if isinstance(found, Choice) and _ANYTHING in found.options else found
