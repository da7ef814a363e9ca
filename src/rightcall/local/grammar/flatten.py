"""A schema into its plain keywords and the choices beside them, references and ``allOf`` resolved.

What two schemas say of one value is put together keyword by keyword. Where that cannot be said, the
first stands and the keyword is noted as not held.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from rightcall.core.jsontext import JsonValue, dump

SubSchema: TypeAlias = Mapping[str, Any] | bool

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


_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


class Choices:
    """One list of alternatives, of which some one must hold; or exactly one."""

    def __init__(self, branches: Sequence[SubSchema], *, exactly_one: bool, path: str) -> None:
        self.branches = branches
        self.exactly_one = exactly_one
        self.path = path
        self.within: frozenset[int] = frozenset()
        """The choices that led here, by the identity of their lists."""

    @property
    def leads_to_itself(self) -> bool:
        """Whether it came up among its own alternatives, before any text."""
        return id(self.branches) in self.within


class Flat:
    """What a schema says of a value, without references and without ``allOf``."""

    def __init__(self) -> None:
        self.keywords: dict[str, Any] = {}
        self.choices: list[Choices] = []
        self.chosen: frozenset[int] = frozenset()
        """The choices that were made, by the identity of their lists."""
        self.unheld: list[str] = []
        self.is_false = False

    def after(self, made: Choices) -> "Flat":
        """What holds once a choice was made, without the choices that are still to be made."""
        other = Flat()
        other.keywords = dict(self.keywords)
        other.chosen = self.chosen | {id(made.branches)}
        other.is_false = self.is_false
        return other

    def add_choices(self, made: Choices, others: Sequence[Choices]) -> None:
        """Those that an alternative brought along, and those that were there before."""
        for each in self.choices:
            each.within = made.within | {id(made.branches)}
        self.is_false = self.is_false or any(each.leads_to_itself for each in self.choices)
        # What was chosen once need not be chosen again.
        known = [*self.choices, *others]
        self.choices = [each for each in known if id(each.branches) not in self.chosen]


Resolve: TypeAlias = Callable[[str], SubSchema | None]


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
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = resolve(reference)
        if target is None:
            into.unheld.append(f"{path}.$ref")
        elif reference in following:
            # It says only that it says what it says; no finite value is meant by that.
            into.is_false = True
        else:
            flatten(
                target, path, resolve, into, following=(*following, reference), is_part=len(schema) > 1
            )
    for index, part in enumerate(schema.get("allOf", ())):
        where = f"{path}.allOf[{index}]"
        flatten(part, where, resolve, into, following=following, is_part=True)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(keyword), Sequence):
            into.choices.append(
                Choices(branches, exactly_one=keyword == "oneOf", path=f"{path}.{keyword}")
            )
    said = {key: value for key, value in schema.items() if key not in _ASIDE}
    for keyword in _UNEVALUATED if is_part else ():
        if said.pop(keyword, True) is not True:
            into.unheld.append(f"{path}.{keyword}")
    _merge(into, said, path)
    return into


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
    others = both(known.get("additionalProperties", True), said.get("additionalProperties", True))
    known["properties"] = properties
    if patterns:
        known["patternProperties"] = patterns
    known["additionalProperties"] = others


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
