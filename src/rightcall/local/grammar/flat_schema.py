"""Flattens schemas: resolves their references, and merges ``allOf`` into keywords.

Two schemas of one value are merged keyword by keyword; if that is not possible, the first is kept and
the keyword is recorded as not enforced.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue, at, dump, nodes
from rightcall.errors import UsageError

SubSchema: TypeAlias = Mapping[str, Any] | bool

_NOTES = frozenset(
    [
        "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
        "$comment", "$schema",
    ]
)  # fmt: skip
_NAMED = frozenset(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
_LISTS = frozenset(["allOf", "anyOf", "oneOf", "prefixItems"])
_SINGLE = frozenset(
    [
        "items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if",
        "then", "else", "unevaluatedProperties", "unevaluatedItems",
    ]
)  # fmt: skip
KEYWORDS = _NAMED | _LISTS | _SINGLE
"""Keywords that hold schemas."""
MEANT = (KEYWORDS - _LISTS - {"$defs", "definitions"}) | {
    "prefixItems", "type", "enum", "const", "required", "pattern", "format", "multipleOf", "uniqueItems",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties", "minContains", "maxContains", "dependencies",
    "dependentRequired", "$dynamicRef", "$recursiveRef",
}  # fmt: skip
"""Keywords that say something of a value by themselves. Whatever else a schema has says nothing."""
_COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
_OLD = ("draft-03", "draft-04", "draft-06", "draft-07")
MOST_DEEP = 200
"""The deepest nesting of schemas."""


def structure(schema: Any) -> Any:
    """The schema without keywords that constrain nothing. A property may be called ``title``.

    Two schemas with the same structure have the same grammar.
    """
    if not isinstance(schema, Mapping):
        return schema
    draft = schema.get("$schema")
    is_old = isinstance(draft, str) and any(each in draft for each in _OLD)
    return _structure(schema, 0, is_old=is_old)


def _structure(schema: Any, depth: int, *, is_old: bool) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    if is_old and isinstance(schema.get("$ref"), str):
        # Up to draft 7, keywords beside a reference are ignored; but others may refer to them.
        schema = {key: schema[key] for key in ("$ref", "$defs", "definitions") if key in schema}
    if depth > MOST_DEEP:
        raise UsageError(f"a schema nests more than {MOST_DEEP} levels deep, too deep for a grammar")
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _NOTES:
            continue
        if keyword in _NAMED and isinstance(value, Mapping):
            found[keyword] = {
                name: _structure(each, depth + 1, is_old=is_old) for name, each in value.items()
            }
        elif isinstance(value, list | tuple) and (keyword in _LISTS or keyword == "items"):
            found[keyword] = [_structure(each, depth + 1, is_old=is_old) for each in value]
        elif keyword in _SINGLE:
            found[keyword] = _structure(value, depth + 1, is_old=is_old)
        elif keyword in _COUNTS and isinstance(value, float):
            found[keyword] = int(value)
        else:
            found[keyword] = value
    # Translate older drafts' keywords to those of 2020-12.
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found["additionalItems"]
    found.pop("additionalItems", None)
    for bound, beyond in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(is_beyond := found.get(beyond), bool):
            del found[beyond]
            if is_beyond and bound in found:
                found[beyond] = found.pop(bound)
    if isinstance(found.get("required"), bool):
        del found["required"]
    return found


def drop_large_counts(schema: Any, most: int) -> Any:
    """The schema without counts larger than that."""
    if isinstance(schema, list | tuple):
        return [drop_large_counts(each, most) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    smaller = {}
    for keyword, value in schema.items():
        if keyword not in _COUNTS or not isinstance(value, int) or value <= most:
            smaller[keyword] = drop_large_counts(value, most)
    return smaller


Resolve: TypeAlias = Callable[[str], SubSchema | None]

_INTERSECTED = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_MEMBERS = frozenset(["properties", "patternProperties", "additionalProperties"])
_ITEMS = frozenset(["prefixItems", "items"])
_BY_MEMBER = ("dependentRequired", "dependentSchemas", "dependencies")
_CONDITIONS = ("not", "if", *_BY_MEMBER)
EVALUATED = "(evaluated)"
"""A pseudo keyword: a condition applies to members or items."""
_UNEVALUATED = {"unevaluatedProperties": "additionalProperties", "unevaluatedItems": "items"}


class SchemaReferences:
    """The references within one document."""

    def __init__(self, document: SubSchema) -> None:
        self._document = document
        self._targets: dict[str, SubSchema | None] = {}
        self._own = document.get("$id") if isinstance(document, Mapping) else None
        self._is_plain = True
        """Whether all references have one base: not inside of a resource with its own ``$id``."""
        self._anchors: dict[str, SubSchema] = {}
        for number, node in enumerate(nodes(document)):
            if number and isinstance(node.get("$id"), str):
                self._is_plain = False
            if isinstance(node.get("$anchor"), str):
                self._anchors[f"#{node['$anchor']}"] = node

    def follow(self, schema: SubSchema) -> SubSchema:
        """The target of a schema that is only a reference; False for one that leads to itself."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and set(schema) == {"$ref"}:
            reference = schema["$ref"]
            if reference in seen:
                return False
            seen.add(reference)
            target = self.target(reference)
            if target is None:
                return schema
            schema = target
        return schema

    def target(self, reference: str) -> SubSchema | None:
        """The target of a reference; None if it is not in this document."""
        if not self._is_plain:
            return None
        if isinstance(self._own, str) and self._own:
            reference = reference.removeprefix(self._own.rstrip("#")) or "#"
        if reference in self._anchors:
            return self._anchors[reference]
        if reference != "#" and not reference.startswith("#/"):
            return None
        if reference not in self._targets:
            node = at(self._document, reference)
            if reference != "#" and reference.split("/")[1] not in KEYWORDS:
                # A location outside of keywords holds a schema only if it is referred to.
                node = structure(node)
            if not isinstance(node, Mapping | bool):
                node = None
            self._targets[reference] = node
        return self._targets[reference]


