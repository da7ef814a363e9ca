"""Flattens schemas: resolves their references, and merges ``allOf`` into keywords.

Two schemas of one value are merged keyword by keyword; if that is not possible, the first is kept and
the keyword is recorded as not enforced.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue, at, dump, nodes
from rightcall.local.grammar.plain import KEYWORDS, MEANT, SubSchema, structure

Resolve: TypeAlias = Callable[[str], SubSchema | None]

_INTERSECTED = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_MEMBERS = ("properties", "patternProperties", "additionalProperties")
_ITEMS = ("prefixItems", "items")
_BY_MEMBER = ("dependentRequired", "dependentSchemas", "dependencies")
_CONDITIONS = ("not", "if", *_BY_MEMBER)
EVALUATED = "(evaluated)"
"""A pseudo keyword: a condition applies to members or items."""
_UNEVALUATED = {"unevaluatedProperties": "additionalProperties", "unevaluatedItems": "items"}


class References:
    """The references within one document."""

    def __init__(self, document: SubSchema) -> None:
        self._document = document
        self._targets: dict[str, SubSchema | None] = {}
        self._own = document.get("$id") if isinstance(document, Mapping) else None
        every = list(nodes(document))
        # Inside of a resource with its own ``$id``, a reference has another base.
        self._is_plain = not any(isinstance(node.get("$id"), str) for node in every[1:])
        self._anchors = {
            f"#{node['$anchor']}": node for node in every if isinstance(node.get("$anchor"), str)
        }

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
            if reference.split("/")[1:2] and reference.split("/")[1] not in KEYWORDS:
                # A location outside of keywords holds a schema only if it is referred to.
                node = structure(node)
            self._targets[reference] = node if isinstance(node, Mapping | bool) else None
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


class Condition(Struct, eq=False):
    """A keyword that constrains a value only under a condition."""

    schema: Mapping[str, Any]
    """The schema that has it."""
    keyword: str
    path: str
    name: str = ""
    """The member whose presence is the condition; empty for other keywords."""


class Flat(Struct, eq=False):
    """The keywords for a value, without references and without ``allOf``."""

    keywords: dict[str, Any] = field(default_factory=dict)
    choices: list[Choices] = field(default_factory=list)
    chosen: frozenset[int] = frozenset()
    """The choices that were made, by the identity of their lists."""
    conditions: list[Condition] = field(default_factory=list)
    settled: frozenset[int] = frozenset()
    """The schemas whose conditions were handled, by identity."""
    unheld: list[str] = field(default_factory=list)
    is_false: bool = False

    def copy(self, conditions: Sequence[Condition] | None = None) -> "Flat":
        """A copy, for one of several alternatives."""
        conditions = self.conditions if conditions is None else conditions
        return Flat(
            keywords=dict(self.keywords),
            choices=[*self.choices],
            chosen=self.chosen,
            conditions=[*conditions],
            settled=self.settled,
            unheld=[*self.unheld],
            is_false=self.is_false,
        )

    def after(self, made: Choices) -> "Flat":
        """The keywords after a choice was made, without the remaining choices."""
        chosen = self.chosen | {id(made.branches)}
        return Flat(
            keywords=dict(self.keywords), chosen=chosen, settled=self.settled, is_false=self.is_false
        )

    def forget_unevaluated(self) -> list[str]:
        """Leave out the keywords for what no other keyword covers; returns those that were left out."""
        return [keyword for keyword in _UNEVALUATED if self.keywords.pop(keyword, True) is not True]

    def add_choices(self, made: Choices, others: Sequence[Choices]) -> None:
        """Those that an alternative added, and those from before."""
        for each in self.choices:
            each.within = made.within | {id(made.branches)}
        self.is_false = self.is_false or any(each.leads_to_itself for each in self.choices)
        # A choice that was made need not be made again.
        known = [*self.choices, *others]
        self.choices = [each for each in known if id(each.branches) not in self.chosen]


def flatten(
    schema: SubSchema,
    path: str,
    resolve: Resolve,
    into: Flat,
    *,
    following: tuple[str, ...] = (),
    is_part: bool = False,
) -> Flat:
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
        _say(schema, path, into, is_part=is_part)
        return into
    # Members come in the order in which the schema has them, in its parts or by itself.
    for keyword in sorted(("$ref", "allOf", "properties"), key=_places(schema)):
        if keyword == "$ref" and isinstance(reference := schema.get("$ref"), str):
            _follow(reference, path, resolve, into, following, is_part=len(schema) > 1)
        elif keyword == "allOf":
            for index, part in enumerate(schema.get("allOf", ())):
                where = f"{path}.allOf[{index}]"
                flatten(part, where, resolve, into, following=following, is_part=True)
        elif keyword == "properties":
            _say(schema, path, into, is_part=is_part)
    return into


def _places(schema: Mapping[str, Any]) -> Callable[[str], int]:
    known = {keyword: place for place, keyword in enumerate(schema)}
    return lambda keyword: known.get(keyword, len(known))


def _follow(
    reference: str,
    path: str,
    resolve: Resolve,
    into: Flat,
    following: tuple[str, ...],
    *,
    is_part: bool,
) -> None:
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
        flatten(target, path, resolve, into, following=(*following, reference), is_part=is_part)


def _say(schema: Mapping[str, Any], path: str, into: Flat, *, is_part: bool) -> None:
    """What a schema says by itself."""
    said = {key: value for key, value in schema.items() if key in MEANT}
    if any(keyword in said for keyword in _CONDITIONS):
        _take_conditions(said, schema, path, into)
    for keyword, others in _UNEVALUATED.items() if is_part else ():
        if keyword in said:
            # A part that covers all of them leaves none to what is around it.
            into.unheld += [f"{path}.{keyword}"] if said.pop(keyword) is not True else []
            said.setdefault(others, True)
    _merge(into, said, path)


def _take_conditions(said: dict[str, Any], schema: Mapping[str, Any], path: str, into: Flat) -> None:
    """Set conditions aside: they are neither merged nor forgotten."""
    is_new = id(schema) not in into.settled
    for keyword in _CONDITIONS:
        value = said.pop(keyword, None)
        if keyword == "not" and isinstance(value, Mapping) and set(value) in ({"enum"}, {"const"}):
            said["excluded"] = value["enum"] if "enum" in value else [value["const"]]
            continue
        if value is None or not is_new:
            continue
        # By a condition, members may be known that are not declared.
        is_about_them = keyword != "not" or (isinstance(value, Mapping) and "not" in value)
        said.update({EVALUATED: True} if is_about_them else {})
        names = list(value) if keyword in _BY_MEMBER and isinstance(value, Mapping) else [""]
        into.conditions += [Condition(schema, keyword, f"{path}.{keyword}", name) for name in names]
    for keyword in ("then", "else"):
        said.pop(keyword, None)


def matches(pattern: str, name: str) -> bool:
    """Whether a property's name matches a pattern of ``patternProperties``."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def schema_of(name: str, keywords: Mapping[str, Any]) -> SubSchema:
    """The schema of an object's member of this name."""
    said: list[SubSchema] = []
    properties = keywords.get("properties", {})
    if name in properties:
        said.append(properties[name])
    said += [
        schema
        for pattern, schema in keywords.get("patternProperties", {}).items()
        if matches(pattern, name)
    ]
    if len(said) == 1:
        return said[0]
    return both(*said) if said else keywords.get("additionalProperties", True)


