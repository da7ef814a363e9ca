"""Prints a rulebook in an engine's grammar language: llama.cpp's GBNF, or llguidance's Lark dialect.

In GBNF, only a single character, a word or a name is repeated: llama.cpp multiplies the rules inside of
a bracket by the repetition count, and refuses 2,000 (``src/llama-grammar.cpp``).

llguidance has a lexer, which always takes the longest match, and a parser. Tokens of the rulebook are
printed as terminals, in capitals; text that two rules share must be split into the same terminals in
both (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``).
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

from rightcall.local.engine import Syntax
from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    Chars,
    Choice,
    Node,
    Other,
    Reference,
    Repeat,
    Row,
    Until,
    Word,
    chars,
    other_than,
    times,
)
from rightcall.local.grammar.rulebook import ROOT, Rulebook

_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _{}:,.<>|/=()!?'*+%&;@#$~`"
)
_ESCAPES = (("x", 2), ("u", 4), ("U", 8))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def print_grammar(book: Rulebook, syntax: Syntax) -> str:
    """The rulebook in one language or the other."""
    return print_gbnf(book) if syntax == "gbnf" else print_lark(book)


def print_gbnf(book: Rulebook) -> str:
    """The rulebook as GBNF; its first rule is ``root``."""
    printer = _GbnfPrinter()
    for name, rule in book.rules.items():
        printer.lines[name] = ""
        printer.lines[name] = printer.choice(rule.node, name)
    return "".join(f"{name} ::= {body}\n" for name, body in printer.lines.items())


class _GbnfPrinter:
    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self._parts: dict[str, str] = {}
        """Auxiliary rules for a part of another rule, by content."""
        self._others: dict[Other, str] = {}
        self._leaving: dict[tuple[Node, str], _Leaving] = {}

    def choice(self, node: Node, within: str) -> str:
        """A node where a choice needs no brackets."""
        if isinstance(node, Choice):
            return " | ".join(self._row(option, within) for option in node.options) or '""'
        return self._row(node, within)

    def _row(self, node: Node, within: str) -> str:
        # By exact type, the most frequent first: this visits every node of every grammar.
        if type(node) is not Row:
            return node.name if type(node) is Reference else self._item(node, within)
        parts: list[str] = []
        text = ""
        for item in node.items:
            kind = type(item)
            if kind is Word:
                text += item.text  # type: ignore[union-attr]
                continue
            if text:
                parts.append(_quoted(text))
                text = ""
            parts.append(item.name if kind is Reference else self._item(item, within))  # type: ignore[union-attr]
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
            case Other():
                return self._other(node)
            case Repeat(item, least, most):
                return self._repeated(item, within) + times(least, most)
            case Choice():
                return f"({self.choice(node, within)})"
            case Row():
                return self._row(node, within)
            case _:
                assert_never(node)

    def _repeated(self, item: Node, within: str) -> str:
        """The repeated node, as one symbol."""
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
        """Rules that are the states of a search for the mark: how much of it was just seen."""
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

    def _other(self, node: Other) -> str:
        """Rules that follow the names letter by letter, and leave them where the text differs."""
        if node not in self._others:
            leaving = self._leave(node.letter, node.close)
            begin = _Leaving(node.first, [], leaving.rest) if node.first is not None else None
            self._others[node] = name = self._free("name")
            self.lines[name] = leaving.apart(node.names, node.close, begin)
        return self._others[node]

    def _leave(self, letter: Node, close: str) -> "_Leaving":
        if (letter, close) not in self._leaving:
            rest = self._part(f"{self._repeated(letter, 'letter')}* {_quoted(close)}", "name-rest")
            ways = [self._part(self.choice(each, "name"), "letter") for each in _escapes(letter)]
            others = [f"{way} {rest}" for way in ways]
            self._leaving[letter, close] = _Leaving(_plain(letter), others, rest)
        return self._leaving[letter, close]


class _Leaving:
    """Texts that are none of some names, even if they begin like one."""

    def __init__(self, letters: Chars, others: list[str], rest: str) -> None:
        self._letters = letters
        self._others = others
        self.rest = rest
        self._known: dict[tuple[str, ...], list[str]] = {}

    def apart(self, names: tuple[str, ...], close: str, begin: "_Leaving | None" = None) -> str:
        """What can follow, given the rests of the names. ``begin`` is for the first letter."""
        if len(names) == 1 and begin is None:
            return self._apart_from(names[0], close)
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(name[:1], []).append(name[1:])
        is_name = groups.pop("", None) is not None
        options = [] if is_name or begin is not None else [_quoted(close)]
        options += (begin or self).differing(tuple(sorted(groups)))
        for letter, onward in groups.items():
            options.append(f"{_quoted(letter)} ({self.apart(tuple(onward), close)})")
        return " | ".join(options)

    def _apart_from(self, name: str, close: str) -> str:
        """The same for a single name: most names soon differ from all others."""
        found = " | ".join(self.differing(()))
        for letter in reversed(name):
            options = [_quoted(close), *self.differing((letter,))]
            found = f"{' | '.join(options)} | {_quoted(letter)} ({found})"
        return found

    def differing(self, letters: tuple[str, ...]) -> list[str]:
        """Any other letter, and everything that may follow it."""
        if letters not in self._known:
            found = _others(letters, self._letters)
            self._known[letters] = [*([f"{found} {self.rest}"] if found else []), *self._others]
        return self._known[letters]


@lru_cache(maxsize=4096)
def _others(letters: tuple[str, ...], among: Chars) -> str:
    left = other_than(chars(*letters), among)
    return _bracketed(left.ranges) if isinstance(left, Chars) else ""


def _plain(letter: Node) -> Chars:
    """The characters that are written unescaped."""
    return next(each for each in _ways(letter) if isinstance(each, Chars))


def _escapes(letter: Node) -> list[Node]:
    return [each for each in _ways(letter) if not isinstance(each, Chars)]


def _ways(letter: Node) -> Sequence[Node]:
    return letter.options if isinstance(letter, Choice) else (letter,)


def _search(mark: str, seen: int, states: list[str]) -> str:
    """What can follow when the last characters are the first ``seen`` of the mark."""
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


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    if text.isascii() and text.isalnum():
        return f'"{text}"'
    return '"' + "".join(_SHORT.get(each) or _escaped(each) for each in text) + '"'


@lru_cache(maxsize=4096)
def _json(text: str) -> str:
    return json.dumps(text)


@lru_cache(maxsize=1024)
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


def print_lark(book: Rulebook) -> str:
    """The rulebook as Lark; its first rule is ``start``."""
    names = {name: _lark_name(name, token=rule.token) for name, rule in book.rules.items()}
    printer = _LarkPrinter(names)
    lines = [f"{names[name]}: {printer.choice(rule.node)}\n" for name, rule in book.rules.items()]
    lines += [_lark_until(text, number) for text, number in printer.marks.items()]
    lines += [printer.other(node, number) for node, number in printer.others.items()]
    return "".join(lines)


def _lark_name(name: str, *, token: bool) -> str:
    if name == ROOT:
        return "start"
    name = name.replace("-", "_")
    return f"T_{name.upper()}" if token else f"r_{name}"


class _LarkPrinter:
    """Prints nodes, and collects those that are terminals."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self.marks: dict[Until, int] = {}
        """The marks at which texts end."""
        self.others: dict[Other, int] = {}
        """Names that are not taken."""

    def choice(self, node: Node) -> str:
        """A node where a choice may stand without brackets."""
        if type(node) is Choice:
            return " | ".join([self._row(option) for option in node.options])
        return self._row(node)

    def _row(self, node: Node) -> str:
        if type(node) is not Row:
            return self._item(node)
        # References by their very type: this sees every node of every grammar.
        parts = [
            self._names[item.name] if type(item) is Reference else self._item(item)
            for item in node.items
        ]
        return " ".join(parts) or '""'

    def _item(self, node: Node) -> str:
        match node:
            case Word(text):
                return _json(text)
            case Reference(name):
                return self._names[name]
            case Chars(ranges):
                return f"/{_class(ranges)}/"
            case Until():
                return f"until_{self.marks.setdefault(node, len(self.marks))}"
            case Other():
                return f"T__OTHER_{self.others.setdefault(node, len(self.others))}"
            case Repeat(item, least, most):
                return f"({self.choice(item)}){times(least, most)}"
            case Choice() | Row():
                return f"({self.choice(node)})"
            case _:
                assert_never(node)

    def other(self, node: Other, number: int) -> str:
        """Any name except those that are taken."""
        first = f"{self._item(node.first)} " if node.first is not None else ""
        every = f"{first}({self.choice(node.letter)})*"
        close = f" {json.dumps(node.close)}" if node.close else ""
        taken = " | ".join(json.dumps(name + node.close) for name in node.names)
        return f"T__OTHER_{number}: ({every}{close})" + (f" & ~({taken})\n" if taken else "\n")


def _lark_until(text: Until, number: int) -> str:
    """Text up to the mark, as one terminal; or as two, if the mark is a special token of the model.

    A token in quotes is text to llguidance. The engine, which knows the vocabulary, replaces it by the
    token; otherwise the second alternative never matches, since the lexer takes the mark's beginning for
    more text.
    """
    mark = "".join(f"\\x{{{ord(each):X}}}" for each in text.mark)
    first = _class(text.first.ranges) if text.first is not None else ""
    return (
        f"until_{number}: T__UNTIL_{number} | (T__BEFORE_{number})? {json.dumps(text.mark)}\n"
        f"T__UNTIL_{number}: /{first}(?s:.*){mark}/ & ~/(?s:.*){mark}(?s:.+)/ | /{mark}/\n"
        f"T__BEFORE_{number}: /{first}(?s:.*)/ & ~/(?s:.*){mark}(?s:.*)/\n"
    )


@lru_cache(maxsize=1024)
def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = [
        f"\\x{{{first:X}}}" if first == last else f"\\x{{{first:X}}}-\\x{{{last:X}}}"
        for first, last in ranges
    ]
    return f"[{''.join(parts)}]"
