"""Prints a rulebook in an engine's grammar language: llama.cpp's GBNF, or llguidance's Lark dialect.

In GBNF, only a single character, a word or a name is repeated: llama.cpp multiplies the rules inside of
a bracket by the repetition count, and refuses 2,000 (``src/llama-grammar.cpp``).

llguidance has a lexer, which always takes the longest match, and a parser. Tokens of the rulebook are
printed as terminals, in capitals; text that two rules share must be split into the same terminals in
both (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``).
"""

import json
from functools import lru_cache
from typing import assert_never

from rightcall.local.engine import Syntax
from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    ROOT,
    Chars,
    ChoiceNode,
    Node,
    OtherNameNode,
    Reference,
    Repeat,
    RowNode,
    Rulebook,
    Until,
    WordNode,
    chars,
    other_than,
    times,
)

_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _{}:,.<>|/=()!?'*+%&;@#$~`"
)
_ESCAPES = (("x", 2), ("u", 4), ("U", 8))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def print_grammar(book: Rulebook, syntax: Syntax) -> str:
    """The rulebook in one language or the other."""
    if syntax == "gbnf":
        return print_gbnf(book)
    return print_lark(book)


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
        self._others: dict[OtherNameNode, str] = {}
        self._leaving: dict[tuple[Node, str], _Leaving] = {}

    def choice(self, node: Node, within: str) -> str:
        """A node where a choice needs no brackets."""
        if isinstance(node, ChoiceNode):
            return " | ".join(self._row(option, within) for option in node.options) or '""'
        return self._row(node, within)

    def _row(self, node: Node, within: str) -> str:
        # By exact type, the most frequent first: this visits every node of every grammar.
        if type(node) is not RowNode:
            if type(node) is Reference:
                return node.name
            return self._item(node, within)
        parts: list[str] = []
        text = ""
        for item in node.items:
            kind = type(item)
            if kind is WordNode:
                text += item.text  # type: ignore[union-attr]
                continue
            if text:
                parts.append(_quote_text(text))
                text = ""
            if kind is Reference:
                parts.append(item.name)  # type: ignore[union-attr]
            else:
                parts.append(self._item(item, within))
        if text or not parts:
            parts.append(_quote_text(text))
        return " ".join(parts)

    def _item(self, node: Node, within: str) -> str:
        match node:
            case WordNode(text):
                return _quote_text(text)
            case Chars(ranges):
                return _character_class(ranges)
            case Reference(name):
                return name
            case Until(mark, first):
                search = self._until(mark)
                if first is None:
                    return search
                return f"({_quote_text(mark)} | {_character_class(first.ranges)} {search})"
            case OtherNameNode():
                return self._other(node)
            case Repeat(item, least, most):
                return self._repeatable_symbol(item, within) + times(least, most)
            case ChoiceNode():
                return f"({self.choice(node, within)})"
            case RowNode():
                return self._row(node, within)
            case _:
                assert_never(node)

    def _repeatable_symbol(self, item: Node, within: str) -> str:
        """The repeated node, as one symbol."""
        if isinstance(item, WordNode | Chars | Reference):
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

    def _other(self, node: OtherNameNode) -> str:
        """Rules that follow the names letter by letter, and leave them where the text differs."""
        if node not in self._others:
            letter = node.letter
            close = node.close
            if (letter, close) not in self._leaving:
                rest = self._part(
                    f"{self._repeatable_symbol(letter, 'letter')}* {_quote_text(close)}", "name-rest"
                )
                plain = ANY_CHAR
                others: list[str] = []
                for way in letter.options if isinstance(letter, ChoiceNode) else (letter,):
                    if isinstance(way, Chars):
                        plain = way
                    else:
                        # An escape.
                        others.append(f"{self._part(self.choice(way, 'name'), 'letter')} {rest}")
                self._leaving[letter, close] = _Leaving(plain, others, rest)
            leaving = self._leaving[letter, close]
            begin = None
            if node.first is not None:
                begin = _Leaving(node.first, [], leaving.rest)
            self._others[node] = name = self._free("name")
            self.lines[name] = leaving.apart(node.names, node.close, begin)
        return self._others[node]


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
            # The same for a single name: most names soon differ from all others.
            name = names[0]
            found = " | ".join(self.differing(()))
            for letter in reversed(name):
                differing = " | ".join([_quote_text(close), *self.differing((letter,))])
                found = f"{differing} | {_quote_text(letter)} ({found})"
            return found
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(name[:1], []).append(name[1:])
        is_name = groups.pop("", None) is not None
        options: list[str] = []
        if not is_name and begin is None:
            options.append(_quote_text(close))
        options += (begin or self).differing(tuple(sorted(groups)))
        for letter, onward in groups.items():
            options.append(f"{_quote_text(letter)} ({self.apart(tuple(onward), close)})")
        return " | ".join(options)

    def differing(self, letters: tuple[str, ...]) -> list[str]:
        """Any other letter, and everything that may follow it."""
        if letters not in self._known:
            left = _other_letters(letters, self._letters)
            texts = list(self._others)
            if isinstance(left, Chars):
                texts.insert(0, f"{_character_class(left.ranges)} {self.rest}")
            self._known[letters] = texts
        return self._known[letters]