class Choices(Struct, eq=False):
    """A list of alternatives, at least one of which must hold; or exactly one."""

    branches: Sequence[SubSchema]
    exactly_one: bool
    path: str
    within: frozenset[int] = frozenset()
    """The choices on the way here, by the identity of their lists."""

    @property
    def leads_to_itself(self) -> bool:
        """Whether it is among its own alternatives, before any text."""
        return id(self.branches) in self.within


class SchemaCondition(Struct, eq=False):
    """A keyword that constrains a value only under a condition."""

    schema: Mapping[str, Any]
    """The schema that has it."""
    keyword: str
    path: str
    name: str = ""
    """The member whose presence is the condition; empty for other keywords."""


class FlatSchema(Struct, eq=False):
    """The keywords for a value, without references and without ``allOf``."""

    keywords: dict[str, Any] = field(default_factory=dict)
    choices: list[Choices] = field(default_factory=list)
    chosen: frozenset[int] = frozenset()
    """The choices that were made, by the identity of their lists."""
    conditions: list[SchemaCondition] = field(default_factory=list)
    settled: frozenset[int] = frozenset()
    """The schemas whose conditions were handled, by identity."""
    unheld: list[str] = field(default_factory=list)
    is_false: bool = False

    def copy(self) -> "FlatSchema":
        """A copy, for one of several alternatives."""
        return FlatSchema(
            keywords=dict(self.keywords),
            choices=[*self.choices],
            chosen=self.chosen,
            conditions=[*self.conditions],
            settled=self.settled,
            unheld=[*self.unheld],
            is_false=self.is_false,
        )

    def after(self, made: Choices) -> "FlatSchema":
        """The keywords after a choice was made, without the remaining choices."""
        chosen = self.chosen | {id(made.branches)}
        return FlatSchema(
            keywords=dict(self.keywords), chosen=chosen, settled=self.settled, is_false=self.is_false
        )

    def forget_unevaluated(self) -> list[str]:
        """Leave out the keywords for what no other keyword covers; returns those that were left out."""
        return [keyword for keyword in _UNEVALUATED if self.keywords.pop(keyword, True) is not True]

    def add_choices(self, made: Choices, others: Sequence[Choices]) -> None:
        """Those that an alternative added, and those from before."""
        for each in self.choices:
            each.within = made.within | {id(made.branches)}
            if each.leads_to_itself:
                self.is_false = True
        # A choice that was made need not be made again.
        known = [*self.choices, *others]
        self.choices = [each for each in known if id(each.branches) not in self.chosen]


