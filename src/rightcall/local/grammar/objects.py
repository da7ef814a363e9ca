"""Turn an object's keywords into its members: those that are declared, in their order, and any others.

Where the schema leaves the object open, members that are not declared may stand between those that are.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import dump
from rightcall.core.schema import Schema, SchemaError
from rightcall.local.grammar.flatten import matches, schema_of
from rightcall.local.grammar.nodes import (
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

ORDER = "the members of an object come in the order of their declaration, unless there are just two"
_EITHER_WAY = 2
"""So many members come in any order. With more, there would be too many."""
UNDECLARED = "members that are not declared cannot be written"

_EVERYTHING = frozenset(["", ".*", "^.*$", "^.*", ".*$", "^", "^.+$", ".+"])
"""Patterns that match every name, or every one that is not empty."""

NameOf: TypeAlias = Callable[[str], Node | None]
"""A pattern for names into a node; None for one that cannot be said."""
NotNamed: TypeAlias = Callable[[tuple[str, ...], tuple[str, ...]], Node | None]
"""Patterns and names into a node for all other names; None where that cannot be said."""


class Names(Struct, frozen=True):
    """The names that a member may have which is not declared."""

    taken: tuple[str, ...] = ()
    """All but these."""
    body: Node | None = None
    """Or those that this admits."""


class Layout(Struct, frozen=True):
    """How the members of an object are written."""

    open: Node
    close: Node
    separator: Node
    member: Callable[[str, SubSchema, str], Node]
    """A member of this name, with a value that satisfies the schema at this path."""
    free_member: Callable[[Names, SubSchema, str], Node] | None = None
    """The same for a name out of many; None where that cannot be written."""


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
        if len(written) > _EITHER_WAY:
            self._findings.stricter[ORDER] = None
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
        """Any of the members in their order, as many as there must be and may be."""
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
        if others != NOTHING:
            self._note_names()
        inside = self._in_order(written, others, layout.separator)
        if len(written) == _EITHER_WAY:
            turned = [(member, True) for member, _ in reversed(written)]
            inside = choice(inside, self._in_order(turned, others, layout.separator))
        may_be_empty = least == 0 and not any(required for _, required in written)
        return row(layout.open, optional(inside) if may_be_empty else inside, layout.close)

    def _in_order(self, written: list[tuple[Node, bool]], others: Node, separator: Node) -> Node:
        """One member or more. What is not declared may come at any place.

        Each rule begins with the first member that is still to come, or with one after it, up to the
        first that is required.
        """
        more = repeat(row(separator, others))
        onward: Node = NOTHING
        is_due = False
        for member, required in reversed(written):
            # What is said twice has a rule.
            onward = onward if required else self._shared(onward)
            here = row(member, _followed(more, separator, onward, is_due=is_due))
            onward = here if required else choice(here, onward)
            is_due = is_due or required
        onward = onward if others == NOTHING else self._shared(onward)
        return choice(onward, row(others, _followed(more, separator, onward, is_due=is_due)))

    def _shared(self, node: Node) -> Node:
        return self._rules.define(f"{self._hint} rest", node)

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
        """A member that is not declared; nothing where there can be none."""
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
            # A name with an escape in it is not told from others.
            self._note("properties")
        found: list[Node] = []
        free = Names(names, self._name(said, name_of))
        is_told = others is False
        if patterns and not is_told and said is True:
            free = Names(names, not_named(tuple(patterns), names))
            is_told = free.body is not None
        for pattern, schema in patterns.items():
            body = None if pattern in _EVERYTHING else name_of(pattern)
            is_whole = pattern in _EVERYTHING or (body is not None and said is True)
            is_apart = pattern in _EVERYTHING or not any(matches(pattern, name) for name in names)
            if not is_whole or not is_apart or len(patterns) > 1 or not is_told:
                self._note("patternProperties")
            wanted = Names(names) if body is None else Names(body=body)
            found.append(make(wanted, schema, f"{self._path}.patternProperties.{pattern}"))
        if others is not False:
            where = self._path if others is True else f"{self._path}.additionalProperties"
            found.append(make(free, others, where))
        return self._rules.define(f"{self._hint} member", choice(*found))

    def _name(self, names: Any, name_of: NameOf) -> Node | None:
        """What ``propertyNames`` says, where it is a pattern; None for any name."""
        if names is True:
            return None
        known = {"type", "pattern"} >= set(names)
        node = name_of(names["pattern"]) if known and "pattern" in names else None
        if node is None and set(names) - {"type"}:
            self._note("propertyNames")
        return node

    def _note_names(self) -> None:
        """The same name twice is one member only, and no grammar can count that."""
        self._findings.unheld.append(f"{self._path} (distinct names)")

    def _note(self, keyword: str) -> None:
        self._findings.unheld.append(f"{self._path}.{keyword}")


def _followed(more: Node, separator: Node, onward: Node, *, is_due: bool) -> Node:
    """What may come after a member: any that are not declared, and those that are still to come."""
    last = row(separator, onward)
    return row(more, last if is_due else optional(last))
