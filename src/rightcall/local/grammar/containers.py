"""Compiles an object's keywords to its members: the declared ones, in any order, and any others.

A grammar's only state is the rule that it is in. For a few members it tracks which are still to come,
with a rule for each set of them. For more, it tracks the required ones, and all others may come
anywhere, and repeatedly: the gate refuses duplicates.

An array's keywords are compiled to its items, and patterns for names to the names that match them, and
those that do not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.schema import Schema, SchemaError
from rightcall.local.grammar.flat_schema import FlatSchema, SubSchema, as_types, matches, schema_of
from rightcall.local.grammar.notation import SPELLING, Notation
from rightcall.local.grammar.regex import Inexpressible, except_for, matching, unlike
from rightcall.local.grammar.rulebook import (
    EMPTY,
    MOST_REPEATS,
    NOTHING,
    Findings,
    GrammarRules,
    Node,
    Reference,
    choice,
    optional,
    repeat,
    row,
)
from rightcall.local.grammar.scalars import enum_values, without

FOLLOWED = 4
"""The most members that are tracked in any order. Each one more doubles the rules."""
ORDER = f"required members come in the order of their declaration where there are more than {FOLLOWED}"
UNDECLARED = "members that are not declared cannot be written"

_EVERYTHING = frozenset(["", ".*", "^.*$", "^.*", ".*$", "^", "^.+$", ".+"])
"""Patterns that match every name, or every non-empty one."""

NameOf: TypeAlias = Callable[[str, tuple[str, ...]], Node | None]
"""Compiles a pattern to a node that excludes these names; None if that cannot be expressed."""
NotNamed: TypeAlias = Callable[[tuple[str, ...], tuple[str, ...]], Node | None]
"""Compiles patterns and names to a node for all other names; None if that cannot be expressed."""


class Names(Struct, frozen=True):
    """The possible names of a member that is not declared."""

    taken: tuple[str, ...] = ()
    """All but these."""
    body: Node | None = None
    """Or those that this node matches."""


class Layout(Struct, frozen=True):
    """How the members of an object are written."""

    open: Node
    close: Node
    separator: Node
    member: Callable[[str, SubSchema, str], Node]
    """A member of this name, with a value that satisfies the schema at this path."""
    free_member: Callable[[Names, SubSchema, str], Node] | None = None
    """The same for one of many names; None if that cannot be written."""


class ObjectMembers:
    """The members of one object."""

    def __init__(
        self, keywords: Mapping[str, Any], path: str, rules: GrammarRules, findings: Findings
    ) -> None:
        self._keywords = keywords
        self._path = path
        self._hint = path.rpartition(".")[2]
        self._rules = rules
        self._findings = findings

    def node(self, layout: Layout, name_of: NameOf, not_named: NotNamed) -> Node:
        """The whole object."""
        required = list(dict.fromkeys(self._keywords.get("required", ())))
        names = list(dict.fromkeys([*self._keywords.get("properties", {}), *required]))
        written: list[tuple[Node, bool]] = []
        for name in self._allowed_names(names):
            schema = schema_of(name, self._keywords)
            member = layout.member(name, schema, f"{self._path}.properties.{name}")
            if member != NOTHING:
                written.append((member, name in required))
            elif name in required:
                self._findings.impossible.append(f"{self._path}.properties.{name}")
                return NOTHING
        needed = sum(is_required for _, is_required in written)
        if len(required) != needed:
            self._findings.impossible.append(f"{self._path}.propertyNames")
            return NOTHING
        others = self._others(tuple(names), layout, name_of, not_named)
        most = self._keywords.get("maxProperties")
        if not required and most is not None and (others != NOTHING or most < len(written)):
            return self._map(choice(*[member for member, _ in written], others), layout)
        if not written and others != NOTHING:
            return self._map(others, layout)
        # Any of the members in order, within the bounds on their number.
        least = self._keywords.get("minProperties", 0)
        is_open = others != NOTHING
        if most is not None and most < max(least, needed):
            return NOTHING
        if most == needed:
            written = [pair for pair in written if pair[1]]
            others = NOTHING
        elif most is not None and (is_open or most < len(written)):
            self._note("maxProperties")
        if not is_open and least >= len(written):
            if least > len(written):
                return NOTHING
            written = [(member, True) for member, _ in written]
        elif least > max(needed, 1):
            self._note("minProperties")
        due: list[Node] = []
        free: list[Node] = []
        for member, is_required in written:
            if is_required:
                due.append(member)
            else:
                free.append(member)
        inside = self._inside(due, free, others, layout.separator)
        if least == 0 and not due:
            inside = optional(inside)
        return row(layout.open, inside, layout.close)

    def _allowed_names(self, names: Iterable[str]) -> list[str]:
        names_schema = self._keywords.get("propertyNames", True)
        if names_schema is True:
            return list(names)
        if names_schema is False:
            return []
        try:
            schema = Schema(names_schema)
        except SchemaError:
            self._note("propertyNames")
            return list(names)
        return [name for name in names if not schema.problems(name)]

    def _inside(self, due: list[Node], free: list[Node], others: Node, separator: Node) -> Node:
        """One member or more: those that are due, once each, and any of the others."""
        if len(due) + len(free) > FOLLOWED:
            # Those that may be repeated share one rule.
            others = self._share_rule("member", choice(*free, others))
            free = []
        if others != NOTHING:
            self._note_names()
        if len(due) > FOLLOWED:
            self._findings.stricter[ORDER] = None
            # The members in order, and others anywhere.
            parts: list[Node] = []
            for member in due:
                if parts:
                    parts.append(separator)
                parts += [repeat(row(others, separator)), member]
            return row(*parts, repeat(row(separator, others)))
        return _Orders(due, free, others, separator, self._share_rule).node()

    def _share_rule(self, hint: str, node: Node) -> Node:
        return self._rules.define(f"{self._hint} {hint}", node)

    def _map(self, member: Node, layout: Layout) -> Node:
        """An object without declared names."""
        least = self._keywords.get("minProperties", 0)
        most = self._keywords.get("maxProperties")
        if most is not None and most > MOST_REPEATS:
            most = None
            self._note("maxProperties")
        if least > MOST_REPEATS:
            least = 0
            self._note("minProperties")
        if most is not None and most < max(least, 1):
            if most < least:
                return NOTHING
            return row(layout.open, layout.close)
        if least > 1:
            self._note("minProperties")
        if most != 1:
            self._note_names()
        more = repeat(row(layout.separator, member), max(least - 1, 0), most - 1 if most else None)
        inside = row(member, more)
        if not least:
            inside = optional(inside)
        return row(layout.open, inside, layout.close)

    def _others(
        self, names: tuple[str, ...], layout: Layout, name_of: NameOf, not_named: NotNamed
    ) -> Node:
        """A member that is not declared; nothing if there can be none."""
        keywords = self._keywords
        make = layout.free_member
        names_schema = keywords.get("propertyNames", True)
        others = keywords.get("additionalProperties", True)
        patterns = keywords.get("patternProperties", {})
        if names_schema is False or (others is False and not patterns):
            return NOTHING
        if make is None:
            self._findings.stricter[UNDECLARED] = None
            return NOTHING
        if not _EVERYTHING.isdisjoint(patterns):
            others = False
        if any(dump(name) != f'"{name}"' for name in names):
            # A name with an escape in it is not compared with others.
            self._note("properties")
        members: list[Node] = []
        free = Names(names, self._name(names_schema, names, name_of))
        # Whether no member that a pattern matches can be written as one of the others.
        are_others_apart = others is False
        if patterns and not are_others_apart and names_schema is True:
            free = Names(names, not_named(tuple(patterns), names))
            are_others_apart = free.body is not None
        for pattern, schema in patterns.items():
            matched = free
            is_whole = True
            if pattern not in _EVERYTHING:
                matched = self._matching(pattern, names, name_of)
                is_whole = matched.body is not None and names_schema is True
            if not is_whole or len(patterns) > 1 or not are_others_apart:
                self._note("patternProperties")
            members.append(make(matched, schema, f"{self._path}.patternProperties.{pattern}"))
        if others is not False:
            where = self._path
            if others is not True:
                where = f"{self._path}.additionalProperties"
            members.append(make(free, others, where))
        return self._rules.define(f"{self._hint} member", choice(*members))

    def _matching(self, pattern: str, names: tuple[str, ...], name_of: NameOf) -> Names:
        """The names that a pattern matches, without the declared ones."""
        taken = tuple(name for name in names if matches(pattern, name))
        body = name_of(pattern, taken)
        if body is None and taken and (body := name_of(pattern, ())) is not None:
            # A declared name is accepted here as well.
            self._note("patternProperties")
        if body is None:
            return Names(names)
        return Names(body=body)

    def _name(self, schema: Any, names: tuple[str, ...], name_of: NameOf) -> Node | None:
        """The patterns of ``propertyNames``; None for any name."""
        if not isinstance(schema, Mapping):
            if schema:
                return None
            return NOTHING
        keywords = set(schema) - {"type"}
        if keywords in ({"anyOf"}, {"oneOf"}):
            if keywords == {"oneOf"}:
                self._note("propertyNames")
            branches = schema[keywords.pop()]
            bodies = [self._name(branch, names, name_of) for branch in branches]
            options = [body for body in bodies if body is not None]
            if len(options) < len(bodies):
                return None
            return choice(*options)
        body = None
        if keywords == {"pattern"}:
            body = self._matching(schema["pattern"], names, name_of).body
        if body is None and keywords:
            self._note("propertyNames")
        return body

    def _note_names(self) -> None:
        """A name that is written twice is one member, and no grammar can count that."""
        self._findings.unheld.append(f"{self._path} (distinct names)")

    def _note(self, keyword: str) -> None:
        self._findings.unheld.append(f"{self._path}.{keyword}")


class _Orders:
    """Members in all orders: a rule for each set of those that are still to come."""

    def __init__(
        self,
        due: list[Node],
        free: list[Node],
        others: Node,
        separator: Node,
        share: Callable[[str, Node], Node],
    ) -> None:
        self._members = [*due, *free]
        if len(self._members) > 1:
            # Several rules write each of them.
            self._members = [share("member", member) for member in self._members]
        self._due = (1 << len(due)) - 1
        """The required members. A set is a bitmask."""
        self._others = others
        self._separator = separator
        self._share = share
        self._known: dict[int, Node] = {}

    def node(self) -> Node:
        """One member or more."""
        return self._from((1 << len(self._members)) - 1)

    def _from(self, left: int) -> Node:
        """The continuation that begins with a member, where these are still to come."""
        if left not in self._known:
            self._known[left] = self._share("rest", self._build_rest(left))
        return self._known[left]

    def _build_rest(self, left: int) -> Node:
        others = self._others
        separator = self._separator
        options = []
        for at, member in enumerate(self._members):
            if left & 1 << at:
                options.append(row(member, self._after(left & ~(1 << at))))
        followed = choice(*options)
        if left & self._due:
            return row(repeat(row(others, separator)), followed)
        if others != NOTHING:
            followed = self._share("rest", followed)
        run = row(others, repeat(row(separator, others)))
        return choice(followed, row(run, optional(row(separator, followed))))

    def _after(self, left: int) -> Node:
        if not left:
            return repeat(row(self._separator, self._others))
        onward = row(self._separator, self._from(left))
        if left & self._due:
            return onward
        return optional(onward)


def counts(keywords: Mapping[str, Any], path: str, findings: Findings) -> tuple[int, int | None]:
    """The minimum and maximum number of items, as far as a grammar can enforce them."""
    least = keywords.get("minItems", 0)
    most = keywords.get("maxItems")
    if least > MOST_REPEATS:
        findings.unheld.append(f"{path}.minItems")
        least = 0
    if most is not None and most > MOST_REPEATS:
        findings.unheld.append(f"{path}.maxItems")
        most = None
    return least, most


def is_distinct(keywords: Mapping[str, Any]) -> bool:
    """Whether no item may come twice, where there could be two."""
    most = keywords.get("maxItems")
    return bool(keywords.get("uniqueItems")) and (most is None or most > 1)


def items(prefix: list[Node], item: Node, separator: Node, between: tuple[int, int | None]) -> Node:
    """Between two numbers of items: first those of ``prefixItems``, then all others."""
    least, most = between
    if most == 0:
        if least:
            return NOTHING
        return EMPTY
    another = row(separator, item)
    if most is not None and most < len(prefix):
        prefix = prefix[:most]
        another = NOTHING
    # Without a prefix, the first item is the one without a separator.
    first = prefix or [item]
    rest_most = None
    if most is not None:
        rest_most = most - len(first)
    after = repeat(another, max(least - len(first), 0), rest_most)
    for index in range(len(first) - 1, -1, -1):
        after = row(first[index], after)
        if index:
            after = row(separator, after)
        if index >= least:
            after = optional(after)
    return after


MOST_TRACKED_VALUES = 5
"""So many values are followed, each of which doubles the rules."""
_MOST_LAST = 12
"""Of so many values the last one is followed; the rules grow with the square of it."""
_FEW = {"boolean": (True, False), "null": (None,)}


def few_values(flat: FlatSchema) -> list[JsonValue] | None:
    """All values that a schema admits, each once; None where they are many or cannot be listed."""
    if flat.choices or flat.conditions or flat.unheld or flat.is_false:
        return None
    if "enum" in flat.keywords:
        values, unjudged = enum_values(flat.keywords)
        if unjudged:
            return None
    else:
        kinds = as_types(flat.keywords.get("type", ()))
        if not kinds:
            return None
        values = []
        for kind in kinds:
            if kind not in _FEW:
                return None
            values += _FEW[kind]
        values = without(values, flat.keywords.get("excluded", ()))
    once: list[JsonValue] = []
    for value in values:
        once += without([value], once)
    if len(once) <= _MOST_LAST:
        return once
    return None


class DistinctItems:
    """Items that are written as these nodes, none of them twice.

    A grammar knows what has been written only by the rule that it is in. Of a few values it follows
    which are left, and needs a rule for each set of them. Of more it follows only the last one, which
    does not come again at once.
    """

    def __init__(self, values: Sequence[Node], separator: Node, rules: GrammarRules, hint: str) -> None:
        self._values = values
        self._separator = separator
        self._rules = rules
        self._hint = hint
        self._known: dict[int, Node] = {}

    def can_be_held(self, between: tuple[int, int | None]) -> bool:
        """Whether these values and such a number of items can be followed, at least a little."""
        least, most = between
        is_counted = least > 1 or (most is not None and most < len(self._values))
        return len(self._values) <= MOST_TRACKED_VALUES or not is_counted

    @property
    def is_whole(self) -> bool:
        """Whether no value at all can come twice."""
        return len(self._values) <= MOST_TRACKED_VALUES

    def node(self, between: tuple[int, int | None]) -> Node:
        """From so many items to so many."""
        least, most = between
        if not self._values or most == 0:
            if least:
                return NOTHING
            return EMPTY
        if self.is_whole:
            found = self._from((1 << len(self._values)) - 1, between)
        else:
            # Each value, and what may follow it: nothing, or another value and what may follow that.
            names = [self._rules.reserve(f"{self._hint} rest") for _ in self._values]
            items = [
                row(value, Reference(name)) for value, name in zip(self._values, names, strict=True)
            ]
            for at, name in enumerate(names):
                others = choice(*items[:at], *items[at + 1 :])
                self._rules.complete(name, optional(row(self._separator, others)))
            found = choice(*items)
        if least:
            return found
        return optional(found)

    def _from(self, left: int, between: tuple[int, int | None]) -> Node:
        """What begins with an item, where these are left. A set is a number, with a bit for each."""
        if left not in self._known:
            options = []
            for at, value in enumerate(self._values):
                if left & 1 << at:
                    options.append(row(value, self._after(left & ~(1 << at), between)))
            self._known[left] = self._rules.define(f"{self._hint} rest", choice(*options))
        return self._known[left]

    def _after(self, left: int, between: tuple[int, int | None]) -> Node:
        least, most = between
        written = len(self._values) - left.bit_count()
        is_due = written < least
        if not left or written == most:
            if is_due:
                return NOTHING
            return EMPTY
        onward = row(self._separator, self._from(left, between))
        if is_due:
            return onward
        return optional(onward)


def resolve_property_names(schema: SubSchema, follow: Callable[[SubSchema], SubSchema]) -> SubSchema:
    """The schema of ``propertyNames``, with schemas in place of references to them."""
    schema = follow(schema)
    if isinstance(schema, bool):
        return schema
    resolved = dict(schema)
    for keyword in ("anyOf", "oneOf"):
        if keyword in resolved:
            branches = resolved[keyword]
            resolved[keyword] = [resolve_property_names(branch, follow) for branch in branches]
    return resolved


class NamePatterns:
    """What patterns for members' names come to in one notation."""

    def __init__(self, notation: Notation, rules: GrammarRules, findings: Findings) -> None:
        self._notation = notation
        self._rules = rules
        self._findings = findings

    def matching(self, pattern: str, names: tuple[str, ...]) -> Node | None:
        """The names that a pattern matches, without these; None where that cannot be said."""
        try:
            if names:
                return except_for(pattern, names, self._notation)
            return matching(pattern, self._notation.one_of).node
        except Inexpressible:
            return None

    def unlike(self, patterns: tuple[str, ...], names: tuple[str, ...]) -> Node | None:
        """The names that no pattern matches, without these; None where that cannot be said."""
        if self._notation.has_bare_keys:
            return None
        try:
            node = unlike(
                patterns,
                names,
                self._notation,
                lambda part: self._rules.define("name", part, token=True),
            )
        except Inexpressible:
            return None
        self._findings.stricter[SPELLING] = None
        return node
