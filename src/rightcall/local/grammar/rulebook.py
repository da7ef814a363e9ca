"""Rules: named nodes, the book of those that are needed, and what they leave to the gate.

The nodes are those of a grammar before it is printed for an engine. Nothing here knows JSON, schemas or
tools. The functions build minimal nodes: what matches nothing is removed from choices, and a sequence
that contains it matches nothing, either.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os.path import commonprefix
from typing import Any, TypeAlias, assert_never

from msgspec import Struct, field

LAST_CODE_POINT = 0x10FFFF
_NO_LIMIT = 2**63
_SURROGATES = (0xD800, 0xDFFF)

MOST_REPEATS = 1999
"""The largest repetition count; llama.cpp (``src/llama-grammar.cpp``) refuses more, or takes it for
unlimited."""


class WordNode(Struct, frozen=True, gc=False):
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


class OtherNameNode(Struct, frozen=True, gc=False):
    """Any name but these: letters, and what closes it."""

    names: tuple[str, ...]
    letter: "Node"
    """One character of a name, in all its spellings."""
    first: "Chars | None" = None
    """The first characters that a name may have, if restricted; then it is never empty."""
    close: str = ""


class RowNode(Struct, frozen=True, gc=False):
    """A sequence; the empty text if it has no parts."""

    items: tuple["Node", ...]


class ChoiceNode(Struct, frozen=True, gc=False):
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


Node: TypeAlias = WordNode | Chars | Until | OtherNameNode | RowNode | ChoiceNode | Repeat | Reference

EMPTY = RowNode(())
"""Matches the empty text."""
NOTHING = ChoiceNode(())
"""Matches no text."""


def word(text: str) -> Node:
    """Exactly this text; for the empty text, an empty sequence."""
    if text:
        return WordNode(text)
    return EMPTY


def chars(*ranges: tuple[int, int] | str) -> Node:
    """One character of these ranges, or of these strings."""
    spans: list[tuple[int, int]] = []
    for given in ranges:
        if isinstance(given, str):
            spans += [(ord(letter), ord(letter)) for letter in given]
        else:
            spans.append(given)
    merged: list[tuple[int, int]] = []
    for first, last in sorted(_without_surrogates(spans)):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    if merged:
        return Chars(tuple(merged))
    return NOTHING


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
        if type(node) is RowNode:
            items += node.items
        elif node == NOTHING:
            return NOTHING
        else:
            items.append(node)
    if len(items) == 1:
        return items[0]
    return RowNode(tuple(items))


def choice(*nodes: Node) -> Node:
    """A choice."""
    options: dict[Node, None] = {}
    for node in nodes:
        for option in node.options if isinstance(node, ChoiceNode) else (node,):
            options[option] = None
    if len(options) == 1:
        return next(iter(options))
    return ChoiceNode(tuple(options))


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
        rest: Node = EMPTY
        if len(group) > 1:
            rest = any_word(text[len(shared) :] for text in group)
        options.append(row(word(shared), rest))
    return choice(*options)


def repeat(node: Node, least: int = 0, most: int | None = None) -> Node:
    """A repetition within bounds."""
    if most is not None and most < least:
        return NOTHING
    if node == EMPTY or most == 0:
        return EMPTY
    if node == NOTHING:
        if least:
            return NOTHING
        return EMPTY
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
            if least == most:
                return f"{{{least}}}"
            return f"{{{least},{most}}}"


def can_be_empty(node: Node) -> bool:
    """Whether it matches the empty text. References are assumed not to."""
    match node:
        case RowNode(items):
            return all(map(can_be_empty, items))
        case ChoiceNode(options):
            return any(map(can_be_empty, options))
        case Repeat(item, least, _):
            return least == 0 or can_be_empty(item)
        case WordNode() | Chars() | Until() | OtherNameNode() | Reference():
            return False
        case _:
            assert_never(node)


_LEADING = frozenset([Reference, RowNode, ChoiceNode, Repeat])
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
        elif kind is RowNode:
            waiting += [item for item in each.items[::-1] if type(item) in _LEADING]
        elif kind is ChoiceNode:
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
        elif kind is WordNode:
            count += len(each.text)
        elif kind is RowNode:
            waiting += each.items
        elif kind is ChoiceNode:
            count += len(each.options)
            waiting += each.options
        elif kind is Repeat:
            count += 3 * max(each.least, each.most or 0, 1)
            waiting.append(each.item)
        elif kind is Chars:
            count += len(each.ranges)
        elif kind is Until:
            count += len(each.mark) * 4
        else:
            count += sum(map(len, each.names)) * 4 + 4
    return count


def _without_surrogates(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Surrogates, which are no characters: no text contains them."""
    low, high = _SURROGATES
    for first, last in spans:
        for start, end in ((first, min(last, low - 1)), (max(first, high + 1), last)):
            if start <= end:
                yield start, end