def both(*schemas: SubSchema) -> SubSchema:
    """All of these at once."""
    if any(schema is False for schema in schemas):
        return False
    unlike = {dump(schema): schema for schema in schemas if schema is not True and schema != {}}
    if not unlike:
        return True
    said = list(unlike.values())
    if len(said) > 1 and _clash(said):
        return False
    return said[0] if len(said) == 1 else {"allOf": said}


def _clash(schemas: Sequence[SubSchema]) -> bool:
    """Whether every listed value is missing from another list, or excluded by one of them."""
    listed = [each for each in map(_listed, schemas) if each is not None]
    if not listed:
        return False
    refused = [
        _listed(each["not"]) or () for each in schemas if isinstance(each, Mapping) and "not" in each
    ]
    left = {dump(value) for value in listed[0]}
    for values in listed[1:]:
        left &= {dump(value) for value in values}
    # Equal numbers may be written in two ways.
    is_plain = all(isinstance(value, str | bool) or value is None for each in listed for value in each)
    return is_plain and not left.difference(dump(value) for values in refused for value in values)


def _listed(schema: Any) -> Sequence[JsonValue] | None:
    if not isinstance(schema, Mapping):
        return None
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _merge(flat: Flat, said: dict[str, Any], path: str) -> None:
    """Merge keywords into those that are known."""
    if "const" in said:
        _merge(flat, {"enum": [said.pop("const")]}, path)
    known = flat.keywords
    if any(key in said for key in _MEMBERS) and any(key in known for key in _MEMBERS):
        _merge_members(known, said)
        said = {key: value for key, value in said.items() if key not in _MEMBERS}
    if any(key in said for key in _ITEMS) and any(key in known for key in _ITEMS):
        _merge_items(known, said)
        said = {key: value for key, value in said.items() if key not in _ITEMS}
    for keyword, value in said.items():
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