def flatten_schema(
    schema: SubSchema,
    path: str,
    resolve: Resolve,
    into: FlatSchema,
    *,
    following: tuple[str, ...] = (),
    is_part: bool = False,
) -> FlatSchema:
    """Merge a schema into the known keywords. A part's ``unevaluated…`` applies to that part only."""
    if isinstance(schema, bool):
        into.is_false = into.is_false or not schema
        return into
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(keyword), Sequence):
            into.choices.append(
                Choices(branches, exactly_one=keyword == "oneOf", path=f"{path}.{keyword}")
            )
    if "$ref" not in schema and "allOf" not in schema:
        _take_keywords(schema, path, into, is_part=is_part)
        return into
    # Members come in the order in which the schema has them, in its parts or by itself.
    for keyword in dict.fromkeys([*schema, "properties"]):
        if keyword == "$ref" and isinstance(reference := schema["$ref"], str):
            target = resolve(reference)
            if target is None:
                into.unheld.append(f"{path}.$ref")
                # It is unknown which members and items it applies to.
                for others in _UNEVALUATED.values():
                    into.keywords.setdefault(others, True)
            elif reference in following:
                # It refers only to itself; no finite value satisfies that.
                into.is_false = True
            else:
                flatten_schema(
                    target,
                    path,
                    resolve,
                    into,
                    following=(*following, reference),
                    is_part=len(schema) > 1,
                )
        elif keyword == "allOf":
            for index, part in enumerate(schema["allOf"]):
                where = f"{path}.allOf[{index}]"
                flatten_schema(part, where, resolve, into, following=following, is_part=True)
        elif keyword == "properties":
            _take_keywords(schema, path, into, is_part=is_part)
    return into


def _take_keywords(schema: Mapping[str, Any], path: str, into: FlatSchema, *, is_part: bool) -> None:
    """What a schema says by itself."""
    keywords = {key: value for key, value in schema.items() if key in MEANT}
    if any(keyword in keywords for keyword in _CONDITIONS):
        _take_conditions(keywords, schema, path, into)
    if is_part:
        for keyword, others in _UNEVALUATED.items():
            if keyword in keywords:
                # A part that covers all of them leaves none to what is around it.
                if keywords.pop(keyword) is not True:
                    into.unheld.append(f"{path}.{keyword}")
                keywords.setdefault(others, True)
    _merge(into, keywords, path)


def _take_conditions(
    keywords: dict[str, Any], schema: Mapping[str, Any], path: str, into: FlatSchema
) -> None:
    """Set conditions aside: they are neither merged nor forgotten."""
    is_new = id(schema) not in into.settled
    for keyword in _CONDITIONS:
        value = keywords.pop(keyword, None)
        if keyword == "not" and isinstance(value, Mapping) and set(value) in ({"enum"}, {"const"}):
            keywords["excluded"] = _enum_values(value)
            continue
        if value is None or not is_new:
            continue
        # By a condition, members may be known that are not declared.
        if keyword != "not" or (isinstance(value, Mapping) and "not" in value):
            keywords[EVALUATED] = True
        names = [""]
        if keyword in _BY_MEMBER and isinstance(value, Mapping):
            names = list(value)
        for name in names:
            into.conditions.append(SchemaCondition(schema, keyword, f"{path}.{keyword}", name))
    for keyword in ("then", "else"):
        keywords.pop(keyword, None)


def matches(pattern: str, name: str) -> bool:
    """Whether a property's name matches a pattern of ``patternProperties``."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def schema_of(name: str, keywords: Mapping[str, Any]) -> SubSchema:
    """The schema of an object's member of this name."""
    schemas: list[SubSchema] = []
    properties = keywords.get("properties", {})
    if name in properties:
        schemas.append(properties[name])
    for pattern, schema in keywords.get("patternProperties", {}).items():
        if matches(pattern, name):
            schemas.append(schema)
    if not schemas:
        schemas.append(keywords.get("additionalProperties", True))
    if len(schemas) == 1:
        return schemas[0]
    return both(*schemas)


def both(*schemas: SubSchema) -> SubSchema:
    """All of these at once."""
    if any(schema is False for schema in schemas):
        return False
    by_text = {dump(schema): schema for schema in schemas if schema is not True and schema != {}}
    distinct = list(by_text.values())
    if not distinct:
        return True
    if len(distinct) == 1:
        return distinct[0]
    if _clash(distinct):
        return False
    return {"allOf": distinct}