ROOT = "root"
_TAKEN = frozenset([ROOT, "start"])
"""Names that are reserved by an engine."""
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 24
_MOST_REPEATED = 200


class GrammarRule(Struct, frozen=True, dict=True):
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
    rules: Mapping[str, GrammarRule]


class GrammarRules:
    """A rulebook under construction: equal nodes share a rule, and names are unique."""

    def __init__(self) -> None:
        self.rules: dict[str, GrammarRule] = {}
        self._known: dict[GrammarRule, str] = {}
        self._last: dict[str, int] = {}
        """The last number that was used for a name."""
        self._recursive: dict[str, Node] = {}

    def define(self, hint: str, node: Node, *, token: bool = False) -> Node:
        """A reference to a rule for this node; an empty node or a reference is returned unchanged."""
        if node in (NOTHING, EMPTY) or isinstance(node, Reference):
            return node
        rule = GrammarRule(node, token)
        # Hashing a rule hashes all its nodes: it is looked up once.
        name = self._known.get(rule)
        if name is None:
            self._known[rule] = name = self.reserve(hint)
            self.rules[name] = rule
        return Reference(name)

    def reserve(self, hint: str) -> str:
        """A name for a rule that refers to itself; define it with ``complete``."""
        plain = _NOT_IN_A_NAME.sub("-", hint.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "rule"
        if not plain[0].isalpha():
            plain = f"r-{plain}"
        name = plain
        number = self._last.get(plain, 1)
        while name in self.rules or name in _TAKEN:
            number += 1
            name = f"{plain}-{number}"
        self._last[plain] = number
        self.rules[name] = GrammarRule(NOTHING)
        return name

    def complete(self, name: str, node: Node) -> None:
        """Define a reserved name."""
        self.rules[name] = GrammarRule(node)

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
        rules = _productive({**self.rules, ROOT: GrammarRule(root)})
        seen: dict[str, GrammarRule] = {}
        waiting = [ROOT]
        while waiting:
            name = waiting.pop()
            if name not in seen and name in rules:
                seen[name] = rules[name]
                waiting += reversed(seen[name].references)
        return Rulebook(ROOT, seen)


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


def nesting(node: Node, rules: Mapping[str, GrammarRule]) -> int:
    """The longest chain of references between rules; a cycle counts once."""
    known: dict[str, int] = {}

    def below(names: Sequence[str]) -> int:
        return max([depth(name) for name in names], default=0)

    def depth(name: str) -> int:
        if name not in known:
            known[name] = 0
            # A token is one piece to an engine, whatever it refers to.
            known[name] = 1 + (0 if rules[name].token else below(rules[name].references))
        return known[name]

    return below(references(node))


def _productive(rules: Mapping[str, GrammarRule]) -> dict[str, GrammarRule]:
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
        name: GrammarRule(_prune_node(rule.node, good), rule.token)
        for name, rule in rules.items()
        if name in good
    }


def _ends(node: Any, good: set[str]) -> bool:
    # By its very type, the usual ones first: this sees every node of every grammar.
    kind = type(node)
    if kind is Reference:
        return node.name in good
    if kind is RowNode:
        return all(_ends(item, good) for item in node.items if type(item) is not WordNode)
    if kind is ChoiceNode:
        return any(_ends(option, good) for option in node.options)
    return kind is not Repeat or node.least == 0 or _ends(node.item, good)


def _prune_node(node: Node, good: set[str]) -> Node:
    match node:
        case Reference(name):
            return node if name in good else NOTHING
        case RowNode(items):
            return row(*[_prune_node(item, good) for item in items])
        case ChoiceNode(options):
            return choice(*[_prune_node(option, good) for option in options])
        case Repeat(item, least, most):
            return repeat(_prune_node(item, good), least, most)
        case WordNode() | Chars() | Until() | OtherNameNode():
            return node
        case _:
            assert_never(node)
