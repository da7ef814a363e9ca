"""Converts a tool's schema for a vendor's strict mode, and checks the limits of a request.

The original schema always validates what comes back; these are only sent to the vendor. Optional members
that had to be required accept null instead, which must be removed again: ``Strict.nulled``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.rewrite import Rewriter
from rightcall.wire.schema_rules import OPENAI, Rules, Strict

__all__ = [
    "OPENAI", "Cost", "Rules", "Strict", "check_ceilings", "cost_of", "strict_schema", "structure",
    "subset_schema",
]  # fmt: skip

_WORDS = frozenset(("description", "title"))
_SCHEMAS = frozenset(("properties", "$defs", "patternProperties"))
"""Keywords that map names to schemas, so that a member may be called ``description``."""


class Cost(Struct, frozen=True, kw_only=True):
    """What a strict tool uses of a request's limits."""

    tools: int = 1
    optional: int = 0
    """Optional parameters."""
    unions: int = 0
    """Parameters of a union type."""

    def plus(self, other: "Cost") -> "Cost":
        """The sum of both."""
        return Cost(
            tools=self.tools + other.tools,
            optional=self.optional + other.optional,
            unions=self.unions + other.unions,
        )


def cost_of(schema: JsonObject) -> Cost:
    """What a schema, as it is sent, uses of the limits."""
    members = list(_members(schema))
    return Cost(
        optional=sum(not needed for _, needed, _ in members),
        unions=sum(_is_union(member) for _, _, member in members),
    )


def strict_schema(schema: JsonObject, rules: Rules, *, tool: str = "") -> Strict:
    """The schema for the vendor's strict mode. Raises EncodeError that says what to loosen."""
    rewriter = Rewriter(schema, rules, tool, lenient=False)
    rewritten = rewriter.rewrite()
    if rules.closed and rewritten.get("type") != "object":
        raise rewriter.losses.refuse(
            "$", "a strict schema is an object at the top; wrap it in a member."
        )
    _check_size(rewritten, rules, rewriter)
    return _strict(rewritten, rewriter)


def subset_schema(schema: JsonObject, rules: Rules, *, tool: str = "") -> Strict:
    """The schema in a smaller language; what it cannot express is put into descriptions."""
    rewriter = Rewriter(schema, rules, tool, lenient=True)
    return _strict(rewriter.rewrite(), rewriter)


def structure(schema: JsonObject) -> JsonObject:
    """The schema without its descriptions. A vendor's compiled grammar depends on this alone."""
    return {key: _structure(key, value) for key, value in schema.items() if key not in _WORDS}


def check_ceilings(specs: Sequence[Spec], schemas: Sequence[JsonObject], rules: Rules) -> None:
    """Raise EncodeError if the strict tools of one request together exceed the limits.

    ``schemas`` are those that will be sent, in the order of ``specs``.
    """
    names = [spec.name for spec in specs]
    costs = [cost_of(schema) for schema in schemas]
    for what, limit, counts in (
        ("strict tools", rules.max_strict_tools, [cost.tools for cost in costs]),
        ("optional parameters in strict tools", rules.max_optional, [cost.optional for cost in costs]),
        ("parameters of a union type in strict tools", rules.max_unions, [c.unions for c in costs]),
    ):
        if limit and sum(counts) > limit:
            worst = max(range(len(counts)), key=lambda at: (counts[at], at))
            share = f", which has {counts[worst]} of them" if counts[worst] > 1 else ""
            raise EncodeError(
                rules.dialect,
                f"{sum(counts)} {what} are more than the {limit} of one request; let some tool be "
                f"non-strict, first {names[worst]!r}{share}.",
                where=f"tool {names[worst]!r}",
            )


def _strict(rewritten: JsonObject, rewriter: Rewriter) -> Strict:
    return Strict(
        schema=rewritten,
        is_exact=rewriter.losses.is_exact,
        dropped=tuple(rewriter.losses.dropped),
        nulled=tuple(rewriter.losses.nulled),
        lost=tuple(rewriter.losses.lost),
    )


def _structure(key: str, value: Any) -> Any:
    if key in _SCHEMAS and isinstance(value, Mapping):
        return {name: _structure("", member) for name, member in value.items()}
    if key in ("enum", "const", "required"):
        return value
    if isinstance(value, Mapping):
        return structure(value)
    if isinstance(value, list | tuple):
        return [_structure("", item) for item in value]
    return value


def _check_size(schema: JsonObject, rules: Rules, rewriter: Rewriter) -> None:
    members = list(_members(schema))
    listed = list(_enums(schema))
    definitions = schema.get("$defs")
    names = [name for name, _, _ in members]
    names += list(definitions) if isinstance(definitions, Mapping) else []
    characters = sum(map(len, names)) + sum(map(_characters, listed))
    for what, limit, count in (
        ("levels of objects", rules.max_depth, _depth(schema, schema, ())),
        ("members", rules.max_properties, len(members)),
        ("values in enums", rules.max_enum_values, sum(map(len, listed))),
        ("characters in names and values", rules.max_string_length, characters),
    ):
        if limit and count > limit:
            raise rewriter.losses.refuse(
                "$", f"{count:,} {what} are more than the {limit:,} allowed; loosen it."
            )
    many, most = rules.large_enum
    for values in listed:
        if many and len(values) > many and _characters(values) > most:
            raise rewriter.losses.refuse(
                "$",
                f"an enum of {len(values)} values has {_characters(values):,} characters, more than the "
                f"{most:,} allowed for one of over {many} values; take a plain string.",
            )


def _characters(values: Sequence[Any]) -> int:
    return sum(len(value if isinstance(value, str) else dump(value)) for value in values)


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema in a rewritten schema, definitions included."""
    if not isinstance(node, Mapping):
        return
    yield node
    for key, value in node.items():
        if key in _SCHEMAS:
            for member in value.values():
                yield from _nodes(member)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for branch in value:
                yield from _nodes(branch)
        elif key in ("items", "additionalProperties"):
            yield from _nodes(value)


def _members(schema: JsonObject) -> Iterator[tuple[str, bool, Any]]:
    """Every member of every object: its name, whether it is required, its schema."""
    for node in _nodes(schema):
        required = node.get("required", ())
        for name, member in (node.get("properties") or {}).items():
            yield name, name in required, member


def _enums(schema: JsonObject) -> Iterator[Sequence[Any]]:
    for node in _nodes(schema):
        if "enum" in node:
            yield node["enum"]
        elif "const" in node:
            yield [node["const"]]


def _is_union(member: Any) -> bool:
    return isinstance(member, Mapping) and ("anyOf" in member or isinstance(member.get("type"), list))


def _depth(node: Any, root: JsonObject, seen: tuple[str, ...]) -> int:
    """The deepest nesting of objects; a recursion is counted once."""
    if not isinstance(node, Mapping):
        return 0
    reference = node.get("$ref")
    if isinstance(reference, str):
        definitions: Any = root.get("$defs", {})
        if reference in (*seen, "#"):
            return 0
        return _depth(definitions.get(reference.rpartition("/")[2]), root, (*seen, reference))
    inner = [*(node.get("properties") or {}).values(), *node.get("anyOf", ()), node.get("items")]
    below = max((_depth(child, root, seen) for child in inner), default=0)
    return below + ("properties" in node)