def _clash(schemas: Sequence[SubSchema]) -> bool:
    """Whether every listed value is missing from another list, or excluded by one of them."""
    left: set[str] | None = None
    excluded: set[str] = set()
    for schema in schemas:
        values = _enum_values(schema)
        if values is not None:
            # Equal numbers may be written in two ways.
            if not all(isinstance(value, str | bool) or value is None for value in values):
                return False
            listed = set(map(dump, values))
            left = listed if left is None else left & listed
        if isinstance(schema, Mapping) and "not" in schema:
            excluded.update(map(dump, _enum_values(schema["not"]) or ()))
    return left is not None and left <= excluded


def _enum_values(schema: Any) -> Sequence[JsonValue] | None:
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def _merge(flat: FlatSchema, added: dict[str, Any], path: str) -> None:
    """Merge keywords into those that are known."""
    if "const" in added:
        _merge(flat, {"enum": [added.pop("const")]}, path)
    known = flat.keywords
    if not _MEMBERS.isdisjoint(added) and not _MEMBERS.isdisjoint(known):
        names = dict.fromkeys([*known.get("properties", {}), *added.get("properties", {})])
        properties = {name: both(schema_of(name, known), schema_of(name, added)) for name in names}
        others = known.get("additionalProperties", True)
        added_others = added.get("additionalProperties", True)
        known_patterns = known.get("patternProperties", {})
        added_patterns = added.get("patternProperties", {})
        # A pattern of only one of them meets the other's remaining members.
        if not added_patterns:
            patterns = {key: both(schema, added_others) for key, schema in known_patterns.items()}
        elif not known_patterns:
            patterns = {key: both(schema, others) for key, schema in added_patterns.items()}
        else:
            patterns = dict(known_patterns)
            for pattern, schema in added_patterns.items():
                patterns[pattern] = both(patterns.get(pattern, True), schema)
        known["properties"] = properties
        if patterns:
            known["patternProperties"] = patterns
        if "additionalProperties" in known or "additionalProperties" in added:
            known["additionalProperties"] = both(others, added_others)
        added = {key: value for key, value in added.items() if key not in _MEMBERS}
    if not _ITEMS.isdisjoint(added) and not _ITEMS.isdisjoint(known):
        rest = known.get("items", True)
        added_rest = added.get("items", True)
        one = list(known.get("prefixItems", ()))
        two = list(added.get("prefixItems", ()))
        longest = max(len(one), len(two))
        one += [rest] * (longest - len(one))
        two += [added_rest] * (longest - len(two))
        known["prefixItems"] = list(map(both, one, two))
        if "items" in known or "items" in added:
            known["items"] = both(rest, added_rest)
        added = {key: value for key, value in added.items() if key not in _ITEMS}
    for keyword, value in added.items():
        if keyword not in known:
            known[keyword] = value
        elif keyword in _INTERSECTED:
            known[keyword] = _INTERSECTED[keyword](known[keyword], value)
        elif keyword in _BOTH:
            known[keyword] = _BOTH[keyword](known[keyword], value)
        elif known[keyword] != value:
            flat.unheld.append(f"{path}.{keyword}")
    if known.get("enum", True) == [] or known.get("type", True) == []:
        flat.is_false = True


def as_types(value: object) -> list[str]:
    """``type`` as a list."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)]  # type: ignore[attr-defined]


def _same_types(first: object, second: object) -> list[str]:
    one = as_types(first)
    two = as_types(second)
    same = []
    for kind in one:
        if kind in two or (kind == "integer" and "number" in two):
            same.append(kind)
    if "number" in one and "integer" in two and "integer" not in same:
        same.append("integer")
    return same


def _same_values(first: Sequence[JsonValue], second: Sequence[JsonValue]) -> list[JsonValue]:
    admitted = {_normal_spelling(value) for value in second}
    return [value for value in first if _normal_spelling(value) in admitted]


def _normal_spelling(value: JsonValue) -> str:
    """The value with equal numbers in one form."""
    if isinstance(value, float) and value.is_integer():
        return dump(int(value))
    return dump(value)


_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "type": _same_types,
    "enum": _same_values,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "excluded": lambda first, second: [*first, *second],
    "uniqueItems": lambda first, second: first or second,
    "propertyNames": both,
    "unevaluatedProperties": both,
    "unevaluatedItems": both,
}