def _merge_members(known: dict[str, Any], said: Mapping[str, Any]) -> None:
    names = dict.fromkeys([*known.get("properties", {}), *said.get("properties", {})])
    properties = {name: both(schema_of(name, known), schema_of(name, said)) for name in names}
    patterns = dict(known.get("patternProperties", {}))
    for pattern, schema in said.get("patternProperties", {}).items():
        patterns[pattern] = both(patterns[pattern], schema) if pattern in patterns else schema
    for pattern, schema in known.get("patternProperties", {}).items():
        if not said.get("patternProperties") and pattern in patterns:
            patterns[pattern] = both(schema, said.get("additionalProperties", True))
    if not known.get("patternProperties"):
        others = known.get("additionalProperties", True)
        patterns = {pattern: both(schema, others) for pattern, schema in patterns.items()}
    known["properties"] = properties
    if patterns:
        known["patternProperties"] = patterns
    if "additionalProperties" in known or "additionalProperties" in said:
        known["additionalProperties"] = both(
            known.get("additionalProperties", True), said.get("additionalProperties", True)
        )


def _merge_items(known: dict[str, Any], said: Mapping[str, Any]) -> None:
    one, two = known.get("prefixItems", ()), said.get("prefixItems", ())
    rest_one, rest_two = known.get("items", True), said.get("items", True)
    known["prefixItems"] = [
        both(
            one[index] if index < len(one) else rest_one,
            two[index] if index < len(two) else rest_two,
        )
        for index in range(max(len(one), len(two)))
    ]
    if "items" in known or "items" in said:
        known["items"] = both(rest_one, rest_two)


def as_types(value: object) -> list[str]:
    """``type`` as a list."""
    return [value] if isinstance(value, str) else [each for each in value if isinstance(each, str)]  # type: ignore[attr-defined]


def _same_types(first: object, second: object) -> list[str]:
    one, two = as_types(first), as_types(second)
    found = [kind for kind in one if kind in two or (kind == "integer" and "number" in two)]
    return found + [kind for kind in two if kind == "integer" and "number" in one and kind not in found]


def _same_values(first: Sequence[JsonValue], second: Sequence[JsonValue]) -> list[JsonValue]:
    admitted = {_spelt(value) for value in second}
    return [value for value in first if _spelt(value) in admitted]


def _spelt(value: JsonValue) -> str:
    """The value with equal numbers in one form."""
    is_whole = isinstance(value, float) and value.is_integer()
    return dump(int(value) if is_whole else value)  # type: ignore[arg-type]


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
