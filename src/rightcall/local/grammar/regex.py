"""Compiles a schema's regular expression to a node that matches the same texts, and no others.

Characters, classes, groups, repetition, alternatives, and anchors around the whole, as the gate treats
them: as in JavaScript, except that the dot is anything but a line feed. Everything else (look-around,
backreferences, word boundaries, properties) is ``Inexpressible``.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    EMPTY,
    LAST_CODE_POINT,
    MOST_REPEATS,
    NOTHING,
    Chars,
    Node,
    can_be_empty,
    chars,
    choice,
    other_than,
    repeat,
    row,
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


class Matched(Struct, frozen=True):
    """A compiled expression, its length, and what it repeats, if it is only a repetition."""

    node: Node
    least: int
    most: int | None
    unit: Node | None = None


class _Piece(Matched, frozen=True):
    starts: bool = False
    """Whether it begins with an anchor."""
    ends: bool = False


def matching(pattern: str, one_of: Callable[[Chars], Node]) -> Matched:
    """Texts in which a regular expression matches. ``one_of`` writes a character of a set."""
    if len(pattern) > _LONGEST:
        raise Inexpressible("too long")
    anything = repeat(one_of(_chars(ANY_CHAR)))
    options: list[Node] = []
    pieces = _Reader(pattern, one_of).read()
    for piece in pieces:
        before = EMPTY if piece.starts else anything
        after = EMPTY if piece.ends else anything
        options.append(row(before, piece.node, after))
    bounded = all(piece.starts and piece.ends and piece.most is not None for piece in pieces)
    only = pieces[0] if len(pieces) == 1 and pieces[0].starts and pieces[0].ends else None
    return Matched(
        choice(*options),
        min(piece.least for piece in pieces),
        max(piece.most or 0 for piece in pieces) if bounded else None,
        only.unit if only is not None else None,
    )


class _Reader:
    """Parses a regular expression from left to right."""

    def __init__(self, pattern: str, one_of: Callable[[Chars], Node]) -> None:
        self._text = pattern
        self._at = 0
        self._one_of = one_of
        self._depth = 0

    def read(self) -> list[_Piece]:
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

    def _alternatives(self) -> list[_Piece]:
        pieces = [self._branch()]
        while self._peek() == "|":
            self._at += 1
            pieces.append(self._branch())
        return pieces

    def _branch(self) -> _Piece:
        starts = ends = False
        while self._peek() == "^":
            self._at += 1
            starts = True
        parts: list[_Piece] = []
        while (letter := self._peek()) and letter not in "|)":
            if ends or letter == "^":
                raise Inexpressible("an anchor in the middle")
            if letter == "$":
                self._at += 1
                ends = True
                continue
            parts.append(self._repeated(self._atom()))
        if any(part.starts or part.ends for part in parts):
            if len(parts) > 1:
                raise Inexpressible("an anchor inside of a group")
            starts, ends = starts or parts[0].starts, ends or parts[0].ends
        most = None if any(p.most is None for p in parts) else sum(p.most or 0 for p in parts)
        unit = parts[0].unit if len(parts) == 1 else None
        node = row(*[part.node for part in parts])
        return _Piece(node, sum(part.least for part in parts), most, unit, starts, ends)

    def _repeated(self, piece: _Piece) -> _Piece:
        least, most = self._times()
        if (least, most) == (1, 1):
            return piece
        if piece.starts or piece.ends or max(least, most or 0) > MOST_REPEATS:
            raise Inexpressible("a repetition that grammars do not have")
        node = repeat(piece.node, least, most)
        if can_be_empty(piece.node) and most != 1 and can_be_empty(getattr(node, "item", EMPTY)):
            raise Inexpressible("what may be empty, again and again")
        longest = None if most is None or piece.most is None else piece.most * most
        single = piece.unit if piece.least == piece.most == 1 else None
        return _Piece(node, piece.least * least, longest, single)

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

    def _atom(self) -> _Piece:
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

    def _single(self, letters: Node) -> _Piece:
        node = self._one_of(_chars(letters))
        return _Piece(node, 1, 1, node)

    def _group(self) -> _Piece:
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
        most = None if any(p.most is None for p in pieces) else max(p.most or 0 for p in pieces)
        starts, ends = held.pop()
        least = min(piece.least for piece in pieces)
        node = choice(*[piece.node for piece in pieces])
        return _Piece(node, least, most, node if least == most == 1 else None, starts, ends)

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
                ranges.append(self._range(low))
            else:
                ranges += _chars(low).ranges
        found = chars(*ranges)
        return other_than(found, _ALL) if negated else found

    def _range(self, low: Node) -> tuple[int, int]:
        letter = self._take()
        high = self._escape() if letter == "\\" else chars(letter)
        first, last = _only(low), _only(high)
        if first > last or letter == "[":
            raise Inexpressible("a range that goes backwards")
        return first, last


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