@lru_cache(maxsize=4096)
def _other_letters(letters: tuple[str, ...], among: Chars) -> Node:
    return other_than(chars(*letters), among)


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
    options = [f"{_character_class(rest.ranges)} {states[0]}"]
    for target, letters in onward.items():
        node = chars(*letters)
        assert isinstance(node, Chars)
        options.append(f"{_character_class(node.ranges)} {target}".rstrip())
    return " | ".join(options)


@lru_cache(maxsize=4096)
def _quote_text(text: str) -> str:
    if text.isascii() and text.isalnum():
        return f'"{text}"'
    return '"' + "".join(_SHORT.get(each) or _escape_letter(each) for each in text) + '"'


@lru_cache(maxsize=4096)
def _json(text: str) -> str:
    return json.dumps(text)


@lru_cache(maxsize=1024)
def _character_class(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = []
    for first, last in ranges:
        parts.append(_escape_letter(chr(first)))
        if first != last:
            parts.append(f"-{_escape_letter(chr(last))}")
    return f"[{''.join(parts)}]"


def _escape_letter(letter: str) -> str:
    if letter in _PLAIN:
        return letter
    code = f"{ord(letter):X}"
    sign, width = next(form for form in _ESCAPES if form[1] >= len(code))
    return f"\\{sign}{code.zfill(width)}"


def print_lark(book: Rulebook) -> str:
    """The rulebook as Lark; its first rule is ``start``."""
    names: dict[str, str] = {}
    for name, rule in book.rules.items():
        plain = name.replace("-", "_")
        if name == ROOT:
            names[name] = "start"
        elif rule.token:
            names[name] = f"T_{plain.upper()}"
        else:
            names[name] = f"r_{plain}"
    printer = _LarkPrinter(names)
    lines = [f"{names[name]}: {printer.choice(rule.node)}\n" for name, rule in book.rules.items()]
    # Printing the rules has collected the marks and the names.
    for text, number in printer.marks.items():
        lines.append(_lark_until(text, number))
    for node, number in printer.others.items():
        lines.append(printer.other(node, number))
    return "".join(lines)


class _LarkPrinter:
    """Prints nodes, and collects those that are terminals."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self.marks: dict[Until, int] = {}
        """The marks at which texts end."""
        self.others: dict[OtherNameNode, int] = {}
        """Names that are not taken."""

    def choice(self, node: Node) -> str:
        """A node where a choice may stand without brackets."""
        if type(node) is ChoiceNode:
            return " | ".join([self._row(option) for option in node.options])
        return self._row(node)

    def _row(self, node: Node) -> str:
        if type(node) is not RowNode:
            return self._item(node)
        # References by their very type: this sees every node of every grammar.
        parts = [
            self._names[item.name] if type(item) is Reference else self._item(item)
            for item in node.items
        ]
        return " ".join(parts) or '""'

    def _item(self, node: Node) -> str:
        match node:
            case WordNode(text):
                return _json(text)
            case Reference(name):
                return self._names[name]
            case Chars(ranges):
                return f"/{_class(ranges)}/"
            case Until():
                return f"until_{self.marks.setdefault(node, len(self.marks))}"
            case OtherNameNode():
                return f"T__OTHER_{self.others.setdefault(node, len(self.others))}"
            case Repeat(item, least, most):
                return f"({self.choice(item)}){times(least, most)}"
            case ChoiceNode() | RowNode():
                return f"({self.choice(node)})"
            case _:
                assert_never(node)

    def other(self, node: OtherNameNode, number: int) -> str:
        """Any name except those that are taken."""
        first = ""
        if node.first is not None:
            first = f"{self._item(node.first)} "
        names = f"{first}({self.choice(node.letter)})*"
        if node.close:
            names = f"{names} {json.dumps(node.close)}"
        rule = f"T__OTHER_{number}: ({names})"
        if node.names:
            taken = " | ".join(json.dumps(name + node.close) for name in node.names)
            rule = f"{rule} & ~({taken})"
        return f"{rule}\n"


def _lark_until(text: Until, number: int) -> str:
    """Text up to the mark, as one terminal; or as two, if the mark is a special token of the model.

    A token in quotes is text to llguidance. The engine, which knows the vocabulary, replaces it by the
    token; otherwise the second alternative never matches, since the lexer takes the mark's beginning for
    more text.
    """
    mark = "".join(f"\\x{{{ord(each):X}}}" for each in text.mark)
    first = ""
    if text.first is not None:
        first = _class(text.first.ranges)
    return (
        f"until_{number}: T__UNTIL_{number} | (T__BEFORE_{number})? {json.dumps(text.mark)}\n"
        f"T__UNTIL_{number}: /{first}(?s:.*){mark}/ & ~/(?s:.*){mark}(?s:.+)/ | /{mark}/\n"
        f"T__BEFORE_{number}: /{first}(?s:.*)/ & ~/(?s:.*){mark}(?s:.*)/\n"
    )


@lru_cache(maxsize=1024)
def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = []
    for first, last in ranges:
        parts.append(f"\\x{{{first:X}}}")
        if first != last:
            parts.append(f"-\\x{{{last:X}}}")
    return f"[{''.join(parts)}]"
