"""Make schemas flat: their references found, and ``allOf`` merged into keywords.

What two schemas say of one value is put
together keyword by keyword; where that cannot be said, the first stands and the keyword is noted as not
held.
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
"""In place of a keyword: a condition is about members or items."""
_UNEVALUATED = {"unevaluatedProperties": "additionalProperties", "unevaluatedItems": "items"}


class References:
    """The references within one document."""

    def __init__(self, document: SubSchema) -> None:
        self._document = document
        self._targets: dict[str, SubSchema | None] = {}
        self._own = document.get("$id") if isinstance(document, Mapping) else None
        every = list(nodes(document))
        # Inside of a resource with a name of its own, a reference means another thing.
        self._is_plain = not any(isinstance(node.get("$id"), str) for node in every[1:])
        self._anchors = {
            f"#{node['$anchor']}": node for node in every if isinstance(node.get("$anchor"), str)
        }

    def follow(self, schema: SubSchema) -> SubSchema:
        """What a schema that is only a reference stands for; False for one that leads to itself."""
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
        """What a reference points at; None for what is not in this document."""
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
                # A place that is no keyword's holds a schema only because it is referred to.
                node = structure(node)
            self._targets[reference] = node if isinstance(node, Mapping | bool) else None
        return self._targets[reference]


class Choices(Struct, eq=False):
    """One list of alternatives, of which some one must hold; or exactly one."""

    branches: Sequence[SubSchema]
    exactly_one: bool
    path: str
    within: frozenset[int] = frozenset()
    """The choices that led here, by the identity of their lists."""

    @property
    def leads_to_itself(self) -> bool:
        """Whether it came up among its own alternatives, before any text."""
        return id(self.branches) in self.within


class Condition(Struct, eq=False):
    """A keyword that asks something of a value only if the value is so or so."""

    schema: Mapping[str, Any]
    """The schema that has it."""
    keyword: str
    path: str
    name: str = ""
    """The member that it is about."""


class Flat(Struct, eq=False):
    """What a schema says of a value, without references and without ``allOf``."""

    keywords: dict[str, Any] = field(default_factory=dict)
    choices: list[Choices] = field(default_factory=list)
    chosen: frozenset[int] = frozenset()
    """The choices that were made, by the identity of their lists."""
    conditions: list[Condition] = field(default_factory=list)
    settled: frozenset[int] = frozenset()
    """The schemas whose conditions were seen to, by their identity."""
    unheld: list[str] = field(default_factory=list)
    is_false: bool = False

    def copy(self, conditions: Sequence[Condition] | None = None) -> "Flat":
        """The same again, for one of several ways to go on."""
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
        """What holds once a choice was made, without the choices that are still to be made."""
        chosen = self.chosen | {id(made.branches)}
        return Flat(
            keywords=dict(self.keywords), chosen=chosen, settled=self.settled, is_false=self.is_false
        )

    def forget_unevaluated(self) -> list[str]:
        """Leave out what holds of whatever no keyword is about; the keywords that are left out."""
        return [keyword for keyword in _UNEVALUATED if self.keywords.pop(keyword, True) is not True]

    def add_choices(self, made: Choices, others: Sequence[Choices]) -> None:
        """Those that an alternative brought along, and those that were there before."""
        for each in self.choices:
            each.within = made.within | {id(made.branches)}
        self.is_false = self.is_false or any(each.leads_to_itself for each in self.choices)
        # What was chosen once need not be chosen again.
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
    """Put what a schema says to what is known. A part's ``unevaluated…`` is about that part only."""
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
        # Who knows which members and items it is about.
        for others in _UNEVALUATED.values():
            into.keywords.setdefault(others, True)
    elif reference in following:
        # It says only that it says what it says; no finite value is meant by that.
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
            # A part that is about all of them leaves none to what stands around it.
            into.unheld += [f"{path}.{keyword}"] if said.pop(keyword) is not True else []
            said.setdefault(others, True)
    _merge(into, said, path)


def _take_conditions(said: dict[str, Any], schema: Mapping[str, Any], path: str, into: Flat) -> None:
    """Put conditions aside: they are neither merged nor forgotten."""
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
    """Whether a property's name is one that a pattern of ``patternProperties`` means."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def schema_of(name: str, keywords: Mapping[str, Any]) -> SubSchema:
    """What an object's schema says of the member of this name."""
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
    """Whether what is listed in one of them is listed in none of the others, or excluded by one."""
    listed = [each for each in map(_listed, schemas) if each is not None]
    if not listed:
        return False
    refused = [
        _listed(each["not"]) or () for each in schemas if isinstance(each, Mapping) and "not" in each
    ]
    left = {dump(value) for value in listed[0]}
    for values in listed[1:]:
        left &= {dump(value) for value in values}
    # Numbers may be the same and written in two ways.
    is_plain = all(isinstance(value, str | bool) or value is None for each in listed for value in each)
    return is_plain and not left.difference(dump(value) for values in refused for value in values)


def _listed(schema: Any) -> Sequence[JsonValue] | None:
    if not isinstance(schema, Mapping):
        return None
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _merge(flat: Flat, said: dict[str, Any], path: str) -> None:
    """Put keywords to those that are known."""
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
    """The same for numbers that are the same."""
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
