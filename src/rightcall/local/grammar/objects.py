"""Turn an object's keywords into its members: those that are declared, in their order, or any by rule.

A property that a schema does not declare is not written, though it may be legal: what is admitted is
sound, not complete.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from rightcall.core.schema import Schema, SchemaError
from rightcall.local.grammar.flatten import SubSchema, schema_of
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
from rightcall.local.grammar.rulebook import Findings, Rules


class Layout(Struct, frozen=True):
    """How the members of an object are written."""

    open: Node
    close: Node
    separator: Node
    member: Callable[[str, SubSchema, str], Node]
    """A member of this name, with a value that satisfies the schema at this path."""
    free_member: Callable[[Node | None, SubSchema, str], Node] | None = None
    """The same for a name out of many, or any name; None where that cannot be written."""


class Members:
    """The members of one object."""

    def __init__(self, keywords: Mapping[str, Any], path: str, rules: Rules, findings: Findings) -> None:
        self._keywords = keywords
        self._path = path
        self._hint = path.rpartition(".")[2]
        self._rules = rules
        self._findings = findings

    def node(self, layout: Layout, name_of: Callable[[str], Node | None]) -> Node:
        """The whole object. ``name_of`` turns a pattern for names into a node."""
        required = list(dict.fromkeys(self._keywords.get("required", ())))
        names = list(dict.fromkeys([*self._keywords.get("properties", {}), *required]))
        if not names:
            return self._free(layout, name_of)
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
        return self._counted(written, layout)

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

    def _counted(self, written: list[tuple[Node, bool]], layout: Layout) -> Node:
        """Any of the members in their order, as many as there must be and may be."""
        least = self._keywords.get("minProperties", 0)
        most = self._keywords.get("maxProperties", len(written))
        needed = sum(required for _, required in written)
        if least > min(len(written), most) or most < needed:
            # More could be had from names that are not declared; that is not written.
            return NOTHING
        if least == len(written):
            written = [(member, True) for member, _ in written]
        elif most == needed:
            written = [(member, True) for member, required in written if required]
        else:
            if least > max(needed, 1):
                self._note("minProperties")
            if most < len(written):
                self._note("maxProperties")
        may_be_empty = least == 0 and not any(required for _, required in written)
        inside = self._in_order(written, layout.separator)
        return row(layout.open, optional(inside) if may_be_empty else inside, layout.close)

    def _in_order(self, written: list[tuple[Node, bool]], separator: Node) -> Node:
        """One member or more: any may be the first, up to the first that is required."""
        after: Node = EMPTY
        firsts: list[Node] = []
        for member, required in reversed(written):
            shared = self._rules.define(f"{self._hint} rest", after)
            firsts = [row(member, shared), *([] if required else firsts)]
            another = row(separator, member)
            after = row(another if required else optional(another), shared)
        return choice(*firsts)

    def _free(self, layout: Layout, name_of: Callable[[str], Node | None]) -> Node:
        """An object without declared names: any names, or those of its patterns."""
        keywords = self._keywords
        least, most = keywords.get("minProperties", 0), keywords.get("maxProperties")
        options = self._free_members(layout, name_of)
        if not options:
            return row(layout.open, layout.close) if least == 0 else NOTHING
        if most is not None and most > MOST_REPEATS:
            most = None
            self._note("maxProperties")
        if least > MOST_REPEATS:
            least = 0
            self._note("minProperties")
        if most == 0:
            return row(layout.open, layout.close) if least == 0 else NOTHING
        # The same name twice is one member only, and no grammar can count that.
        if least > 1:
            self._note("minProperties")
        if most != 1:
            self._findings.unheld.append(f"{self._path} (distinct names)")
        member = self._rules.define(f"{self._hint} member", choice(*options))
        more = repeat(row(layout.separator, member), max(least - 1, 0), most - 1 if most else None)
        inside = row(member, more)
        return row(layout.open, inside if least else optional(inside), layout.close)

    def _free_members(self, layout: Layout, name_of: Callable[[str], Node | None]) -> list[Node]:
        keywords, make = self._keywords, layout.free_member
        patterns = keywords.get("patternProperties", {})
        names = keywords.get("propertyNames", True)
        if make is None or names is False:
            return []
        if not patterns:
            others = keywords.get("additionalProperties", True)
            member = make(self._name(names, name_of), others, f"{self._path}.additionalProperties")
            return [] if member == NOTHING else [member]
        if len(patterns) > 1:
            self._note("patternProperties")
        if names is not True:
            self._note("propertyNames")
        found: list[Node] = []
        for pattern, schema in patterns.items():
            name = name_of(pattern)
            if name is not None:
                found.append(make(name, schema, f"{self._path}.patternProperties.{pattern}"))
        return [member for member in found if member != NOTHING]

    def _name(self, names: Any, name_of: Callable[[str], Node | None]) -> Node | None:
        """What ``propertyNames`` says, where it is a pattern; None for any name."""
        if names is True:
            return None
        known = {"type", "pattern"} >= set(names)
        node = name_of(names["pattern"]) if known and "pattern" in names else None
        if node is None and set(names) - {"type"}:
            self._note("propertyNames")
        return node

    def _note(self, keyword: str) -> None:
        self._findings.unheld.append(f"{self._path}.{keyword}")
