"""Make schemas flat: their references found, and ``allOf`` merged into keywords.

What two schemas say of one value is put
together keyword by keyword; where that cannot be said, the first stands and the keyword is noted as not
held.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue, at, dump, nodes
from rightcall.local.grammar.plain import SubSchema

Resolve: TypeAlias = Callable[[str], SubSchema | None]

_MOST_COMPARED = 24
_MOST_DEPTH = 3

_INTERSECTED = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_MEMBERS = ("properties", "patternProperties", "additionalProperties")
_ITEMS = ("prefixItems", "items")
_ASIDE = frozenset(
    ["allOf", "anyOf", "oneOf", "$ref", "$defs", "definitions", "$id", "$schema", "$anchor"]
)
"""Keywords that are not merged: they are followed, or hold nothing by themselves."""
_UNEVALUATED = {"unevaluatedProperties": "additionalProperties", "unevaluatedItems": "items"}


class References:
    """The references within one document."""

    def __init__(self, document: SubSchema) -> None:
        self._document = document
        self._own = document.get("$id") if isinstance(document, Mapping) else None
        every = list(nodes(document))
        # Inside of a resource with a name of its own, a reference means another thing.
        self._is_plain = not any("$id" in node for node in every[1:])
        self._anchors = {f"#{node['$anchor']}": node for node in every if "$anchor" in node}

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
        node = at(self._document, reference)
        return node if isinstance(node, Mapping | bool) else None


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


class Flat(Struct, eq=False):
    """What a schema says of a value, without references and without ``allOf``."""

    keywords: dict[str, Any] = field(default_factory=dict)
    choices: list[Choices] = field(default_factory=list)
    chosen: frozenset[int] = frozenset()
    """The choices that were made, by the identity of their lists."""
    unheld: list[str] = field(default_factory=list)
    is_false: bool = False

    def after(self, made: Choices) -> "Flat":
        """What holds once a choice was made, without the choices that are still to be made."""
        chosen = self.chosen | {id(made.branches)}
        return Flat(keywords=dict(self.keywords), chosen=chosen, is_false=self.is_false)

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
    said = {key: value for key, value in schema.items() if key not in _ASIDE}
    for keyword, others in _UNEVALUATED.items() if is_part else ():
        if keyword in said:
            # A part that is about all of them leaves none to what stands around it.
            into.unheld += [f"{path}.{keyword}"] if said.pop(keyword) is not True else []
            said.setdefault(others, True)
    _merge(into, said, path)


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
    return both(*said) if said else keywords.get("additionalProperties", True)


def both(*schemas: SubSchema) -> SubSchema:
    """All of these at once."""
    if any(schema is False for schema in schemas):
        return False
    unlike = {dump(schema): schema for schema in schemas if schema is not True and schema != {}}
    if not unlike:
        return True
    said = list(unlike.values())
    return said[0] if len(said) == 1 else {"allOf": said}


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
    admitted = {dump(value) for value in second}
    return [value for value in first if dump(value) in admitted]


_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "type": _same_types,
    "enum": _same_values,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "uniqueItems": lambda first, second: first or second,
    "propertyNames": both,
    "unevaluatedProperties": both,
    "unevaluatedItems": both,
}


def are_apart(branches: Sequence[SubSchema], resolve: Resolve) -> bool:
    """Whether each two of these surely share no value."""
    if len(branches) > _MOST_COMPARED:
        return False
    known = [flatten(branch, "$", resolve, Flat()) for branch in branches]
    return all(_apart(one, two, resolve, _MOST_DEPTH) for one, two in combinations(known, 2))


def _apart(one: Flat, two: Flat, resolve: Resolve, depth: int) -> bool:
    if one.is_false or two.is_false:
        return True
    first, second = one.keywords, two.keywords
    if _have_no_type_in_common(first, second) or _have_no_value_in_common(first, second):
        return True
    if depth == 0 or not _are_objects(first, second):
        return False
    return any(
        _told_by(name, first, second, resolve, depth)
        for name in dict.fromkeys([*first.get("required", ()), *second.get("required", ())])
    )


def _have_no_type_in_common(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    if "type" not in first or "type" not in second:
        return False
    one, two = ({*as_types(each["type"])} for each in (first, second))
    numeric = {"integer", "number"}
    return not (one & two) and not (one & numeric and two & numeric)


def _have_no_value_in_common(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    if "enum" not in first or "enum" not in second:
        return False
    # Numbers may be the same and written in two ways; they are left to the gate.
    values = [*first["enum"], *second["enum"]]
    if not all(isinstance(value, str | bool) or value is None for value in values):
        return False
    return not {dump(value) for value in first["enum"]} & {dump(value) for value in second["enum"]}


def _are_objects(*schemas: Mapping[str, Any]) -> bool:
    return all(as_types(each.get("type", ())) == ["object"] for each in schemas)


def _told_by(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], resolve: Resolve, depth: int
) -> bool:
    """Whether a member that one of them requires cannot be as the other wants it."""
    members = [each.get("properties", {}) for each in (first, second)]
    if all(name in each for each in members):
        one, two = (flatten(each[name], "$", resolve, Flat()) for each in members)
        return _apart(one, two, resolve, depth - 1)
    missing = first if name not in members[0] else second
    if name in missing.get("required", ()) or "patternProperties" in missing:
        return False
    return missing.get("additionalProperties") is False
