"""A rulebook into llama.cpp's grammar language, GBNF.

What is repeated is always a single character, a word or a name: llama.cpp multiplies the rules inside
of a bracket with how often it is repeated, and refuses 2,000 (``src/llama-grammar.cpp``).
"""

from typing import assert_never

from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    Chars,
    Choice,
    Node,
    Reference,
    Repeat,
    Row,
    Until,
    Word,
    chars,
    other_than,
    times,
)
from rightcall.local.grammar.rules import Rulebook

_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _{}:,.<>|/=()!?'*+%&;@#$~`"
)
_ESCAPES = (("x", 2), ("u", 4), ("U", 8))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def print_gbnf(book: Rulebook) -> str:
    """The rulebook as text; its first rule is ``root``."""
    printer = _Printer()
    for name, rule in book.rules.items():
        printer.lines[name] = ""
        printer.lines[name] = printer.choice(rule.node, name)
    return "".join(f"{name} ::= {body}\n" for name, body in printer.lines.items())


class _Printer:
    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self._parts: dict[str, str] = {}
        """Rules that stand for a part of another, by what they say."""

    def choice(self, node: Node, within: str) -> str:
        """A node where a choice may stand without brackets."""
        if isinstance(node, Choice):
            return " | ".join(self._row(option, within) for option in node.options) or '""'
        return self._row(node, within)

    def _row(self, node: Node, within: str) -> str:
        if not isinstance(node, Row):
            return self._item(node, within)
        parts: list[str] = []
        text = ""
        for item in node.items:
            if isinstance(item, Word):
                text += item.text
                continue
            parts += [_quoted(text)] if text else []
            text = ""
            parts.append(self._item(item, within))
        parts += [_quoted(text)] if text or not parts else []
        return " ".join(parts)

    def _item(self, node: Node, within: str) -> str:
        match node:
            case Word(text):
                return _quoted(text)
            case Chars(ranges):
                return _bracketed(ranges)
            case Reference(name):
                return name
            case Until(mark, first):
                begin = f"{_quoted(mark)} | {_bracketed(first.ranges)} " if first is not None else ""
                return f"({begin}{self._until(mark)})" if begin else self._until(mark)
            case Repeat(item, least, most):
                return self._repeated(item, within) + times(least, most)
            case Choice():
                return f"({self.choice(node, within)})"
            case Row():
                return self._row(node, within)
            case _:
                assert_never(node)

    def _repeated(self, item: Node, within: str) -> str:
        """What is repeated, as one symbol."""
        if isinstance(item, Word | Chars | Reference):
            return self._item(item, within)
        return self._part(self.choice(item, within), within)

    def _part(self, body: str, within: str) -> str:
        if body not in self._parts:
            self._parts[body] = name = self._free(within)
            self.lines[name] = body
        return self._parts[body]

    def _free(self, within: str) -> str:
        number = 1
        while f"{within}-x{number}" in self.lines:
            number += 1
        return f"{within}-x{number}"

    def _until(self, mark: str) -> str:
        """Rules that are the states of a search for the mark: how much of it has just been seen."""
        known = f"until {mark}"
        if known not in self._parts:
            states = [self._free("until")]
            self.lines[states[0]] = ""
            for _ in mark[1:]:
                states.append(self._free("until"))
                self.lines[states[-1]] = ""
            for seen, state in enumerate(states):
                self.lines[state] = _search(mark, seen, states)
            self._parts[known] = states[0]
        return self._parts[known]


def _search(mark: str, seen: int, states: list[str]) -> str:
    """What can follow when the last characters are the mark's first ``seen``."""
    onward: dict[str, list[str]] = {}
    for each in dict.fromkeys(mark):
        text = mark[:seen] + each
        longest = next(size for size in range(len(text), -1, -1) if text.endswith(mark[:size]))
        target = "" if longest == len(mark) else states[longest]
        onward.setdefault(target, []).append(each)
    rest = other_than(chars(mark), ANY_CHAR)
    assert isinstance(rest, Chars)
    options = [f"{_bracketed(rest.ranges)} {states[0]}"]
    for target, letters in onward.items():
        node = chars(*letters)
        assert isinstance(node, Chars)
        options.append(f"{_bracketed(node.ranges)} {target}".rstrip())
    return " | ".join(options)


def _quoted(text: str) -> str:
    return '"' + "".join(_SHORT.get(each) or _escaped(each) for each in text) + '"'


def _bracketed(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = []
    for first, last in ranges:
        one, two = _escaped(chr(first)), _escaped(chr(last))
        parts.append(one if first == last else f"{one}-{two}")
    return f"[{''.join(parts)}]"


def _escaped(letter: str) -> str:
    if letter in _PLAIN:
        return letter
    code = f"{ord(letter):X}"
    sign, width = next(form for form in _ESCAPES if form[1] >= len(code))
    return f"\\{sign}{code.zfill(width)}"
