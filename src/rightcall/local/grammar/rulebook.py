"""Rules: named nodes, the book of those that are needed, and what they leave to the gate."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, assert_never

from msgspec import Struct, field

from rightcall.local.grammar.nodes import (
    EMPTY,
    NOTHING,
    Chars,
    Choice,
    Node,
    Other,
    Reference,
    Repeat,
    Row,
    Until,
    Word,
    choice,
    references,
    repeat,
    row,
)

ROOT = "root"
_TAKEN = frozenset([ROOT, "start"])
"""Names that are reserved by an engine."""
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 24
_MOST_REPEATED = 200


class Rule(Struct, frozen=True, dict=True):
    """A named node. A token is one piece for a lexer: it refers to tokens only, never to itself."""

    node: Node
    token: bool = False

    @cached_property
    def references(self) -> list[str]:
        """The names that it refers to, in their order."""
        return references(self.node)


class Rulebook(Struct, frozen=True):
    """Rules, and the name of the start rule."""

    root: str
    rules: Mapping[str, Rule]


class Rules:
    """A rulebook under construction: equal nodes share a rule, and names are unique."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self._known: dict[Rule, str] = {}
        self._last: dict[str, int] = {}
        """The last number that was used for a name."""
        self._recursive: dict[str, Node] = {}

    def define(self, hint: str, node: Node, *, token: bool = False) -> Node:
        """A reference to a rule for this node; an empty node or a reference is returned unchanged."""
        if node in (NOTHING, EMPTY) or isinstance(node, Reference):
            return node
        rule = Rule(node, token)
        # Hashing a rule hashes all its nodes: it is looked up once.
        name = self._known.get(rule)
        if name is None:
            self._known[rule] = name = self.reserve(hint)
            self.rules[name] = rule
        return Reference(name)

    def reserve(self, hint: str) -> str:
        """A name for a rule that refers to itself; define it with ``complete``."""
        wanted = _NOT_IN_A_NAME.sub("-", hint.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "rule"
        wanted = wanted if wanted[0].isalpha() else f"r-{wanted}"
        name, number = wanted, self._last.get(wanted, 1)
        while name in self.rules or name in _TAKEN:
            number += 1
            name = f"{wanted}-{number}"
        self._last[wanted] = number
        self.rules[name] = Rule(NOTHING)
        return name

    def complete(self, name: str, node: Node) -> None:
        """Define a reserved name."""
        self.rules[name] = Rule(node)

    def recursive(self, key: str, hint: str, make: Callable[[Node], Node]) -> Node:
        """A rule that refers to itself, built once per key."""
        if key not in self._recursive:
            name = self.reserve(hint)
            self._recursive[key] = Reference(name)
            self.complete(name, make(self._recursive[key]))
        return self._recursive[key]

    def is_token(self, node: Node) -> bool:
        """Whether a node can be a token: whether it refers to tokens only."""
        return all(self.rules[name].token for name in references(node))

    def book(self, root: Node) -> Rulebook:
        """The rules that are reachable from here, without unsatisfiable ones."""
        return _reachable(Rulebook(ROOT, _productive({**self.rules, ROOT: Rule(root)})))


class Findings(Struct, eq=False):
    """What a schema's rules do not enforce, and what is unsatisfiable, as paths in it."""

    unheld: list[str] = field(default_factory=list)
    """Keywords that are left to the gate."""
    impossible: list[str] = field(default_factory=list)
    """Required members that no value satisfies, or that cannot be written."""
    stricter: dict[str, None] = field(default_factory=dict)
    """In what the rules are stricter than the schema, in words."""
    parts: int = 0
    """The size of the rules."""

    def repeat(self, unheld: list[str], path: str, elsewhere: str) -> None:
        """Copy the findings at one path to another with the same schema."""
        if len(self.unheld) + len(unheld) <= _MOST_REPEATED:
            self.unheld += [elsewhere + each[len(path) :] for each in unheld if each.startswith(path)]


def nesting(node: Node, rules: Mapping[str, Rule]) -> int:
    """The longest chain of references between rules; a cycle counts once."""
    known: dict[str, int] = {}

    def below(names: Sequence[str]) -> int:
        return max([depth(name) for name in names], default=0)

    def depth(name: str) -> int:
        if name not in known:
            known[name] = 0
            # A token is one piece to an engine, whatever it refers to.
            known[name] = 1 if rules[name].token else 1 + below(rules[name].references)
        return known[name]

    return below(references(node))


def _productive(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """The rules without those that never terminate, and without what needs them."""
    good: set[str] = set()
    before = -1
    while before != len(good):
        before = len(good)
        for name, rule in rules.items():
            if name not in good and _ends(rule.node, good):
                good.add(name)
    if len(good) == len(rules):
        return dict(rules)
    return {
        name: Rule(_kept(rule.node, good), rule.token) for name, rule in rules.items() if name in good
    }


def _ends(node: Any, good: set[str]) -> bool:
    # By its very type, the usual ones first: this sees every node of every grammar.
    kind = type(node)
    if kind is Reference:
        return node.name in good
    if kind is Row:
        return all(_ends(item, good) for item in node.items if type(item) is not Word)
    if kind is Choice:
        return any(_ends(option, good) for option in node.options)
    return kind is not Repeat or node.least == 0 or _ends(node.item, good)


def _kept(node: Node, good: set[str]) -> Node:
    match node:
        case Reference(name):
            return node if name in good else NOTHING
        case Row(items):
            return row(*[_kept(item, good) for item in items])
        case Choice(options):
            return choice(*[_kept(option, good) for option in options])
        case Repeat(item, least, most):
            return repeat(_kept(item, good), least, most)
        case Word() | Chars() | Until() | Other():
            return node
        case _:
            assert_never(node)


def _reachable(book: Rulebook) -> Rulebook:
    seen: dict[str, Rule] = {}
    waiting = [book.root]
    while waiting:
        name = waiting.pop()
        if name not in seen and name in book.rules:
            seen[name] = book.rules[name]
            waiting += reversed(seen[name].references)
    return Rulebook(book.root, seen)
