"""Compiles an object's keywords to its members: the declared ones, in any order, and any others.

A grammar's only state is the rule that it is in. For a few members it tracks which are still to come,
with a rule for each set of them. For more, it tracks the required ones, and all others may come
anywhere, and repeatedly: the gate refuses duplicates.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import dump
from rightcall.core.schema import Schema, SchemaError
from rightcall.local.grammar.flatten import matches, schema_of
from rightcall.local.grammar.nodes import (
    EMPTY,
    MOST_REPEATS,
    NOTHING,
    Node,
    choice,
    optional,
    repeat,
    row,
)
from rightcall.local.grammar.plain import SubSchema
from rightcall.local.grammar.rulebook import Findings, Rules

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


class Members:
    """The members of one object."""

    def __init__(self, keywords: Mapping[str, Any], path: str, rules: Rules, findings: Findings) -> None:
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
        for name in self._admitted(names):
            schema = schema_of(name, self._keywords)
            member = layout.member(name, schema, f"{self._path}.properties.{name}")
            if member != NOTHING:
                written.append((member, name in required))
            elif name in required:
                self._findings.impossible.append(f"{self._path}.properties.{name}")
                return NOTHING
        if len(required) != sum(needed for _, needed in written):
            self._findings.impossible.append(f"{self._path}.propertyNames")
            return NOTHING
        others = self._others(tuple(names), layout, name_of, not_named)
        most = self._keywords.get("maxProperties")
        if not required and most is not None and (others != NOTHING or most < len(written)):
            return self._map(choice(*[member for member, _ in written], others), layout)
        if not written and others != NOTHING:
            return self._map(others, layout)
        return self._counted(written, others, layout)

    def _admitted(self, names: Iterable[str]) -> list[str]:
        """The names that ``propertyNames`` allows."""
        said = self._keywords.get("propertyNames", True)
        if said is True:
            return list(names)
        if said is False:
            return []
        try:
            schema = Schema(said)
        except SchemaError:
            self._note("propertyNames")
            return list(names)
        return [name for name in names if not schema.problems(name)]

    def _counted(self, written: list[tuple[Node, bool]], others: Node, layout: Layout) -> Node:
        """Any of the members in order, within the bounds on their number."""
        least = self._keywords.get("minProperties", 0)
        most = self._keywords.get("maxProperties")
        needed = sum(required for _, required in written)
        is_open = others != NOTHING
        if most is not None and most < max(least, needed):
            return NOTHING
        if most == needed:
            written, others = [(member, True) for member, required in written if required], NOTHING
        elif most is not None and (is_open or most < len(written)):
            self._note("maxProperties")
        if not is_open and least >= len(written):
            if least > len(written):
                return NOTHING
            written = [(member, True) for member, _ in written]
        elif least > max(needed, 1):
            self._note("minProperties")
        inside = self._inside(written, others, layout.separator)
        may_be_empty = least == 0 and not any(required for _, required in written)
        return row(layout.open, optional(inside) if may_be_empty else inside, layout.close)

    def _inside(self, written: list[tuple[Node, bool]], others: Node, separator: Node) -> Node:
        """One member or more, each tracked one once."""
        due = [member for member, required in written if required]
        free = [member for member, required in written if not required]
        if len(written) > FOLLOWED:
            # Those that may be repeated share one rule.
            others, free = self._shared("member", choice(*free, others)), []
        if others != NOTHING:
            self._note_names()
        if len(due) > FOLLOWED:
            self._findings.stricter[ORDER] = None
            return _one_by_one(due, others, separator)
        return _Orders(due, free, others, separator, self._shared).node()

    def _shared(self, hint: str, node: Node) -> Node:
        return self._rules.define(f"{self._hint} {hint}", node)

    def _map(self, member: Node, layout: Layout) -> Node:
        """An object without declared names."""
        least, most = self._keywords.get("minProperties", 0), self._keywords.get("maxProperties")
        if most is not None and most > MOST_REPEATS:
            most = None
            self._note("maxProperties")
        if least > MOST_REPEATS:
            least = 0
            self._note("minProperties")
        if most is not None and most < max(least, 1):
            return NOTHING if most < least else row(layout.open, layout.close)
        if least > 1:
            self._note("minProperties")
        if most != 1:
            self._note_names()
        more = repeat(row(layout.separator, member), max(least - 1, 0), most - 1 if most else None)
        inside = row(member, more)
        return row(layout.open, inside if least else optional(inside), layout.close)

    def _others(
        self, names: tuple[str, ...], layout: Layout, name_of: NameOf, not_named: NotNamed
    ) -> Node:
        """A member that is not declared; nothing if there can be none."""
        keywords, make = self._keywords, layout.free_member
        said, others = keywords.get("propertyNames", True), keywords.get("additionalProperties", True)
        patterns = keywords.get("patternProperties", {})
        if said is False or (others is False and not patterns):
            return NOTHING
        if make is None:
            self._findings.stricter[UNDECLARED] = None
            return NOTHING
        if any(pattern in _EVERYTHING for pattern in patterns):
            others = False
        if any(dump(name) != f'"{name}"' for name in names):
            # A name with an escape in it is not compared with others.
            self._note("properties")
        found: list[Node] = []
        free = Names(names, self._name(said, names, name_of))
        is_told = others is False
        if patterns and not is_told and said is True:
            free = Names(names, not_named(tuple(patterns), names))
            is_told = free.body is not None
        for pattern, schema in patterns.items():
            wanted = free if pattern in _EVERYTHING else self._matching(pattern, names, name_of)
            is_whole = pattern in _EVERYTHING or (wanted.body is not None and said is True)
            if not is_whole or len(patterns) > 1 or not is_told:
                self._note("patternProperties")
            found.append(make(wanted, schema, f"{self._path}.patternProperties.{pattern}"))
        if others is not False:
            where = self._path if others is True else f"{self._path}.additionalProperties"
            found.append(make(free, others, where))
        return self._rules.define(f"{self._hint} member", choice(*found))

    def _matching(self, pattern: str, names: tuple[str, ...], name_of: NameOf) -> Names:
        """The names that a pattern matches, without the declared ones."""
        taken = tuple(name for name in names if matches(pattern, name))
        body = name_of(pattern, taken)
        if body is None and taken and (body := name_of(pattern, ())) is not None:
            # A declared name is accepted here as well.
            self._note("patternProperties")
        return Names(names) if body is None else Names(body=body)

    def _name(self, said: Any, names: tuple[str, ...], name_of: NameOf) -> Node | None:
        """The patterns of ``propertyNames``; None for any name."""
        if not isinstance(said, Mapping):
            return None if said else NOTHING
        keywords = set(said) - {"type"}
        if keywords == {"pattern"}:
            body = self._matching(said["pattern"], names, name_of).body
        elif keywords in ({"anyOf"}, {"oneOf"}):
            if keywords == {"oneOf"}:
                self._note("propertyNames")
            bodies = [self._name(each, names, name_of) for each in said[keywords.pop()]]
            body = None if None in bodies else choice(*[each for each in bodies if each is not None])
        else:
            body = None
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
        is_told_twice = len(due) + len(free) > 1
        self._members = [share("member", each) if is_told_twice else each for each in [*due, *free]]
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
            self._known[left] = self._share("rest", self._made(left))
        return self._known[left]

    def _made(self, left: int) -> Node:
        others, separator = self._others, self._separator
        followed = choice(
            *[
                row(member, self._after(left & ~(1 << at)))
                for at, member in enumerate(self._members)
                if left & 1 << at
            ]
        )
        if left & self._due:
            return row(repeat(row(others, separator)), followed)
        followed = self._share("rest", followed) if others != NOTHING else followed
        run = row(others, repeat(row(separator, others)))
        return choice(followed, row(run, optional(row(separator, followed))))

    def _after(self, left: int) -> Node:
        if not left:
            return repeat(row(self._separator, self._others))
        onward = row(self._separator, self._from(left))
        return onward if left & self._due else optional(onward)


def _one_by_one(due: list[Node], others: Node, separator: Node) -> Node:
    """The members in order, and others anywhere."""
    parts: list[Node] = []
    for at, member in enumerate(due):
        parts += [separator if at else EMPTY, repeat(row(others, separator)), member]
    return row(*parts, repeat(row(separator, others)))
