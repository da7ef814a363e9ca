"""Compiles a schema's regular expression to a node that matches the same texts, and no others.

Characters, classes, groups, repetition, alternatives, and anchors around the whole, as the gate treats
them: as in JavaScript, except that the dot is anything but a line feed. Everything else (look-around,
backreferences, word boundaries, properties) is ``Inexpressible``.

Texts that an expression does not match, or matches with a given length, are found by derivatives: after
each letter the rest that may follow (a Brzozowski derivative) is itself a node; equal nodes are one
state. If that loops or grows too large, it is ``Inexpressible``.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from rightcall.local.grammar.notation import Notation
from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    EMPTY,
    LAST_CODE_POINT,
    MOST_REPEATS,
    NOTHING,
    Chars,
    ChoiceNode,
    Node,
    Repeat,
    RowNode,
    WordNode,
    can_be_empty,
    chars,
    choice,
    other_than,
    repeat,
    row,
    size,
    word,
)

_ALL = chars((0, LAST_CODE_POINT))
_DIGITS = chars("0123456789")
_WORDS = chars((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), "_")
_SPACES = chars((9, 13), " \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", (0x2000, 0x200A))
ALL_SPACES = chars(
    (9, 13), (0x1C, 0x20), "\x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u3000\ufeff", (0x2000, 0x200A)
)
"""The white space of all languages in common."""

_CLASSES: dict[str, Node] = {
    "d": _DIGITS,
    "w": _WORDS,
    "s": _SPACES,
    "D": other_than(_DIGITS, _ALL),
    "W": other_than(_WORDS, _ALL),
    "S": other_than(_SPACES, _ALL),
}
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_TIMES = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_GROUP = re.compile(r"\?:|\?P?<[A-Za-z_]\w*>")
_MOST_DEPTH = 20
_LONGEST = 4000


class Inexpressible(ValueError):
    """A regular expression that a grammar cannot express."""


class PatternNode(Struct, frozen=True):
    """A compiled expression, its length, and what it repeats, if it is only a repetition."""

    node: Node
    least: int
    most: int | None
    unit: Node | None = None


class _RegexPart(PatternNode, frozen=True):
    starts: bool = False
    """Whether it begins with an anchor."""
    ends: bool = False


def matching(pattern: str, one_of: Callable[[Chars], Node]) -> PatternNode:
    """Texts in which a regular expression matches. ``one_of`` writes a character of a set."""
    if len(pattern) > _LONGEST:
        raise Inexpressible("too long")
    anything = repeat(one_of(_chars(ANY_CHAR)))
    options: list[Node] = []
    pieces = _RegexParser(pattern, one_of).read()
    for piece in pieces:
        before = EMPTY if piece.starts else anything
        after = EMPTY if piece.ends else anything
        options.append(row(before, piece.node, after))
    unit = None
    if len(pieces) == 1 and pieces[0].starts and pieces[0].ends:
        unit = pieces[0].unit
    least = min(piece.least for piece in pieces)
    most = None
    if all(piece.starts and piece.ends for piece in pieces):
        most = _longest(pieces)
    return PatternNode(choice(*options), least, most, unit)


def _longest(pieces: list[_RegexPart]) -> int | None:
    """The length of the longest text of several alternatives; None if there is no limit."""
    longest = 0
    for piece in pieces:
        if piece.most is None:
            return None
        longest = max(longest, piece.most)
    return longest


class _RegexParser:
    """Parses a regular expression from left to right."""

    def __init__(self, pattern: str, one_of: Callable[[Chars], Node]) -> None:
        self._text = pattern
        self._at = 0
        self._one_of = one_of
        self._depth = 0

    def read(self) -> list[_RegexPart]:
        """The alternatives of the whole."""
        pieces = self._alternatives()
        if self._at < len(self._text):
            raise Inexpressible("a bracket that was never opened")
        return pieces

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        letter = self._peek()
        self._at += 1
        if not letter:
            raise Inexpressible("it stops in the middle")
        return letter

    def _alternatives(self) -> list[_RegexPart]:
        pieces = [self._branch()]
        while self._peek() == "|":
            self._at += 1
            pieces.append(self._branch())
        return pieces

    def _branch(self) -> _RegexPart:
        starts = ends = False
        while self._peek() == "^":
            self._at += 1
            starts = True
        parts: list[_RegexPart] = []
        while (letter := self._peek()) and letter not in "|)":
            if ends or letter == "^":
                raise Inexpressible("an anchor in the middle")
            if letter == "$":
                self._at += 1
                ends = True
                continue
            parts.append(self._apply_repetition(self._atom()))
        if any(part.starts or part.ends for part in parts):
            if len(parts) > 1:
                raise Inexpressible("an anchor inside of a group")
            starts = starts or parts[0].starts
            ends = ends or parts[0].ends
        most = None
        if all(part.most is not None for part in parts):
            most = sum(part.most or 0 for part in parts)
        unit = parts[0].unit if len(parts) == 1 else None
        node = row(*[part.node for part in parts])
        return _RegexPart(node, sum(part.least for part in parts), most, unit, starts, ends)

    def _apply_repetition(self, piece: _RegexPart) -> _RegexPart:
        least, most = self._times()
        if (least, most) == (1, 1):
            return piece
        if piece.starts or piece.ends or max(least, most or 0) > MOST_REPEATS:
            raise Inexpressible("a repetition that grammars do not have")
        node = repeat(piece.node, least, most)
        if can_be_empty(piece.node) and most != 1 and can_be_empty(getattr(node, "item", EMPTY)):
            raise Inexpressible("what may be empty, again and again")
        longest = None
        if most is not None and piece.most is not None:
            longest = piece.most * most
        single = piece.unit if piece.least == piece.most == 1 else None
        return _RegexPart(node, piece.least * least, longest, single)

    def _times(self) -> tuple[int, int | None]:
        letter = self._peek()
        times: tuple[int, int | None] = (1, 1)
        if letter and letter in "*+?":
            self._at += 1
            times = {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
        elif letter == "{":
            found = _TIMES.match(self._text, self._at)
            if found is None:
                raise Inexpressible("a brace that is not a repetition")
            self._at = found.end()
            most = found[3] if found[2] else found[1]
            times = (int(found[1]), int(most) if most else None)
        else:
            return times
        if self._peek() and self._peek() in "?+*{":
            if self._peek() != "?":
                raise Inexpressible("a repetition of a repetition")
            self._at += 1
        return times

    def _atom(self) -> _RegexPart:
        letter = self._take()
        match letter:
            case "(":
                return self._group()
            case "[":
                return self._single(self._class())
            case ".":
                return self._single(other_than(chars("\n"), _ALL))
            case "\\":
                return self._single(self._escape())
            case _ if letter in "*+?{}]":
                raise Inexpressible("a sign that stands for nothing")
            case _:
                return self._single(chars(letter))

    def _single(self, letters: Node) -> _RegexPart:
        node = self._one_of(_chars(letters))
        return _RegexPart(node, 1, 1, node)

    def _group(self) -> _RegexPart:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Inexpressible("nested too deeply")
        if self._peek() == "?":
            found = _GROUP.match(self._text, self._at)
            if found is None:
                raise Inexpressible("a group that is more than a group")
            self._at = found.end()
        pieces = self._alternatives()
        if self._take() != ")":
            raise Inexpressible("a bracket that is never closed")
        self._depth -= 1
        held = {(piece.starts, piece.ends) for piece in pieces}
        if len(held) > 1:
            raise Inexpressible("an anchor in some alternatives only")
        starts, ends = held.pop()
        least = min(piece.least for piece in pieces)
        most = _longest(pieces)
        node = choice(*[piece.node for piece in pieces])
        unit = None
        if least == most == 1:
            unit = node
        return _RegexPart(node, least, most, unit, starts, ends)

    def _escape(self) -> Node:
        """The characters that an escape stands for."""
        letter = self._take()
        if letter in _CLASSES:
            return _CLASSES[letter]
        if found := _HEX.match(self._text, self._at - 1):
            self._at = found.end()
            return chars((code := int(found[1] or found[2] or found[3], 16), code))
        if letter in _CONTROL:
            return chars(_CONTROL[letter])
        if letter.isalnum():
            raise Inexpressible(f"the escape \\{letter}")
        return chars(letter)

    def _class(self) -> Node:
        negated = self._peek() == "^"
        self._at += negated
        if self._peek() == "]":
            raise Inexpressible("a class of nothing")
        ranges: list[tuple[int, int]] = []
        while (letter := self._take()) != "]":
            if letter == "[" or self._text.startswith(("&&", "--", "~~"), self._at - 1):
                raise Inexpressible("a class within a class")
            low = self._escape() if letter == "\\" else chars(letter)
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in {"]", ""}:
                self._at += 1
                letter = self._take()
                high = self._escape() if letter == "\\" else chars(letter)
                first = _only(low)
                last = _only(high)
                if first > last or letter == "[":
                    raise Inexpressible("a range that goes backwards")
                ranges.append((first, last))
            else:
                ranges += _chars(low).ranges
        found = chars(*ranges)
        if negated:
            return other_than(found, _ALL)
        return found


def _only(node: Node) -> int:
    ranges = _chars(node).ranges
    if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
        raise Inexpressible("a range between classes")
    return ranges[0][0]


def _chars(node: Node) -> Chars:
    if node == NOTHING:
        return Chars(())
    assert isinstance(node, Chars)
    return node


Ranges: TypeAlias = list[tuple[int, int]]
Share: TypeAlias = Callable[[Node], Node]
"""Replaces a node by a reference that can be used often."""

_ANYTHING = repeat(ANY_CHAR)
_MOST_STATES = 80
_MOST_PARTS = 1500
_LONGEST_NAMES = 80
_LONGEST_FOLLOWED = 24


def _itself(letters: Chars) -> Node:
    if letters.ranges:
        return letters
    return NOTHING


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
        return _spell_node(node, notation)
    steps: dict[tuple[Node, Node], Ranges] = {}
    for low, high in _intervals(choice(node, names)):
        onward = _derivative(node, low), _derivative(names, low)
        if onward[0] != NOTHING:
            steps.setdefault(onward, []).append((low, high))
    is_end = can_be_empty(node) and not can_be_empty(names)
    options = []
    for (rest, left), ranges in steps.items():
        options.append(row(_letter(ranges, notation), _except_for(rest, left, notation)))
    found = choice(*options)
    if is_end:
        return repeat(found, 0, 1)
    return found


@lru_cache(maxsize=256)
def of_length(pattern: str, least: int, most: int | None, notation: Notation) -> Node:
    """Any text that a pattern matches with a length within bounds."""
    if max(least, most or 0) > _LONGEST_FOLLOWED:
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
            if count >= self._least and can_be_empty(node):
                return EMPTY
            return NOTHING
        if self._most is None and count >= self._least:
            return _spell_node(node, self._notation)
        if (node, count) not in self._known:
            if len(self._known) > _MOST_STATES:
                raise Inexpressible("too many states")
            options = []
            for target, ranges in _onward(node).items():
                if target != NOTHING:
                    options.append(row(_letter(ranges, self._notation), self.after(target, count + 1)))
            onward = choice(*options)
            if count >= self._least and can_be_empty(node):
                # The end comes last: the continuation is then one optional part.
                onward = repeat(onward, 0, 1)
            self._known[node, count] = _fitting(onward)
        return self._known[node, count]


def _letter(ranges: Ranges, notation: Notation) -> Node:
    letters = chars(*ranges)
    if isinstance(letters, Chars):
        return notation.one_of(letters)
    return NOTHING


def _spell_node(node: Node, notation: Notation) -> Node:
    """The node with its letters as they are written in strings."""
    match node:
        case Chars():
            return notation.one_of(node)
        case WordNode(text):
            return row(*[notation.one_of(Chars(((ord(each), ord(each)),))) for each in text])
        case RowNode(items):
            return row(*[_spell_node(item, notation) for item in items])
        case ChoiceNode(options):
            return choice(*[_spell_node(option, notation) for option in options])
        case Repeat(item, least, most):
            return repeat(_spell_node(item, notation), least, most)
        case _:
            raise Inexpressible("no regular expression")


def _onward(node: Node) -> dict[Node, Ranges]:
    """Each derivative, and the letters that lead to it."""
    found: dict[Node, Ranges] = {}
    for low, high in _intervals(node):
        found.setdefault(_derivative(node, low), []).append((low, high))
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
        case WordNode(text):
            yield ord(text[0]), ord(text[0])
        case RowNode(items):
            for item in items:
                yield from _firsts(item)
                if not can_be_empty(item):
                    return
        case ChoiceNode(options):
            for option in options:
                yield from _firsts(option)
        case Repeat(item):
            yield from _firsts(item)
        case _:
            raise Inexpressible("no regular expression")


def _derivative(node: Node, code: int) -> Node:
    match node:
        case Chars(ranges):
            if any(low <= code <= high for low, high in ranges):
                return EMPTY
            return NOTHING
        case WordNode(text):
            if ord(text[0]) == code:
                return word(text[1:])
            return NOTHING
        case RowNode(items):
            ways: list[Node] = []
            for index, item in enumerate(items):
                ways.append(row(_derivative(item, code), *items[index + 1 :]))
                if not can_be_empty(item):
                    break
            return _choice(ways)
        case ChoiceNode(options):
            return _choice([_derivative(option, code) for option in options])
        case Repeat(item, least, most):
            rest = repeat(item, max(least - 1, 0), None if most is None else most - 1)
            return row(_derivative(item, code), rest)
        case _:
            raise Inexpressible("no regular expression")


def _choice(options: list[Node]) -> Node:
    """A choice that is everything, if one of its options is: so that there are fewer states."""
    found = choice(*options)
    if isinstance(found, ChoiceNode) and _ANYTHING in found.options:
        return _ANYTHING
    return found
