"""A rulebook into llguidance's grammar language, a Lark dialect.

llguidance reads text in two steps, a lexer that always takes the longest piece and a parser. Tokens of
the rulebook are printed as the lexer's pieces, in capitals; what two rules share must be cut into pieces
alike in both (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``).
"""

import json
from typing import assert_never

from rightcall.local.grammar.nodes import (
    Chars,
    Choice,
    Node,
    Reference,
    Repeat,
    Row,
    Until,
    Word,
    times,
)
from rightcall.local.grammar.rules import ROOT, Rulebook


def print_lark(book: Rulebook) -> str:
    """The rulebook as text; its first rule is ``start``."""
    names = {name: _name(name, token=rule.token) for name, rule in book.rules.items()}
    marks: dict[Until, int] = {}
    printer = _Printer(names, marks)
    lines = [f"{names[name]}: {printer.choice(rule.node)}\n" for name, rule in book.rules.items()]
    lines += [_until(text, number) for text, number in marks.items()]
    return "".join(lines)


def _name(name: str, *, token: bool) -> str:
    if name == ROOT:
        return "start"
    name = name.replace("-", "_")
    return f"T_{name.upper()}" if token else f"r_{name}"


class _Printer:
    """Prints nodes; ``marks`` fills up with what text goes on until."""

    def __init__(self, names: dict[str, str], marks: dict[Until, int]) -> None:
        self._names = names
        self._marks = marks

    def choice(self, node: Node) -> str:
        """A node where a choice may stand without brackets."""
        if isinstance(node, Choice):
            return " | ".join(map(self._row, node.options))
        return self._row(node)

    def _row(self, node: Node) -> str:
        if isinstance(node, Row):
            return " ".join(map(self._item, node.items)) or '""'
        return self._item(node)

    def _item(self, node: Node) -> str:
        match node:
            case Word(text):
                return json.dumps(text)
            case Chars(ranges):
                return f"/{_bracketed(ranges)}/"
            case Reference(name):
                return self._names[name]
            case Until():
                return f"until_{self._marks.setdefault(node, len(self._marks))}"
            case Repeat(item, least, most):
                return f"({self.choice(item)}){times(least, most)}"
            case Choice() | Row():
                return f"({self.choice(node)})"
            case _:
                assert_never(node)


def _until(text: Until, number: int) -> str:
    """Text up to the mark, in one piece; or, should the mark be a token of the model's own, in two.

    A token in quotes is text to llguidance. Whoever knows the vocabulary puts the token in its place;
    else the second way leads nowhere, since the lexer would take the mark's beginning for more text.
    """
    mark = "".join(f"\\x{{{ord(each):X}}}" for each in text.mark)
    first = _bracketed(text.first.ranges) if text.first is not None else ""
    return (
        f"until_{number}: T__UNTIL_{number} | (T__BEFORE_{number})? {json.dumps(text.mark)}\n"
        f"T__UNTIL_{number}: /{first}(?s:.*){mark}/ & ~/(?s:.*){mark}(?s:.+)/ | /{mark}/\n"
        f"T__BEFORE_{number}: /{first}(?s:.*)/ & ~/(?s:.*){mark}(?s:.*)/\n"
    )


def _bracketed(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = [
        f"\\x{{{first:X}}}" if first == last else f"\\x{{{first:X}}}-\\x{{{last:X}}}"
        for first, last in ranges
    ]
    return f"[{''.join(parts)}]"
